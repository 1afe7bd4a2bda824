"""One departure of the loss from its level, and what it turns out to be."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from tuimon.signatures.course import LR_RISE
from tuimon.signatures.finding import Finding, Severity
from tuimon.signatures.growth import FAR, NEAR, short, sigmas
from tuimon.signatures.tails import RARE, RARE_CROWD, RARE_LONE, expected
from tuimon.stats import Level, median

Opened = Literal["pair", "crowd", "lone"]

CONFIRM = 6
"""Records in a row far above the level before it is a divergence: a spike from one rare batch is over by then."""

SMOOTH_TIMES = 10
"""Times as many in a running mean, whose neighbours are not independent."""

SHARE = 0.25
"""Share of the progress made that must be lost again; a smaller step up is noise of the data, not of the optimizer."""

OPEN_LONG = 200
"""Records after which a spike that has not come back is not expected to."""

SETTLED = 20
"""Records within which the gradient norm of a harmless change of data is ordinary again."""

BACK, BACK_LATE = 2, 4
"""Records in a row within 3 sigma of the level after which an excursion is over; after 20 records it takes four, since
of losses that rest at 4 sigma two in a row lie within 3 once in 40 records."""

SCATTERED, SCATTERS = 10, 3
"""Records up to which a running mean may still take in wide batches, and the rises from there to the 20th that it does
not make on its way down."""

CLIMB = 0.25
"""Further rise, as a share of the first one, that makes a climb of it: a step up in the data stays where it is."""

ORDINARY_FOLD = 2.0
"""Gradient norms within this factor of their level are ordinary: batches differ by less."""

RESIDUAL_FOLD = 1.4
"""Times the square root of the ratio of the losses up to which they still are. The gradient is the residuals times the
sensitivity of the outputs, so where only the targets changed it grows as the root of a squared error, and less of a
cross-entropy; damaged weights change the sensitivity too (0.4 to 1 and 1.8 to 3 times that root on small trainings)."""

SHIFTED_FOLD = 5.0
"""The bound where the loss has no ratio, because it is not above zero."""

AT_ONCE = 0.5
"""Share of its height that a running mean does not lose in one record."""

LITTLE = 0.02
"""Share of the progress up to which a rise that never cost a quarter is none to speak of, however many sigmas of a
loss without noise it makes."""

NOTHING = 1e-3
"""Share of the progress up to which a rise that comes back is none at all: of a fit down to 1e-6 of its first loss,
Adam gives back a thousand times its noise every few thousand steps, and nobody can see it in the network's output."""

HUNDRED, FALLING = 100, 0.15
"""A loss that is coming back, however slowly, loses 15 % of its height from one hundred of records to the next."""

HALF = 0.5
"""Share of the progress that a step up must cost to count as a failure: less is a change of data to look at."""


