"""The divergence family: losses that leave their level, and whether they come back."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from dataclasses import replace

from tuimon.record import Mark
from tuimon.signatures.course import BLOCK, WINDOW, Course
from tuimon.signatures.evaluated import Evaluations
from tuimon.signatures.excursion import SHARE, Excursion
from tuimon.signatures.finding import Finding
from tuimon.signatures.growth import FAR, NEAR
from tuimon.signatures.stretch import Detector, Stretch
from tuimon.stats import Level, poisson_tail

KEPT = 32
"""Excursions kept that are over: the first ones and the last ones of a run that has more."""

HIGH, CROWD, CROWD_SPAN = 4.0, 3, 6
"""Three of six records above 4 sigma open an excursion as well: where single ones come once in 300 records, as on
heavy tails, three in six come once in a million. Each must lose a quarter of the progress."""

LONE = 100.0
"""Sigma above which one record alone opens an excursion, where it is worse than the start of the run as well."""

CLUSTER = 4
"""Fewest spikes that make a cluster."""

RISES = 6
"""Records of which each is above the one before: chance orders six so once in 720. A climb is dated at their first."""

OFTENER = 3.0
"""Least ratio of the recent rate of spikes to the earlier one."""

RARE = 0.01
"""Probability, under the earlier rate, below which the recent spikes are no accident."""


class Excursions(Detector):
    """Losses that leave their level: spikes that come back, and divergences that do not.

    Two records in a row above 8 sigma of the last 64 open an excursion (on 339,850 healthy public steps a single one
    occurs 651 times, two in a row never), or three of six above 4 sigma, or one above 100 that is worse than the start
    of the run; it is over when two in a row are back within
    3 sigma. Six in a row above 8 sigma that lose a quarter of the progress, or a median of five above the start of the
    run, are a divergence: a climb or a raised learning rate is lr-too-high, a step up with an ordinary gradient a
    level-jump, a jump that stays open for 200 records an unrecovered spike. Baselines leave excursions out. Thresholds
    are in units of the run's own noise and progress, so nothing changes when the loss is scaled or shifted.

    Running means show every wide batch as a spike, so they have none, and need ten times as many records in a row.
    Errs on schedules that raise the loss on purpose without logging the learning rate; silent on losses that are not
    meant to fall.
    """

    def __init__(self) -> None:
        self._open: Excursion | None = None
        self._left: tuple[int, float, float] | None = None
        self._left_level: Level | None = None
        self._left_at = 0
        self._gn: float | None = None
        self._lr: float | None = None
        self._run = 0
        self._previous = math.nan
        self._rise = (0, 0, math.nan)
        self._climb: int | None = None
        self._seen = 0
        self._highs: deque[tuple[int, int, float, float]] = deque(maxlen=CROWD)
        self._findings: deque[Finding] = deque(maxlen=KEPT)
        self._spikes: deque[int] = deque(maxlen=2 * CLUSTER)
        self._spike_count = 0
        self._cluster: Finding | None = None
        self._evaluations = Evaluations()
        self._first_step: int | None = None

    def update(self, stretch: Stretch) -> None:
        """Exits at once where the loss stays within 3 sigma."""
        loss, level = stretch.loss, stretch.course.level
        if self._open is None and (not loss.values or level is None or self._is_calm(loss.high, level)):
            self._pass_over(stretch)
            return
        if len(stretch) <= BLOCK:
            self._take_all(stretch, level)
            return
        for part in stretch.cut(BLOCK):
            self.update(part)

    def _take_all(self, stretch: Stretch, level: Level | None) -> None:
        """Looks at every loss of a stretch that is not calm."""
        if self._first_step is None:
            self._first_step = stretch.course.first_step
        for i, (step, (loss_here, gn, lr, val)) in enumerate(stretch.rows("loss", "grad_norm", "lr", "val_loss")):
            self._lr = lr if lr is not None else self._lr
            if val is not None:
                self._evaluations.take(step, val)
            if gn is not None:
                self._gn = gn
                if self._open is not None:
                    self._open.take_gn(gn)
            if loss_here is None:
                continue
            self._seen += 1
            if self._open is not None:
                if self._open.take(step, loss_here):
                    self._close(step, stretch.course)
            else:
                self._follow(step, loss_here)
                if level is not None:
                    recent = stretch.index + i < stretch.course.quiet_until
                    self._watch(step, loss_here, level, stretch.course, recent)
            self._previous = loss_here

    def _follow(self, step: int, value: float) -> None:
        """Counts the rises in a row up to this loss, and keeps where they began and from which loss."""
        first, count, low = self._rise
        if not value > self._previous:
            self._rise = (step, 0, value)
        else:
            self._rise = (first, count + 1, low) if count else (step, 1, self._previous)

    def _is_calm(self, high: float, level: Level) -> bool:
        """Whether no loss of a stretch is above 3 sigma of its level, nor of the level that one before was leaving."""
        levels = (level,) if self._left is None else (level, self._left_level)
        return all(high <= each.middle + NEAR * each.sigma for each in levels if each is not None)

    def _pass_over(self, stretch: Stretch) -> None:
        """Keeps the last values of a calm stretch."""
        values, steps = stretch.loss.values, stretch.loss.steps
        if values:
            self._seen += len(values)
            self._run, self._left = 0, None
            i = len(values) - 1
            while i > 0 and values[i] > values[i - 1]:
                i -= 1
            if i > 0:
                self._previous, self._rise = values[i], (steps[i], 0, values[i])
                i += 1
            for step, value in zip(steps[i:], values[i:], strict=True):
                self._follow(step, value)
                self._previous = value
            self._previous = values[-1]
        if stretch.gn.values:
            self._gn = stretch.gn.values[-1]
        if stretch.lr.values:
            self._lr = stretch.lr.values[-1]
        self._evaluations.extend(stretch.val.steps, stretch.val.values)

    def _watch(self, step: int, value: float, level: Level, course: Course, recent: bool) -> None:
        if self._left is not None and self._seen - self._left_at < BLOCK:
            # The level it is leaving, not one renewed since, which may hold its own first points.
            level = self._left_level or level
        z = level.z(value)
        if z <= NEAR:
            self._run, self._left = 0, None
            return
        if self._left is None:
            self._left, self._left_level, self._left_at = (step, self._previous, value), level, self._seen
            since, count, low = self._rise
            steady = count >= RISES and self._previous - low > 0.5 * (value - low)
            self._climb = since if steady else None
        self._run = self._run + 1 if z > FAR else 0
        if z > HIGH and value - level.middle > SHARE * course.progress:
            self._highs.append((self._seen, step, value, self._previous))
        crowd = len(self._highs) == CROWD and self._seen - self._highs[0][0] < CROWD_SPAN
        lone = z > LONE and value - course.origin > SHARE * course.progress and course.count > 2 * WINDOW
        if not (self._run >= 2 or crowd or lone) or course.silent:
            return
        onset, before, first = self._left
        if self._run < 2 and not lone:
            _, onset, first, before = self._highs[0]
            self._climb = self._climb if self._climb == self._rise[0] else None
        self._highs.clear()
        self._open = Excursion(
            onset,
            before,
            level,
            course.log_gn,
            course.origin,
            course.progress,
            course.lr_before if recent else None,
            self._lr,
            scheduled=recent and not course.lr_unknown,
            second=step,
            smooth=course.smooth,
            calm=course.calm if course.count > 2 * WINDOW else (),
            opened="pair" if self._run >= 2 else "lone" if lone else "crowd",
        )
        course.exclude(onset, None)
        self._open.take(onset, first)
        if step > onset:
            self._open.take(step, value)
        if self._gn is not None:
            self._open.take_gn(self._gn)

    def _close(self, step: int, course: Course) -> None:
        if self._open is None:
            return
        finding = self._told(self._open, step)
        if finding is not None:
            self._findings.append(finding)
            if finding.signature == "loss-spike":
                self._count(finding)
        # What belongs to the noise after all belongs to the baseline.
        belongs = finding is None and self._open.ordinary
        course.exclude(self._open.onset, self._open.onset - 1 if belongs else step)
        self._open, self._run, self._left = None, 0, None
        self._rise = (step, 0, math.nan)

    def _told(self, excursion: Excursion, ended: int | None) -> Finding | None:
        """The finding as it stands now.

        A climb is dated at its first rise: its first records are within the noise. What stays up is a warning while
        validation holds its ground: the batches became harder.
        """
        finding = excursion.told(ended)
        if finding is None:
            return None
        if finding.signature == "lr-too-high" and self._climb is not None:
            return replace(finding, onset_step=min(self._climb, finding.onset_step))
        stays = finding.signature in ("level-jump", "unrecovered-spike")
        if stays and self._evaluations.hold(excursion.onset, excursion.progress):
            return replace(finding, severity="warning")
        return finding

    def _count(self, spike: Finding) -> None:
        """Tests whether the last four to eight spikes came at a higher rate than those before (Poisson)."""
        self._spikes.append(spike.onset_step)
        self._spike_count += 1
        if self._first_step is None or self._cluster is not None:
            return
        for many in range(CLUSTER, len(self._spikes) + 1):
            start, end = self._spikes[-many], spike.onset_step
            span, before = max(end - start, 1), max(start - self._first_step, 1)
            earlier = self._spike_count - many
            rate = max(earlier, 1) / before
            if (many - 1) / span >= OFTENER * rate and poisson_tail(many - 1, rate * span) < RARE:
                start = self._begins(many)
                why = f"{many} spikes in steps {start}-{end}, {earlier} in the {before} before"
                self._cluster = Finding(
                    "spikes-more-frequent", "spike", "warning", start, spike.detected_step, True, why
                )
                return

    def _begins(self, many: int) -> int:
        """The first spike of the cluster: the one after a gap that is longer than the rest."""
        steps = list(self._spikes)[-many:]
        gaps = [b - a for a, b in zip(steps, steps[1:], strict=False)]
        widest = max(range(len(gaps)), key=gaps.__getitem__)
        return steps[widest + 1] if gaps[widest] > sum(gaps) / 2 and widest < len(gaps) - 1 else steps[0]

    def mark(self, mark: Mark, course: Course) -> None:
        """A resumed process or another file ends what was open."""
        if mark.kind != "note":
            self.rewind(0, course)

    def rewind(self, step: int, course: Course) -> None:
        """What was open is left behind."""
        if self._open is not None and course.last_step is not None:
            self._close(course.last_step, course)
        self._evaluations.rewind()
        self._run, self._left, self._previous, self._rise = 0, None, math.nan, (0, 0, math.nan)

    @property
    def findings(self) -> Sequence[Finding]:
        """The excursions that are over, the open one, and the cluster they make."""
        found = list(self._findings)
        if self._open is not None and (finding := self._told(self._open, None)) is not None:
            found.append(finding)
        if self._cluster is not None:
            found.append(self._cluster)
        return found
