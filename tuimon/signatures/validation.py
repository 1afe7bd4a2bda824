"""What the validation loss shows by itself: nothing learned, or one evaluation far off."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence

from tuimon.formulas import uniform_loss
from tuimon.signatures.course import LR_RISE, Course
from tuimon.signatures.finding import Finding
from tuimon.signatures.growth import short
from tuimon.signatures.plateau import classes
from tuimon.signatures.stretch import Detector, Stretch
from tuimon.stats import level_of, mann_kendall

EVALUATIONS = 3
"""Evaluations in a row that must agree."""

RISEN = 0.02
"""Nats by which validation must be above ln C: three evaluations there are worse than knowing nothing."""

LEARNED = 0.1
"""Nats by which the training loss must be below ln C at the same time."""


class MemorisingNoise(Detector):
    """The training loss falls while validation is worse than knowing nothing: inputs and labels do not belong together.

    Three evaluations in a row above ln C and rising, none ever below it by more than 0.02 nats, with a training loss
    below ln C. Needs num_classes.
    """

    def __init__(self) -> None:
        self._first: int | None = None
        self._run = 0
        self._last = 0.0
        self._learned = False
        self._low = math.inf
        self._detected: int | None = None
        self._evidence = ""

    def update(self, stretch: Stretch) -> None:
        """Exits early on stretches without an evaluation."""
        count = classes(stretch.course)
        if count is None or self._learned or stretch.course.silent:
            return
        if not stretch.val.values:
            self._low = stretch.loss.values[-1] if stretch.loss.values else self._low
            return
        uniform = uniform_loss(count)
        for step, loss, value in stretch.evaluated():
            self._low = loss if loss is not None else self._low
            if value is None:
                continue
            if self._first is None:
                self._first = step
            if value < uniform - RISEN:
                self._learned, self._detected = True, None
                return
            falls = self._low < uniform - LEARNED
            self._run = self._run + 1 if value > uniform + RISEN and value > self._last and falls else 0
            self._last = value
            if self._run >= EVALUATIONS and self._detected is None:
                self._detected = step
                self._evidence = f"val_loss {short(value)} at {step}, never better than ln {count} = {uniform:.4f}"
                self._evidence += f", while loss is {short(self._low)}"

    @property
    def findings(self) -> Sequence[Finding]:
        """At most one."""
        if self._detected is None or self._first is None:
            return ()
        return (Finding("memorising-noise", "plateau", "failure", self._first, self._detected, True, self._evidence),)


SEEN = 8
"""Evaluations after which one that never learned is told from one that has just begun."""

GAIN = 0.15
"""Share of the first validation loss that one which learns has gained by then."""

APART = 1.5
"""Times the training loss at which the validation loss stands, when the two have nothing to do with each other."""

STILL_FALLING = -2.0
"""Mann-Kendall score of the last 32 evaluations below which validation does gain, however slowly."""

RISEN_SHARE = 0.05
"""Rise above the minimum from which it is overfitting."""


class ValidationStands(Detector):
    """The training loss falls, the validation loss stands far above it and has never gained anything: memorising-noise.

    The case of losses without classes: after eight evaluations the least is above 85 % of the first, the last
    within 5 % of the least, not falling, and 1.5 times the training loss, which has fallen by 15 % since the first.
    A warning: an evaluation on other data looks the same. Needs losses above zero.
    """

    def __init__(self) -> None:
        self._loss: float | None = None
        self._first: tuple[int, float, float] | None = None
        self._least = math.inf
        self._recent: deque[float] = deque(maxlen=32)
        self._last = 0.0
        self._last_step = 0
        self._count = 0
        self._detected: int | None = None
        self._now = 0.0

    def update(self, stretch: Stretch) -> None:
        """Exits early on stretches without an evaluation."""
        if not stretch.val.values:
            self._loss = stretch.loss.values[-1] if stretch.loss.values else self._loss
            return
        level = stretch.course.level
        for step, loss, value in stretch.evaluated():
            self._loss = loss if loss is not None else self._loss
            if value is None or step == self._last_step or stretch.course.silent:
                continue
            now = level.middle if level is not None else self._loss
            if now is not None:
                self._evaluate(step, value, now)

    def _evaluate(self, step: int, value: float, now: float) -> None:
        if self._first is None:
            self._first = (step, value, now)
        self._least = min(self._least, value)
        self._recent.append(value)
        self._last, self._last_step, self._now = value, step, now
        self._count += 1
        stands = (
            self._count >= SEEN
            and now > 0.0
            and self._least > (1 - GAIN) * self._first[1]
            and value < (1 + RISEN_SHARE) * self._least
            and value > APART * now
            and now < (1 - GAIN) * self._first[2]
            and max(self._recent) > min(self._recent)  # one that never moves does not look at the model
            and mann_kendall(list(self._recent)) > STILL_FALLING
        )
        self._detected = (step if self._detected is None else self._detected) if stands else None

    def rewind(self, step: int, course: Course) -> None:
        """Another run in the same file starts anew."""
        if self._first is not None and step <= self._first[0]:
            self.__init__()  # type: ignore[misc]

    @property
    def findings(self) -> Sequence[Finding]:
        """At most one, while it stands."""
        if self._detected is None or self._first is None:
            return ()
        step, value, loss = self._first
        why = f"val_loss {short(value)} at {step}, {short(self._last)} at {self._last_step}"
        why += f", least {short(self._least)}, while loss {short(loss)} -> {short(self._now)}"
        return (Finding("memorising-noise", "plateau", "warning", step, self._detected, True, why),)


VAL_WINDOW = 16
"""Evaluations in the baseline of the validation loss."""

VAL_ARMED = 12
"""Evaluations before one may be called far off."""

VAL_FAR = 10.0
"""Sigmas above their level: evaluations see the same data each time, so that one far off is no matter of the batch."""

VAL_SHARE = 0.5
"""Share of what validation has gained that this one evaluation must have lost."""

KEPT = 8
"""Such evaluations that are told."""


class ValidationSpike(Detector):
    """One evaluation far off, and the next ones back: the weights of that moment were.

    Above ten sigma of the last 16 evaluations, and half of the gain lost. The first two after a rise of the learning
    rate may be: a restart of the schedule does that. Errs on evaluations of a few random samples.
    """

    def __init__(self) -> None:
        self._recent: deque[float] = deque(maxlen=VAL_WINDOW)
        self._first: float | None = None
        self._least = math.inf
        self._last_step: int | None = None
        self._open: tuple[int, float, float] | None = None
        self._lr: float | None = None
        self._lrs: deque[float] = deque(maxlen=2)
        self._findings: list[Finding] = []

    def update(self, stretch: Stretch) -> None:
        """Exits at once on stretches without an evaluation."""
        if not stretch.val.values:
            self._lr = stretch.lr.values[-1] if stretch.lr.values else self._lr
            return
        for step, (value, lr) in stretch.rows("val_loss", "lr"):
            self._lr = lr if lr is not None else self._lr
            if value is None:
                continue
            if step != self._last_step and not stretch.course.silent:
                self._evaluate(step, value)
                self._lrs.extend(() if self._lr is None else (self._lr,))
            self._last_step = step

    def _evaluate(self, step: int, value: float) -> None:
        self._first = value if self._first is None else self._first
        if len(self._recent) >= VAL_ARMED:
            level = level_of(self._recent)
            far = level.z(value) > VAL_FAR and value - level.middle > VAL_SHARE * (self._first - self._least)
            if self._open is not None and not far:
                if len(self._findings) < KEPT:
                    self._findings.append(self._told(step))
                self._open = None
            if far and self._lr is not None and self._lr > LR_RISE * min(self._lrs, default=math.inf):
                return
            if far:
                self._open = (step, level.middle, value) if self._open is None else self._open
                return
        self._recent.append(value)
        self._least = min(self._least, value)

    def _told(self, ended: int | None) -> Finding:
        step, level, value = self._open if self._open is not None else (0, 0.0, 0.0)
        why = f"val_loss {short(level)} -> {short(value)} at {step}" + (
            f", back at {ended}" if ended is not None else ""
        )
        return Finding("loss-spike", "spike", "warning", step, step, ended is None, why, ended)

    def rewind(self, step: int, course: Course) -> None:
        """A resumed run finds its level anew."""
        self._open = None
        self._recent.clear()
        self._lrs.clear()

    @property
    def findings(self) -> Sequence[Finding]:
        """Only those that came back: an evaluation that stays off is told by the other rows."""
        return self._findings
