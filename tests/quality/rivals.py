"""The rules that others watch a loss with, from their published descriptions, each in a few lines.

A rule takes the logged losses (NaN among them) and returns the index of its first alarm, or None. Comparisons with
NaN are false, as they are where these rules are used.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

Rule = Callable[[np.ndarray], "int | None"]


def three_times_mean(losses: np.ndarray) -> int | None:
    """The loss is over three times its running mean (average so far)."""
    total, count = 0.0, 0
    for index, loss in enumerate(losses.tolist()):
        if count and loss > 3 * total / count:
            return index
        if math.isfinite(loss):
            total, count = total + loss, count + 1
    return None


def six_sigma(losses: np.ndarray, window: int = 128) -> int | None:
    """The loss is over mean + 6 standard deviations of the last 128."""
    if len(losses) <= window:
        return None
    past = np.lib.stride_tricks.sliding_window_view(losses, window)[:-1]
    above = losses[window:] > past.mean(axis=1) + 6 * past.std(axis=1)
    return window + int(above.argmax()) if above.any() else None


def ten_times_early(losses: np.ndarray, early: int = 100) -> int | None:
    """The loss is over ten times the largest of the first 100."""
    above = losses[early:] > 10 * np.max(losses[:early], initial=-math.inf)
    return early + int(above.argmax()) if above.any() else None


def patience(losses: np.ndarray, records: int = 200) -> int | None:
    """No new minimum for 200 records."""
    best, since = math.inf, 0
    for index, loss in enumerate(losses.tolist()):
        since = 0 if loss < best else since + 1
        best = min(best, loss) if loss == loss else best
        if since >= records:
            return index
    return None


def not_finite(losses: np.ndarray) -> int | None:
    """The loss is NaN or infinite."""
    bad = ~np.isfinite(losses)
    return int(bad.argmax()) if bad.any() else None


RULES: dict[str, Rule] = {
    "loss is not finite": not_finite,
    "loss > 3 x running mean": three_times_mean,
    "loss > mean + 6 sigma of 128": six_sigma,
    "loss > 10 x max of first 100": ten_times_early,
    "no new minimum for 200 records": patience,
}
