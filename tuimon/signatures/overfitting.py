"""Overfitting: validation rises while training still falls."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable, Sequence

from tuimon.signatures.course import Course
from tuimon.signatures.finding import Finding
from tuimon.signatures.growth import short
from tuimon.signatures.stretch import Detector, Stretch
from tuimon.stats import level_of, mann_kendall, median, thinned

EVALUATIONS = 3
"""Evaluations in a row that must agree: one is a fluctuation, and two can be neighbours of one."""

SHARE = 0.05
"""Share of the least validation loss by which it must rise; of how far the run has come where that is below zero."""

GAINED = 0.003
"""Share of what validation has gained that must be lost again: near zero, five percent are nothing."""

ROOM = 128
"""Evaluations that are kept of a run, evenly spaced: they give its noise and its trends."""

PARTS = 12
"""Parts since the minimum whose means make a trend: neighbours see nearly the same weights, and wander together."""

LAGS = (1, 2, 4, 8)
"""Kept evaluations between the points of which noise is taken: what wanders slowly shows only further apart."""

PER_LAG = 8
"""Times a lag that there must be evaluations: the bend of a trend is small over an eighth of it. And a trend since the
minimum must last for that share of the run, as what wanders comes back from its extremes."""

BEND_TO_SIGMA = 1.21
"""Standard deviation of a normal series over the median distance of a point from the middle of its neighbours, which a
trend does not enter: 1 / (0.6745 * sqrt(1.5))."""

NOISE = 3.0
"""Sigmas of the noise of one evaluation by which it must rise."""

THEN = 8
"""Evaluations up to the minimum that give the noise at that time, which a schedule may have ended since."""

NOISE_ALONE = 5.0
"""The same where no trend supports it: the minimum of 160 evaluations lies 2.6 below their level already."""

TREND = 3.0
"""Mann-Kendall score of the evaluations since the minimum that makes a trend, p < .0015: every evaluation is a test."""

RISING = 1.64
"""The same score of the training losses since the minimum from which they rise, p < .05: then nothing is overfitted,
the network gets worse at both."""

FALLEN = 0.93
"""Sigmas of single training losses by which their median of 32 must have fallen since the minimum, three standard
errors of such a difference, 1.25 * sqrt(2 / 32) each: every evaluation is a test."""

FALLING = -2.5
"""Mann-Kendall score of those medians since the minimum that does as well."""

LEARNS_NOT = 1.0
"""Sigmas of single training losses above their median at the minimum, four of its standard errors, from which the
training loss has risen again."""


class Overview:
    """At most 128 values, evenly spaced over all that have come: every first, second, fourth, ... of them."""

    def __init__(self) -> None:
        self.values: list[float] = []
        self.count = 0
        self._stride = 1

    def append(self, value: float) -> None:
        """Takes in the next value."""
        if self.count % self._stride == 0:
            self.values.append(value)
        self.count += 1
        if len(self.values) == ROOM:
            del self.values[1::2]
            self._stride *= 2

    @property
    def trend(self) -> float:
        """Mann-Kendall score of the means of twelve parts."""
        return mann_kendall(thinned(self.values, PARTS))


class Overfitting(Detector):
    """The validation loss rises from its minimum while the training loss goes on falling.

    Three evaluations in a row above the minimum by more than 5 % and three sigma of their noise with a trend since
    then, or five sigma of that and of the noise at the minimum; with a training loss lower than at the minimum and not
    on its way up. Dated at the minimum, where the best checkpoint is; over when the training loss has risen again as
    well. Errs on validation sets of a few samples, whose loss wanders with the weights.
    """

    def __init__(self) -> None:
        self._first: float | None = None
        self._best: float | None = None
        self._best_step = 0
        self._train_at_best: float | None = None
        self._noise_at_best = 0.0
        self._highest: float | None = None
        self._values = Overview()
        self._last: float | None = None
        self._near: deque[float] = deque(maxlen=THEN + 2)
        self._above: deque[float] = deque(maxlen=EVALUATIONS)
        self._since = Overview()
        self._train: deque[float] = deque(maxlen=32)
        self._trains = Overview()
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
            self._first, self._highest = value, train
        self._values.append(value)
        self._near.append(value)
        self._last, self._last_step = value, step
        if self._best is None or value < self._best:
            self._best, self._best_step, self._train_at_best = value, step, train
            self._noise_at_best = _noise(self._near, 1) if len(self._near) == THEN + 2 else 0.0
            self._above.clear()
            self._since, self._trains = Overview(), Overview()
            self._detected = self._over = None
            return
        self._above.append(value)
        self._since.append(value)
        if train is not None:
            self._trains.append(train)
            self._hold(step, train)
        self._rise(step, value, train, course)

    def _rise(self, step: int, value: float, train: float | None, course: Course) -> None:
        """Asks whether validation has risen, or is back at its minimum, when more than a detail of it has changed."""
        least, share = self._best or 0.0, self._share(train)
        risen = len(self._above) == EVALUATIONS and min(self._above) > least + share
        asked = risen and self._detected is None and not course.silent and self._falls(train)
        if not asked and (risen or self._detected is None):
            return
        noise = max(_noise(self._values.values, lag) for lag in LAGS)
        if asked and min(self._above) > least + NOISE * noise:
            alone = min(self._above) > least + NOISE_ALONE * max(noise, self._noise_at_best)
            lasts = PER_LAG * self._since.count >= self._values.count
            if (alone or (lasts and self._since.trend > TREND)) and self._trains.trend < RISING:
                self._detected = step
        elif value <= least + max(share, NOISE * noise):
            self._detected = None

    def _share(self, train: float | None) -> float:
        """The rise of validation that is more than a detail, whatever the noise."""
        if self._best is None or self._first is None:
            return math.inf
        gained = self._first - self._best
        came = 0.0 if train is None or self._highest is None else self._highest - train
        return max(SHARE * (self._best if self._best > 0.0 else max(gained, came)), GAINED * gained)

    def _falls(self, train: float | None) -> bool:
        """The training loss has fallen since the minimum of validation, and not by the luck of its batches."""
        if train is None or self._train_at_best is None or train >= self._train_at_best:
            return False
        fallen = self._train_at_best - train > FALLEN * level_of(self._train).sigma
        return fallen or self._trains.trend < FALLING

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


def _noise(values: Iterable[float], lag: int) -> float:
    """Sigma of one of the `values` about those `lag` before and after it; zero where there are too few to say."""
    line = list(values)
    if len(line) < 3 or (lag > 1 and len(line) < PER_LAG * lag):
        return 0.0
    triples = zip(line, line[lag:], line[2 * lag :], strict=False)
    return BEND_TO_SIGMA * median([abs(middle - 0.5 * (before + after)) for before, middle, after in triples])
