"""What a run really did, from what no detector sees.

A planted fault often fails to fail: a learning rate far over the limit is survived, a bad batch leaves no trace, a jump
overflows. The oracle therefore labels each run by what happened, from the planted step, the loss on a fixed noise-free
probe set, parameter updates and the complete unrounded log. Its rules, per planted row, are the functions below; each
says what the run must have done to keep its label and what it is called instead. "unclear" runs are not scored.

Units: `level` and `noise` are median and 1.4826 MAD of the logged loss over the 64 steps before the planted one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from tests.quality.training import Recipe

Columns = Mapping[str, tuple[np.ndarray, np.ndarray]]
Hidden = Mapping[str, np.ndarray]


@dataclass(frozen=True)
class Truth:
    """The label of a run.

    Attributes:
        row: catalogue row that should light; "healthy" when none may, "unclear" when the run is not scored.
        onset: step at which it began, None without one.
        accept: other rows that are right as well (the log cannot tell them apart, or both are there).
        planted: step of the planted fault, 0 for one from the start, None for healthy runs.
        growth: where the growth before an overflow began, None elsewhere.
    """

    row: str
    onset: int | None = None
    accept: frozenset[str] = frozenset()
    planted: int | None = None
    growth: int | None = None

    @property
    def rows(self) -> frozenset[str]:
        return self.accept | {self.row}


@dataclass(frozen=True)
class Trace:
    """One run as the oracle sees it; `loss` and `norm` have one value a step."""

    recipe: Recipe
    columns: Columns
    hidden: Hidden
    at: int
    loss: np.ndarray
    norm: np.ndarray
    val_steps: np.ndarray
    val: np.ndarray
    probe_steps: np.ndarray
    probe: np.ndarray

    @property
    def chance(self) -> float:
        """Loss of a uniform guess, or the first loss where there are no classes."""
        classes = self.meta_classes
        return math.log(classes) if classes else float(np.median(self.loss[:5]))

    @property
    def meta_classes(self) -> int:
        return int(self.hidden["classes"]) if "classes" in self.hidden else 0

    def before(self, step: int) -> tuple[float, float]:
        """Median and spread of the logged loss over the 64 steps before `step`."""
        window = self.loss[max(0, step - 64) : max(step, 1)]
        middle = float(np.median(window))
        return middle, max(1.4826 * float(np.median(np.abs(window - middle))), 1e-6 * abs(middle), 1e-12)

    def end(self) -> float:
        """Median probe loss over the last 15 % of the run."""
        return float(np.median(self.probe[-max(3, len(self.probe) * 15 // 100) :]))

    def end_logged(self) -> float:
        """The same of the logged loss, which follows when the data change."""
        return float(np.median(self.loss[-max(3, len(self.loss) * 15 // 100) :]))


def first(mask: np.ndarray) -> int | None:
    """Index of the first true entry."""
    return int(mask.argmax()) if mask.any() else None


def first_bad(trace: Trace) -> int | None:
    """The first step at which any of the four roles is not finite."""
    steps = [
        int(steps[~np.isfinite(values)][0])
        for name, (steps, values) in trace.columns.items()
        if name in ("loss", "val_loss", "grad_norm", "lr") and not np.isfinite(values).all()
    ]
    return min(steps) if steps else None


def departure(trace: Trace, start: int) -> int | None:
    """The first step from `start` at which the loss leaves its level for good: 6 spreads up, and the next four too."""
    level, noise = trace.before(start)
    above = ~(trace.loss[start:] <= level + 6 * noise)
    for offset in np.flatnonzero(above):
        if above[offset : offset + 5].mean() >= 0.8:
            return start + int(offset)
    return None


def nan_row(trace: Trace) -> Truth:
    """A non-finite value: its row by the order in which the fields went, nan-after-growth when the loss grew before."""
    bad = first_bad(trace)
    if bad is None:
        return Truth("unclear")
    loss, norm = trace.loss[bad], trace.norm[bad]
    later = trace.loss[bad + 1 : bad + 3]
    if bad == 0:
        return Truth("nan-first-step", 0, frozenset({"nan-forward", "inf-first"}), 0)
    if math.isfinite(loss) and math.isfinite(norm):
        return Truth("nan-val-only", bad, frozenset(), bad)
    if math.isnan(loss) and norm == 0 and np.isfinite(later).all():
        return Truth("nan-empty-batch", bad, frozenset(), bad)
    grown = growth_before(trace, bad)
    if grown is not None:
        also = frozenset({"lr-too-high", "exploding-gradient", "level-jump", "inf-first"})
        return Truth("nan-after-growth", bad, also, grown, grown)
    if math.isfinite(loss):
        if trace.recipe.row == "nan-masked" and np.isfinite(trace.loss).all():
            return Truth("nan-masked", bad, frozenset({"nan-backward"}), bad)
        return Truth("nan-backward", bad, frozenset(), bad)
    if math.isinf(loss):
        return Truth("inf-first", bad, frozenset({"nan-forward"}), bad)
    return Truth("nan-forward", bad, frozenset(), bad)


def growth_before(trace: Trace, bad: int) -> int | None:
    """Where the loss left its level before it overflowed: at least two records and a factor of ten, else None."""
    start = max(trace.at, 0)
    level, _ = trace.before(max(start, 1))
    above = np.flatnonzero(trace.loss[start:bad] > 10 * abs(level))
    gone = departure(trace, max(start, 1))
    if len(above) < 2 or gone is None or gone >= bad - 1:
        return None
    return gone


def jumped(trace: Trace) -> Truth:
    """A planted divergence in mid-run. Never left its level: healthy. Came back within 200 steps and ends there: loss-spike.
    The logged loss ends above it by 4 spreads and a quarter of what had been learned: level-jump when the data changed or the gradient
    norm is back to normal 20 steps later, else lr-too-high. In between, and back only after 200 steps or never:
    unrecovered-spike. The last three look alike in a log without its causes, so each accepts the others."""
    if first_bad(trace) is not None:
        return nan_row(trace)
    level, noise = trace.before(trace.at)
    gone = departure(trace, trace.at)
    if gone is None:
        return Truth("healthy" if trace.end_logged() < level + noise else "unclear", planted=trace.at)
    learned = max(float(np.median(trace.loss[:5])) - level, 0.0)
    rise = trace.end_logged() - level
    settled = first(rolling_median(trace.loss[gone:], 15) <= level + 3 * noise)
    also = frozenset({"lr-too-high", "level-jump", "unrecovered-spike", "loss-spike"})
    if settled is not None and settled <= 200 and rise <= max(3 * noise, 0.1 * learned):
        peak = trace.loss[gone : gone + settled + 1].max()
        return Truth(
            "loss-spike" if peak > level + 8 * noise else "unclear", gone, frozenset({"lr-too-high"}), trace.at
        )
    if rise <= max(4 * noise, 0.25 * learned):
        open_still = (settled is None or settled > 220) and trace.loss[gone : gone + 20].max() > level + 8 * noise
        return Truth("unrecovered-spike" if open_still else "unclear", gone, also, trace.at)
    calm = float(np.median(trace.norm[gone + 20 : gone + 80])) if gone + 40 < len(trace.norm) else math.inf
    usual = float(np.median(trace.norm[max(0, trace.at - 64) : trace.at]))
    if trace.recipe.row == "unrecovered-spike":
        return Truth("unrecovered-spike", gone, also, trace.at)
    steady = trace.recipe.row == "level-jump" or calm < 2 * usual
    return Truth("level-jump" if steady else "lr-too-high", gone, also, trace.at)


def rolling_median(values: np.ndarray, width: int) -> np.ndarray:
    """Median of each `width` consecutive values; shorter than the input by width-1."""
    if len(values) < width:
        return np.full(1, np.inf)
    return np.median(np.lib.stride_tricks.sliding_window_view(values, width), axis=1)


def from_start(trace: Trace) -> Truth:
    """A learning rate too large from step 0. Ends above 1.5 times its first loss: lr-too-high. Learned (ends under .75 of
    it): healthy, however wild the beginning. Flat at the loss of a constant guess: collapsed, uniform- or
    prior-prediction. Anything else is unclear."""
    if first_bad(trace) is not None:
        truth = nan_row(trace)
        return replace(truth, accept=truth.accept | {"lr-too-high"})
    begin, end = float(np.median(trace.loss[:1])), trace.end()
    if end > 1.5 * begin:
        return Truth("lr-too-high", 1, frozenset({"slow-divergence", "level-jump", "unrecovered-spike"}), 0)
    if end < 0.75 * begin and end < 1.3 * float(np.min(rolling_median(trace.loss, 25))):
        fitted = overfitted(trace) if trace.recipe.train_set else None
        return fitted if fitted and fitted.row == "overfitting" else Truth("healthy")
    tail = trace.loss[len(trace.loss) // 2 :]
    if trace.meta_classes and abs(np.median(tail) - trace.chance) < 0.06:
        also = frozenset({"prior-prediction", "lr-too-high", "flat-midway", "loss-spike"})
        return Truth("uniform-prediction", 0, also, 0)
    return Truth("unclear", planted=0)


def slow(trace: Trace) -> Truth:
    """A creeping divergence. Kept when the logged loss ends 4 spreads and a tenth of what was learned above its level and
    took more than 60 steps from there to half of the rise; faster than that it is a jump."""
    if first_bad(trace) is not None:
        return nan_row(trace)
    level, noise = trace.before(trace.at)
    learned = float(np.median(trace.loss[:5])) - level
    end = trace.end_logged()
    if end <= level + 2 * noise:
        return Truth("healthy" if end <= level + noise else "unclear", planted=trace.at)
    if end <= level + max(4 * noise, 0.1 * learned):
        return Truth("unclear", planted=trace.at)
    smooth = rolling_median(trace.loss[trace.at :], 25)
    left = first(smooth > level + 2 * noise)
    half = first(smooth > (level + end) / 2)
    if left is None or half is None:
        return Truth("unclear", planted=trace.at)
    if half - left < 60:
        return replace(jumped(trace), planted=trace.at)
    also = frozenset({"lr-too-high", "level-jump"})
    return Truth("slow-divergence", trace.at + left, also, trace.at)


def spiked(trace: Trace) -> Truth:
    """Bad batches. Kept when at least two logged losses in a row exceed 8 spreads; else the run is healthy (no trace) or
    unclear (a single one). Whether it came back is judged as for a jump."""
    if first_bad(trace) is not None:
        return nan_row(trace)
    level, noise = trace.before(trace.at)
    struck = trace.loss[trace.at : trace.at + 6] > level + 8 * noise
    if not struck.any():
        return Truth("healthy")
    if not (struck[1:] & struck[:-1]).any():
        return Truth("unclear", planted=trace.at)
    truth = jumped(trace)
    return replace(truth, onset=trace.at + int(struck.argmax())) if truth.row == "loss-spike" else truth


def clustered(trace: Trace) -> Truth:
    """Bad batches again and again. Kept with four or more visible spikes after the planted step."""
    if first_bad(trace) is not None:
        return nan_row(trace)
    level, noise = trace.before(trace.at)
    above = trace.loss[trace.at :] > level + 8 * noise
    pairs = above[1:] & above[:-1]
    starts = np.flatnonzero(pairs & ~np.r_[False, pairs[:-1]])
    if len(starts) < 4:
        return Truth(
            "loss-spike" if len(starts) else "unclear",
            trace.at + int(starts[0]) if len(starts) else None,
            planted=trace.at,
        )
    also = frozenset({"loss-spike", "unrecovered-spike", "oscillation"})
    return Truth("spikes-more-frequent", trace.at + int(starts[0]), also, trace.at)


def gradient_burst(trace: Trace) -> Truth:
    """Gradient norm up 4 times and 8 spreads for two steps. Kept while the loss stays under 4 spreads for those; else judged
    as a jump of the loss."""
    usual = np.log(trace.norm[max(0, trace.at - 64) : trace.at])
    middle = np.median(usual)
    spread = max(1.4826 * np.median(np.abs(usual - middle)), 1e-6)
    burst = np.log(trace.norm[trace.at : trace.at + 4]) - middle > max(8 * spread, math.log(4))
    if not (burst[1:] & burst[:-1]).any():
        return Truth("unclear", planted=trace.at)
    gone = departure(trace, trace.at)
    also = {"loss-spike", "lr-too-high", "level-jump", "unrecovered-spike"} if gone is not None else set()
    return Truth("exploding-gradient", trace.at, frozenset(also), trace.at)


def oscillating(trace: Trace) -> Truth:
    """Full-batch steps just under the limit. Kept when the lag-1 autocorrelation of the loss about its running mean is under
    -.5 over the last 200 steps; else judged as a learning rate too high from the start."""
    if first_bad(trace) is None:
        tail = trace.loss[-200:]
        smooth = np.convolve(tail, np.ones(9) / 9, mode="valid")
        rest = tail[4:-4] - smooth
        if rest.std() > 1e-4 * abs(tail.mean()) and np.corrcoef(rest[1:], rest[:-1])[0, 1] < -0.5:
            also = frozenset({"lr-too-high", "flat-midway", "loss-spike"})
            return Truth("oscillation", None, also, 0)
    return from_start(trace)


def accumulating(trace: Trace) -> Truth:
    """Gradients that add up. Kept when the norm of the first 32 steps grows as a power of .8 or more."""
    steps = np.arange(1, 33)
    slope, start = np.polyfit(np.log(steps), np.log(trace.norm[:32]), 1)
    rest = np.log(trace.norm[:32]) - slope * np.log(steps) - start
    if slope < 0.8 or rest.std() > 0.08:
        return Truth("unclear", planted=0)
    return Truth(
        "gradients-accumulate", 0, frozenset({"lr-too-high", "exploding-gradient", "slow-divergence", "oscillation"}), 0
    )


def under_floor(trace: Trace) -> Truth:
    """A negative cross-entropy, from its first negative value on."""
    below = first(trace.loss < 0)
    return (
        Truth("unclear")
        if below is None
        else Truth("below-floor", below, frozenset({"nan-after-growth", "nan-forward", "inf-first"}), 0)
    )


def scaler(trace: Trace) -> Truth:
    """A loss scale that halves three times in 100 steps after the planted one; dated at the first skipped step there."""
    skipped = trace.columns["skipped"][1][trace.at :] > 0
    if skipped[:100].sum() < 3:
        return Truth("unclear", planted=trace.at)
    return Truth("fp16-range", trace.at + int(skipped.argmax()), frozenset({"nan-backward"}), trace.at)


def motionless(trace: Trace) -> Truth:
    """zero-gradient: every norm from the planted step is 0. frozen-weights: norms are not, updates are."""
    start = max(trace.at, 0)
    if (trace.norm[start:] == 0).all():
        return Truth("zero-gradient", start, frozenset(), start)
    if (trace.hidden["update"][start:] == 0).all():
        return Truth("frozen-weights", start, frozenset({"lr-too-low"}), start)
    return Truth("unclear")


def creeping(trace: Trace) -> Truth:
    """A learning rate too low: less than a fifth of the way to half of the first loss was made, and the weights did move."""
    begin, end = float(np.median(trace.probe[:3])), trace.end()
    if trace.hidden["update"].max() > 0 and begin - end < 0.1 * begin:
        return Truth("lr-too-low", 0, frozenset({"uniform-prediction", "flat-midway"}), 0)
    return Truth("unclear")


def constant_guess(trace: Trace) -> Truth:
    """Shuffled labels. Kept when the second half of the loss lies within .06 of the entropy of the labels."""
    counts = np.array(trace.hidden["counts"]) if "counts" in trace.hidden else None
    tail = float(np.median(trace.loss[len(trace.loss) // 2 :]))
    entropy = trace.chance if counts is None else float(-(counts * np.log(counts)).sum())
    if abs(tail - entropy) > 0.06:
        return Truth("unclear", planted=0)
    if counts is None:
        return Truth("uniform-prediction", 0, frozenset({"prior-prediction", "lr-too-low"}), 0)
    return Truth("prior-prediction", 0, frozenset({"flat-midway"}), 0)


def doubled(trace: Trace) -> Truth:
    """A softmax too many. Kept when the loss ends within .15 above ln(e + C - 1) - 1, its floor."""
    floor = math.log(math.e + trace.meta_classes - 1) - 1
    if not -0.01 <= float(np.median(trace.loss[-100:])) - floor < 0.15:
        return Truth("unclear", planted=0)
    return Truth("double-softmax", 0, frozenset({"flat-midway"}), 0)


def memorising(trace: Trace) -> Truth:
    """Random labels learned by heart. Kept when train ends under .8 ln C while validation never was under ln C - .02."""
    if trace.end() < 0.8 * trace.chance and trace.val.min() > trace.chance - 0.02:
        return Truth("memorising-noise", int(trace.val_steps[trace.val.argmin()]), frozenset({"overfitting"}), 0)
    return Truth("unclear", planted=0)


def midway(trace: Trace) -> Truth:
    """Stops partway. Kept when the last half of the probe gains under 3 % of what the first half did, at over .35 of the first
    loss."""
    half = len(trace.probe) // 2
    begin = float(np.median(trace.probe[:3]))
    middle, end = float(np.median(trace.probe[half : half + half // 4])), trace.end()
    if not np.isfinite(trace.loss).all():
        return nan_row(trace)
    if begin - middle < 0.1 * begin:
        return Truth("unclear", planted=max(trace.at, 0))
    if middle - end > 0.03 * (begin - middle) or end < 0.35 * begin:
        return Truth("unclear", planted=max(trace.at, 0))
    return Truth("flat-midway", max(trace.at, 0), frozenset({"lr-too-low"}), max(trace.at, 0))


def vanishing(trace: Trace) -> Truth:
    """The first layer's gradient norm is under a thousandth of the last one's over the first 100 steps."""
    norms = [values for name, (_, values) in trace.columns.items() if name.startswith("grad_norm/")]
    if np.median(norms[0][:100] / norms[-1][:100]) < 1e-3:
        return Truth(
            "vanishing-gradient",
            0,
            frozenset({"uniform-prediction", "prior-prediction", "lr-too-low", "flat-midway"}),
            0,
        )
    return Truth("unclear", planted=0)


def share_of_units(prefix: str, row: str) -> Callable[[Trace], Truth]:
    def rule(trace: Trace) -> Truth:
        """More than half of a layer's units dead (saturated) over 32 steps in a row; dated where that began."""
        found = []
        for name, (_, values) in trace.columns.items():
            if name.startswith(prefix):
                start = first(-rolling_median(-(values > 0.5).astype(float), 32) >= 1)
                if start is not None:
                    found.append(start)
        if not found:
            return Truth("unclear", planted=max(trace.at, 0))
        also = frozenset(
            {
                "uniform-prediction",
                "prior-prediction",
                "flat-midway",
                "lr-too-low",
                "zero-gradient",
                "slow-divergence",
                "level-jump",
                "lr-too-high",
            }
        )
        return Truth(row, min(found), also, max(trace.at, 0))

    return rule


