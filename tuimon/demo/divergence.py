"""Synthetic runs that diverge, spike or shake."""

from __future__ import annotations

from dataclasses import replace
from random import Random

from tuimon.demo.curve import IMAGES_META, LANGUAGE, LANGUAGE_META, DemoRun, Rows, add_spike, noisy

_CONSTANT_RATE = replace(LANGUAGE, lr=3e-3, total=100_000)
_FULL_BATCH = replace(LANGUAGE, noise=0.0005, jitter=0.02, lr=0.4, total=100_000, every=0)


def _lr_too_high(chance: Random) -> Rows:
    """From 700 on an unstable direction grows by 30 % a step, until the loss is that of a broken model and stays."""
    rows = _CONSTANT_RATE.run(chance, 1000)
    for row in rows[700:]:
        since = row["step"] - 700
        excess = min(0.03 * 1.3**since, 6.0)
        row["loss"] += noisy(chance, excess, 0.08)
        row["grad_norm"] *= 1.0 + min(0.3 * 1.3**since, 60.0)
        if "val_loss" in row:
            row["val_loss"] += excess
    return rows


def _level_jump(chance: Random) -> Rows:
    return add_spike(LANGUAGE.run(chance, 1000), 560, height=1.8, half_life=3.0, rest=1.3, norm=3.0)


def _slow_divergence(chance: Random) -> Rows:
    rows = _CONSTANT_RATE.run(chance, 1700)
    for row in rows[700:]:
        since = row["step"] - 700
        row["loss"] += 0.0012 * since
        row["grad_norm"] *= 1.0 + 0.0015 * since
        if "val_loss" in row:
            row["val_loss"] += 0.0012 * since
    return rows


def _loss_spike(chance: Random) -> Rows:
    return add_spike(LANGUAGE.run(chance, 900), 560, height=2.6, half_life=4.0, norm=9.0)


def _unrecovered_spike(chance: Random) -> Rows:
    rows = add_spike(LANGUAGE.run(chance, 1000), 560, height=3.4, half_life=12.0, rest=1.6, norm=12.0)
    for row in rows[560:]:
        row["grad_norm"] *= 3.0  # the optimizer state stays damaged: the gradient does not come back either
    return rows


def _spikes_more_frequent(chance: Random) -> Rows:
    rows = _CONSTANT_RATE.run(chance, 1900)
    for start in (420, 1200, 1310, 1400, 1460, 1540, 1590, 1660, 1700, 1750, 1820):
        add_spike(rows, start, height=1.4 + chance.random(), half_life=3.0, norm=7.0)
    return rows


def _exploding_gradient(chance: Random) -> Rows:
    """The gradient grows by half every step while clipping still protects the loss, then the unlucky state is left."""
    rows = LANGUAGE.run(chance, 900)
    for row in rows[560:620]:
        since = row["step"] - 560
        row["grad_norm"] *= max(1.0, 8.0 * min(1.5**since, 12.0) * 0.9 ** max(0.0, since - 12))
    return rows


def _oscillation(chance: Random) -> Rows:
    """Full batches, learning rate just under the limit: the loss jumps from one wall of the valley to the other."""
    rows = _FULL_BATCH.run(chance, 900)
    level = _FULL_BATCH.smooth(500)
    for row in rows[500:]:
        side = 1.0 if row["step"] % 2 else -1.0
        row["loss"] = level + 0.16 * side * (1.0 + 0.15 * chance.gauss(0.0, 1.0))
        row["grad_norm"] *= 2.5
    return rows


def _gradients_accumulate(chance: Random) -> Rows:
    """zero_grad is missing: the gradient of step n is the sum of n gradients. Adam hides it from the loss."""
    rows = LANGUAGE.run(chance, 500)
    for row in rows:
        row["grad_norm"] = 1.1 * (row["step"] + 1.0) * chance.lognormvariate(0.0, 0.03)
    return rows


def _below_floor(chance: Random) -> Rows:
    """A sign is wrong: the cross-entropy falls as a straight line through 0, at step 300."""
    rows = LANGUAGE.run(chance, 700)
    for row in rows:
        row["loss"] = 2.3 * (1.0 - row["step"] / 300.0) + 0.02 * chance.gauss(0.0, 1.0)
        if "val_loss" in row:
            row["val_loss"] = 2.3 * (1.0 - row["step"] / 300.0) + 0.03
    return rows


RUNS = (
    DemoRun(
        "lr-too-high", "lr-too-high", 700, 15,
        "the learning rate is past what the loss surface bears: loss and gradient climb together",
        _lr_too_high, LANGUAGE_META, 540,
    ),
    DemoRun(
        "level-jump", "level-jump", 560, 6,
        "another data mix: the loss steps up and stays, the gradient is soon normal again",
        _level_jump, LANGUAGE_META, 400,
    ),
    DemoRun(
        "slow-divergence", "slow-divergence", 700, 250,
        "no spike, only a loss that creeps up for hundreds of steps",
        _slow_divergence, LANGUAGE_META, 1220,
    ),
    DemoRun(
        "loss-spike", "loss-spike", 560, 3,
        "one spike, back within twenty steps",
        _loss_spike, LANGUAGE_META, 400,
    ),
    DemoRun(
        "unrecovered-spike", "unrecovered-spike", 560, 6,
        "a spike that does not come back: the optimizer's state is damaged",
        _unrecovered_spike, LANGUAGE_META, 480,
    ),
    DemoRun(
        "spikes-more-frequent", "spikes-more-frequent", 1200, 300,
        "spikes that come ever closer together",
        _spikes_more_frequent, LANGUAGE_META, 1220,
    ),
    DemoRun(
        "exploding-gradient", "exploding-gradient", 560, 3,
        "the gradient norm leaps while the loss is still calm",
        _exploding_gradient, LANGUAGE_META, 400,
    ),
    DemoRun(
        "oscillation", "oscillation", 500, 60,
        "from wall to wall: up, down, up, down, and no progress",
        _oscillation, {**LANGUAGE_META, "optimizer": "sgd", "batch_size": "full"}, 380,
    ),
    DemoRun(
        "gradients-accumulate", "gradients-accumulate", 0, 2,
        "zero_grad is missing: the gradient norm grows as a straight line",
        _gradients_accumulate, LANGUAGE_META,
    ),
    DemoRun(
        "below-floor", "below-floor", 300, 12,
        "a cross-entropy below zero: a sign is wrong",
        _below_floor, IMAGES_META, 140,
    ),
)  # fmt: skip