@dataclass(slots=True)
class Excursion:
    """A loss that has left its level.

    Attributes:
        onset, before: the step at which it left, and the loss before that.
        level, log_gn: the baselines it left.
        origin, progress: where the run started, and how far it had come.
        lr_before, lr: learning rates before and at the onset, None where not logged.
        calm: the losses that the level was taken from, in ascending order; none while the first fall is among them.
        opened: what opened it: two in a row, three of six records, or one that stands alone.
        scheduled: a learning rate known from earlier in the run has just come back (a restart).
        smooth: the log holds a running mean, or looks like it; `fell`: it lost half of its height in one record, which
            no running mean does.
    """

    onset: int
    before: float
    level: Level
    log_gn: Level | None
    origin: float
    progress: float
    lr_before: float | None
    lr: float | None
    scheduled: bool
    smooth: bool
    calm: Sequence[float] = ()
    opened: Opened = "pair"
    start: list[float] = field(default_factory=list)
    gns: list[float] = field(default_factory=list)
    recent: deque[float] = field(default_factory=lambda: deque(maxlen=5))
    far: int = 0
    near: int = 0
    length: int = 0
    peak: float = -math.inf
    runner_up: float = -math.inf
    peak_step: int = 0
    peak_gn: float = 0.0
    confirmed: int | None = None
    kind: str = ""
    detected: int = 0
    second: int = 0
    fell: bool = False
    rises: int = 0
    high: int = 0
    heights: deque[float] = field(default_factory=lambda: deque(maxlen=2))
    height: float = 0.0

    @property
    def ordinary(self) -> bool:
        """No spike: losses as high as all of these but one belong to the noise of the run, as does a high one alone."""
        if self.opened == "lone":
            if self._pushed_nothing:
                return True
            if not expected(self.calm, self.peak, self.progress, RARE_LONE):
                return False
            if self.level.z(self.runner_up) <= FAR:
                return True
        return expected(self.calm, self.runner_up, self.progress, RARE_CROWD if self.opened == "crowd" else RARE)

    @property
    def _pushed_nothing(self) -> bool:
        """One record alone, and its gradient was as long as any: an outlier of the data under a loss that bounds it."""
        if self.log_gn is None or not self.gns or self.level.z(self.runner_up) > FAR:
            return False
        return self.peak_gn <= ORDINARY_FOLD * math.exp(self.log_gn.middle)

    @property
    def rise(self) -> float:
        """How far above its level the loss got at first, in units of loss."""
        return median(self.start) - self.level.middle if self.start else 0.0

    def take_gn(self, gn: float) -> None:
        """Takes in a gradient norm."""
        if len(self.gns) < SETTLED:
            self.gns.append(gn)
            self.peak_gn = max(self.peak_gn, gn)

    def take(self, step: int, loss: float) -> bool:
        """Takes in a loss; True when it is back at its level."""
        self.length += 1
        before = self.recent[-1] if self.recent else loss
        self.fell = self.fell or before - loss > AT_ONCE * (before - self.level.middle) > 0.0
        if SCATTERED < self.length <= SETTLED:
            self.rises += loss > before
        self.recent.append(loss)
        if len(self.start) < 5:
            self.start.append(loss)
        self.runner_up = max(self.runner_up, min(loss, self.peak))
        if loss > self.peak:
            self.peak, self.peak_step = loss, step
        z = self.level.z(loss)
        self.near = self.near + 1 if z <= NEAR else 0
        lost = loss - self.level.middle
        self.far = self.far + 1 if z > FAR and lost > SHARE * self.progress else 0
        worse = len(self.recent) == 5 and median(self.recent) > self.origin + max(
            FAR * self.level.sigma, SHARE * self.progress
        )
        self.height += lost / HUNDRED
        if self.length % HUNDRED == 0:
            self.heights.append(self.height)
            self.height = 0.0
        self.high = self.high + 1 if z > NEAR and lost > SHARE * self.progress else 0
        times = SMOOTH_TIMES if self._is_mean else 1
        stays = self.far >= times * CONFIRM or self.high >= times * SETTLED
        if self.confirmed is None and ((stays and not self.scheduled) or (worse and not self._is_mean)):
            self.confirmed = step
        if self.length in (SETTLED, OPEN_LONG) or step == self.confirmed:
            self._name(step)
        return self._back

    @property
    def _back(self) -> bool:
        return self.near >= (BACK if self.length <= SETTLED else BACK_LATE)

    @property
    def _is_mean(self) -> bool:
        """The log holds a running mean: it looks like one, and this rise takes its time, or comes down smoothly."""
        if not self.smooth or self.length < SETTLED:
            return self.smooth
        at_once = self.start[0] - self.level.middle > AT_ONCE * (self.peak - self.level.middle)
        return not (at_once and self.rises >= SCATTERS)

    @property
    def _climbs(self) -> bool:
        """The loss goes on rising after its first rise: four of five records, where two medians differ by chance."""
        return sorted(self.recent)[1 if len(self.recent) > 1 else 0] - self.level.middle > (1 + CLIMB) * self.rise

    @property
    def _mends(self) -> bool:
        """The loss has come back after all, or is on its way."""
        if self._back:
            return True
        if median(self.recent) > self.origin:
            return False  # however fast it falls, it is worse than untrained
        return len(self.heights) > 1 and self.heights[1] < (1 - FALLING) * self.heights[0]

    @property
    def _raised(self) -> bool:
        """The learning rate had just risen."""
        return self.lr is not None and self.lr_before is not None and self.lr > LR_RISE * self.lr_before

    @property
    def _gn_ordinary(self) -> bool:
        """The gradient norm is logged, and within a small factor of its level again."""
        if self.log_gn is None or not self.gns:
            return False
        ratio = median(self.gns[-CONFIRM:]) / math.exp(self.log_gn.middle)
        level = self.level.middle
        folds = SHIFTED_FOLD if level <= 0.0 else RESIDUAL_FOLD * math.sqrt(1.0 + max(self.rise, 0.0) / level)
        return 1 / SHIFTED_FOLD < ratio < max(ORDINARY_FOLD, folds)

    def _name(self, step: int) -> None:
        """Which row it is, from what is known at this length."""
        if self.confirmed is None and (self.length < OPEN_LONG or self.scheduled):
            return
        kind = self.kind or "lr-too-high"
        if self._climbs or self._raised:
            kind = "lr-too-high"
        elif self.length >= OPEN_LONG:
            kind = "unrecovered-spike" if kind != "level-jump" else kind
        elif self.length >= SETTLED and self._gn_ordinary:
            kind = "level-jump"
        if kind != self.kind:
            self.kind, self.detected = kind, step

    def told(self, ended: int | None) -> Finding | None:
        """The finding as it stands, `ended` at that step or not yet; None for what a schedule explains."""
        height = sigmas(self.peak - self.level.middle, self.level.sigma)
        why = f"loss {short(self.before)} -> {short(self.peak)} over steps {self.onset}-{self.peak_step}, {height}"
        if self.peak_gn and self.log_gn is not None:
            why += f", grad_norm {short(math.exp(self.log_gn.middle))} -> {short(self.peak_gn)}"
        if self._raised and self.lr is not None and self.lr_before is not None:
            why += f", lr {short(self.lr_before)} -> {short(self.lr)}"
        elif self.lr is not None:
            why += f", lr {short(self.lr)}"
        missing = "" if self.log_gn is not None else "log grad_norm to tell a divergence from a change of data"
        if ended is not None and (not self.kind or self.length < OPEN_LONG):
            return self._spike(why + f", back at {ended}", ended)
        lost = median(self.recent) - self.level.middle
        if not self.kind or (self.confirmed is None and lost <= LITTLE * self.progress):
            return self._spike(why, ended)
        severity: Severity = "warning" if self._harmless(lost) else "failure"
        return Finding(
            self.kind, "divergence", severity, self.onset, self.detected, ended is None, why, ended, missing=missing
        )

    def _harmless(self, lost: float) -> bool:
        """Whether a rise that has cost so much is only one to look at."""
        if self.kind == "level-jump":
            return lost <= HALF * self.progress
        little = self.confirmed is None and lost <= SHARE * self.progress
        return little or (self.kind == "unrecovered-spike" and self._mends)

    def _spike(self, why: str, ended: int | None) -> Finding | None:
        if self.scheduled or (self._is_mean and not self.fell) or self.ordinary:
            return None
        if self.peak - self.level.middle <= NOTHING * self.progress:
            return None
        return Finding("loss-spike", "spike", "warning", self.onset, self.second, ended is None, why, ended)
