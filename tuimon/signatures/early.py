"""Divergence from the start of a run, without a calm baseline."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from operator import sub

from tuimon.signatures.course import SMOOTHED, WINDOW, Course
from tuimon.signatures.finding import Finding
from tuimon.signatures.growth import short
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

DRIVEN = 0.3
"""Autocorrelation of the changes of 64 losses above which no mean of independent draws makes them (2.4 sigma)."""

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
        """The log holds a running mean of unknown weight, whose changes have a lag-1 autocorrelation of -0.5 to 0.

        The way up from the first draw adds to that among the first losses.
        """
        late = self._count > LATE
        recent = list(self._window)[-len(self._window) if late else -RECENT_CHANGES :]
        order = autocorrelation(list(map(sub, recent[1:], recent)))
        return self._smooth and SMOOTHED < order < (DRIVEN if late else 1.0) and order != 0.0

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
