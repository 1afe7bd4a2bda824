"""Mistakes that keep a training from learning."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from tests.quality.faults.base import Always, Criterion, Fault, Moment


class Detached(Always):
    """The graph is cut: every gradient is zero."""

    def gradients(self, now: Moment, gradients: Tensor) -> Tensor:
        return torch.zeros_like(gradients)


class DetachedLater(Fault):
    """From the planted step on the graph is cut (a phase that freezes everything)."""

    def gradients(self, now: Moment, gradients: Tensor) -> Tensor:
        return torch.where(now.since[:, None], 0.0, gradients)


class NotInOptimizer(Always):
    """Gradients are there, the optimizer holds other parameters: nothing moves."""

    def rates(self, now: Moment, rates: Tensor) -> Tensor:
        now.skip = torch.ones_like(now.at, dtype=torch.bool)
        return rates


class ShuffledLabels(Always):
    """Inputs and labels are collated in different orders."""

    def batch(self, now: Moment, x: Any, y: Tensor) -> tuple[Any, Any]:
        order = torch.rand(y.shape[:2], generator=now.rng).argsort(1)
        for _ in range(y.dim() - 2):
            order = order[..., None]
        shuffled = y.gather(1, order.expand_as(y))
        if shuffled.dim() > 2:  # sequences: the places are mixed too, or the place in the chain would tell
            shuffled = shuffled[..., torch.randperm(y.shape[-1], generator=now.rng)]
        return x, shuffled


class DoubleSoftmax(Always):
    """A softmax in front of a cross-entropy that takes logits."""

    def criterion(self, inner: Criterion) -> Callable[[Any, Any, Tensor], Tensor]:
        return lambda out, target, hit: inner(out.softmax(-1), target)


class RateGone(Fault):
    """The schedule ends at the planted step: the learning rate falls to almost nothing partway."""

    plant = (0.03, 0.08)

    def rates(self, now: Moment, rates: Tensor) -> Tensor:
        return torch.where(now.since, rates * 1e-4, rates)


@dataclass
class DyingUnits(Fault):
    """From the planted step on the hidden biases sink (a decay that pulls the wrong way): units die one by one."""

    plant = (0.1, 0.3)
    per_step: float = 0.02

    def weights(self, now: Moment, weights: Tensor) -> Tensor:
        weights = weights.clone()
        names = [name for name in now.spans if name.endswith("bias")][:-1]
        for name in names:
            span = now.spans[name]
            weights[:, span] -= self.per_step * now.since[:, None]
        return weights
