"""The one training loop: a stack of seeds of one recipe, trained at once.

All parameters of a seed lie in one row of a (seeds, parameters) tensor, and `torch.func.vmap` runs the network once
for all of them, so that twenty seeds cost about as much as one. Gradients, norms, clipping, optimizers and schedules
are per seed and are the textbook ones.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from tests.quality.faults import Fault, Moment
from tests.quality.worlds import World, finite

HELD_OUT = 64  # rows of the fixed validation and probe sets
PROBE_EVERY = 10  # steps; the probe tells where a run went, the complete log dates it
Rate = Callable[[float], float]


def warmup_cosine(done: float) -> float:
    return min(1.0, done / 0.08) * (0.05 + 0.95 * (1 + math.cos(math.pi * done)) / 2)


SCHEDULES: dict[str, Rate] = {
    "constant": lambda done: 1.0,
    "warmup": lambda done: min(1.0, done / 0.1),
    "warmup-cosine": warmup_cosine,
    "linear": lambda done: 1 - 0.98 * done,
    "steps": lambda done: 0.1 ** (int(done > 0.6) + int(done > 0.85)),
    "thirds": lambda done: 0.1 ** int(3 * done),
    "late-drop": lambda done: 1.0 if done < 0.75 else 0.03,
    "restarts": lambda done: 0.02 + 0.98 * (1 + math.cos(math.pi * ((done * 4) % 1))) / 2,
    "inverse-root": lambda done: min(done / 0.05, math.sqrt(0.05 / max(done, 1e-3))),
}


@dataclass(frozen=True)
class Recipe:
    """One way to train, and what is expected of it.

    Attributes:
        name: of the fault or of the kind of healthy run.
        row: the catalogue row that should light, "healthy" when none may.
        network, world: builders; the world's takes (seeds, rng).
        optimizer: sgd, momentum, adam or adamw; `rate` its learning rate, `schedule` a name in SCHEDULES.
        train_set: size of a fixed training set, 0 for fresh data in every batch; `random_labels` for it.
        clip: norm to which gradients are clipped, 0 for none.
        spread: the learning rate of a seed is `rate` times a log-uniform factor in [1/spread, spread].
        layers: log gradient norms and unit statistics of every layer.
        declares: header fields besides those that the world implies.
    """

    name: str
    row: str
    arch: str
    network: Callable[[], nn.Module]
    world: Callable[[int, torch.Generator], World]
    fault: Callable[[], Fault] = Fault
    optimizer: str = "adam"
    rate: float = 1e-3
    schedule: str = "constant"
    steps: int = 1000
    batch: int = 32
    train_set: int = 0
    random_labels: bool = False
    clip: float = 0.0
    decay: float = 0.0
    spread: float = 1.3
    evaluate_every: int = 50
    layers: bool = False
    declares: dict[str, Any] = field(default_factory=dict)

    @property
    def key(self) -> str:
        return f"{self.name}/{self.arch}-{self.optimizer}"


@dataclass
class Trained:
    """What a stack logged, column by column, and what only the oracle sees.

    Attributes:
        columns: metric -> (steps (T,), values (T, seeds)).
        hidden: the oracle's own: "probe" (loss on a fixed noise-free set, at the steps of `probe_steps`), "update" and
            "weight" (norms, each step).
        at: planted step per seed, -1 without one.
        strength: the draw in [0, 1) per seed.
        meta: header fields.
    """

    columns: dict[str, tuple[np.ndarray, np.ndarray]]
    hidden: dict[str, np.ndarray]
    probe_steps: np.ndarray
    at: np.ndarray
    strength: np.ndarray
    meta: dict[str, Any]


def first_weights(recipe: Recipe, seeds: range) -> tuple[nn.Module, Tensor]:
    """The network and the initial parameters of each seed, (seeds, parameters)."""
    rows = []
    for seed in seeds:
        torch.manual_seed(seed)
        module = recipe.network()
        rows.append(nn.utils.parameters_to_vector(module.parameters()).detach())
    return module, torch.stack(rows)


class Stack:
    """`seeds` runs of one recipe, in step."""

    def __init__(self, recipe: Recipe, seeds: range) -> None:
        self.recipe, self.seeds = recipe, seeds
        self.rng = torch.Generator().manual_seed(zlib.crc32(f"{recipe.key}/{seeds.start}".encode()))
        self.module, self.weights = first_weights(recipe, seeds)
        self.module.watched = recipe.layers
        shapes = {name: value.shape for name, value in self.module.named_parameters()}
        self.names, self.shapes = list(shapes), list(shapes.values())
        self.sizes = [shape.numel() for shape in self.shapes]
        ends = np.cumsum(self.sizes)
        spans = {
            name: slice(int(end) - size, int(end)) for name, size, end in zip(shapes, self.sizes, ends, strict=True)
        }
        self.fault = recipe.fault()
        self.weights = self.fault.start(self.weights)
        count = len(seeds)
        fresh = recipe.world(count, self.rng)
        self.held_out = fresh.draw(HELD_OUT, self.rng)
        self.world = fresh
        if recipe.train_set:
            self.world = finite(fresh, recipe.train_set, count, self.rng, random_labels=recipe.random_labels)
        self.probe = self.world.draw(HELD_OUT, self.rng)
        low, high = self.fault.plant or (-1.0, -1.0)
        drawn = low + (high - low) * torch.rand(count, generator=self.rng)
        at = (drawn * recipe.steps).long() if self.fault.plant else torch.full((count,), -1)
        strength = torch.rand(count, generator=self.rng)
        self.now = Moment(0, recipe.steps, at, strength, self.rng, spans)
        self.factor = recipe.spread ** (2 * torch.rand(count, generator=self.rng) - 1)
        self.criterion = self.fault.criterion(self.world.criterion)
        self.logged: dict[str, tuple[list[int], list[Tensor]]] = {}
        self.hidden: dict[str, list[Tensor]] = {}
        self.probe_steps: list[int] = []

    # --- one run, as vmap sees it

    def _forward(self, weights: Tensor, x: Any) -> tuple[Any, dict[str, Tensor]]:
        parts = weights.split(self.sizes)
        values = {name: part.view(shape) for name, part, shape in zip(self.names, parts, self.shapes, strict=True)}
        return torch.func.functional_call(self.module, values, (x,))

    def _losses(self, weights: Tensor, x: Any, y: Any, hit: Tensor) -> tuple[Tensor, dict[str, Tensor]]:
        out, statistics = self._forward(weights, x)
        extras = self.world.extras(out, y) if self.world.extras else {}
        return self.criterion(out, y, hit), {**statistics, **extras}

    def _plain_loss(self, weights: Tensor, x: Any, y: Any) -> Tensor:
        hit = torch.zeros(())
        return self.criterion(self._forward(weights, x)[0], y, hit)

    # --- the stack

    def step(self) -> None:
        recipe, now = self.recipe, self.now
        now.skip = None
        x, y = self.fault.batch(now, *self.world.draw(recipe.batch, self.rng))
        weights = self.weights.detach().requires_grad_()
        losses, extras = torch.func.vmap(self._losses)(weights, x, y, now.hit.float())
        (gradients,) = torch.autograd.grad(losses.sum(), weights)
        gradients = self.fault.gradients(now, gradients)
        norms = gradients.norm(dim=1)
        rates = self.fault.rates(now, self.factor * recipe.rate * SCHEDULES[recipe.schedule](now.step / now.steps))
        row = {"loss": losses.detach(), "grad_norm": norms, "lr": rates, **extras}
        if recipe.layers:
            row |= {
                f"grad_norm/{name.removesuffix('.weight')}": gradients[:, span].norm(dim=1)
                for name, span in now.spans.items()
                if name.endswith("weight")
            }
        self.log(self.fault.logged(now, row))
        if recipe.clip:
            gradients = gradients * (recipe.clip / (norms + 1e-6)).clamp_max(1)[:, None]
        self.evaluate()
        before = self.weights
        self.update(gradients, rates)
        self.hidden.setdefault("update", []).append((self.weights - before).norm(dim=1))
        self.hidden.setdefault("weight", []).append(self.weights.norm(dim=1))
        now.step += 1

    def update(self, gradients: Tensor, rates: Tensor) -> None:
        """The optimizer's step; seeds in `now.skip` keep weights and averages."""
        now, state = self.now, self.now.state
        if now.skip is not None:
            gradients = torch.where(now.skip[:, None], 0.0, gradients)
        kept = dict(state)
        if self.recipe.optimizer.startswith("adam"):
            first = state.get("first", torch.zeros_like(gradients)) * 0.9 + 0.1 * gradients
            second = state.get("second", torch.zeros_like(gradients)) * 0.999 + 0.001 * gradients**2
            state["first"], state["second"] = first, second
            done = now.step + 1
            move = (first / (1 - 0.9**done)) / ((second / (1 - 0.999**done)).sqrt() + 1e-8)
        elif self.recipe.optimizer == "momentum":
            move = state["first"] = state.get("first", torch.zeros_like(gradients)) * 0.9 + gradients
        else:
            move = gradients
        if self.recipe.decay:
            move = move + self.recipe.decay * self.weights
        weights = self.fault.weights(now, self.weights - rates[:, None] * move)
        if now.skip is not None:
            weights = torch.where(now.skip[:, None], self.weights, weights)
            for name, value in kept.items():
                state[name] = torch.where(now.skip[:, None], value, state[name])
        self.weights = weights

    def evaluate(self) -> None:
        """The validation loss that the run logs, and the probe that only the oracle sees."""
        now, step = self.now, self.now.step
        with torch.no_grad():
            if step % self.recipe.evaluate_every == 0:
                loss = torch.func.vmap(self._plain_loss)(self.weights, *self.held_out)
                self.log({"val_loss": self.fault.held_out(now, loss)})
            if step % PROBE_EVERY == 0:
                self.probe_steps.append(step)
                self.hidden.setdefault("probe", []).append(torch.func.vmap(self._plain_loss)(self.weights, *self.probe))

    def log(self, row: dict[str, Tensor]) -> None:
        for name, values in row.items():
            steps, kept = self.logged.setdefault(name, ([], []))
            steps.append(self.now.step)
            kept.append(values.detach())

    def header(self) -> dict[str, Any]:
        world, recipe = self.world, self.recipe
        declared: dict[str, Any] = {
            "objective": world.objective,
            "optimizer": recipe.optimizer,
            "batch_size": recipe.batch,
        }
        declared |= {"total_steps": recipe.steps}
        if world.classes:
            declared["num_classes"] = world.classes
        if recipe.clip:
            declared["clip_norm"] = recipe.clip
        if recipe.optimizer == "momentum":
            declared["momentum"] = 0.9
        return declared | recipe.declares


def train(recipe: Recipe, seeds: range) -> Trained:
    """Trains all `seeds` of a recipe and returns what they logged."""
    stack = Stack(recipe, seeds)
    for _ in range(recipe.steps):
        stack.step()
    return Trained(
        {name: (np.array(steps), torch.stack(kept).numpy()) for name, (steps, kept) in stack.logged.items()},
        {name: torch.stack(kept).numpy() for name, kept in stack.hidden.items()},
        np.array(stack.probe_steps),
        stack.now.at.numpy(),
        stack.now.strength.numpy(),
        stack.header(),
    )
