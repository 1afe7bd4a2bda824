"""Fit: what the validation loss says beside the training loss."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from tuimon.signatures.course import Course
from tuimon.signatures.finding import Finding
from tuimon.signatures.growth import short
from tuimon.signatures.stretch import Detector, Stretch
from tuimon.stats import median

EVALUATIONS = 3
"""Evaluations in a row that must agree: one is a fluctuation, and two can be neighbours of one."""

SHARE = 0.05
"""Share of what validation has gained that must be lost again."""

RECENT = 64
"""Evaluations whose changes give the noise."""


class Overfitting(Detector):
    """The validation loss rises from its minimum while the training loss goes on falling.

    Three evaluations in a row above the minimum by more than 5 % of what validation had gained and more than twice its
    median change, with a training loss lower than at the minimum. Dated at the minimum, where the best checkpoint is.
    Errs on validation sets of a few samples, whose noise is not independent from one evaluation to the next.
    """

    def __init__(self) -> None:
        self._first: float | None = None
        self._best: float | None = None
        self._best_step = 0
        self._train_at_best: float | None = None
        self._changes: deque[float] = deque(maxlen=RECENT)
        self._last: float | None = None
        self._above: deque[float] = deque(maxlen=EVALUATIONS)
        self._train: deque[float] = deque(maxlen=32)
        self._detected: int | None = None
        self._last_step = 0

    def update(self, stretch: Stretch) -> None:
        """Exits at once on stretches without an evaluation."""
        if not stretch.val.values:
            self._train.extend(stretch.loss.values)
            return
        losses = iter(zip(stretch.loss.steps, stretch.loss.values, strict=True))
        upcoming = next(losses, None)
        for step, value in zip(stretch.val.steps, stretch.val.values, strict=True):
            while upcoming is not None and upcoming[0] <= step:
                self._train.append(upcoming[1])
                upcoming = next(losses, None)
            self._evaluate(step, value, stretch.course)
        while upcoming is not None:
            self._train.append(upcoming[1])
            upcoming = next(losses, None)

    def _evaluate(self, step: int, value: float, course: Course) -> None:
        if self._last is not None and self._last_step == step:
            return
        train = median(self._train) if self._train else None
        if self._first is None:
            self._first = value
        if self._last is not None:
            self._changes.append(abs(value - self._last))
        self._last, self._last_step = value, step
        if self._best is None or value < self._best:
            self._best, self._best_step, self._train_at_best = value, step, train
            self._above.clear()
            self._detected = None
            return
        self._above.append(value)
        gained = self._first - self._best
        margin = max(SHARE * gained, 2.0 * median(self._changes) if self._changes else 0.0)
        falls = train is not None and self._train_at_best is not None and train < self._train_at_best
        if len(self._above) == EVALUATIONS and min(self._above) > self._best + margin:
            if falls and self._detected is None and not course.silent:
                self._detected = step
        elif value <= self._best + margin:
            self._detected = None

    def rewind(self, step: int, course: Course) -> None:
        """A rewind past the minimum, as another run in the same file makes it, starts anew."""
        if step <= self._best_step:
            self.__init__()  # type: ignore[misc]

    @property
    def findings(self) -> Sequence[Finding]:
        """At most one, for the last minimum."""
        if self._detected is None or self._best is None or self._last is None:
            return ()
        why = f"val_loss {short(self._best)} at {self._best_step} -> {short(self._last)} at {self._last_step}"
        if self._train_at_best is not None and self._train:
            why += f" while loss {short(self._train_at_best)} -> {short(median(self._train))}"
        return (Finding("overfitting", "overfit", "warning", self._best_step, self._detected, True, why),)
