"""Fit: what the validation loss says beside the training loss."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from tuimon.signatures.course import Course
from tuimon.signatures.finding import Finding
from tuimon.signatures.growth import short
from tuimon.signatures.stretch import Detector, Stretch
from tuimon.stats import level_of, mann_kendall, median

EVALUATIONS = 3
"""Evaluations in a row that must agree: one is a fluctuation, and two can be neighbours of one."""

SHARE = 0.05
"""Share of the least validation loss by which it must rise."""

GAINED = 0.003
"""Share of what validation has gained that must be lost again: near zero, five percent are nothing."""

RECENT = 64
"""Evaluations that give the noise."""

BEND_TO_SIGMA = 1.21
"""Standard deviation of a normal series over the median distance of a point from the middle of its neighbours, which a
trend does not enter: 1 / (0.6745 * sqrt(1.5))."""

NOISE = 3.0
"""Sigmas of the noise of one evaluation by which it must rise."""

NOISE_ALONE = 5.0
"""The same where no trend supports it: the minimum of 160 evaluations lies 2.6 below their level already."""

TREND = 3.3
"""Mann-Kendall score of the evaluations since the minimum that makes a trend, p < .0005: every evaluation is a test."""

RISING = 1.64
"""The same score of the training losses since the minimum from which they rise, p < .05: then nothing is overfitted,
the network gets worse at both."""

LEARNS_NOT = 1.0
"""Sigmas of single training losses above their median at the minimum, four of its standard errors, from which the
training loss has risen again."""


class Overfitting(Detector):
    """The validation loss rises from its minimum while the training loss goes on falling.

    Three evaluations in a row above the minimum by more than 5 % and three sigma of their noise (five, without a trend
    since then), with a training loss lower than at the minimum and not on its way up. Dated at the minimum, where the
    best checkpoint is; over when the training loss has risen again as well. Errs on validation sets of a few samples,
    whose noise is not independent from one evaluation to the next.
    """

    def __init__(self) -> None:
        self._first: float | None = None
        self._best: float | None = None
        self._best_step = 0
        self._train_at_best: float | None = None
        self._changes: deque[float] = deque(maxlen=RECENT)
        self._last: float | None = None
        self._older: float | None = None
        self._above: deque[float] = deque(maxlen=EVALUATIONS)
        self._since: deque[float] = deque(maxlen=RECENT)
        self._train: deque[float] = deque(maxlen=32)
        self._trains: deque[float] = deque(maxlen=RECENT)
        self._detected: int | None = None
        self._over: int | None = None
        self._last_step = 0

    def update(self, stretch: Stretch) -> None:
        """Exits at once on stretches without an evaluation."""
        if not stretch.val.values:
            self._train.extend(stretch.loss.values)
            return
        for step, loss, value in stretch.evaluated():
            if loss is not None:
                self._train.append(loss)
            if value is not None:
                self._evaluate(step, value, stretch.course)

    def _evaluate(self, step: int, value: float, course: Course) -> None:
        if self._last is not None and self._last_step == step:
            return
        train = median(self._train) if self._train else None
        if self._first is None:
            self._first = value
        if self._last is not None and self._older is not None:
            self._changes.append(abs(self._last - 0.5 * (self._older + value)))
        self._older, self._last, self._last_step = self._last, value, step
        if self._best is None or value < self._best:
            self._best, self._best_step, self._train_at_best = value, step, train
            self._above.clear()
            self._since.clear()
            self._trains.clear()
            self._detected = self._over = None
            return
        self._above.append(value)
        gained = self._first - self._best
        self._since.append(value)
        noise = BEND_TO_SIGMA * median(self._changes) if self._changes else 0.0
        margin = max(SHARE * abs(self._best), GAINED * gained, NOISE * noise)
        falls = train is not None and self._train_at_best is not None and train < self._train_at_best
        if train is not None:
            self._trains.append(train)
            self._hold(step, train)
        if len(self._above) == EVALUATIONS and min(self._above) > self._best + margin:
            asked = falls and self._detected is None and not course.silent
            if asked and (
                min(self._above) > self._best + NOISE_ALONE * noise or mann_kendall(list(self._since)) > TREND
            ):
                self._detected = step if mann_kendall(list(self._trains)) < RISING else None
        elif value <= self._best + margin:
            self._detected = None

    def _hold(self, step: int, train: float) -> None:
        """Ends what was told when the training loss, of which `train` is the median now, has risen as well."""
        if self._detected is None or self._train_at_best is None:
            return
        risen = train > self._train_at_best + LEARNS_NOT * level_of(self._train).sigma
        self._over = (step if self._over is None else self._over) if risen else None

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
        why += f", risen again at {self._over}" if self._over is not None else ""
        return (
            Finding(
                "overfitting",
                "overfit",
                "warning",
                self._best_step,
                self._detected,
                self._over is None,
                why,
                self._over,
            ),
        )


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


class ValidationBelowTraining(Detector):
    """The validation loss stays below the training loss: dropout, augmentation, or a leak. Not a failure."""

    def __init__(self) -> None:
        self._run = 0
        self._since = 0
        self._last: tuple[int, float, float] | None = None

    def update(self, stretch: Stretch) -> None:
        """Exits at once on stretches without an evaluation."""
        level = stretch.course.level
        if not stretch.val.values or level is None:
            return
        for step, value in zip(stretch.val.steps, stretch.val.values, strict=True):
            if value < level.middle - 0.5 * level.sigma:
                self._run += 1
                self._since = step if self._run == 1 else self._since
                self._last = (step, value, level.middle)
            else:
                self._run = 0

    @property
    def findings(self) -> Sequence[Finding]:
        """At most one, while it lasts."""
        if self._run < BELOW or self._last is None:
            return ()
        step, value, loss = self._last
        why = f"val_loss {short(value)}, loss {short(loss)}, in {self._run} evaluations from {self._since}"
        return (Finding("val-below-train", "note", "note", self._since, step, True, why),)
