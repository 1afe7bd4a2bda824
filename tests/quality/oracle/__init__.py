"""What a run really did, from what no detector sees.

A planted fault often fails to fail: a learning rate far over the limit is survived, a bad batch leaves no trace, a jump
overflows. The oracle therefore labels each run by what happened, from the planted step, the loss on a fixed noise-free
probe set, parameter updates and the complete unrounded log. Its rules, per planted row, are the functions below; each
says what the run must have done to keep its label and what it is called instead. "unclear" runs are not scored.

Units: `level` and `noise` are median and 1.4826 MAD of the logged loss over the 64 steps before the planted one.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tests.quality.oracle.fitting import off_at_start, overfitted, unfinished
from tests.quality.oracle.growing import (
    accumulating,
    clustered,
    from_start,
    gradient_burst,
    jumped,
    oscillating,
    slow,
    spiked,
    under_floor,
)
from tests.quality.oracle.overflow import nan_row, scaler
from tests.quality.oracle.stuck import (
    constant_guess,
    creeping,
    doubled,
    memorising,
    midway,
    motionless,
    share_of_units,
    vanishing,
)
from tests.quality.oracle.trace import Columns, Hidden, Trace, Truth, first_bad
from tests.quality.training import Recipe


def healthy(trace: Trace) -> Truth:
    """Finite, and the probe ends under .85 of where it began (GAN and RL losses mean nothing: finite is enough).

    A probe that begins more than .5 off the loss of a uniform guess makes initial-loss-off true of a healthy run.
    """
    if first_bad(trace) is not None and trace.recipe.name != "scaler-works":
        return nan_row(trace)
    if trace.recipe.arch in ("gan", "policy"):
        return Truth("healthy")
    if trace.end() >= 0.85 * trace.probe[0]:
        return Truth("unclear")
    off = trace.meta_classes and abs(trace.probe[0] - trace.chance) > 0.5
    return Truth("healthy", accept=frozenset({"initial-loss-off"}) if off else frozenset())


RULES: dict[str, Callable[[Trace], Truth]] = {
    **dict.fromkeys(("lr-jump", "lr-jump-adam", "lr-jump-clipped", "new-data", "bad-resume", "overflow"), jumped),
    **dict.fromkeys(("lr-high", "lr-high-adam", "lr-high-clipped"), from_start),
    **dict.fromkeys(("weights-grow", "weights-drift", "lr-creep"), slow),
    "bad-batch": spiked,
    "bad-batches": clustered,
    "hidden-term": gradient_burst,
    **dict.fromkeys(("edge", "edge-wide", "edge-clipped"), oscillating),
    "no-zero-grad": accumulating,
    **dict.fromkeys(("wrong-sign", "probabilities"), under_floor),
    "scaler-fails": scaler,
    **dict.fromkeys(("detached", "detached-later", "not-in-optimizer"), motionless),
    "lr-tiny": creeping,
    **dict.fromkeys(("shuffled", "shuffled-unbalanced"), constant_guess),
    **dict.fromkeys(("softmax-twice", "softmax-twice-2"), doubled),
    "memorises": memorising,
    **dict.fromkeys(("lr-gone", "lr-gone-early", "noise-floor"), midway),
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


__all__ = ["Trace", "Truth", "judge"]
