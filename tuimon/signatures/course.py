"""The run so far, in the numbers that several detectors compare with."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from operator import sub

from tuimon.signatures.outline import Outline, block_of
from tuimon.signatures.recent import Recent
from tuimon.signatures.stretch import Stretch
from tuimon.stats import Level, autocorrelation

BLOCK = 32
"""Records between two renewals of the baselines, counted from the start of the run so that reads do not matter."""

LONGEST, YOUNGER = 256, 256
"""Most records between two renewals, and times as many that must lie since the last event: within 0.4 % of its age a
run changes its level less than within the 32 records of its youth."""

WINDOW = 64
"""Points in a baseline: the scale of a normal sample is then known to 10 %, and a trend has little time to matter."""

ARMED = 32
"""Finite points before a baseline may be compared with: a scale from fewer is off by more than 15 %."""

START = 5
"""Losses whose median is where the run began."""

FROZEN = 64
"""Records after a resume or a rise of the learning rate in which the run finds its new level."""

LR_RISE = 1.5
"""Rise of the learning rate within one record that counts as a jump: warm-ups rise less once the loss is armed."""

KIND_EVERY = 4
"""Renewals between two looks at whether the log holds a running mean, which does not change within a run."""

SMOOTHED = -0.25
"""Lag-1 autocorrelation of the loss differences above which the log holds a running mean: raw noise gives -0.5 +- 0.1,
an exponential mean with weight a on the newest -a / 2, and a curve without noise 1."""

MIXED = 2
"""Renewals in a row within which the loss crosses zero: then it is not one that falls towards a floor."""

SCALERS = frozenset(("loss_scale", "loss scale", "grad_scale", "skipped"))
"""Metrics that show a loss scaler at work."""

CONTESTED = frozenset((
    "g_loss", "d_loss", "loss_g", "loss_d", "gen_loss", "disc_loss", "generator_loss", "discriminator_loss",
    "critic_loss", "actor_loss", "policy_loss", "return", "reward", "mean_reward", "episode_reward", "ep_rew_mean",
    "episode_return", "rollout/ep_rew_mean", "train/policy_gradient_loss", "train/value_loss",
))  # fmt: skip
"""Metrics that only a run has whose loss is a contest: two networks, or a policy and what it earns."""

TELLING = SCALERS | CONTESTED
"""Metrics whose mere presence says something."""

RAW_OBJECTIVES = frozenset(("rl", "gan", "preference", "dpo", "ppo", "grpo", "adversarial"))
"""Objectives whose loss is not meant to fall: shapes of the loss say nothing about them."""


class Course:
    """Baselines and landmarks of a run.

    What detectors compare with is renewed at every 32nd record only (in a run that has gone on for long without an
    event, at every 64th to 256th), so that it does not depend on how the run was read; the recent points are exact
    wherever a stretch is cut by an event.

    Attributes:
        meta: what the headers declared.
        records: lines so far.
        level: median and scale of the last 64 losses as of the last renewal, excursions left out; None before 32.
        calm: the losses of that level, in ascending order.
        log_gn: the same for the natural logarithm of grad_norm.
        count, best, origin, first: as of the last renewal: finite losses, the least one, the median of the first five,
            the first.
        quiet_until: before this record index, a change of level may be the resume's or the schedule's.
        lr_before: the learning rate before its last jump; `lr_unknown`: it went where it had never been.
        smooth: the loss is a running mean.
        mixed: the loss keeps changing its sign.
        scaled: a loss scaler is at work.
        outline: the whole run in blocks, as of the last renewal.
        evaluations: finite validation losses, as of the last renewal.
        logged: roles that have had a finite value (and metrics of CONTESTED), as of the last renewal.
    """

    def __init__(self) -> None:
        self.meta: dict[str, object] = {}
        self.records = 0
        self._interval = BLOCK
        self._even_since = 0
        self.first_step: int | None = None
        self.last_step: int | None = None
        self._losses = Recent(WINDOW)
        self._gns = Recent(WINDOW)
        self._lrs: list[float] = []
        self.lr: float | None = None
        self.lr_peak = 0.0
        self.level: Level | None = None
        self.calm: Sequence[float] = ()
        self.log_gn: Level | None = None
        self.count = 0
        self.best, self.origin, self.first = math.inf, math.nan, -math.inf
        self.quiet_until = 0
        self.smooth = self.mixed = False
        self._start: list[float] = []
        self._least = math.inf
        self._seen = 0
        self._signs = 0
        self.lr_before: float | None = None
        self.lr_unknown = False
        self.outline = Outline()
        self.scaled = False
        self._kind: float | None = None
        self.logged: set[str] = set()
        self._new_logged: set[str] = set()
        self.evaluations = 0
        self._new_evaluations = 0

    @property
    def silent(self) -> bool:
        """The loss is not one that falls when training works: only non-finite values and dead gradients speak."""
        return (
            self.mixed
            or not CONTESTED.isdisjoint(self.logged)
            or str(self.meta.get("objective", "")).lower() in RAW_OBJECTIVES
        )

    @property
    def _clip(self) -> float:
        """The declared norm to which gradients are clipped, infinite without one."""
        norm = self.meta.get("clip_norm")
        known = isinstance(norm, (int, float)) and not isinstance(norm, bool) and norm > 0
        return float(norm) if known else math.inf  # type: ignore[arg-type]

    @property
    def losses(self) -> Sequence[float]:
        """The last 64 finite losses."""
        return self._losses.values

    @property
    def loss_steps(self) -> Sequence[int]:
        """Where they were."""
        return self._losses.steps

    @property
    def gns(self) -> Sequence[float]:
        """The last 64 finite gradient norms."""
        return self._gns.values

    @property
    def gn_steps(self) -> Sequence[int]:
        """Where they were."""
        return self._gns.steps

    @property
    def progress(self) -> float:
        """How far the loss has come from its start, in units of loss; zero before anything is known."""
        return max(0.0, self.origin - self.best) if self.count else 0.0

    def exclude(self, first: int, last: int | None) -> None:
        """Keeps steps `first` to `last` (None: until further notice) out of the baselines: an excursion is no norm."""
        self._losses.exclude(first, last, "loss")
        self._gns.exclude(first, last, "loss")

    def exclude_gns(self, first: int, last: int | None) -> None:
        """The same for the baseline of the gradient norm only."""
        self._gns.exclude(first, last, "grad_norm")

    def learn(self, stretch: Stretch) -> None:
        """Takes in a stretch, after the detectors have compared it with what came before."""
        loss, gn = stretch.loss, stretch.gn
        if loss.values:
            self._seen += len(loss.values)
            if len(self._start) < START:
                self._start.extend(loss.values[: START - len(self._start)])
            self._losses.extend(loss)
        if gn.values:
            self._gns.extend(gn)
        if stretch.lr.values:
            self.lr = stretch.lr.values[-1]
            self._lrs.extend(stretch.lr.values)
        if stretch.val.values:
            self._new_logged.add("val_loss")
            self._new_evaluations += len(stretch.val.values)
        if self.first_step is None:
            self.first_step = stretch.steps[0]
        if self.last_step is None or stretch.newest > self.last_step:
            self.last_step = stretch.newest
        self.records += len(stretch)
        if not stretch.names.isdisjoint(TELLING):
            self._new_logged |= _present(CONTESTED, stretch)
            self.scaled = self.scaled or bool(_present(SCALERS, stretch))

    @property
    def left(self) -> int:
        """Records until the baselines are to be renewed, at least one."""
        return self._interval - self.records % self._interval

    @property
    def due(self) -> bool:
        """The baselines are to be renewed before the next record."""
        return self.records % self._interval == 0

    def renew(self) -> bool:
        """Computes what detectors compare with; True when the outline has a new block."""
        grown = self._renew_outline()
        while self._interval < LONGEST and 2 * YOUNGER * self._interval <= self.records - self._even_since:
            self._interval *= 2
        if self._start and self.count < START:
            self.first = self._start[0]
            self.origin = sorted(self._start)[len(self._start) // 2]
        self.count, self.best = self._seen, self._least
        losses, gns = self._losses.sample(), self._gns.sample()
        if len(losses.ordered) >= ARMED:
            self._renew_smooth()
            self.level, self.calm = losses.level(), losses.ordered
        if len(gns.ordered) >= ARMED:
            self.log_gn = gns.log_level() or self.log_gn
        return grown

    def _renew_outline(self) -> bool:
        self.logged |= self._new_logged
        self.evaluations = self._new_evaluations
        losses, gns, lrs = self._losses.renew(), self._gns.renew(), self._lrs
        self._lrs = []
        if gns.values:
            self.logged.add("grad_norm")
        if lrs:
            self.logged.add("lr")
            self.lr_peak = max(self.lr_peak, *lrs)
        if not losses.values:
            return False
        self.logged.add("loss")
        block = block_of(losses, gns, lrs, self._clip)
        self._least = min(self._least, block.low)
        self._signs = self._signs + 1 if block.low < 0.0 < block.high else 0
        self.mixed = self._signs >= MIXED
        return self.outline.add(block, self._interval // BLOCK)

    def _renew_smooth(self) -> None:
        """Whether the log holds a running mean."""
        young = self._seen <= 2 * WINDOW
        if young or self.records % (KIND_EVERY * BLOCK) == 0:
            declared = self.meta.get("loss_smoothing") not in (None, 0, False, "none", "")
            # A young run may still be falling steeply: there the newest points say what the noise is like.
            near = self._losses.calm()[-ARMED if young else 0 :]
            here = autocorrelation(list(map(sub, near[1:], near)))
            self._kind = here if self._kind is None or young else 0.5 * (self._kind + here)
            self.smooth = declared or self._kind > SMOOTHED

    def lr_jump(self, lr: float) -> None:
        """The next record's learning rate, `lr`, is far above the last one's."""
        if self.records >= self.quiet_until or self.lr_before is None:
            self.lr_before = self.lr
        self.lr_unknown = lr > LR_RISE * max(self.lr_peak, 0.0)
        self._uneven()
        self.quiet_until = max(self.quiet_until, self.records + FROZEN)

    def restart(self, step: int | None = None) -> None:
        """A resume, a rewind to `step`, or a new phase: the old level no longer says what is normal."""
        self._least = min(self._least, self._losses.low)
        if step is not None:
            self.last_step = None
            self.outline.back_to(step)
            if self.first_step is not None and step <= self.first_step:
                # From the very start again: another run in the same file.
                self._start, self._least, self._seen, self.count = [], math.inf, 0, 0
                self.best, self.origin, self.lr_peak = math.inf, math.nan, 0.0
        self._losses.clear()
        self._gns.clear()
        self._lrs = []
        self.level = self.log_gn = self.lr = self.lr_before = None
        self._uneven()
        self.quiet_until = self.records + FROZEN

    def _uneven(self) -> None:
        """Something has happened after which the level may change as fast as in a young run."""
        self._interval, self._even_since = BLOCK, self.records

    def declare(self, meta: Mapping[str, object]) -> None:
        """Takes in what a header says of the run."""
        self.meta.update(meta)


def _present(names: frozenset[str], stretch: Stretch) -> set[str]:
    """The metrics among `names` that some record has."""
    there = names & stretch.names
    return {name for name in there if any(value is not None for value in stretch.columns[name])}