def overfitted(trace: Trace) -> Truth:
    """Validation ends over its minimum by 5 % and by twice its usual change, while train is lower than at that minimum."""
    least = int(trace.val.argmin())
    change = float(np.median(np.abs(np.diff(trace.val))))
    end = float(np.median(trace.val[-3:]))
    then = float(np.interp(trace.val_steps[least], trace.probe_steps, trace.probe))
    if end > trace.val[least] + max(0.05 * trace.val[least], 2 * change) and trace.end() < then:
        return Truth("overfitting", int(trace.val_steps[least]), frozenset({"memorising-noise"}), 0)
    return Truth("unclear", planted=0)


def unfinished(trace: Trace) -> Truth:
    """The probe still falls at the end: the last tenth lies under the tenth before it by 1 % of the first loss."""
    tenth = max(len(trace.probe) // 10, 2)
    last, previous = np.median(trace.probe[-tenth:]), np.median(trace.probe[-2 * tenth : -tenth])
    return Truth("undertrained" if previous - last > 0.01 * trace.probe[0] else "unclear", planted=0)


def off_at_start(trace: Trace) -> Truth:
    """The first loss is off ln C by more than .5."""
    if abs(trace.loss[0] - trace.chance) > 0.5:
        return Truth("initial-loss-off", 0, frozenset(), 0)
    return Truth("unclear", planted=0)


def healthy(trace: Trace) -> Truth:
    """Finite, and the probe ends under .85 of where it began (GAN and RL losses mean nothing: finite is enough)."""
    if first_bad(trace) is not None and trace.recipe.name != "scaler-works":
        return nan_row(trace)
    if trace.recipe.arch in ("gan", "policy"):
        return Truth("healthy")
    return Truth("healthy" if trace.end() < 0.85 * float(np.median(trace.probe[:1])) else "unclear")


RULES: dict[str, Callable[[Trace], Truth]] = {
    **dict.fromkeys(("lr-jump", "lr-jump-adam", "new-data", "bad-resume", "overflow"), jumped),
    **dict.fromkeys(("lr-high", "lr-high-adam"), from_start),
    **dict.fromkeys(("weights-grow", "weights-drift", "lr-creep"), slow),
    "bad-batch": spiked,
    "bad-batches": clustered,
    "hidden-term": gradient_burst,
    "edge": oscillating,
    "no-zero-grad": accumulating,
    **dict.fromkeys(("wrong-sign", "probabilities"), under_floor),
    "scaler-fails": scaler,
    **dict.fromkeys(("detached", "detached-later", "not-in-optimizer"), motionless),
    "lr-tiny": creeping,
    **dict.fromkeys(("shuffled", "shuffled-unbalanced"), constant_guess),
    **dict.fromkeys(("softmax-twice", "softmax-twice-2"), doubled),
    "memorises": memorising,
    **dict.fromkeys(("lr-gone", "noise-floor"), midway),
    "sigmoid-stack": vanishing,
    **dict.fromkeys(("dead-start", "dying"), share_of_units("dead_fraction/", "dead-relu")),
    "saturated": share_of_units("saturation/", "saturated"),
    "overfits": overfitted,
    "short": unfinished,
    "hot-init": off_at_start,
}


def judge(recipe: Recipe, columns: Columns, hidden: Hidden, at: int) -> Truth:
    """The label of one run, from everything that is known of it."""
    trace = Trace(
        recipe,
        columns,
        hidden,
        at,
        columns["loss"][1].astype(float),
        columns["grad_norm"][1].astype(float),
        *columns["val_loss"],
        hidden["probe_steps"],
        hidden["probe"].astype(float),
    )
    rule = RULES.get(recipe.name) or (healthy if recipe.row == "healthy" else nan_row)
    with np.errstate(all="ignore"):
        return rule(trace)
