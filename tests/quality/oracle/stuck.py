"""Whether a loss was stuck, and at which telling value."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from tests.quality.oracle.overflow import nan_row
from tests.quality.oracle.trace import Trace, Truth, first, rolling_median


def motionless(trace: Trace) -> Truth:
    """zero-gradient: every norm from the planted step is 0. frozen-weights: norms are not, updates are."""
    start = max(trace.at, 0)
    if (trace.norm[start:] == 0).all():
        return Truth("zero-gradient", start, frozenset(), start)
    if (trace.hidden["update"][start:] == 0).all():
        return Truth("frozen-weights", start, frozenset({"lr-too-low"}), start)
    return Truth("unclear")


def creeping(trace: Trace) -> Truth:
    """A learning rate too low: the weights moved, and less than a tenth of the first loss was gained."""
    begin, end = float(np.median(trace.probe[:3])), trace.end()
    if trace.hidden["update"].max() > 0 and begin - end < 0.1 * begin:
        return Truth("lr-too-low", 0, frozenset({"uniform-prediction", "flat-midway"}), 0)
    return Truth("unclear")


def constant_guess(trace: Trace) -> Truth:
    """Shuffled labels. Kept when the second half of the loss lies within .06 of the entropy of the labels; dated where
    the loss first came there. Flat up to a quarter under ln C without counts: the labels are unbalanced by themselves,
    prior-prediction."""
    counts = np.array(trace.hidden["counts"]) if "counts" in trace.hidden else None
    half = len(trace.loss) // 2
    tail = float(np.median(trace.loss[half:]))
    entropy = trace.chance if counts is None else float(-(counts * np.log(counts)).sum())
    row = "uniform-prediction" if counts is None else "prior-prediction"
    if counts is None and 0.75 * entropy < tail < entropy - 0.06:
        entropy, row = tail, "prior-prediction"
    if abs(tail - entropy) > 0.06 or abs(float(np.median(trace.loss[half:-100])) - trace.end_logged()) > 0.03:
        return Truth("unclear", planted=0)
    there = first(np.abs(rolling_median(trace.loss, 15) - entropy) < 0.06)
    return Truth(row, there, frozenset({"prior-prediction", "uniform-prediction", "lr-too-low", "flat-midway"}), 0)


def doubled(trace: Trace) -> Truth:
    """A softmax too many. Kept when the loss ends within .15 above ln(e + C - 1) - 1, its floor."""
    floor = math.log(math.e + trace.meta_classes - 1) - 1
    if not -0.01 <= float(np.median(trace.loss[-100:])) - floor < 0.15:
        return Truth("unclear", planted=0)
    return Truth("double-softmax", 0, frozenset({"flat-midway"}), 0)


def memorising(trace: Trace) -> Truth:
    """Random labels learned by heart: train ends under .8 ln C while validation never was under ln C - .02."""
    if trace.end() < 0.8 * trace.chance and trace.val.min() > trace.chance - 0.02:
        return Truth("memorising-noise", int(trace.val_steps[trace.val.argmin()]), frozenset({"overfitting"}), 0)
    return Truth("unclear", planted=0)


# Share of the first loss at which healthy runs of an architecture end (median over seeds and optimizers, measured).
REACHABLE = {
    "mlp": 0.23,
    "autoencoder": 0.10,
    "regression": 0.02,
    "cnn": 0.11,
    "transformer": 0.67,
    "contrastive": 0.48,
}


def midway(trace: Trace) -> Truth:
    """Stops partway: a tenth or more of the way to what this architecture reaches was made, a fifth or more is left,
    and the last half of the probe gains under 3 % of what the first half did."""
    if not np.isfinite(trace.loss).all():
        return nan_row(trace)
    start, half = max(trace.at, 0), len(trace.probe) // 2
    begin = float(trace.probe[0])
    middle, end = float(np.median(trace.probe[half : half + half // 4])), trace.end()
    way = begin * (1 - REACHABLE[trace.recipe.arch])
    gained = begin - middle
    if gained < 0.1 * way or end < begin - 0.8 * way or middle - end > 0.03 * gained:
        return Truth("unclear", planted=start)
    return Truth("flat-midway", start, frozenset({"lr-too-low"}), start)


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
        """More than half of a layer's units dead (saturated) over 32 steps in a row, and still at the end; dated
        where that began."""
        found = []
        for name, (_, values) in trace.columns.items():
            if name.startswith(prefix):
                start = first(-rolling_median(-(values > 0.5).astype(float), 32) >= 1)
                if start is not None and np.median(values[-100:]) > 0.5:
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
