"""What the networks are trained on: one source of data per seed, all seeds of a stack drawn at once.

A world's `draw(n, rng)` gives inputs and targets whose first axis is the seed. Its `criterion` is the loss of a single
run, and `objective` and `classes` are what a careful training would declare in its header.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

Drawn = tuple[Any, Any]
Draw = Callable[[int, torch.Generator], Drawn]


@dataclass(frozen=True)
class World:
    """A source of data for `seeds` runs.

    Attributes:
        draw: (n, rng) -> inputs and targets, each (seeds, n, ...) or a tuple of such.
        criterion: output and targets of one run -> its loss.
        objective: as declared in the header.
        classes: number of classes, 0 where there are none.
        counts: relative frequency of the classes, None when they are balanced.
        extras: output and targets of one run -> further metrics that it logs.
    """

    draw: Draw
    criterion: Callable[[Any, Any], Tensor]
    objective: str
    classes: int = 0
    counts: tuple[float, ...] | None = None
    extras: Callable[[Any, Any], dict[str, Tensor]] | None = None


def cross_entropy(out: Tensor, target: Tensor) -> Tensor:
    return functional.cross_entropy(out.flatten(0, -2), target.flatten())


def squared_error(out: Tensor, target: Tensor) -> Tensor:
    return ((out - target) ** 2).mean()


def classes_of(seeds: int, n: int, classes: int, counts: tuple[float, ...] | None, rng: torch.Generator) -> Tensor:
    """Class numbers (seeds, n), balanced or with the given relative frequencies."""
    if counts is None:
        return torch.randint(classes, (seeds, n), generator=rng)
    weights = torch.tensor(counts)
    return torch.multinomial(weights, seeds * n, replacement=True, generator=rng).reshape(seeds, n)


def mixture(
    seeds: int,
    rng: torch.Generator,
    *,
    dim: int = 16,
    classes: int = 10,
    apart: float = 0.7,
    counts: tuple[float, ...] | None = None,
) -> World:
    """Gaussian clouds, one per class, `apart` noise widths from the origin in each direction."""
    centres = apart * torch.randn(seeds, classes, dim, generator=rng)

    def draw(n: int, rng: torch.Generator) -> Drawn:
        y = classes_of(seeds, n, classes, counts, rng)
        x = centres.gather(1, y[..., None].expand(-1, -1, dim)) + torch.randn(seeds, n, dim, generator=rng)
        return x, y

    return World(draw, cross_entropy, "cross_entropy", classes, counts)


def pictures(
    seeds: int,
    rng: torch.Generator,
    *,
    classes: int = 10,
    apart: float = 0.9,
    counts: tuple[float, ...] | None = None,
) -> World:
    """8 x 8 pictures: a blocky template per class, shifted by up to a pixel, under noise."""
    coarse = torch.randn(seeds, classes, 4, 4, generator=rng)
    templates = apart * coarse.repeat_interleave(2, -1).repeat_interleave(2, -2)
    shifted = torch.stack([templates.roll((a, b), (-2, -1)) for a in (-1, 0, 1) for b in (-1, 0, 1)], dim=2)

    def draw(n: int, rng: torch.Generator) -> Drawn:
        y = classes_of(seeds, n, classes, counts, rng)
        shift = torch.randint(9, (seeds, n), generator=rng)
        clean = shifted[torch.arange(seeds)[:, None], y, shift]
        return (clean + torch.randn(seeds, n, 8, 8, generator=rng))[..., None], y

    return World(draw, cross_entropy, "cross_entropy", classes, counts)


def chain(seeds: int, rng: torch.Generator, *, vocabulary: int = 16, length: int = 8, sharp: float = 1.6) -> World:
    """Token sequences from a random Markov chain per seed; `sharp` sets how far the next token can be foretold."""
    steps = (sharp * torch.randn(seeds, vocabulary, vocabulary, generator=rng)).softmax(-1).cumsum(-1)
    rows = torch.arange(seeds)[:, None]

    def draw(n: int, rng: torch.Generator) -> Drawn:
        tokens = [torch.randint(vocabulary, (seeds, n), generator=rng)]
        chance = torch.rand(length, seeds, n, 1, generator=rng)
        for place in range(length):
            below = (steps[rows, tokens[-1]] < chance[place]).sum(-1)
            tokens.append(below.clamp_max(vocabulary - 1))
        sequence = torch.stack(tokens, -1)
        return sequence[..., :-1], sequence[..., 1:]

    return World(draw, cross_entropy, "cross_entropy", vocabulary)


def teacher(seeds: int, rng: torch.Generator, *, dim: int = 8, noise: float = 0.1, scale: float = 1.0) -> World:
    """Regression on a random two-layer tanh network, under noise."""
    first, second = torch.randn(seeds, dim, 16, generator=rng), torch.randn(seeds, 16, 1, generator=rng) / 2

    def draw(n: int, rng: torch.Generator) -> Drawn:
        x = torch.randn(seeds, n, dim, generator=rng)
        y = torch.tanh(x @ first / math.sqrt(dim)) @ second
        return x, scale * (y + noise * torch.randn(y.shape, generator=rng))

    return World(draw, squared_error, "mse")


def codes(seeds: int, rng: torch.Generator, *, dim: int = 24, latent: int = 5, noise: float = 0.1) -> World:
    """Points on a curved surface of few dimensions, to be reconstructed."""
    mixing = torch.randn(seeds, latent, dim, generator=rng)

    def draw(n: int, rng: torch.Generator) -> Drawn:
        x = torch.tanh(torch.randn(seeds, n, latent, generator=rng) @ mixing)
        x = x + noise * torch.randn(x.shape, generator=rng)
        return x, x

    return World(draw, squared_error, "mse")


def info_nce(out: Tensor, _: Tensor) -> Tensor:
    """Each of n first views must find its second view among all n; starts near ln n. `out` is (n, 2, width)."""
    first, second = functional.normalize(out[:, 0], dim=-1, eps=1e-6), functional.normalize(out[:, 1], dim=-1, eps=1e-6)
    return functional.cross_entropy(first @ second.T / 0.2, torch.arange(first.shape[0]))


def views(seeds: int, rng: torch.Generator, *, dim: int = 16, latent: int = 6, noise: float = 0.5) -> World:
    """Two noisy views of one hidden point."""
    mixing = torch.randn(seeds, latent, dim, generator=rng)

    def draw(n: int, rng: torch.Generator) -> Drawn:
        clean = (torch.randn(seeds, n, latent, generator=rng) @ mixing)[:, :, None].expand(-1, -1, 2, -1)
        return clean + noise * torch.randn(clean.shape, generator=rng), torch.zeros(seeds, n)

    return World(draw, info_nce, "contrastive")


def adversarial(out: tuple[Tensor, Tensor, Tensor], _: Tensor) -> Tensor:
    """Discriminator loss plus the generator's own (each has only its own parameters to move)."""
    real, fake, judged = out
    return functional.softplus(-real).mean() + functional.softplus(fake).mean() + functional.softplus(-judged).mean()


