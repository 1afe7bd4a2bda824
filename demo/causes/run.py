"""The training loop that all causes share, and the task they train on."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import nn

from tuimon import RunWriter
from tuimon.torch import find_origin
from tuimon.torch.layers import LayerStatistics

CLASSES, WIDTH, BATCH = 10, 32, 64
Batch = tuple[torch.Tensor, torch.Tensor]


@dataclass(frozen=True)
class Cause:
    """One way to break a training.

    Attributes:
        name: what to type.
        row: signature of the row that lights, "" when none may.
        story: what is wrong, in one line.
        train: does the training.
        onset: step at which it begins, None when it is there from the start or is found by looking at a stretch.
        origin: (module, op, direction) of the NaN, None without one.
        steps: how many the training takes.
    """

    name: str
    row: str
    story: str
    train: Callable[[Run], None]
    onset: int | None = None
    origin: tuple[str, str, str] | None = None
    steps: int = 400


@dataclass
class Run:
    """Where a training writes, how long it is and how fast."""

    path: Path
    steps: int
    seed: int = 0
    pace: float = 0.0
    meta: dict[str, Any] = field(default_factory=dict)
    writer: RunWriter = field(init=False)

    def __post_init__(self) -> None:
        torch.manual_seed(self.seed)
        self.generator = torch.Generator().manual_seed(self.seed + 1)

    def open(self, **meta: Any) -> RunWriter:
        """Opens the log with what the diagnosis can use."""
        self.writer = RunWriter(self.path, meta={"total_steps": self.steps, **self.meta, **meta})
        return self.writer


class Clusters:
    """Ten noisy clusters on a sphere: a network learns them well, and not perfectly."""

    def __init__(self, run: Run, samples: int = 4096, noise: float = 1.3) -> None:
        g = run.generator
        self.centres = torch.randn(CLASSES, WIDTH, generator=g)
        self.noise, self.generator = noise, g
        self.train, self.val = self._draw(samples), self._draw(512)

    def _draw(self, count: int) -> Batch:
        y = torch.randint(0, CLASSES, (count,), generator=self.generator)
        return self.centres[y] + self.noise * torch.randn(count, WIDTH, generator=self.generator), y

    def batch(self) -> Batch:
        """One minibatch of different samples."""
        chosen = torch.randperm(len(self.train[1]), generator=self.generator)[:BATCH]
        return self.train[0][chosen], self.train[1][chosen]


def mlp(*middle: nn.Module, out: int = CLASSES) -> nn.Sequential:
    """Two hidden layers of 64 with what is given between them and the output."""
    return nn.Sequential(nn.Linear(WIDTH, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), *middle, nn.Linear(64, out))


def constant(lr: float) -> Callable[[int], float]:
    """A learning rate that stays."""
    return lambda _: lr


def fit(
    run: Run,
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    *,
    lr: Callable[[int], float],
    task: Clusters | None = None,
    loss_fn: Callable[..., torch.Tensor] = nn.functional.cross_entropy,
    tamper: Callable[[int, Batch], Batch] = lambda _, batch: batch,
    clip: float | None = None,
    clear: bool = True,
    layers_every: int = 0,
    val_every: int = 20,
    **meta: Any,
) -> None:
    """A plain loop as people write it; where a NaN appears, its birthplace goes into the log before the step is taken.

    Args:
        lr: step -> learning rate.
        tamper: what happens to a batch on its way, by step.
        clip: bound of the gradient norm; None: only measured.
        clear: whether the gradients are cleared before each step.
        layers_every: layer statistics every so many steps, 0 for none.
    """
    task = task or Clusters(run)
    declared = {"num_classes": CLASSES, "objective": "cross_entropy", "batch_size": BATCH, "clip_norm": clip}
    layers = LayerStatistics(model, layers_every) if layers_every else None
    with run.open(**{**declared, "optimizer": type(optimizer).__name__.lower(), **meta}) as writer:
        born = False
        for step in range(run.steps):
            batch = tamper(step, task.batch())
            for group in optimizer.param_groups:
                group["lr"] = lr(step)
            if clear:
                model.zero_grad()
            if layers:
                layers.expect(step)
            loss = loss_fn(model(batch[0]), batch[1])
            loss.backward()
            if layers and layers.due(step):
                layers.before_step()
            norm = nn.utils.clip_grad_norm_(model.parameters(), clip or float("inf"))
            if not born and not (torch.isfinite(norm) and torch.isfinite(loss)):
                born = True
                writer.note(step, "nan_origin", **find_origin(model, loss_fn, batch, step=step).as_note())
            optimizer.step()
            extra = layers.after_step() if layers and layers.due(step) else {}
            writer.log(step, loss=loss, grad_norm=norm, lr=lr(step), **extra)
            if step % val_every == val_every - 1:
                model.eval()
                with torch.no_grad():
                    writer.log(step, val_loss=loss_fn(model(task.val[0]), task.val[1]))
                model.train()
            if run.pace:
                time.sleep(run.pace)
    if layers:
        layers.close()
