"""What can be known from the start of a run: divergence without a calm baseline, and a first loss that is off."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from operator import sub

from tuimon.formulas import logit_spread, uniform_loss
from tuimon.record import Mark
from tuimon.signatures.course import SMOOTHED, WINDOW, Course
from tuimon.signatures.finding import Finding
from tuimon.signatures.growth import short
from tuimon.signatures.plateau import classes
from tuimon.signatures.stretch import Detector, Stretch
from tuimon.stats import autocorrelation, level_of, median

FIRST = 32
"""Losses from which the start of a run is judged: warm-up humps of a dozen records are over by then."""

RECENT = 16
"""Losses that must agree that the run is worse than untrained."""

WORSE = 0.25
"""Share of the first loss by which it must be worse: less is the noise of first batches."""

NOISE = 2.0
"""The same in units of the run's own noise, its median absolute change from record to record."""

KEPT_UP = 0.5
"""Share of the highest excess that must still be there: what has come down by half is on its way back."""

LATE = 128
"""Losses after which being on the way back no longer counts, while still worse than untrained."""

BELOW_ALL = ((LATE, 4.0, 2.0), (FIRST, 5.0, 10.0), (16, 8.0, 30.0))
"""More losses so far than the first -> sigmas of the logarithm by which the first loss must lie below the last 64 to be
no draw from among them whatever their noise (1 in 30,000 for log-normal ones; a sigma from eight or nine is known to a
factor of two), and times the first loss at which their median must stand."""

SETTLING = 8
"""First losses that are left out of those: on their way up they lie anywhere between."""

RECENT_CHANGES = 25
"""Losses whose changes say whether the log holds a running mean: at the 33rd, those without the first eight."""

HUNDREDFOLD = 100.0
"""Times the first loss for a running mean of unknown weight: it begins at one draw and hides how wide they are."""

DOUBLE = 2.0
"""Times the first loss under which no record since the eighth may lie, and down to which it counts as going on."""

RUN = 6
"""Rises in a row that make a growth from the start."""

TENFOLD = 10.0
"""Growth of the excess over those: a hump of a healthy warm-up triples the loss at most, and slows."""

FASTER = 2.0
"""Times the rise of the first half of those that the second half brings: a growth by a half each record brings three
times as much, a running mean on its way up from a lucky first draw no more than once."""