def ring(seeds: int, rng: torch.Generator) -> World:
    """Eight clouds on a circle whose radius is the seed's own."""
    radius = 0.5 + torch.rand(seeds, 1, generator=rng)

    def draw(n: int, rng: torch.Generator) -> Drawn:
        angle = torch.randint(8, (seeds, n), generator=rng) * math.tau / 8
        real = torch.stack([angle.cos() * radius, angle.sin() * radius], -1)
        real = real + 0.05 * torch.randn(real.shape, generator=rng)
        return (real, torch.randn(seeds, n, 8, generator=rng)), torch.zeros(seeds, n)

    def extras(out: tuple[Tensor, Tensor, Tensor], _: Tensor) -> dict[str, Tensor]:
        return {"g_loss": functional.softplus(-out[2]).mean()}

    return World(draw, adversarial, "gan", extras=extras)


def actor_critic(out: tuple[Tensor, Tensor], target: tuple[Tensor, Tensor]) -> Tensor:
    """REINFORCE with a value baseline; the action is taken by the Gumbel noise in `target`, returns grow with skill."""
    logits, value = out
    won = rewards(logits, target)
    action = (logits.detach() + target[1]).argmax(-1, keepdim=True)
    chosen = logits.log_softmax(-1).gather(-1, action)[..., 0]
    advantage = (won - value).detach()
    entropy = -(logits.softmax(-1) * logits.log_softmax(-1)).sum(-1)
    return (-chosen * advantage + 0.5 * (won - value) ** 2 - 0.01 * entropy).mean()


