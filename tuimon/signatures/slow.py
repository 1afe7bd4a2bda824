"""Divergence and oscillation that show only over many records."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from dataclasses import replace
from operator import gt, lt, sub

from tuimon.record import Mark
from tuimon.signatures.course import LR_RISE, Course
from tuimon.signatures.evaluated import Evaluations
from tuimon.signatures.finding import Finding, Severity
from tuimon.signatures.growth import FAR, short
from tuimon.signatures.outline import Block
from tuimon.signatures.stretch import Detector, Stretch
from tuimon.stats import autocorrelation, mann_kendall

CREEP_RECORDS = 200
"""Losses over which a creep must last: shorter ones are told by the excursions, or pass."""

CREEP_BLOCKS = 7
"""Blocks in which it must show: seven that all rise have a chance of 1 in 5040 under no trend."""

CREEP_SCORE = 2.8
"""Mann-Kendall score of the block means: 3.0 is seven of seven in order, and block means are nearly independent."""

LOST = 0.25
"""Share of the progress that must be lost for a failure; below it is a warning."""

HELD = 0.5
"""Share of its rise down to which a creep counts as going on."""

STEADY_RISE = 0.1
"""Least share of the progress that a creep must have lost to be told at all."""


class SlowDivergence(Detector):
    """The loss creeps up for hundreds of records, without a spike.

    From its best block on, the means of at least seven blocks rise (Mann-Kendall), over 200 records or more, to eight
    standard errors above the best and a tenth of the progress. Not told while the learning rate is above what it was at
    the best block but not above its earlier peak: a restart. A creep that has been told holds, whatever becomes of it,
    until half of its rise is gone: most of them end in leaps. A warning while the evaluations since have lost no
    ground: the data became harder. Errs on such data where nothing is evaluated.
    """

    def __init__(self) -> None:
        self._finding: Finding | None = None
        self._holds_above = math.inf
        self._evaluations = Evaluations()

    def update(self, stretch: Stretch) -> None:
        """Takes in the evaluations."""
        self._evaluations.extend(stretch.val.steps, stretch.val.values)

    def rewind(self, step: int, course: Course) -> None:
        """A resumed run evaluates anew."""
        self._evaluations.rewind()

    def renewed(self, course: Course) -> None:
        """Looks from the best block on."""
        before, self._finding = self._finding, None
        blocks = course.outline.blocks
        if course.silent or not blocks:
            return
        self._judge(course, blocks, before)
        if self._finding is None and before is not None and blocks[-1].mean > self._holds_above:
            held = self._evaluations.hold(before.onset_step, course.progress)
            self._finding = replace(before, severity="warning") if held else before

    def _judge(self, course: Course, blocks: Sequence[Block], before: Finding | None) -> None:
        if len(blocks) <= CREEP_BLOCKS:
            return
        best = min(range(len(blocks)), key=lambda i: blocks[i].mean)
        if best == 0 and course.smooth:
            return  # a running mean begins at one draw, and rises from a lucky one
        rising, last = blocks[best:], blocks[-1]
        progress = max(course.origin - blocks[best].mean, 0.0)
        rise = last.mean - blocks[best].mean
        if len(rising) < CREEP_BLOCKS or sum(block.count for block in rising) < CREEP_RECORDS:
            return
        error = blocks[best].spread / math.sqrt(blocks[best].count)
        if rise < max(FAR * error, STEADY_RISE * progress) or self._restarted(blocks, best):
            return
        # The rise may have begun after some flat blocks: it is dated where the loss last was near its best.
        if mann_kendall([block.mean for block in rising]) < CREEP_SCORE or not self._gradual(rising, rise):
            return
        start = max(i for i, block in enumerate(rising) if block.mean < rising[0].mean + max(2 * error, 0.05 * rise))
        onset = rising[start].last
        severity: Severity = (
            "failure" if rise > LOST * progress and not self._evaluations.hold(onset, progress) else "warning"
        )
        onset = onset if before is None else min(onset, before.onset_step)
        detected = before.detected_step if before is not None else last.last
        why = f"loss {short(rising[0].mean)} -> {short(last.mean)} over steps {onset}-{last.last}, without a spike"
        why += f", lr {short(last.lr)}" if last.lr is not None else ""
        self._finding = Finding("slow-divergence", "divergence", severity, onset, detected, True, why)
        self._holds_above = blocks[best].mean + HELD * rise

    def _gradual(self, rising: Sequence[Block], rise: float) -> bool:
        """No single step from block to block makes more than half of the rise."""
        return max(b.mean - a.mean for a, b in zip(rising, rising[1:], strict=False)) < 0.5 * rise

    def _restarted(self, blocks: Sequence[Block], best: int) -> bool:
        """The learning rate has come back to where it once was."""
        then, now = blocks[best].lr, blocks[-1].lr
        peak = max((block.lr for block in blocks[:best] if block.lr is not None), default=0.0)
        if then is None or now is None or now <= LR_RISE * then:
            return False
        return now <= LR_RISE * peak or best == 0

    @property
    def findings(self) -> Sequence[Finding]:
        """At most one."""
        return (self._finding,) if self._finding is not None else ()


FLIPS = 64
"""Losses in a window of the oscillation test."""

FLIPPING = -0.6
"""Mean lag-1 autocorrelation, about the running mean, of two windows below which the loss alternates: white noise gives
-0.14 +- 0.09, and epochs of three batches -0.5."""

FLIPPING_EACH = -0.5
"""The same for each of the windows: noise reaches it once in 500."""

SPAN = 9
"""Points of the running mean that the loss is compared with, so that a falling or bending loss does not count."""

TURNS = 50
"""Changes of sign in the second differences of a window, of 61, below which it is not looked at closer: white noise has
45, alternation 61, and a trend none."""

WINDOWS = 2
"""Windows in a row that must alternate."""

JITTER = 0.002
"""Least size of the jitter, as a share of the level: a smaller one harms nothing and is not seen in a curve."""


class Oscillation(Detector):
    """The loss jumps from side to side every step and barely improves: the learning rate is just under its limit.

    Lag-1 autocorrelation of the loss about its running mean below -0.6 over two windows of 64 in a row. Seen only where
    every step is logged; in small minibatches the noise of the batches hides it, and this stays silent. Errs on epochs
    of two batches.
    """

    def __init__(self) -> None:
        self._window: list[float] = []
        self._steps: list[int] = []
        self._agreeing = 0
        self._correlation = 0.0
        self._onset = 0
        self._found: Finding | None = None
        self._closed: deque[Finding] = deque(maxlen=8)

    def update(self, stretch: Stretch) -> None:
        """Collects windows of 64 losses."""
        if not stretch.loss.values:
            return
        self._window.extend(stretch.loss.values)
        self._steps.extend(stretch.loss.steps)
        while len(self._window) >= FLIPS:
            self._judge(self._window[:FLIPS], self._steps[:FLIPS], stretch.course)
            del self._window[:FLIPS]
            del self._steps[:FLIPS]

    def _judge(self, window: Sequence[float], steps: Sequence[int], course: Course) -> None:
        if _turns(window) < TURNS:
            self._calm(steps[0])
            return
        half = SPAN // 2
        rest = [window[i] - math.fsum(window[i - half : i + half + 1]) / SPAN for i in range(half, FLIPS - half)]
        correlation = autocorrelation(rest)
        size = math.sqrt(math.fsum([value * value for value in rest]) / len(rest))
        mean = math.fsum(window) / FLIPS
        if correlation >= FLIPPING_EACH or size < JITTER * abs(mean) or course.silent or course.smooth:
            self._calm(steps[0])
            return
        if self._agreeing == 0:
            self._onset = steps[0]
        self._agreeing += 1
        both, self._correlation = 0.5 * (self._correlation + correlation), correlation
        if self._agreeing >= WINDOWS and both < FLIPPING and self._found is None:
            why = f"loss {short(min(window))} to {short(max(window))} from step to step since {self._onset}"
            why += f", lag-1 autocorrelation {correlation:.2f}"
            self._found = Finding("oscillation", "oscillation", "warning", self._onset, steps[-1], True, why)

    def _calm(self, step: int) -> None:
        """The loss does not alternate in the window that begins at `step`."""
        self._agreeing = 0
        if self._found is not None:
            self._closed.append(self._ended(self._found, step))
            self._found = None

    def _ended(self, finding: Finding, step: int) -> Finding:
        return Finding(
            finding.signature, finding.family, finding.severity, finding.onset_step, finding.detected_step, False,
            finding.evidence, step,
        )  # fmt: skip

    def rewind(self, step: int, course: Course) -> None:
        """A new pass starts a new window."""
        self._window, self._steps, self._agreeing = [], [], 0

    def mark(self, mark: Mark, course: Course) -> None:
        """Another process starts a new window."""
        if mark.kind != "note":
            self.rewind(0, course)

    @property
    def findings(self) -> Sequence[Finding]:
        """The oscillations that are over, then the one that goes on."""
        return [*self._closed, self._found] if self._found is not None else list(self._closed)


def _turns(window: Sequence[float]) -> int:
    """Changes of sign in the second differences of a window; where they are too few, an upper bound."""
    changes = list(map(sub, window[1:], window))
    up = bytes(map(gt, changes[1:], changes))
    turns = up.count(b"\0\1") + up.count(b"\1\0")
    if turns < TURNS:
        return turns
    rising = int.from_bytes(up, "big")
    falling = int.from_bytes(map(lt, changes[1:], changes), "big")
    return (rising & falling >> 8 | falling & rising >> 8).bit_count()
