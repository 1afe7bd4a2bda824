"""Runs that give back what they had learned, and come to rest there."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import deque
from collections.abc import Sequence
from dataclasses import replace
from operator import sub
from typing import NamedTuple

from tuimon.record import Mark
from tuimon.signatures.course import LR_RISE, Course
from tuimon.signatures.evaluated import Evaluations
from tuimon.signatures.finding import Finding
from tuimon.signatures.growth import FAR, NEAR, short
from tuimon.signatures.stretch import Detector, Stretch
from tuimon.stats import MAD_TO_SIGMA, median

POINTS = 16
"""Losses in a sample: its median is known to a third of their noise, and one wild record does not move it."""

GIVEN_BACK = 0.5
"""Share of the progress above the best sample that is lost ground."""

REGAINED = 0.25
"""Share below which the ground is regained."""

LASTS = 12
"""Samples on lost ground, 192 losses: catapults, restarts of a schedule and changes of data are back before."""

RECENT, FALLING = 4, 0.1
"""A loss that is coming back loses a tenth of its height from four samples to the next four."""

CLIMBING = 1.5
"""Times its first height on lost ground at which a loss goes on rising, where one that jumped rests."""

AT_ONCE = 4
"""Samples within which the ground is lost in a jump; more of them are a creep."""

KEPT = 8
"""Findings kept that are over."""

REMEMBERED = 64
"""Best samples kept: a rewind over more of them starts anew."""

SCATTER = 32
"""Samples off lost ground whose medians say, with the last ones on it, how far they wander."""

SMOOTH_TIMES = 4.0
"""Times as far of a running mean, of which one sample says little about the next but one."""

YOUNG = 4
"""Samples from the start within which a best sample is one of a run that never held what it learned."""


class Sample(NamedTuple):
    """Sixteen losses in a row.

    Attributes:
        number: how many samples there were before.
        end: step of the last one.
        middle, noise: their median, and the scale of single ones (NaN where it is not asked for: above the best).
        lr, peak: the learning rate there, and the highest one so far; None and 0.0 where not logged.
    """

    number: int
    end: int
    middle: float
    noise: float
    lr: float | None
    peak: float


class GivenBack(Detector):
    """The loss has lost more than half of its progress, for 192 records, and is not on its way back.

    Excursions compare with the last 64 records and with the start of the run. The commonest end of a divergence in
    classification lies between: the network forgets, and rests near the loss of a uniform guess. Here medians of 16
    losses are compared with the best of them: lost ground is half of the way back to the first losses, and 3 sigmas of
    single losses, which is 9 of a median, and 8 sigmas of the medians themselves, where neighbouring losses are not
    independent; what had been learned must be as much. It is `lr-too-high` where the learning rate had risen or the
    best lies within the first 64 losses, `unrecovered-spike` after a jump to where it rests, `slow-divergence` else;
    dated where the loss was last near its best. Not told while the learning rate is above that of the best sample but
    not above its earlier peak: a schedule does that. A warning while validation holds its ground. Errs on data that
    become harder for good where nothing is evaluated.
    """

    def __init__(self) -> None:
        self._first = math.nan
        self._lr: float | None = None
        self._peak = 0.0
        self._samples = 0
        self._bests: deque[Sample] = deque(maxlen=REMEMBERED)
        self._over: deque[Finding] = deque(maxlen=KEPT)
        self._evaluations = Evaluations()
        self._restart()

    def _restart(self) -> None:
        self._points: list[float] = []
        self._near: Sample | None = None
        self._middles: deque[float] = deque(maxlen=SCATTER)
        self._begun: list[float] = []
        self._heights: list[float] = []
        self._lost = 0
        self._finding: Finding | None = None

    def update(self, stretch: Stretch) -> None:
        """Cuts the losses in samples, wherever the stretch ends."""
        values, lrs = stretch.loss.values, stretch.lr
        val, taken, start = stretch.val, 0, self._pass_over(stretch)
        while start < len(values):
            end = min(len(values), start + POINTS - len(self._points))
            self._points.extend(values[start:end])
            if len(self._points) == POINTS:
                step = stretch.loss.steps[end - 1]
                known = bisect_right(lrs.steps, step)
                if self._finding is not None or self._lost + 1 >= LASTS:  # else nobody asks for them yet
                    until = taken
                    while until < len(val.steps) and val.steps[until] < step:  # what any reading has brought before
                        until += 1
                    self._evaluations.extend(val.steps[taken:until], val.values[taken:until])
                    taken = until
                self._take(self._sample(step, lrs.values[known - 1] if known else self._lr), stretch.course)
                self._points = []
            start = end
        self._evaluations.extend(val.steps[taken:], val.values[taken:])
        if lrs.values:
            self._lr = lrs.values[-1]

    def _pass_over(self, stretch: Stretch) -> int:
        """Takes in the samples that are followed by another on safe ground, as long as none of them is the best.

        Returns:
            How many losses of the stretch they hold: none where some loss may lie on lost ground.
        """
        loss, lrs = stretch.loss, stretch.lr.values
        held = len(self._points)
        count = (held + len(loss.values)) // POINTS - 1
        if count < 1 or self._finding is not None or not self._bests or (lrs and max(lrs) > self._peak):
            return 0
        best = self._bests[-1].middle
        if loss.high - best > REGAINED * (self._first - best):
            return 0
        losses = [*self._points, *loss.values]
        middles = [median(losses[i : i + POINTS]) for i in range(0, count * POINTS, POINTS)]
        if min(middles) <= best:
            count = next(i for i, middle in enumerate(middles) if middle <= best)
        if count == 0:
            return 0
        self._middles.extend(middles[:count])
        self._samples += count
        self._lost, self._points = 0, []
        return count * POINTS - held

    def _sample(self, step: int, lr: float | None) -> Sample:
        points = self._points
        if self._samples == 0:
            self._first = median(points[:5])
        middle, noise = median(points), math.nan
        if not self._bests or middle <= self._bests[-1].middle:
            # From differences, so that a fall within the sample is not taken for noise.
            noise = MAD_TO_SIGMA * median(map(abs, map(sub, points[1:], points))) / math.sqrt(2.0)
        self._peak = max(self._peak, lr or 0.0)
        self._samples += 1
        return Sample(self._samples - 1, step, middle, noise, lr, self._peak)

    def _take(self, sample: Sample, course: Course) -> None:
        if not self._bests or sample.middle <= self._bests[-1].middle:
            self._bests.append(sample)
        best = self._bests[-1]
        progress, height = self._first - best.middle, sample.middle - best.middle
        if self._near is None or height <= REGAINED * progress:
            self._near = sample
            self._end(sample.end)
        least = NEAR * best.noise
        lost = height > max(GIVEN_BACK * progress, least) and progress > least
        if not lost or course.silent or _scheduled(sample, best):
            self._lost = 0
            self._middles.append(sample.middle)
            return
        self._lost += 1
        self._begun = (
            [*self._begun, height] if 1 < self._lost <= RECENT else self._begun if self._lost > 1 else [height]
        )
        self._heights = [*self._heights[1 - 2 * RECENT :], height]
        if self._finding is None and self._lost >= LASTS and not self._comes_back():
            far = min(height, progress) > self._wander(course)
            self._finding = self._told(sample, best, self._near) if far else None
        if self._finding is not None:
            holds = self._evaluations.hold(self._near.end, progress)
            self._finding = replace(self._finding, severity="warning" if holds else "failure")

    def _wander(self, course: Course) -> float:
        """How far the medians go by themselves; from second differences, so that a fall is not taken for it."""
        bends = [
            abs(a - 2.0 * b + c)
            for middles in (list(self._middles), self._heights)
            for a, b, c in zip(middles, middles[1:], middles[2:], strict=False)
        ]
        times = SMOOTH_TIMES if course.smooth else 1.0
        return times * FAR * MAD_TO_SIGMA * median(bends) / math.sqrt(6.0)

    def _end(self, step: int | None) -> None:
        if self._finding is not None:
            self._over.append(replace(self._finding, active=False, ended_step=step))
            self._finding = None

    def _comes_back(self) -> bool:
        """The last four samples lie clearly under the four before."""
        earlier, later = sum(self._heights[:RECENT]), sum(self._heights[RECENT:])
        return earlier - later > FALLING * earlier

    def _climbs(self) -> bool:
        """The last four samples lie clearly above the first four on lost ground."""
        return sum(self._heights[RECENT:]) > CLIMBING * sum(self._begun)

    def _told(self, sample: Sample, best: Sample, near: Sample) -> Finding:
        raised = best.lr is not None and sample.lr is not None and sample.lr > LR_RISE * best.lr
        jumped = sample.number - self._lost - near.number < AT_ONCE and not self._climbs()
        signature = "unrecovered-spike" if jumped else "slow-divergence"
        if raised or best.number < YOUNG:
            signature = "lr-too-high"
        share = 100 * (sample.middle - best.middle) / (self._first - best.middle)
        why = (
            f"loss {short(self._first)} -> {short(best.middle)} at {best.end} -> {short(sample.middle)} at {sample.end}"
        )
        why += f": {share:.0f} % of its progress given back, for {self._lost * POINTS} records"
        if sample.lr is not None:
            why += f", lr {short(best.lr)} -> {short(sample.lr)}" if raised and best.lr else f", lr {short(sample.lr)}"
        return Finding(signature, "divergence", "failure", near.end, sample.end, True, why)

    def mark(self, mark: Mark, course: Course) -> None:
        """A restart of the file is another run; a header alone goes on with this one."""
        if mark.kind == "restart":
            self.rewind(0, course)

    def rewind(self, step: int, course: Course) -> None:
        """What the overtaken pass had reached is no measure for the one that goes on earlier."""
        self._end(course.last_step)
        self._evaluations.rewind()
        while self._bests and self._bests[-1].end >= step:
            self._bests.pop()
        if course.first_step is None or step <= course.first_step:
            self._samples = 0
            self._peak = 0.0
        self._restart()

    @property
    def findings(self) -> Sequence[Finding]:
        """The grounds lost and regained, and what is lost now."""
        return (*self._over, self._finding) if self._finding is not None else tuple(self._over)


def _scheduled(sample: Sample, best: Sample) -> bool:
    """The learning rate has come back to where it was before the best sample, and so may the loss."""
    if sample.lr is None or best.lr is None:
        return False
    return LR_RISE * best.lr < sample.lr <= LR_RISE * best.peak and best.peak > LR_RISE * best.lr
