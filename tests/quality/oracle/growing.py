"""What a loss that was pushed upward did: stayed, came back, crept, oscillated."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from tests.quality.oracle.fitting import overfitted
from tests.quality.oracle.overflow import nan_row
from tests.quality.oracle.trace import Trace, Truth, departure, first, first_bad, rolling_median


def jumped(trace: Trace) -> Truth:
    """A planted divergence in mid-run.

    Never left its level nor was seen: healthy. Came back within 200 steps and ends there: loss-spike. The logged loss
    ends above it by 4 spreads and a quarter of what had been learned: lr-too-high when the learning rate was raised
    there (the log shows it, however calm the gradient is afterwards); level-jump when the data changed or the gradient
    norm is back to normal 20 steps later, else lr-too-high as well. In between, and back only after 200 steps or never:
    unrecovered-spike. The last three look alike in a log without its causes, so each accepts the others.
    """
    if first_bad(trace) is not None:
        return nan_row(trace)
    level, noise = trace.before(trace.at)
    gone = departure(trace, trace.at)
    if gone is None:
        quiet = trace.end_logged() < level + noise and not seen(trace, 30)
        return Truth("healthy" if quiet else "unclear", planted=trace.at)
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
    raised = trace.recipe.row == "lr-too-high"
    steady = trace.recipe.row == "level-jump" or (calm < 2 * usual and not raised)
    return Truth("level-jump" if steady else "lr-too-high", gone, also, trace.at)


def seen(trace: Trace, steps: int) -> bool:
    """Whether two logged losses in a row exceed 4 spreads soon after the planted step: too little to demand, too much
    for a word about it to be a false alarm."""
    level, noise = trace.before(trace.at)
    above = trace.loss[trace.at : trace.at + steps] > level + 4 * noise
    return bool((above[1:] & above[:-1]).any())


def from_start(trace: Trace) -> Truth:
    """A learning rate too large from step 0. Ends above 1.5 times its first loss: lr-too-high. Learned (ends under
    .75 of it): healthy, however wild the beginning. Flat at the loss of a constant guess: collapsed, uniform- or
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
    """A creeping divergence. Kept when the logged loss ends 4 spreads and a tenth of what was learned above its level
    and took more than 60 steps from there to half of the rise; faster than that it is a jump."""
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
        truth = jumped(trace)
        return replace(truth, planted=trace.at, accept=truth.accept | {"slow-divergence"})
    also = frozenset({"lr-too-high", "level-jump"})
    return Truth("slow-divergence", trace.at + left, also, trace.at)


def spiked(trace: Trace) -> Truth:
    """Bad batches. Kept when at least two logged losses in a row exceed 8 spreads; else the run is healthy (no trace)
    or unclear (a single one, a small one). Whether it came back is judged as for a jump."""
    if first_bad(trace) is not None:
        return nan_row(trace)
    level, noise = trace.before(trace.at)
    struck = trace.loss[trace.at : trace.at + 6] > level + 8 * noise
    if not struck.any():
        return Truth("unclear" if seen(trace, 10) else "healthy", planted=trace.at)
    if not (struck[1:] & struck[:-1]).any():
        return Truth("unclear", planted=trace.at)
    truth = jumped(trace)
    return replace(truth, onset=trace.at + int(struck.argmax())) if truth.row == "loss-spike" else truth


def clustered(trace: Trace) -> Truth:
    """Bad batches again and again. Kept when the visible spikes after the planted step are four or more and come three
    times as often as one in the steps up to the first, by chance in under 1 of 100 (Poisson). Else they are spikes."""
    if first_bad(trace) is not None:
        return nan_row(trace)
    level, noise = trace.before(trace.at)
    above = trace.loss[trace.at :] > level + 8 * noise
    pairs = above[1:] & above[:-1]
    starts = np.flatnonzero(pairs & ~np.r_[False, pairs[:-1]])
    if not len(starts):
        return Truth("unclear", planted=trace.at)
    begun = trace.at + int(starts[0])
    more, expected = len(starts) - 1, float(starts[-1] - starts[0]) / begun
    by_chance = 1.0 - sum(math.exp(-expected) * expected**k / math.factorial(k) for k in range(more))
    if more < max(3, 3 * expected) or by_chance > 0.01:
        return Truth("loss-spike", begun, frozenset({"spikes-more-frequent"}), trace.at)
    return Truth("spikes-more-frequent", begun, frozenset({"loss-spike", "unrecovered-spike", "oscillation"}), trace.at)


def gradient_burst(trace: Trace) -> Truth:
    """Gradient norm up 4 times and 8 spreads for two steps. Kept while the loss stays under 4 spreads for those; else
    judged as a jump of the loss."""
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
    """Full-batch steps just under the limit. Kept when over the last 200 steps the lag-1 autocorrelation of the loss
    about its running mean is under -.5, that jitter is .2 % of the loss or more, and the loss does not fall to less
    than half; else judged as a learning rate too high from the start."""
    if first_bad(trace) is None:
        tail = trace.loss[-200:]
        smooth = np.convolve(tail, np.ones(9) / 9, mode="valid")
        rest = tail[4:-4] - smooth
        stands = np.median(tail[-50:]) > 0.5 * np.median(tail[:50])
        if stands and rest.std() > 2e-3 * abs(tail.mean()) and np.corrcoef(rest[1:], rest[:-1])[0, 1] < -0.5:
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
