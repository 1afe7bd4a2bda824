"""The networks that are trained, written as for a single run.

`training.train` runs many seeds of one network at once with `torch.func.vmap`, so nothing here knows of stacks. Every
forward returns the output and a dict of layer statistics (name -> scalar), as a careful training would log them; it is
empty unless the network's `watched` is true.
"""

from __future__ import annotations

import math
from itertools import pairwise

import torch
from torch import Tensor, nn
from torch.nn import functional

ACTIVATIONS = {
    "relu": torch.relu,
    "tanh": torch.tanh,
    "sigmoid": torch.sigmoid,
    "linear": lambda x: x,
    "gelu": functional.gelu,
}
# |tanh| above .99 passes less than 2 % of the gradient, a sigmoid above .99 or below .01 less than 1 %.
SATURATED = 0.99


def layer_statistics(name: str, kind: str, active: Tensor) -> dict[str, Tensor]:
    """Share of dead units (never positive in this batch) or of saturated outputs; `active` is (n, units)."""
    if kind == "relu":
        return {f"dead_fraction/{name}": (active.detach() <= 0).all(dim=0).float().mean()}
    if kind in ("tanh", "sigmoid"):
        far = active.detach() if kind == "tanh" else 2 * active.detach() - 1
        return {f"saturation/{name}": (far.abs() > SATURATED).float().mean()}
    return {}


class Dense(nn.Module):
    """Fully connected layers; `gain` multiplies the initial weights, `shift` is added to the initial hidden biases."""

    def __init__(
        self, sizes: tuple[int, ...], kind: str = "relu", gain: float = 1.0, shift: float = 0.0, last_gain: float = 1.0
    ) -> None:
        super().__init__()
        self.kind, self.watched = kind, False
        self.layers = nn.ModuleList(nn.Linear(a, b) for a, b in pairwise(sizes))
        with torch.no_grad():
            for layer in self.layers[:-1]:
                layer.weight *= gain
                layer.bias += shift
            self.layers[-1].weight *= last_gain

    def forward(self, x: Tensor) -> tuple[Tensor, dict[str, Tensor]]:
        statistics: dict[str, Tensor] = {}
        for number, layer in enumerate(self.layers[:-1]):
            x = ACTIVATIONS[self.kind](layer(x))
            if self.watched:
                statistics |= layer_statistics(f"layers.{number}", self.kind, x)
        return self.layers[-1](x), statistics


class Conv(nn.Module):
    """A 3 x 3 convolution as shifted copies and one product, which stays one batched product when seeds are stacked."""

    def __init__(self, channels: int, out: int, stride: int) -> None:
        super().__init__()
        self.stride = stride
        self.weight = nn.Parameter(torch.randn(9 * channels, out) * math.sqrt(2 / (channels * 9)))
        self.bias = nn.Parameter(torch.zeros(out))

    def forward(self, x: Tensor) -> Tensor:
        """(n, height, width, channels) -> (n, height / stride, width / stride, out)."""
        _, height, width, _ = x.shape
        padded = functional.pad(x, (0, 0, 1, 1, 1, 1))
        step = self.stride
        shifts = [padded[:, a : a + height : step, b : b + width : step] for a in range(3) for b in range(3)]
        return torch.cat(shifts, -1) @ self.weight + self.bias


class Convolutional(nn.Module):
    """Two convolutions, pooling and a linear layer, on (n, 8, 8, 1) pictures."""

    def __init__(
        self, classes: int = 10, kind: str = "relu", gain: float = 1.0, shift: float = 0.0, last_gain: float = 1.0
    ) -> None:
        super().__init__()
        self.kind, self.watched = kind, False
        self.first, self.second, self.last = Conv(1, 8, 2), Conv(8, 12, 1), nn.Linear(12 * 4, classes)
        with torch.no_grad():
            for layer in (self.first, self.second):
                layer.weight *= gain
                layer.bias += shift
            self.last.weight *= last_gain

    def forward(self, x: Tensor) -> tuple[Tensor, dict[str, Tensor]]:
        statistics: dict[str, Tensor] = {}
        for name, layer in (("first", self.first), ("second", self.second)):
            x = ACTIVATIONS[self.kind](layer(x))
            if self.watched:
                statistics |= layer_statistics(name, self.kind, x.flatten(0, 2))
        n, height, width, channels = x.shape
        x = x.reshape(n, height // 2, 2, width // 2, 2, channels).mean(dim=(2, 4))
        return self.last(x.flatten(1)), statistics


class Block(nn.Module):
    """One pre-norm transformer block with causal attention; `norm=False` leaves the normalisation out."""

    def __init__(self, width: int, heads: int, norm: bool) -> None:
        super().__init__()
        self.heads = heads
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 2 * width), nn.Linear(2 * width, width)
        self.norm1 = nn.LayerNorm(width) if norm else nn.Identity()
        self.norm2 = nn.LayerNorm(width) if norm else nn.Identity()

    def forward(self, x: Tensor) -> Tensor:
        n, length, width = x.shape
        query, key, value = (
            part.reshape(n, length, self.heads, -1).transpose(1, 2) for part in self.qkv(self.norm1(x)).chunk(3, dim=-1)
        )
        scores = query @ key.transpose(-1, -2) / math.sqrt(width / self.heads)
        ahead = torch.ones(length, length, dtype=torch.bool).triu(1)
        mixed = scores.masked_fill(ahead, -1e9).softmax(-1) @ value
        x = x + self.out(mixed.transpose(1, 2).reshape(n, length, width))
        return x + self.down(torch.relu(self.up(self.norm2(x))))


class Transformer(nn.Module):
    """A tiny language model on (n, length) tokens; predicts the next token at every place."""

    def __init__(
        self, vocabulary: int = 16, width: int = 16, depth: int = 1, length: int = 8, *, norm: bool = True
    ) -> None:
        super().__init__()
        self.watched = False
        self.token = nn.Parameter(torch.randn(vocabulary, width) * 0.5)
        self.place = nn.Parameter(torch.randn(length, width) * 0.1)
        self.blocks = nn.ModuleList(Block(width, 2, norm) for _ in range(depth))
        self.norm, self.head = nn.LayerNorm(width) if norm else nn.Identity(), nn.Linear(width, vocabulary)

    def forward(self, tokens: Tensor) -> tuple[Tensor, dict[str, Tensor]]:
        x = self.token[tokens] + self.place[: tokens.shape[-1]]
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x)), {}


class Adversaries(nn.Module):
    """Generator and discriminator of points in the plane; the loss is taken in `worlds.adversarial`."""

    def __init__(self) -> None:
        super().__init__()
        self.generator, self.discriminator = Dense((8, 32, 2)), Dense((2, 32, 1))

    def forward(self, pair: tuple[Tensor, Tensor]) -> tuple[tuple[Tensor, Tensor, Tensor], dict[str, Tensor]]:
        real, noise = pair
        fake = self.generator(noise)[0]
        fixed = {name: value.detach() for name, value in self.discriminator.named_parameters()}
        judged = torch.func.functional_call(self.discriminator, fixed, (fake,))[0]
        return (self.discriminator(real)[0], self.discriminator(fake.detach())[0], judged), {}


class ActorCritic(nn.Module):
    """Policy and value of one observation."""

    def __init__(self, width: int, actions: int) -> None:
        super().__init__()
        self.actor, self.critic = Dense((width, 32, actions), "tanh"), Dense((width, 32, 1), "tanh")

    def forward(self, x: Tensor) -> tuple[tuple[Tensor, Tensor], dict[str, Tensor]]:
        return (self.actor(x)[0], self.critic(x)[0][..., 0]), {}
