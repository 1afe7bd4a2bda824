"""Overfitting: validation rises while training still falls."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence

from tuimon.signatures.course import BLOCK, Course
from tuimon.signatures.finding import Finding
from tuimon.signatures.growth import short
from tuimon.signatures.overview import PER_LAG, Overview, noise_of
from tuimon.signatures.stretch import Detector, Stretch
from tuimon.stats import level_of, median

EVALUATIONS = 3
"""Evaluations in a row that must agree: one is a fluctuation, and two can be neighbours of one."""

SHARE = 0.05
"""Share of the least validation loss by which it must rise; of how far the run has come where that is below zero."""

GAINED = 0.003
"""Share of what validation has gained that must be lost again: near zero, five percent are nothing."""

NOISE = 3.0
"""Sigmas of the noise of one evaluation by which it must rise."""

TRAINS = 32
"""Training losses whose median says where training stands."""

THEN = 8
"""Evaluations up to the minimum that give the noise at that time, which a schedule may have ended since."""

NOISE_ALONE = 5.0
"""The same where no trend supports it: the minimum of 160 evaluations lies 2.6 below their level already."""

TREND = 2.96
"""Score of the order of the evaluations since the minimum that makes a trend, p < .0015, as every evaluation is a test:
six of six in order have it, or seven of which two neighbours changed places."""

LIKELY = 2.33
"""Least score, p < .01, of validation that rises and of training that falls where the two together are as rare as a
trend beside a training loss that just falls: scores of independent tests add up (Stouffer 1949). At p < .05, twice
as many validation losses that only wander were told."""

RISING = 1.64
"""The same score of the training losses since the minimum from which they rise, p < .05: then nothing is overfitted,
the network gets worse at both."""

FALLEN = 0.93
"""Sigmas of single training losses by which their median of 32 must have fallen since the minimum, three standard
errors of such a difference, 1.25 * sqrt(2 / 32) each: every evaluation is a test."""

FALLING = -2.5
"""Score of the order of those medians since the minimum that does as well."""

LEARNS_NOT = 1.0
"""Sigmas of single training losses above their median at the minimum, four of its standard errors, from which the
training loss has risen again."""


class Overfitting(Detector):
    """The validation loss rises from its minimum while the training loss goes on falling.

    Three evaluations in a row above the minimum by more than 5 % and three sigma of their noise with a trend since
    then (or a likely one, where training falls the more surely), or five sigma of that and of the noise at the minimum;
    with a training loss lower than at the minimum and not on its way up. Dated at the minimum, where the best
    checkpoint is; over when the training loss has risen again as well. Errs on validation sets of a few samples, whose
    loss wanders with the weights.
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
        self._train: deque[float] = deque(maxlen=TRAINS)
        self._trains = Overview()
        self._detected: int | None = None
        self._over: int | None = None
        self._last_step = 0

    def update(self, stretch: Stretch) -> None:
        """Exits at once on stretches without an evaluation."""
        if not stretch.val.values:
            self._train.extend(stretch.loss.values)
            return
        if stretch.dense and stretch.steps[0] > self._last_step and self._first is not None:
            self._take_all(stretch)
            return
        for losses, step, value in stretch.evaluations:
            self._train.extend(losses)
            if value is not None:
                self._evaluate(step, value, stretch.course)

    def _take_all(self, stretch: Stretch) -> None:
        """The same for a dense stretch, from its last minimum on: nothing before is left of it."""
        lower = self._best is None or stretch.val.low < self._best
        if len(stretch) > BLOCK and (lower or self._may_change(stretch, 0)):
            for part in stretch.cut(BLOCK):
                self._take_all(part)
            return
        values, losses = stretch.val.values, stretch.loss.values
        start = 0
        if lower:
            start = values.index(stretch.val.low)
            self._pass_over(stretch, 0, start)
            self._train.append(losses[start])
            self._evaluate(stretch.steps[start], values[start], stretch.course)
            start += 1
        if start < len(values) and self._may_change(stretch, start):
            for i in range(start, len(values)):
                self._train.append(losses[i])
                self._evaluate(stretch.steps[i], values[i], stretch.course)
        else:
            self._pass_over(stretch, start, len(values))

    def _may_change(self, stretch: Stretch, start: int) -> bool:
        """Whether some record from `start` on may find or end a rise, by what is the same for all of them."""
        if self._detected is not None or self._best is None or self._best <= 0.0:
            return True
        count = len(stretch) - start
        if stretch.course.silent or (self._trains.passed >= count and self._trains.trend >= RISING):
            return False
        values = [*self._above, *stretch.val.values[start:]]
        if len(values) < EVALUATIONS:
            return False
        highest = max(map(min, values, values[1:], values[2:]))
        noise = self._values.noise if self._values.passed >= count else 0.0
        if highest <= self._best + max(self._share(None), NOISE * noise):
            return False
        if highest > self._best + NOISE_ALONE * max(noise, self._noise_at_best):
            return self._may_have_fallen(stretch)
        lasts = PER_LAG * (self._since.count + count) >= self._values.count + count
        known = self._since.passed >= count and self._trains.passed >= count
        rises = not known or self._since.trend > TREND or self._apart
        return lasts and rises and self._may_have_fallen(stretch)

    def _may_have_fallen(self, stretch: Stretch) -> bool:
        """Whether the median of 32 losses may be below the one at the minimum within a stretch."""
        losses = sorted([*self._train, *stretch.loss.values])
        return self._train_at_best is not None and losses[len(self._train) // 4] < self._train_at_best

    def _pass_over(self, stretch: Stretch, start: int, end: int) -> None:
        """Takes in records that neither make a minimum nor find or end a rise."""
        values, before = stretch.val.values[start:end], len(self._train)
        losses = [*self._train, *stretch.loss.values[start:end]]

        def train(i: int) -> float:
            return median(losses[max(0, before + i + 1 - TRAINS) : before + i + 1])

        self._values.extend(len(values), values.__getitem__)
        self._since.extend(len(values), values.__getitem__)
        self._trains.extend(len(values), train)
        self._train.extend(losses[before:])
        self._near.extend(values)
        self._above.extend(values)
        if values:
            self._last, self._last_step = values[-1], stretch.steps[end - 1]

    @property
    def _now(self) -> float | None:
        """Where the training loss stands."""
        return median(self._train) if self._train else None

    def _evaluate(self, step: int, value: float, course: Course) -> None:
        if self._last is not None and self._last_step == step:
            return
        if self._first is None:
            self._first, self._highest = value, self._now
        self._values.append(value)
        self._near.append(value)
        self._last, self._last_step = value, step
        if self._best is None or value < self._best:
            self._best, self._best_step, self._train_at_best = value, step, self._now
            self._noise_at_best = noise_of(self._near, 1) if len(self._near) == THEN + 2 else 0.0
            self._above.clear()
            self._since, self._trains = Overview(), Overview()
            self._detected = self._over = None
            return
        self._above.append(value)
        self._since.append(value)
        if self._train:
            self._trains.extend(1, lambda _: median(self._train))
        self._hold(step)
        self._rise(step, value, course)

    def _rise(self, step: int, value: float, course: Course) -> None:
        """Asks whether validation has risen, or is back at its minimum, when more than a detail of it has changed."""
        least, share = self._best or 0.0, self._share(self._now if (self._best or 0.0) <= 0.0 else None)
        lowest = min(self._above)
        risen = len(self._above) == EVALUATIONS and lowest > least + share
        if risen is (self._detected is not None) or (risen and course.silent):
            return
        noise = self._values.noise
        if not risen:
            if value <= least + max(share, NOISE * noise):
                self._detected = self._over = None
        elif lowest > least + NOISE * noise:
            alone = lowest > least + NOISE_ALONE * max(noise, self._noise_at_best)
            lasts = PER_LAG * self._since.count >= self._values.count
            lasts = alone or (lasts and (self._since.trend > TREND or self._apart))
            if lasts and self._trains.trend < RISING and self._falls(self._now):
                self._detected = step

    @property
    def _apart(self) -> bool:
        """Since the minimum, validation is likely to rise and training to fall, which is sure of both together."""
        rise, fall = self._since.trend, -self._trains.trend
        return min(rise, fall) > LIKELY and rise + fall > TREND - FALLING

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
        return fallen or self._trains.trend < FALLING or self._apart

    def _hold(self, step: int) -> None:
        """Ends what was told when the training loss has risen as well."""
        if self._detected is None or self._train_at_best is None or not self._train:
            return
        train = median(self._train)
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