def rewards(logits: Tensor, target: tuple[Tensor, Tensor]) -> Tensor:
    """What the sampled actions earn: the table's entry, from 1 for the worst action to 2^actions-1 for the best."""
    table, gumbel = target
    action = (logits.detach() + gumbel).argmax(-1, keepdim=True)
    return table.gather(-1, action)[..., 0]


def bandit(seeds: int, rng: torch.Generator, *, width: int = 6, actions: int = 6) -> World:
    """Contextual bandit: the better an action, the more (and the more widely) it pays."""
    mixing = torch.randn(seeds, width, actions, generator=rng)

    def draw(n: int, rng: torch.Generator) -> Drawn:
        x = torch.randn(seeds, n, width, generator=rng)
        rank = (x @ mixing).argsort(-1).argsort(-1).float()
        pays = 2.0**rank * (1 + 0.5 * torch.randn(rank.shape, generator=rng)) / 8
        uniform = torch.rand(rank.shape, generator=rng).clamp(1e-6, 1 - 1e-6)
        return x, (pays, -(-uniform.log()).log())

    def extras(out: tuple[Tensor, Tensor], target: tuple[Tensor, Tensor]) -> dict[str, Tensor]:
        won = rewards(out[0], target)
        return {"return": won.mean(), "critic_loss": 0.5 * ((won - out[1]) ** 2).mean()}

    return World(draw, actor_critic, "rl", extras=extras)


def parity(seeds: int, rng: torch.Generator, *, dim: int = 12, bits: int = 3) -> World:
    """The parity of a few hidden bits of many: a shelf at ln 2, then learning."""
    hidden = torch.stack([torch.randperm(dim, generator=rng)[:bits] for _ in range(seeds)])

    def draw(n: int, rng: torch.Generator) -> Drawn:
        x = torch.randint(2, (seeds, n, dim), generator=rng).float() * 2 - 1
        y = (x.gather(2, hidden[:, None].expand(-1, n, -1)).prod(-1) > 0).long()
        return x, y

    return World(draw, cross_entropy, "cross_entropy", 2)


def denoising(seeds: int, rng: torch.Generator, *, dim: int = 8) -> World:
    """Diffusion-like: the noise of a point at a random noise level, weighted by that level over two decades."""
    mixing = torch.randn(seeds, 3, dim, generator=rng)

    def draw(n: int, rng: torch.Generator) -> Drawn:
        level = 10 ** (-1.5 + 2 * torch.rand(seeds, 1, 1, generator=rng)).expand(-1, n, -1)
        noise = torch.randn(seeds, n, dim, generator=rng)
        clean = torch.tanh(torch.randn(seeds, n, 3, generator=rng) @ mixing)
        return torch.cat([clean + level * noise, level.log()], -1), torch.cat([noise, level], -1)

    def criterion(out: Tensor, target: Tensor) -> Tensor:
        return (target[..., -1:] * (out - target[..., :-1]) ** 2).mean()

    return World(draw, criterion, "mse")


def finite(world: World, size: int, seeds: int, rng: torch.Generator, *, random_labels: bool = False) -> World:
    """`world` with a fixed training set of `size`; with `random_labels` its classes are drawn without looking."""
    inputs, targets = world.draw(size, rng)
    if random_labels:
        targets = classes_of(seeds, size, world.classes, world.counts, rng)
    rows = torch.arange(seeds)[:, None]

    def draw(n: int, rng: torch.Generator) -> Drawn:
        picked = torch.randint(size, (seeds, n), generator=rng) if n < size else torch.arange(size).expand(seeds, -1)
        return inputs[rows, picked], targets[rows, picked]

    return World(draw, world.criterion, world.objective, world.classes, world.counts, world.extras)
