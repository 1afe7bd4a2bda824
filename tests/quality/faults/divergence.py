"""Mistakes that make the loss grow: learning rates, data, weights, gradients."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from tests.quality.faults.base import Always, Criterion, Fault, Moment, wide


@dataclass
class RateTimes(Always):
    """The learning rate is too large from the start, by a factor between `low` and `high`."""

    low: float
    high: float

    def rates(self, now: Moment, rates: Tensor) -> Tensor:
        return rates * now.between(self.low, self.high)


@dataclass
class RateJump(Fault):
    """The learning rate is multiplied at the planted step and stays so (a wrong schedule, a unit mistake on resume)."""

    low: float
    high: float

    def rates(self, now: Moment, rates: Tensor) -> Tensor:
        return torch.where(now.since, rates * now.between(self.low, self.high), rates)


@dataclass
class RateCreep(Fault):
    """From the planted step on the learning rate doubles every `every` steps: a schedule whose sign is wrong."""

    every: float

    def rates(self, now: Moment, rates: Tensor) -> Tensor:
        return rates * 2 ** ((now.step - now.at).clamp_min(0) / self.every)


class NewData(Fault):
    """From the planted step on a share of the targets is wrong: a new data mix, a broken shard."""

    def batch(self, now: Moment, x: Any, y: Any) -> tuple[Any, Any]:
        share = now.between(0.5, 0.85)
        wrong = torch.rand(y.shape[:2], generator=now.rng) < share[:, None]
        chosen = wide_rows(wrong & now.since[:, None], y)
        return x, torch.where(chosen, y.roll(1, dims=1), y)


def wide_rows(mask: Tensor, like: Tensor) -> Tensor:
    """A mask per seed and row (S, n), shaped to select within `like`."""
    return mask.reshape(*mask.shape, *(1,) * (like.dim() - 2))


@dataclass
class WeightsGrow(Fault):
    """Weight decay with the wrong sign: from the planted step on every weight grows by a fixed share each step."""

    low: float = 4e-3
    high: float = 1.2e-2

    def weights(self, now: Moment, weights: Tensor) -> Tensor:
        return torch.where(now.since[:, None], weights * (1 + now.between(self.low, self.high))[:, None], weights)


@dataclass
class WeightsDrift(Fault):
    """Weights kept in a coarse number format: each update adds a rounding error that walks away from the minimum."""

    low: float = 1.5e-2
    high: float = 4e-2

    def weights(self, now: Moment, weights: Tensor) -> Tensor:
        error = torch.randn(weights.shape, generator=now.rng) * now.between(self.low, self.high)[:, None]
        return torch.where(now.since[:, None], weights + error, weights)


@dataclass
class BadBatch(Fault):
    """A few batches whose numbers are far too large: the loss jumps while they last and while the weights come back."""

    steps: int = 4
    low: float = 15.0
    high: float = 50.0

    def batch(self, now: Moment, x: Any, y: Any) -> tuple[Any, Any]:
        struck, factor = now.within(self.steps), now.between(self.low, self.high)
        if y.is_floating_point():
            y = torch.where(wide(struck, y), y * wide(factor, y), y)
        if x.is_floating_point():
            return torch.where(wide(struck, x), x * wide(factor, x), x), y
        return x, torch.where(wide(struck, y), 0, y)


@dataclass
class BadBatches(Fault):
    """Bad batches of two steps each, rare before the planted step and every `every` steps or so after it."""

    every: int = 45
    rare: int = 700
    plant = (0.4, 0.6)

    def __post_init__(self) -> None:
        self.left: Tensor | None = None

    def batch(self, now: Moment, x: Any, y: Any) -> tuple[Any, Any]:
        if self.left is None:
            self.left = torch.zeros_like(now.at)
        chance = torch.where(now.since, 1 / self.every, 1 / self.rare)
        starts = (torch.rand(now.at.shape, generator=now.rng) < chance) & (self.left <= 0) & (now.step > 100)
        self.left = torch.where(starts, 3, self.left) - 1
        if x.is_floating_point():
            return torch.where(wide(self.left > 0, x), x * wide(now.between(6, 12), x), x), y
        return x, torch.where(wide(self.left > 0, y), 0, y)


@dataclass
class WeightsStruck(Fault):
    """At the planted step the weights are damaged beyond what the now small learning rate mends (a bad resume)."""

    low: float = 0.25
    high: float = 0.6

    def weights(self, now: Moment, weights: Tensor) -> Tensor:
        error = torch.randn(weights.shape, generator=now.rng) * now.between(self.low, self.high)[:, None]
        return torch.where(now.hit[:, None], weights + error, weights)

    def rates(self, now: Moment, rates: Tensor) -> Tensor:
        return torch.where(now.since, rates * 0.02, rates)


@dataclass
class HiddenTerm(Fault):
    """A penalty that is not part of the logged loss explodes for a while; clipping holds the loss calm."""

    steps: int = 40

    def gradients(self, now: Moment, gradients: Tensor) -> Tensor:
        size = gradients.norm(dim=1, keepdim=True)
        push = torch.randn(gradients.shape, generator=now.rng)
        push = push / push.norm(dim=1, keepdim=True) * size * now.between(8, 60)[:, None]
        return torch.where(now.within(self.steps)[:, None], gradients + push, gradients)


class Accumulates(Always):
    """zero_grad is missing: each backward adds to the gradients of all before it."""

    def __init__(self) -> None:
        self.sum: Tensor | None = None

    def gradients(self, now: Moment, gradients: Tensor) -> Tensor:
        self.sum = gradients if self.sum is None else self.sum + gradients
        return self.sum


class WrongSign(Always):
    """The loss is minimised with its sign turned: it falls below zero and on."""

    def criterion(self, inner: Criterion) -> Callable[[Any, Any, Tensor], Tensor]:
        return lambda out, target, hit: -inner(out, target)


class ProbabilitiesAsLogs(Always):
    """nll_loss is fed probabilities instead of their logarithms: it settles towards -1."""

    def criterion(self, inner: Criterion) -> Callable[[Any, Any, Tensor], Tensor]:
        def loss(out: Tensor, target: Tensor, hit: Tensor) -> Tensor:
            return torch.nn.functional.nll_loss(out.flatten(0, -2).softmax(-1), target.flatten())

        return loss
