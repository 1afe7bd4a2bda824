"""Whether the first gradient norms are those of a sum that is never cleared."""

from __future__ import annotations

import math
from collections.abc import Sequence

from tuimon.stats import median

ACCUMULATION = 32
"""Records from the start over which accumulation must show."""

EXPONENT = 0.8
"""Least growth exponent of a straight line: sums of n gradients of one direction grow as n."""

HALF = 16
"""Records over which a straight line is enough: a network that learns fast turns its gradients, and their sum, soon."""

RESIDUAL = 0.08
"""Root mean square of the residuals of ln(grad_norm): accumulation averages the noise of the batches away."""

GROWN = 4.0
"""Growth of a sum over 32 steps whose terms shrink or point in random directions: 32 to the power of 0.4 to 0.5."""

WOBBLE = 0.15
"""The same residual for those: one noisy gradient among n is a share of 1 / n of their sum."""

RISING = 24
"""Rises among 31 changes. Independent draws rise 15.5 times, give or take 1.7 (the rises of a random order of n have
the variance (n + 1) / 12): five sigma away."""

EIGHTH, EARLY = range(5, 10), 0.4
"""The records around the eighth, and the share of all growth, in logarithms, that they must have seen. A power of the
steps brings three of its five doublings by then, 0.6; a straight line that starts above zero 0.38; a gradient that
grows by a factor each step, as where a network leaves a saddle, 7 / 31."""


def accumulated(steps: Sequence[int], values: Sequence[float]) -> float | None:
    """The exponent with which the norms grow from the first step on, None where they are not those of a sum.

    Takes the first 32 records; the first of them ends the first step, or as many as lie between two records. Fits
    ln(grad_norm) against ln(steps since the start): either a straight line in the steps, over all or over 16, or, where
    the gradients shrink while the network learns or their noise is larger than what they share, a lower power over all,
    but as smooth as only a sum is.
    """
    stride = steps[1] - steps[0]
    if min(values) <= 0.0 or stride <= 0 or steps[0] > stride:
        return None
    before = steps[0] - (1 if steps[0] <= 1 else stride)
    if min(steps) <= before:
        return None  # a rewind to before the first of them
    xs = [math.log(step - before) for step in steps]
    ys = [math.log(value) for value in values]
    exponent, residual = _line(xs, ys)
    if (exponent >= EXPONENT and residual <= RESIDUAL) or (residual <= WOBBLE and _smooth(ys)):
        return exponent
    exponent, residual = _line(xs[:HALF], ys[:HALF])
    return exponent if exponent >= EXPONENT and residual <= RESIDUAL else None


def _line(xs: Sequence[float], ys: Sequence[float]) -> tuple[float, float]:
    """Slope of the least-squares line, and the root mean square of its residuals."""
    mean_x, mean_y = math.fsum(xs) / len(xs), math.fsum(ys) / len(ys)
    sxx = math.fsum([(x - mean_x) ** 2 for x in xs])
    slope = math.fsum([(x - mean_x) * (y - mean_y) for x, y in zip(xs, ys, strict=True)]) / sxx
    rest = [y - mean_y - slope * (x - mean_x) for x, y in zip(xs, ys, strict=True)]
    return slope, math.sqrt(math.fsum([r * r for r in rest]) / len(rest))


def _smooth(logs: Sequence[float]) -> bool:
    """The norms rise again and again, most of it early: no draws from among fresh gradients."""
    growth = median(logs[-4:]) - logs[0]
    rises = sum(a < b for a, b in zip(logs, logs[1:], strict=False))
    early = median([logs[i] for i in EIGHTH]) - logs[0]
    return growth >= math.log(GROWN) and rises >= RISING and early >= EARLY * growth
