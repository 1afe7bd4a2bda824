"""What is done to a training to make it fail, each as the mistake that people make, at a step drawn per seed.

A `Fault` is a set of hooks that `training.train` calls; those not overridden leave the training as it is. Shapes: S
seeds, P parameters; everything is per seed, so that each seed of a stack fails at its own step with its own strength.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar

import torch
from torch import Tensor

Criterion = Callable[[Any, Any], Tensor]


@dataclass
class Moment:
    """Where a stack stands.

    Attributes:
        step, steps: this step and how many there will be.
        at: planted step of each seed (S,).
        strength: a uniform draw in [0, 1) of each seed (S,), for what differs between seeds.
        rng: the stack's own randomness.
        spans: parameter name -> its slice of the flat parameters.
        skip: seeds whose optimizer step is not taken this time (S,), or None.
        state: the optimizer's running averages, name -> (S, P).
    """

    step: int
    steps: int
    at: Tensor
    strength: Tensor
    rng: torch.Generator
    spans: dict[str, slice]
    skip: Tensor | None = None
    state: dict[str, Tensor] = field(default_factory=dict)

    @property
    def hit(self) -> Tensor:
        """Which seeds are at their planted step (S,)."""
        return self.at == self.step

    @property
    def since(self) -> Tensor:
        """Which seeds are at it or past it (S,)."""
        return self.at <= self.step

    def within(self, count: int) -> Tensor:
        """Which seeds are in the `count` steps from their planted one (S,)."""
        return (self.at <= self.step) & (self.step < self.at + count)

    def between(self, low: float, high: float) -> Tensor:
        """A value per seed, log-uniform between two positive bounds (S,)."""
        return low * (high / low) ** self.strength


def wide(mask: Tensor, like: Tensor) -> Tensor:
    """A mask per seed, shaped to select within `like`."""
    return mask.reshape(-1, *(1,) * (like.dim() - 1))


class Fault:
    """No fault. `plant` is the part of the run in which the planted step falls, None when there is none."""

    plant: ClassVar[tuple[float, float] | None] = (0.35, 0.75)

    def start(self, weights: Tensor) -> Tensor:
        """The initial parameters (S, P)."""
        return weights

    def criterion(self, inner: Criterion) -> Callable[[Any, Any, Tensor], Tensor]:
        """The loss of one run; its third argument says (0 or 1) whether this is the planted step."""
        return lambda out, target, hit: inner(out, target)

    def batch(self, now: Moment, x: Any, y: Any) -> tuple[Any, Any]:
        return x, y

    def gradients(self, now: Moment, gradients: Tensor) -> Tensor:
        """From what backward gave to what the optimizer sees; (S, P). What is logged as norm is the norm of this."""
        return gradients

    def rates(self, now: Moment, rates: Tensor) -> Tensor:
        return rates

    def weights(self, now: Moment, weights: Tensor) -> Tensor:
        """The parameters (S, P) after the update."""
        return weights

    def held_out(self, now: Moment, loss: Tensor) -> Tensor:
        return loss

    def logged(self, now: Moment, row: dict[str, Tensor]) -> dict[str, Tensor]:
        """What the logger makes of this step's metrics."""
        return row


class Always(Fault):
    """A fault that is there from the first step."""

    plant = None
