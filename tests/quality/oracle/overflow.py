"""What a non-finite value was: the order of the fields, and whether the loss grew before."""

from __future__ import annotations

import math

import numpy as np

from tests.quality.oracle.trace import Trace, Truth, departure, first, first_bad


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
        # Validation at the head of a step may overflow just before the training does.
        soon = first(~np.isfinite(trace.loss[bad : bad + 6] + trace.norm[bad : bad + 6]))
        if soon is None:
            return Truth("nan-val-only", bad, frozenset(), bad)
        grown = growth_before(trace, bad + soon)
        kinds = frozenset({"nan-forward", "nan-backward", "inf-first", "nan-val-only"})
        return Truth("nan-after-growth" if grown else "unclear", bad, kinds, bad if grown is None else grown, grown)
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


def scaler(trace: Trace) -> Truth:
    """Three skipped steps or more in the 100 from the planted one; dated at the first of them."""
    skipped = trace.columns["skipped"][1][trace.at :] > 0
    if skipped[:100].sum() < 3:
        return Truth("unclear", planted=trace.at)
    return Truth("fp16-range", trace.at + int(skipped.argmax()), frozenset({"nan-backward"}), trace.at)
