"""Which networks exist, on what they are trained, and which are kept apart for reporting.

Thresholds are tuned on the architectures of part "tune" and never on those of part "report": whole architectures are
held out, because seeds of one network resemble each other far more than two networks do.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import torch
from torch import nn

from tests.quality import networks, worlds

Part = Literal["tune", "report"]
# Far apart, so that no two parts share a draw.
FIRST_SEED: dict[Part, int] = {"tune": 0, "report": 1_000_000}


@dataclass(frozen=True)
class Architecture:
    """A network on its world.

    Attributes:
        part: tune or report.
        network: builder of one run's network; keywords are passed on.
        world: builder of the data; takes (seeds, rng) and keywords.
        rates: optimizer -> a learning rate that trains it well.
        batch: rows per step.
    """

    part: Part
    network: Callable[..., nn.Module]
    world: Callable[..., worlds.World]
    rates: Mapping[str, float]
    batch: int = 32

    def build(self, **keys: Any) -> Callable[[], nn.Module]:
        return partial(self.network, **keys)

    def data(self, **keys: Any) -> Callable[[int, torch.Generator], worlds.World]:
        return partial(self.world, **keys)


def dense(*sizes: int, kind: str = "relu") -> Callable[..., nn.Module]:
    """Builder of a dense network; `classes` replaces the size of its output."""

    def build(classes: int = sizes[-1], **keys: Any) -> nn.Module:
        return networks.Dense((*sizes[:-1], classes), **{"kind": kind, **keys})

    return build


# Two optimizers without and two with momentum or scaling; plain and heavy-ball rates differ by ten as theory says.
PLAIN = {"sgd": 0.1, "momentum": 0.02, "adam": 3e-3, "adamw": 3e-3}

ARCHITECTURES: dict[str, Architecture] = {
    # tune
    "mlp": Architecture("tune", dense(16, 32, 32, 10), worlds.mixture, PLAIN),
    "autoencoder": Architecture(
        "tune",
        dense(24, 32, 5, 32, 24, kind="tanh"),
        worlds.codes,
        {"sgd": 0.3, "momentum": 0.1, "adam": 3e-3, "adamw": 3e-3},
    ),
    "regression": Architecture(
        "tune",
        dense(8, 32, 32, 1, kind="tanh"),
        worlds.teacher,
        {"sgd": 0.05, "momentum": 0.01, "adam": 3e-3, "adamw": 3e-3},
    ),
    "gan": Architecture(
        "tune", networks.Adversaries, worlds.ring, {"sgd": 0.05, "momentum": 0.01, "adam": 1e-3, "adamw": 1e-3}
    ),
    "parity-mlp": Architecture("tune", dense(12, 64, 2), worlds.parity, PLAIN),
    "denoiser": Architecture("tune", dense(9, 32, 32, 8), worlds.denoising, PLAIN),
    "deep-sigmoid": Architecture("tune", dense(16, *[24] * 7, 10, kind="sigmoid"), worlds.mixture, PLAIN),
    # report
    "cnn": Architecture("report", networks.Convolutional, worlds.pictures, PLAIN, batch=24),
    "transformer": Architecture(
        "report",
        networks.Transformer,
        worlds.chain,
        {"sgd": 0.2, "momentum": 0.04, "adam": 3e-3, "adamw": 3e-3},
        batch=16,
    ),
    "contrastive": Architecture(
        "report", dense(16, 32, 8), worlds.views, {"sgd": 0.1, "momentum": 0.02, "adam": 3e-3, "adamw": 3e-3}
    ),
    "policy": Architecture(
        "report",
        partial(networks.ActorCritic, 6, 6),
        worlds.bandit,
        {"sgd": 0.01, "momentum": 2e-3, "adam": 3e-3, "adamw": 3e-3},
    ),
    "parity-deep": Architecture("report", dense(10, 48, 48, 2, kind="gelu"), partial(worlds.parity, dim=10), PLAIN),
    "deep-sigmoid-report": Architecture(
        "report", dense(16, *[32] * 9, 5, kind="sigmoid"), partial(worlds.mixture, classes=5), PLAIN
    ),
    "denoiser-tanh": Architecture("report", dense(9, 48, 8, kind="tanh"), worlds.denoising, PLAIN, batch=16),
}
