"""Fit: what the validation loss says beside the training loss."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from tuimon.signatures.course import Course
from tuimon.signatures.finding import Finding
from tuimon.signatures.growth import short
from tuimon.signatures.stretch import Detector, Stretch
from tuimon.stats import Level, mann_kendall, median

RECENT = 64
"""Evaluations that are kept for a look back from the end."""

ENDING = 0.9
"""Share of the declared steps from which the end of the run is near."""

STILL = 0.02
"""Share of all progress that the last quarter must have brought."""


FALLING = -2.5
"""Mann-Kendall score of the last evaluations that makes a fall: six of six in order have -2.6."""

EVALUATED = 6
"""Evaluations that must show it."""


class Undertrained(Detector):
    """The loss still falls at the end of the declared steps: more steps would have helped. Not a failure.

    From nine tenths of the declared steps on: the training loss, from the first block of the last quarter to its last,
    by 2 % of all progress and three standard errors; or the validation loss, which has no noise of batches, by 2 % of
    what it has gained, over six evaluations in order and the last quarter of the steps.
    """

    def __init__(self) -> None:
        self._finding: Finding | None = None
        self._first: float | None = None
        self._recent: deque[tuple[int, float]] = deque(maxlen=RECENT)

    def update(self, stretch: Stretch) -> None:
        """Keeps the last evaluations."""
        if stretch.val.values:
            self._first = stretch.val.values[0] if self._first is None else self._first
            self._recent.extend(zip(stretch.val.steps, stretch.val.values, strict=True))

    def renewed(self, course: Course) -> None:
        """Looks at the last quarter of the run."""
        self._finding = None
        total, blocks = course.meta.get("total_steps"), course.outline.blocks
        if not isinstance(total, int) or course.silent or not blocks or blocks[-1].last < ENDING * total:
            return
        falls = self._training(course) or self._validation(blocks[-1].last)
        if falls is not None:
            onset, why = falls
            why += f" over the last quarter, from step {onset}"
            self._finding = Finding("undertrained", "overfit", "note", onset, blocks[-1].last, True, why)

    def _training(self, course: Course) -> tuple[int, str] | None:
        blocks = course.outline.blocks
        quarter = blocks[-(len(blocks) // 4) :]
        if len(quarter) < 2 or len(blocks) < 8:
            return None
        start, end = quarter[0].mean, quarter[-1].mean
        error = (quarter[0].spread ** 2 / quarter[0].count + quarter[-1].spread ** 2 / quarter[-1].count) ** 0.5
        progress = course.origin - end
        if progress <= 0.0 or start - end <= max(STILL * progress, 3 * error):
            return None
        return quarter[0].first, f"loss {short(start)} -> {short(end)}"

    def _validation(self, last: int) -> tuple[int, str] | None:
        quarter = [(step, value) for step, value in self._recent if step >= 0.75 * last]
        falling = [value for _, value in list(self._recent)[-max(EVALUATED, len(quarter)) :]]
        if self._first is None or len(quarter) < 2 or len(falling) < EVALUATED or mann_kendall(falling) > FALLING:
            return None
        (onset, start), (_, end) = quarter[0], quarter[-1]
        if start - end <= STILL * max(self._first - end, 0.0):
            return None
        return onset, f"val_loss {short(start)} -> {short(end)}"

    def rewind(self, step: int, course: Course) -> None:
        """The evaluations from there on come again."""
        while self._recent and self._recent[-1][0] >= step:
            self._recent.pop()

    @property
    def findings(self) -> Sequence[Finding]:
        """At most one."""
        return (self._finding,) if self._finding is not None else ()


BELOW = 5
"""Evaluations in a row below the training loss that are no accident of the batches."""

LATELY = 8
"""Evaluations whose distance is taken together, as the spread of 64 losses is known to 10 % only; and the last training
losses that they must lie below too, as those 64 lag behind a loss that falls."""

APART = 0.5
"""Spreads of single losses by which they must lie below, on the whole: three standard errors of the median of 64."""


class ValidationBelowTraining(Detector):
    """The validation loss stays below the training loss: dropout, augmentation, or a leak. Not a failure."""

    def __init__(self) -> None:
        self._run = 0
        self._since = 0
        self._last: tuple[int, float, float] | None = None
        self._losses: deque[float] = deque(maxlen=LATELY)
        self._apart: deque[tuple[float, float]] = deque(maxlen=LATELY)

    def update(self, stretch: Stretch) -> None:
        """Exits early on stretches without an evaluation."""
        level = stretch.course.level
        if not stretch.val.values or level is None:
            self._losses.extend(stretch.loss.values[-LATELY:])
            return
        if stretch.dense:
            self._take_all(stretch, level)
            return
        for losses, step, value in stretch.evaluations:
            self._losses.extend(losses)
            if value is None:
                continue
            train = min(level.middle, median(self._losses)) if self._losses else level.middle
            if value >= train:
                self._run = 0
                self._apart.clear()
                continue
            self._run += 1
            self._since = step if self._run == 1 else self._since
            self._last = (step, value, train)
            self._apart.append((train - value, level.sigma))

    def _take_all(self, stretch: Stretch, level: Level) -> None:
        """Takes in a dense stretch: only what comes after the last evaluation that is not below matters."""
        values, before = stretch.val.values, len(self._losses)
        losses = [*self._losses, *stretch.loss.values]
        least = min(level.middle, *losses)

        def train(i: int) -> float:
            return min(level.middle, median(losses[max(0, before + i + 1 - LATELY) : before + i + 1]))

        start = len(values)
        while start and (values[start - 1] < least or values[start - 1] < train(start - 1)):
            start -= 1
        if start:
            self._run = 0
            self._apart.clear()
        if start < len(values):
            self._since = self._since if self._run else stretch.steps[start]
            self._run += len(values) - start
            self._last = (stretch.steps[-1], values[-1], train(len(values) - 1))
            for i in range(max(start, len(values) - LATELY), len(values)):
                self._apart.append((train(i) - values[i], level.sigma))
        self._losses.extend(stretch.loss.values)

    @property
    def findings(self) -> Sequence[Finding]:
        """At most one, while it lasts."""
        if self._run < BELOW or self._last is None:
            return ()
        if median([gap for gap, _ in self._apart]) <= APART * median([sigma for _, sigma in self._apart]):
            return ()
        step, value, loss = self._last
        why = f"val_loss {short(value)}, loss {short(loss)}, in {self._run} evaluations from {self._since}"
        return (Finding("val-below-train", "note", "note", self._since, step, True, why),)
