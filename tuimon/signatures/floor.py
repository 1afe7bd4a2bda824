"""How far gradient noise alone holds a loss up, from what plain gradient descent logs of itself."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from tuimon.signatures.course import Course
from tuimon.signatures.outline import Block

STANDS = 500
"""Steps for which the loss must stand, and a quarter of the run, as where the learning rate is gone."""

SHARE = 0.15
"""Share of the whole way, from the start to the level without the noise, that the noise must hold back. Where the rate
then fell to 3 %, the loss mostly fell by a third of this estimate to all of it: by a twentieth of the way at least."""

STILL = 0.5
"""Share of that height by which the loss may have fallen from one such stretch to the next: a run that falls faster
gets there by going on for as long again."""

HELD = 0.5
"""Share of its peak that the learning rate must have held: a rate that decays lowers the floor by itself."""


class Floor(NamedTuple):
    """A loss that rests on the noise of its gradients: its level, how far that noise holds it up, since which step."""

    level: float
    height: float
    onset: int


def momentum_of(course: Course) -> float | None:
    """The declared momentum of plain gradient descent, 0.0 without one; None where that is not the optimizer."""
    optimizer = str(course.meta.get("optimizer", "")).lower()
    if "sgd" not in optimizer and "momentum" not in optimizer:
        return None
    momentum = course.meta.get("momentum", 0.9 if "momentum" in optimizer else 0.0)
    return min(float(momentum), 0.999) if isinstance(momentum, (int, float)) else 0.0


def noise_floor(course: Course, blocks: Sequence[Block]) -> Floor | None:
    """The floor on which the run has stood for 500 steps and a quarter of its length; None where it does not.

    Near a minimum, steps of lr * g with noisy gradients keep the weights in a cloud around it whose mean loss lies
    lr * E[g**2] / 4 above the minimum, 1 / (1 - momentum) times that for heavy balls, whatever the curvature (Mandt,
    Hoffman and Blei 2017, eq. 13). A lower rate lowers it in proportion; going on does not.
    """
    momentum = momentum_of(course)
    if momentum is None or len(blocks) < 4:
        return None
    last = blocks[-1].last
    span = max(STANDS, (last - blocks[0].first) / 4)
    late = [block for block in blocks if block.first > last - span - 1]
    early = [block for block in blocks if last - 2 * span - 1 < block.first < late[0].first]
    if not early or early[0].first > last - 1.75 * span:
        return None  # too short to have stood
    lrs, budgets = [block.lr for block in early + late], [block.budget for block in late]
    if any(lr is None or lr < HELD * course.lr_peak for lr in lrs) or None in budgets:
        return None
    height = math.fsum(filter(None, budgets)) / (last - early[-1].last) / 4 / (1 - momentum)
    level, before = _mean(late), _mean(early)
    least = SHARE * (course.origin - level + height)
    # Higher than the whole loss: loss and gradient are not in the same units.
    if not 0.0 < least < height < level < course.origin:
        return None
    if abs(before - level) > STILL * height or min(block.mean for block in blocks) < level - height:
        return None
    onset = next(block.first for block in blocks if block.mean < level + STILL * height)
    return Floor(level, height, onset)


def _mean(blocks: Sequence[Block]) -> float:
    return math.fsum(block.mean * block.count for block in blocks) / sum(block.count for block in blocks)
