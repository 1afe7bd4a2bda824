"""A run in at most 128 blocks of equal length, for what shows only over hundreds of records."""

from __future__ import annotations

import math
from collections.abc import Sequence
from operator import mul
from typing import NamedTuple

from tuimon.signatures.piece import Points
from tuimon.stats import middle_of

BLOCKS = 128
"""Blocks after which neighbours are joined: the memory is then the same for 1e3 and 1e9 records."""


class Block(NamedTuple):
    """Some consecutive records in numbers.

    Attributes:
        first, last: steps of the first and last loss.
        count: finite losses.
        mean, spread: their mean and standard deviation.
        low, high: their extremes.
        gn: median gradient norm, None where not logged.
        lr: last learning rate, None where not logged.
        budget: sum of lr * gn**2 over the steps (of a norm that is clipped, lr * gn * clip), in units of loss: what
            plain gradient descent can buy; None where either is not logged.
        travel: sum of lr over the steps: how far Adam can have moved a weight; None where lr is not logged.
    """

    first: int
    last: int
    count: int  # type: ignore[assignment]  # hides a method of tuple that nobody needs here
    mean: float
    spread: float
    low: float
    high: float
    gn: float | None
    lr: float | None
    budget: float | None
    travel: float | None


def block_of(losses: Points, gns: Points, lrs: Sequence[float], clip: float = math.inf) -> Block:
    """The block of the records between two renewals, which hold some loss; gradients are clipped to norm `clip`."""
    steps, count = losses.steps, len(losses.values)
    mean = sum(losses.values) / count
    spread = math.dist(losses.values, [mean] * count) / math.sqrt(max(count - 1, 1))
    stride = (steps[-1] - steps[0]) / (count - 1) if count > 1 else 1.0
    budget = travel = None
    if lrs:
        travel = stride * sum(lrs) * count / len(lrs)
        if len(gns.values) == len(lrs):
            taken = gns.values if gns.ordered[-1] <= clip else [min(norm, clip) for norm in gns.values]
            budget = stride * sum(map(mul, lrs, map(mul, gns.values, taken)))
    return Block(
        steps[0], steps[-1], count, mean, spread, losses.ordered[0], losses.ordered[-1],
        middle_of(gns.ordered) if gns.values else None, lrs[-1] if lrs else None, budget, travel,
    )  # fmt: skip


def _sum(one: float | None, other: float | None) -> float | None:
    return None if one is None or other is None else one + other


def joined(one: Block, other: Block) -> Block:
    """Two neighbouring blocks as one."""
    count = one.count + other.count
    mean = one.mean + (other.mean - one.mean) * other.count / count
    between = (one.mean - other.mean) ** 2 * one.count * other.count / count
    within = one.spread**2 * (one.count - 1) + other.spread**2 * (other.count - 1)
    gn = other.gn if one.gn is None else one.gn if other.gn is None else math.sqrt(one.gn * other.gn)
    return Block(
        one.first, other.last, count, mean, math.sqrt((within + between) / max(count - 1, 1)),
        min(one.low, other.low), max(one.high, other.high), gn, other.lr,
        _sum(one.budget, other.budget), _sum(one.travel, other.travel),
    )  # fmt: skip


class Outline:
    """The blocks so far; each but the newest covers `width` times 32 records."""

    def __init__(self) -> None:
        self.blocks: list[Block] = []
        self.width = 1
        self._part: Block | None = None
        self._parts = 0

    def add(self, block: Block, parts: int = 1) -> bool:
        """Takes in the records since the last renewal, `parts` times 32; True when that completed a block."""
        self._part = block if self._part is None else joined(self._part, block)
        self._parts += parts
        if self._parts < self.width:
            return False
        self.blocks.append(self._part)
        self._part, self._parts = None, 0
        if len(self.blocks) == BLOCKS:
            self.blocks = [joined(*self.blocks[i : i + 2]) for i in range(0, BLOCKS, 2)]
            self.width *= 2
        return True

    def back_to(self, step: int) -> None:
        """Forgets what a rewind to `step` has overtaken."""
        while self.blocks and self.blocks[-1].last >= step:
            self.blocks.pop()
        self._part, self._parts = None, 0

    def tail(self, records: int, least: int) -> list[Block]:
        """The newest blocks that hold `records` losses in at least `least` blocks; empty while there are too few."""
        held = 0
        for i in range(len(self.blocks) - 1, -1, -1):
            held += self.blocks[i].count
            if held >= records and len(self.blocks) - i >= least:
                return self.blocks[i:]
        return []