class DivergesFromStart(Detector):
    """A run that gets worse than untrained and does not come back, before there is a baseline to compare with.

    Either six rises in a row that take the loss tenfold further above its first value, or, from the 32nd loss on, a
    median of the last 16 that is a quarter of the first loss and twice the noise above it and has not come down by
    half; or, where clipping holds a wild loss or the log is sparse, twice the first loss (ten times, before the 128th)
    with a first one that is no draw from among the last 64. Withdrawn when the loss comes back: of networks pushed past
    the limit most do. A running mean of declared weight is undone first. Needs a loss whose size means something, that
    is, one above zero.
    """

    def __init__(self) -> None:
        self._first: tuple[int, float] | None = None
        self._recent: deque[float] = deque(maxlen=RECENT)
        self._window: deque[float] = deque(maxlen=WINDOW)
        self._low = math.inf
        self._smooth = False
        self._far = False
        self._logged: float | None = None
        self._count = 0
        self._peak = -math.inf
        self._peak_step = 0
        self._onset: int | None = None
        self._detected: int | None = None
        self._over = False
        self._rises: deque[float] = deque(maxlen=RUN + 1)
        self._gns: tuple[float, float] | None = None
        self._lr: float | None = None

    def update(self, stretch: Stretch) -> None:
        """Exits at once after the start, and when the run has learned."""
        if self._over:
            return
        self._over = stretch.course.silent
        if self._over:
            self._detected = None
            return
        weight = stretch.course.meta.get("loss_smoothing")
        weight = weight if isinstance(weight, float) and 0.0 < weight < 1.0 else 0.0
        self._smooth = stretch.course.smooth and not weight
        for step, (loss, gn, lr) in stretch.rows("loss", "grad_norm", "lr"):
            self._lr = lr if self._lr is None else self._lr
            if gn is not None:
                self._gns = (self._gns[0], max(self._gns[1], gn)) if self._gns else (gn, gn)
            if loss is not None:
                before, self._logged = self._logged if self._logged is not None else loss, loss
                self._row(step, (loss - weight * before) / (1.0 - weight))
                if self._over:
                    return

    def _row(self, step: int, value: float) -> None:
        if self._first is None:
            self._first = (step, value)
            self._over = value <= 0.0
        first = self._first[1]
        self._count += 1
        self._recent.append(value)
        self._window.append(value)
        self._low = min(self._low, value) if self._count > SETTLING else self._low
        self._rises.append(value)
        if self._detected is None:
            # One low record among high ones is no return, and what has been told is not dated anew.
            if value > first:
                self._onset = step if self._onset is None else self._onset
            elif median(self._rises) <= first:
                self._onset = None
        if self._logged is not None and self._logged > self._peak:
            self._peak, self._peak_step = self._logged, step
        learned = len(self._rises) > RUN and median(self._rises) < (1 - WORSE) * first
        if learned or (self._count > LATE and self._low <= first and self._detected is None):
            # It has learned, or come back: from the record on from which there is a level to leave, this is over.
            self._over, self._detected = self._count >= FIRST, None
            return
        if self._grows(first):
            self._detected = step if self._detected is None else self._detected
            return
        held = self._far and self._low > first and median(self._window) > DOUBLE * first
        self._far = held or self._far_above(first)
        if self._count > FIRST or self._far:
            worse = self._far or self._stays(first)
            self._detected = (step if self._detected is None else self._detected) if worse else None
        elif median(self._rises) <= DOUBLE * first:
            self._detected = None  # among the first records: back

    def _grows(self, first: float) -> bool:
        rises = list(self._rises)
        if len(rises) <= RUN or not all(a < b for a, b in zip(rises, rises[1:], strict=False)):
            return False
        if rises[-1] - rises[RUN // 2] < FASTER * (rises[RUN // 2] - rises[0]):
            return False
        return rises[-1] - first > TENFOLD * max(rises[0] - first, WORSE * first / TENFOLD)

    def _stays(self, first: float) -> bool:
        recent = list(self._recent)
        if self._low > first and self._is_mean():
            return False  # never back at its first loss, which may have been a lucky draw
        noise = median([abs(b - a) for a, b in zip(recent, recent[1:], strict=False)])
        excess = median(recent) - first
        if excess <= max(WORSE * first, NOISE * noise):
            return False
        rising = median(recent[RECENT // 2 :]) - median(recent[: RECENT // 2]) > noise
        return self._count >= LATE or rising or excess > KEPT_UP * (self._peak - first)

    def _is_mean(self) -> bool:
        """The log holds a running mean of unknown weight."""
        recent = list(self._window)[-RECENT_CHANGES:]
        return self._smooth and autocorrelation(list(map(sub, recent[1:], recent))) > SMOOTHED

    def _far_above(self, first: float) -> bool:
        """The loss jumps about, all of it far above where it began."""
        _, sigmas, times = next((tier for tier in BELOW_ALL if self._count > tier[0]), (0, math.inf, math.inf))
        if self._low <= DOUBLE * first or times == math.inf:
            return False
        times = HUNDREDFOLD if self._is_mean() else times
        recent = list(self._window)[-self._count + SETTLING :]
        logs = [math.log(value) for value in recent if value > 0.0]
        return median(recent) > times * first and level_of(logs).z(math.log(first)) < -sigmas

    def rewind(self, step: int, course: Course) -> None:
        """A rewind to the start is another run."""
        if course.first_step is not None and step <= course.first_step:
            self.__init__()  # type: ignore[misc]

    @property
    def findings(self) -> Sequence[Finding]:
        """At most one."""
        if self._detected is None or self._first is None:
            return ()
        onset = self._onset if self._onset is not None else self._first[0]
        why = f"loss {short(self._first[1])} -> {short(self._peak)} at {self._peak_step}, from the start"
        if self._gns is not None:
            why += f", grad_norm {short(self._gns[0])} -> {short(self._gns[1])}"
        why += f", lr {short(self._lr)}" if self._lr is not None else ""
        return (Finding("lr-too-high", "divergence", "failure", onset, self._detected, True, why),)


OFF = 0.5
"""Nats that the first cross-entropy may lie from ln C: a usual initial layer stays within 0.2."""

SURELY_OFF = 1.5
"""The same of the first loss alone, ten sigma of a batch of 32: the next ones of a sparse log have learned."""

MANY = 100
"""Classes from which the initial loss says how far the initial logits spread."""

SUMMED = 0.1
"""Relative distance within which the first loss over ln C counts as the batch size."""


FIRST_LOSSES = 5
"""Losses whose median must be off as well: the first batch alone may be a hard one."""


class InitialLossOff(Detector):
    """The first cross-entropy is not near ln C: initial logits too wide, the wrong C, or a loss summed over the batch.

    Needs num_classes, an objective that is a cross-entropy or not declared, and a log that begins at the first steps.
    Errs on a fine-tuned head, which starts better than ln C; that is why only a worse start counts.
    """

    def __init__(self) -> None:
        self._points: list[tuple[int, float]] = []
        self._done = False
        self._findings: tuple[Finding, ...] = ()

    def update(self, stretch: Stretch) -> None:
        """Looks at the first five losses."""
        if self._done or not stretch.loss.values:
            return
        self._points.extend(zip(stretch.loss.steps, stretch.loss.values, strict=True))
        del self._points[FIRST_LOSSES:]
        self._done = len(self._points) == FIRST_LOSSES
        if self._done:
            self._judge(stretch.course)

    def _judge(self, course: Course) -> None:
        step, loss = self._points[0]
        count = classes(course)
        objective = str(course.meta.get("objective", "cross_entropy"))
        if count is None or objective != "cross_entropy" or step > 1:
            return
        uniform = uniform_loss(count)
        if loss - uniform <= SURELY_OFF:
            loss = min(loss, median([value for _, value in self._points]))
        if loss - uniform <= OFF:
            return
        why = f"first loss {short(loss)}, ln {count} is {uniform:.4f}"
        batch = course.meta.get("batch_size")
        if isinstance(batch, int) and batch > 1 and abs(loss / uniform / batch - 1) < SUMMED:
            why += f": about {batch} times as much, the batch size"
        elif count >= MANY:
            why += f", as initial logits with a spread of {logit_spread(loss, count):.2g} give"
        self._findings = (Finding("initial-loss-off", "data", "warning", step, self._points[-1][0], True, why),)

    @property
    def findings(self) -> Sequence[Finding]:
        """At most one."""
        return self._findings


class BelowFloor(Detector):
    """A loss under its minimum: a cross-entropy or squared error below zero.

    Only where the objective, or the number of classes, is declared.
    """

    def __init__(self) -> None:
        self._since: int | None = None
        self._value = 0.0

    def update(self, stretch: Stretch) -> None:
        """Exits at once on positive losses."""
        if stretch.loss.low >= 0.0 or self._since is not None:
            return
        meta = stretch.course.meta
        objective = str(meta.get("objective", "cross_entropy" if classes(stretch.course) else ""))
        if objective not in ("cross_entropy", "mse"):
            return
        at = next(i for i, value in enumerate(stretch.loss.values) if value < 0.0)
        self._since, self._value = stretch.loss.steps[at], stretch.loss.values[at]
        self._objective = objective

    def mark(self, mark: Mark, course: Course) -> None:
        """Nothing: what was below its floor stays wrong."""

    @property
    def findings(self) -> Sequence[Finding]:
        """At most one."""
        if self._since is None:
            return ()
        why = f"loss {short(self._value)} at {self._since}, a {self._objective.replace('_', ' ')} is never below 0"
        return (Finding("below-floor", "divergence", "failure", self._since, self._since, True, why),)
