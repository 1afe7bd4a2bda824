"""What is done to a training to make it fail, each as the mistake that people make, at a step drawn per seed.

A `Fault` is a set of hooks that `training.train` calls; those not overridden leave the training as it is. Shapes: S seeds,
P parameters; everything is per seed, so that each seed of a stack fails at its own step with its own strength.
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


# --- divergence ---------------------------------------------------------------------------------------------------


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


# --- NaN ----------------------------------------------------------------------------------------------------------


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
    """All labels of the planted step are masked: the mean over none is NaN, the gradients are zero, the next is fine."""

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


# --- plateau ------------------------------------------------------------------------------------------------------


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
    """From the planted step on the hidden biases sink (a decay that pulls the wrong way): units die one after another."""

    plant = (0.1, 0.3)
    per_step: float = 0.02

    def weights(self, now: Moment, weights: Tensor) -> Tensor:
        weights = weights.clone()
        names = [name for name in now.spans if name.endswith("bias")][:-1]
        for name in names:
            span = now.spans[name]
            weights[:, span] -= self.per_step * now.since[:, None]
        return weights
