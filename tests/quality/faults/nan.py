"""Mistakes that make a value NaN or infinite, and loggers that hide it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor

from tests.quality.faults.base import Always, Criterion, Fault, Moment


@dataclass
class PoisonedBatch(Fault):
    """One input value of the planted step's batch is NaN (or infinite)."""

    value: float = float("nan")
    plant: ClassVar[tuple[float, float] | None] = (0.15, 0.85)

    def batch(self, now: Moment, x: Any, y: Any) -> tuple[Any, Any]:
        x = x.clone()
        first = x.flatten(1)[:, 0]
        x.reshape(x.shape[0], -1)[:, 0] = torch.where(now.hit, torch.full_like(first, self.value), first)
        return x, y


class PoisonedFromStart(Always):
    """The inputs are normalised by a standard deviation of zero: NaN in every batch."""

    def batch(self, now: Moment, x: Any, y: Any) -> tuple[Any, Any]:
        return x * float("nan"), y


class BrokenInit(Always):
    """One initial weight is NaN (an uninitialised tensor)."""

    def start(self, weights: Tensor) -> Tensor:
        weights = weights.clone()
        weights[:, 3] = float("nan")
        return weights


class LossTerm(Fault):
    """An added loss term that is harmless except at the planted step."""

    plant = (0.15, 0.85)

    def criterion(self, inner: Criterion) -> Callable[[Any, Any, Tensor], Tensor]:
        return lambda out, target, hit: inner(out, target) + self.term(first_of(out), hit)

    def term(self, out: Tensor, hit: Tensor) -> Tensor:
        raise NotImplementedError


def first_of(out: Any) -> Tensor:
    return out[0] if isinstance(out, tuple) else out


class SqrtAtZero(LossTerm):
    """sqrt of a distance that is exactly zero: the value is fine, its slope is infinite."""

    def term(self, out: Tensor, hit: Tensor) -> Tensor:
        alive = 1 - hit
        return 1e-4 * ((out * alive) ** 2 + alive).sqrt().mean()


class MaskedLog(LossTerm):
    """where(p > 0, p log p, 0) with a p of zero: the branch not taken still passes NaN backward."""

    def term(self, out: Tensor, hit: Tensor) -> Tensor:
        p = out.sigmoid() * (1 - hit)
        return 1e-3 * torch.where(p > 0, p * p.log(), torch.zeros_like(p)).mean()


class NormAtZero(LossTerm):
    """The norm of a difference of two equal vectors, written out by hand."""

    def term(self, out: Tensor, hit: Tensor) -> Tensor:
        flat = out.flatten(0, -2) if out.dim() > 1 else out[:, None]
        apart = (flat - flat.roll(1, 0)) * (1 - hit) + (1 - hit)
        return 1e-4 * (apart * apart).sum(-1).sqrt().mean()


class LogOfZero(LossTerm):
    """-log of a probability that underflowed to zero: the loss is infinite before anything is NaN."""

    def term(self, out: Tensor, hit: Tensor) -> Tensor:
        return -1e-3 * (out.sigmoid() * (1 - hit)).log().mean()


class ZeroOverZero(LossTerm):
    """A mean over nothing inside the loss: 0/0."""

    def term(self, out: Tensor, hit: Tensor) -> Tensor:
        return 1e-4 * (out * (1 - hit)).sum() / ((1 - hit) * out.numel())


class EmptyBatch(Fault):
    """All labels of the planted step are masked: the mean over none is NaN, gradients are zero, the next is fine."""

    plant = (0.15, 0.85)

    def criterion(self, inner: Criterion) -> Callable[[Any, Any, Tensor], Tensor]:
        return lambda out, target, hit: inner(out, target) * (1 - hit) + torch.where(hit > 0, torch.nan, 0.0)


class Filtered(PoisonedBatch):
    """A poisoned batch, and a logger that writes 0 for what is not finite (the gradient norm it passes on)."""

    def logged(self, now: Moment, row: dict[str, Tensor]) -> dict[str, Tensor]:
        return {**row, "loss": torch.where(row["loss"].isfinite(), row["loss"], 0.0)}


class FilteredRepeating(PoisonedBatch):
    """A poisoned batch, and a logger that writes its last finite loss again and again."""

    def __init__(self) -> None:
        super().__init__()
        self.last: Tensor | None = None

    def logged(self, now: Moment, row: dict[str, Tensor]) -> dict[str, Tensor]:
        loss = row["loss"]
        self.last = loss if self.last is None else torch.where(loss.isfinite(), loss, self.last)
        return {**row, "loss": self.last}


class EmptyValidation(Fault):
    """From the planted step on the validation mean divides by a count of zero; the training is fine."""

    def held_out(self, now: Moment, loss: Tensor) -> Tensor:
        return torch.where(now.since, torch.nan, loss)


@dataclass
class LossScaler(Fault):
    """fp16 gradients with a dynamic loss scale: overflow skips the step and halves the scale, calm doubles it.

    A healthy scaler calibrates in the first steps and skips about once per `calm` steps. With `fails`, from the planted
    step on the backward pass overflows whatever the scale is, until the scale is at its minimum.
    """

    fails: bool = True
    calm: int = 400
    plant = (0.2, 0.7)

    def __post_init__(self) -> None:
        self.scale: Tensor | None = None
        self.good: Tensor | None = None

    def gradients(self, now: Moment, gradients: Tensor) -> Tensor:
        if self.scale is None:
            self.scale, self.good = torch.full(now.at.shape, 2.0**24), torch.zeros(now.at.shape)
        largest = gradients.abs().amax(1)
        over = ~(largest * self.scale < 65504)
        if self.fails:
            over |= now.since & (torch.rand(now.at.shape, generator=now.rng) < 0.5 + 0.5 * now.strength)
        now.skip = over
        self.good = torch.where(over, 0, self.good + 1)
        self.used = self.scale
        grown = torch.where(self.good % self.calm == 0, self.scale * 2, self.scale)
        self.scale = torch.where(over, (self.scale / 2).clamp_min(1), grown)
        return torch.where(over[:, None], torch.inf, gradients)

    def logged(self, now: Moment, row: dict[str, Tensor]) -> dict[str, Tensor]:
        return {**row, "loss_scale": self.used, "skipped": now.skip.float()}
