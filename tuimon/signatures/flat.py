"""Losses that stand: they stopped partway, or have never moved."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence

from tuimon.formulas import uniform_loss
from tuimon.signatures.course import Course
from tuimon.signatures.finding import Finding, Severity
from tuimon.signatures.fit import ENDING
from tuimon.signatures.floor import noise_floor
from tuimon.signatures.growth import short
from tuimon.signatures.outline import Block
from tuimon.signatures.plateau import LN_SHARE, STOPPED, classes
from tuimon.signatures.stretch import Detector, Stretch
from tuimon.stats import median, rank_sum

STOPPED_RECORDS, STOPPED_SHARE = 500, 0.5
"""Steps for which the rate must be gone, and that share of the run: the last stairs of a schedule are shorter."""

FALLING = 0.05
"""Share of all progress that a loss makes within two blocks while it is still on its way."""

ALIVE = 0.5
"""Share of its start below which the gradient norm says that the run is converging."""

OCTAVE = 0.012
"""Share of all progress that half of the run must bring: runs that still learn bring two percent or more."""

SMOOTH_NOISE = 0.005
"""Greatest noise, as a share of the progress, in which so small a progress can be seen at all."""

FAR_FROM_DONE = 5e-3
"""Share of the first loss below which a flat loss has simply arrived."""

CONVERGING = 0.05
"""Share of itself that a loss loses in half of the run while it goes on converging, however little that is of all
progress."""

OCTAVES_AT_LEAST = 3
"""Renewals of the course before a run has halves to compare."""


NEVER_RECORDS, NEVER_BLOCKS = 512, 12
"""Losses and blocks of them after which a loss that has never moved can be told from a slow start."""

FALLEN, RISEN = 1.64, -2.5
"""Scores of the rank sum of the first third against the last beyond which the loss has fallen or risen: of losses that
fall, however slowly, nearly all blocks at the end lie under those at the start."""

NEVER_BETTER = 1.0
"""Spreads of single losses that no block may lie under the first one."""

STARTS = 10
"""Records after step 0 from which on a log may begin in the middle of a training, where the loss may stand for good."""

EVALUATIONS, VAL_BETTER = 3, 0.02
"""Evaluations compared at both ends, and the share of the first ones by which the last ones may be better; nor by more
than the spread of single losses, which means the same in any unit."""


_Told = tuple[int, str, Severity]


class FlatMidway(Detector):
    """The loss stands: it fell, and then for half of the run it did not; or it has never moved at all.

    Three cases of the first can be told from noise and from convergence. The learning rate has fallen a hundredfold
    and stayed there for 500 steps and half of the run (a warning where the loss no longer fell when the rate did).
    Or the loss is smooth, the last two halvings of the run brought less than 1.2 % of all progress each and the
    last one less than 5 % of what is left, the gradient is not known to have died away, and the loss is not within
    half a percent of zero. Or it rests on the noise of its gradients, at the height that the rate and the gradient
    norm give (see floor.py; plain gradient descent and momentum only, where they are declared), and the rate has
    not fallen by the end; where no end is declared this is a note. It has never moved, which is a warning, when
    after 512 losses the last third of the run is as likely above as below the first third (Mann and Whitney 1947),
    no block lies a spread under the first, and validation did not improve; not where the loss is a tenth under the
    uniform guess of the declared classes from the start. Errs on tasks whose floor is high where the loss is smooth,
    since a lower bound of the loss is not in the log, and on fine-tuning of what was ready where none are declared.
    """

    def __init__(self) -> None:
        self._finding: Finding | None = None
        self._vals: list[float] = []
        self._last_vals: deque[float] = deque(maxlen=EVALUATIONS)

    def update(self, stretch: Stretch) -> None:
        """Keeps the evaluations at both ends."""
        if stretch.val.values:
            self._vals.extend(stretch.val.values[: EVALUATIONS - len(self._vals)])
            self._last_vals.extend(stretch.val.values)

    def renewed(self, course: Course) -> None:
        """Looks at the outline."""
        before, self._finding = self._finding, None
        blocks = course.outline.blocks
        if course.silent or len(blocks) < OCTAVES_AT_LEAST:
            return
        told = (
            self._stopped(course, blocks)
            or self._smooth(course, blocks)
            or self._never(course, blocks)
            or self._noisy(course, blocks)
        )
        if told is None:
            return
        onset, why, severity = told
        same = before is not None and before.onset_step == onset and before.severity == severity
        detected = before.detected_step if same and before is not None else blocks[-1].last
        missing = "" if "grad_norm" in course.logged else "log grad_norm to tell a noise floor from convergence"
        if severity == "note":
            missing = "declare total_steps in the header: the rate may still be to decay"
        self._finding = Finding("flat-midway", "plateau", severity, onset, detected, True, why, missing=missing)

    def _stopped(self, course: Course, blocks: Sequence[Block]) -> _Told | None:
        """The learning rate is gone, and the loss stands where it stood then."""
        peak = course.lr_peak
        if peak <= 0.0:
            return None
        first = len(blocks)
        while first and (lr := blocks[first - 1].lr) is not None and lr <= peak / STOPPED:
            first -= 1
        if first == len(blocks):
            return None
        # The rate may have fallen as late as at the end of that block: of half of a run, a block is too much.
        after, total = blocks[-1].last - blocks[first].last, blocks[-1].last - blocks[0].first
        if after < max(STOPPED_RECORDS, STOPPED_SHARE * total):
            return None
        level = math.fsum(b.mean * b.count for b in blocks[first:]) / sum(b.count for b in blocks[first:])
        before = blocks[first - 2].mean if first > 1 else course.origin
        fell = before - blocks[first].mean >= FALLING * (course.origin - level)
        # Where no floor is known, a loss that was not falling when the rate went has arrived.
        arrived = level < FAR_FROM_DONE * course.origin if course.origin > 0.0 < level else not fell
        if arrived:
            return None
        lr = blocks[-1].lr or 0.0
        onset = blocks[first].first
        why = f"loss {short(level)} since {onset}, when lr fell from {short(peak)} to {short(lr)}"
        return onset, why, "failure" if fell else "warning"

    def _smooth(self, course: Course, blocks: Sequence[Block]) -> _Told | None:
        count = len(blocks)
        origin, best = max(course.origin, course.first), min(block.mean for block in blocks)
        progress = origin - best
        last = blocks[-1]
        if progress <= 0.0 or best < FAR_FROM_DONE * origin:
            return None
        middle, early = blocks[(count - 1) // 2], blocks[(count - 1) // 4]
        drops = (early.mean - middle.mean, middle.mean - last.mean)
        if count < 4 * OCTAVES_AT_LEAST:
            drops = (drops[1], drops[1])
        if not all(-OCTAVE * progress < drop < OCTAVE * progress for drop in drops):
            return None
        if median([b.spread for b in blocks[count // 2 :]]) > SMOOTH_NOISE * progress:
            return None
        if 0.0 < CONVERGING * last.mean < drops[1]:
            return None
        gns = [block.gn for block in blocks if block.gn is not None]
        if gns and gns[-1] < ALIVE * max(gns[:OCTAVES_AT_LEAST]):
            return None
        onset = next(block for block in blocks if block.mean - last.mean < 2 * OCTAVE * progress)
        why = f"loss {short(onset.mean)} at {onset.first} -> {short(last.mean)} at {last.last}, from {short(origin)}"
        return onset.first, why, "warning"

    def _noisy(self, course: Course, blocks: Sequence[Block]) -> _Told | None:
        """The noise of the gradients holds the loss up, and the rate that makes it so has not fallen by the end."""
        total, floor = course.meta.get("total_steps"), noise_floor(course, blocks)
        if floor is None or (isinstance(total, int) and blocks[-1].last < ENDING * total):
            return None
        why = f"loss {short(floor.level)} since {floor.onset}: at lr {short(blocks[-1].lr or 0.0)} the noise of its"
        why += f" gradients alone holds it up by about {short(floor.height)}"
        return floor.onset, why, "warning" if isinstance(total, int) else "note"

    def _never(self, course: Course, blocks: Sequence[Block]) -> _Told | None:
        """The loss is where it was in the first records."""
        third = len(blocks) // 3
        if sum(block.count for block in blocks) < NEVER_RECORDS or len(blocks) < NEVER_BLOCKS:
            return None
        if blocks[0].first > STARTS * max(1.0, (blocks[0].last - blocks[0].first) / max(blocks[0].count - 1, 1)):
            return None
        count = classes(course)
        if count is not None and blocks[0].mean < LN_SHARE * uniform_loss(count):
            return None  # better than a guess from the first record on: a checkpoint that is trained further
        means = [block.mean for block in blocks]
        first, last = means[:third], means[-third:]
        spread = median([block.spread for block in blocks])
        if means[0] - min(means) > NEVER_BETTER * spread or spread == 0.0 or not RISEN < rank_sum(first, last) < FALLEN:
            return None
        if self._vals:
            then = median(self._vals)
            if then - median(self._last_vals) > min(VAL_BETTER * abs(then), NEVER_BETTER * spread):
                return None
        why = f"loss {short(median(first))} in the first third, {short(median(last))} in the last: it has never moved"
        return blocks[0].first, why, "warning"

    @property
    def findings(self) -> Sequence[Finding]:
        """At most one."""
        return (self._finding,) if self._finding is not None else ()
