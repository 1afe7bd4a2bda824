"""Losses whose noise is a factor, not a sum: where single samples make the loss, far out is not far."""

from __future__ import annotations

import math
from collections.abc import Sequence

from tuimon.stats import IQR_TO_SIGMA, TAIL_SIGMAS

RARE, RARE_CROWD, RARE_LONE = 4.0, 3.0, 8.0
"""Sigmas of the logarithm beyond which the second highest record of a spike must lie, of a pair above eight sigma and
of a crowd above four: 1 in 30,000 and 1 in 700 for log-normal losses, each twice. The third is for a record that stands
alone; none does so by chance. Where sigma is less than 0.3 (0.15) of the level, as many sigmas of the loss are more of
its logarithm, and this asks for nothing more."""

TAIL_SHARE = 13
"""One in 13 normal points lies above 1.4 sigma."""

POSITIVE, FOLD = 16, 4.0
"""Positive losses from which a scale of their logarithms is known to a quarter. Where nearly all losses are exactly
zero there are fewer, and a spike must be four times above them all and above where the run began: of eight draws the
last two are the highest once in 28 times. One record alone is nothing among them."""


def expected(ordered: Sequence[float], high: float, progress: float, widths: float) -> bool:
    """Whether a loss as high as `high` is to be expected among those of a baseline.

    Small batches of a network that has nearly converged: most losses are tiny or exactly zero, a hard sample is a
    hundred times as high, and sigma, which the middle half gives, knows nothing of it. There the logarithms of the
    losses above zero are compared. Losses below zero have no logarithm; nothing is expected of them.

    Args:
        ordered: the losses of the baseline, ascending.
        high: the second highest loss of the excursion, or the highest.
        progress: how far the run has come, in units of loss.
        widths: sigmas of the logarithm that it may be above the middle.
    """
    if not ordered or ordered[0] < 0.0 or high <= 0.0:
        return False
    logs = [math.log(value) for value in ordered if value > 0.0]
    count = len(logs)
    if count < POSITIVE:
        return widths >= RARE_LONE or high <= FOLD * max(progress, ordered[-1])
    middle = logs[count // 2]
    width = max(
        (logs[3 * count // 4] - logs[count // 4]) / IQR_TO_SIGMA,
        (logs[-1 - count // TAIL_SHARE] - middle) / TAIL_SIGMAS,
    )
    return math.log(high) - middle <= widths * width
