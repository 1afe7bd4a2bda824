"""What every synthetic run is made of: a healthy course, and small things done to it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random

Fields = dict[str, float]
"""One record: `step` and the metrics of that step."""
Rows = list[Fields]
Meta = dict[str, object]


@dataclass(frozen=True, slots=True)
class DemoRun:
    """One synthetic run.

    Attributes:
        name: what `tuimon demo NAME` calls it.
        signature: the row it lights, empty for a healthy run.
        onset: the step at which the way it is made breaks it; None where nothing breaks.
        tolerance: steps by which a finding may miss the onset, 0 where the first bad value is the onset.
        story: what happens, in one line.
        make: the records, from a seeded source of randomness.
        meta: what its header declares.
        calm: records that are there before anybody looks, so that the row lights within fifteen seconds.
        silent: the training hangs after the last record instead of ending.
    """

    name: str
    signature: str
    onset: int | None
    tolerance: int
    story: str
    make: Callable[[Random], Rows]
    meta: Meta = field(default_factory=dict)
    calm: int = 0
    silent: bool = False


@dataclass(frozen=True, slots=True)
class Curve:
    """A healthy training: power law towards a floor, noise in proportion, warm-up and cosine, a gradient that settles.

    Attributes:
        start, floor: loss at step 0 and the loss it never reaches.
        tau, alpha: loss = floor + (start - floor) * (1 + step / tau) ** -alpha.
        noise: standard deviation of one step's loss, as a share of the loss.
        norm: gradient norm once settled.
        burst: how much more the first steps have, in units of `norm`.
        jitter: standard deviation of the logarithm of the gradient norm.
        lr, warmup, total: peak of the schedule, steps of linear warm-up, steps until the cosine has reached a tenth.
        gap: val_loss over the smooth train loss, as a share of it.
        every: steps between evaluations, 0 for none.
    """

    start: float
    floor: float
    tau: float
    alpha: float
    noise: float
    norm: float
    lr: float
    warmup: int
    total: int
    burst: float = 9.0
    jitter: float = 0.12
    gap: float = 0.015
    every: int = 50

    def smooth(self, step: float) -> float:
        """The loss without its noise."""
        return self.floor + (self.start - self.floor) * math.pow(1.0 + step / self.tau, -self.alpha)

    def rate(self, step: int) -> float:
        """The learning rate."""
        if step < self.warmup:
            return self.lr * (step + 1) / self.warmup
        done = min(1.0, (step - self.warmup) / max(1, self.total - self.warmup))
        return self.lr * (0.1 + 0.9 * 0.5 * (1.0 + math.cos(math.pi * done)))

    def run(self, chance: Random, steps: int) -> Rows:
        """The first `steps` records."""
        rows = []
        for step in range(steps):
            loss = self.smooth(step)
            row = {
                "step": step,
                "loss": loss * (1.0 + self.noise * chance.gauss(0.0, 1.0)),
                "grad_norm": self.norm
                * (1.0 + self.burst * math.exp(-step / 15.0))
                * chance.lognormvariate(0.0, self.jitter),
                "lr": self.rate(step),
            }
            if self.every and step and step % self.every == 0:
                row["val_loss"] = loss * (1.0 + self.gap + self.noise / 8.0 * chance.gauss(0.0, 1.0))
            rows.append(row)
        return rows


# A small language model of 2,048 tokens (ln 2048 = 7.62) and a small classifier of ten classes (ln 10 = 2.303).
LANGUAGE = Curve(7.62, 2.1, 60.0, 0.55, 0.012, 0.55, 6e-4, 100, 2000)
LANGUAGE_META: Meta = {
    "objective": "cross_entropy",
    "optimizer": "adamw",
    "precision": "bf16",
    "clip_norm": 1.0,
    "batch_size": 64,
    "total_steps": 2000,
}
IMAGES = Curve(2.31, 0.12, 120.0, 1.0, 0.06, 1.4, 0.05, 40, 1500, burst=0.5, jitter=0.2, gap=0.08)
IMAGES_META: Meta = {
    "objective": "cross_entropy",
    "optimizer": "sgd",
    "momentum": 0.9,
    "precision": "fp32",
    "batch_size": 64,
    "num_classes": 10,
}
REGRESSION = Curve(1.0, 0.018, 30.0, 1.2, 0.05, 0.2, 0.02, 1, 4000, jitter=0.2, gap=0.05)
REGRESSION_META: Meta = {"objective": "mse", "optimizer": "sgd", "precision": "fp32", "batch_size": 64}


def noisy(chance: Random, level: float, share: float) -> float:
    """`level` with Gaussian noise of `share` of it."""
    return level * (1.0 + share * chance.gauss(0.0, 1.0))


def set_from(rows: Rows, start: int, **values: float) -> Rows:
    """Gives these values to every record from step `start` on; a record that lacks the metric goes on lacking it."""
    for row in rows:
        if row["step"] >= start:
            row.update({name: value for name, value in values.items() if name in row})
    return rows


def add_spike(rows: Rows, start: int, *, height: float, half_life: float, norm: float, rest: float = 0.0) -> Rows:
    """Raises the loss by `height` at step `start`, decaying to `rest`, and the gradient norm by a factor likewise."""
    for row in rows:
        since = row["step"] - start
        if since >= 0:
            left = 0.5 ** (since / half_life)
            row["loss"] += rest + (height - rest) * left
            row["grad_norm"] *= 1.0 + (norm - 1.0) * left
            if "val_loss" in row:
                row["val_loss"] += rest + (height - rest) * left
    return rows


def drop(rows: Rows, *names: str) -> Rows:
    """Without these metrics."""
    return [{name: value for name, value in row.items() if name not in names} for row in rows]
