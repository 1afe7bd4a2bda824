"""Synthetic runs that do not learn, or stop."""

from __future__ import annotations

import math
from dataclasses import replace
from random import Random

from tuimon.demo.curve import IMAGES, IMAGES_META, DemoRun, Rows, noisy

_UNIFORM = math.log(10.0)
_COUNTS = (4200, 1900, 1100, 800, 600, 450, 350, 250, 200, 150)
_PRIOR = -sum(count / sum(_COUNTS) * math.log(count / sum(_COUNTS)) for count in _COUNTS)
_SOFTMAX_FLOOR = math.log(math.e + 9.0) - 1.0
_LAYERS = 8


def _resting(rows: Rows, chance: Random, start: int, *, level: float, noise: float, norm: float) -> Rows:
    """From `start` on the loss rests on `level`; the gradient is `norm` and alive."""
    for row in rows[start:]:
        row["loss"] = level + noise * chance.gauss(0.0, 1.0)
        row["grad_norm"] = norm * chance.lognormvariate(0.0, 0.2)
        if "val_loss" in row:
            row["val_loss"] = level + noise / 10.0 * chance.gauss(0.0, 1.0)
    return rows


def _zero_gradient(chance: Random) -> Rows:
    """At 420 a new phase begins with every parameter frozen: no gradient at all, and only the batches differ."""
    level = IMAGES.smooth(420)
    rows = _resting(IMAGES.run(chance, 800), chance, 420, level=level, noise=IMAGES.noise * level, norm=0.0)
    for row in rows[420:]:
        if "val_loss" in row:
            row["val_loss"] = level * (1.0 + IMAGES.gap)
    return rows


def _frozen_weights(chance: Random) -> Rows:
    """The optimizer holds none of the parameters: batches differ, the evaluation never does."""
    rows = _resting(IMAGES.run(chance, 500), chance, 0, level=2.4271, noise=0.05, norm=1.9)
    for row in rows:
        if "val_loss" in row:
            row["val_loss"] = 2.431264238357544
    return rows


def _lr_too_low(chance: Random) -> Rows:
    """1e-6 instead of 1e-2: what the steps buy (lr * grad_norm ** 2, summed) is far less than one batch's noise."""
    rows = _resting(IMAGES.run(chance, 700), chance, 0, level=2.334, noise=0.03, norm=1.9)
    for row in rows:
        row["lr"] = 1e-6
        row["loss"] -= 4e-6 * row["step"]
        if "val_loss" in row:
            row["val_loss"] = 2.3312 - 4e-6 * row["step"]
    return rows


def _uniform_prediction(chance: Random) -> Rows:
    rows = replace(IMAGES, start=2.41, floor=_UNIFORM, tau=8.0, noise=0.002, gap=0.0).run(chance, 60)
    later = IMAGES.run(chance, 700)[60:]
    return _resting(rows + later, chance, 60, level=_UNIFORM, noise=0.004, norm=0.09)


def _prior_prediction(chance: Random) -> Rows:
    rows = replace(IMAGES, start=2.36, floor=_PRIOR, tau=15.0, alpha=2.0, noise=0.012, gap=0.0).run(chance, 120)
    later = IMAGES.run(chance, 800)[120:]
    return _resting(rows + later, chance, 120, level=_PRIOR, noise=0.024, norm=0.11)


def _double_softmax(chance: Random) -> Rows:
    """Probabilities fed to a loss that takes logits: even a perfect model stays at ln(e + 9) - 1."""
    rows = IMAGES.run(chance, 2600)
    for row in rows:
        level = _SOFTMAX_FLOOR + 0.003 + 0.835 * math.exp(-row["step"] / 200.0)
        row["loss"] = level + 0.012 * abs(chance.gauss(0.0, 1.0))
        row["grad_norm"] = (0.02 + 0.3 * math.exp(-row["step"] / 250.0)) * chance.lognormvariate(0.0, 0.2)
        if "val_loss" in row:
            row["val_loss"] = level + 0.03
    return rows


def _memorising_noise(chance: Random) -> Rows:
    """Labels paired with the wrong inputs: the network learns them by heart and knows nothing about the next ones."""
    rows = IMAGES.run(chance, 1200)
    for row in rows:
        row["loss"] = noisy(chance, 0.3 + 2.02 / (1.0 + (row["step"] / 420.0) ** 1.6), 0.03)
        if "val_loss" in row:
            row["val_loss"] = 2.32 + 2.6 * (row["step"] / 1200.0) ** 1.2 + 0.01 * chance.gauss(0.0, 1.0)
    return rows


def _flat_midway(chance: Random) -> Rows:
    """Large batches, constant learning rate: from 900 on each step undoes what the last one gained, far from done."""
    course = replace(IMAGES, tau=200.0, alpha=0.8, noise=0.006, total=100_000)
    rows = course.run(chance, 4400)
    level = course.smooth(900)
    for row in rows[900:]:
        row["loss"] = noisy(chance, level, course.noise)
        if "val_loss" in row:
            row["val_loss"] = noisy(chance, level * 1.08, course.noise)
    return rows


def _vanishing_gradient(chance: Random) -> Rows:
    """Each layer passes a fifth of the gradient on: the first gets 1/78,000 of the last; only the last ones learn."""
    rows = replace(IMAGES, floor=1.6, tau=300.0).run(chance, 500)
    for row in rows:
        for layer in range(_LAYERS):
            norm = row["grad_norm"] * 0.97 * 0.2 ** (_LAYERS - 1 - layer)
            row[f"grad_norm/layers.{layer}"] = norm * chance.lognormvariate(0.0, 0.15)
    return rows


def _dead_relu(chance: Random) -> Rows:
    """Around step 400 a large step pushes most biases of the second layer below zero: half its units by 397."""
    rows = replace(IMAGES, noise=0.04).run(chance, 800)
    stuck = IMAGES.smooth(400)
    for row in rows:
        dead = 1.0 / (1.0 + math.exp(-(row["step"] - 400.0) / 20.0))
        row["dead_fraction/layers.0"] = 0.08 + 0.01 * chance.random()
        row["dead_fraction/layers.1"] = 0.15 + 0.75 * dead + 0.01 * chance.random()
        row["dead_fraction/layers.2"] = 0.11 + 0.01 * chance.random()
        row["loss"] += dead * max(0.0, stuck - IMAGES.smooth(row["step"])) * 0.9
    return rows


def _saturated(chance: Random) -> Rows:
    """Initial weights ten times too large: the inputs of tanh lie far out, and little gradient comes through."""
    rows = replace(IMAGES, start=3.4, floor=1.9, tau=200.0).run(chance, 500)
    for row in rows:
        row["saturation/layers.0"] = 0.91 + 0.02 * chance.random()
        row["saturation/layers.1"] = 0.86 + 0.02 * chance.random()
        row["saturation/layers.2"] = 0.22 + 0.02 * chance.random()
    return rows


_COUNTS_META = {**IMAGES_META, "class_counts": list(_COUNTS)}
_PLAIN_SGD = {**IMAGES_META, "momentum": 0.0}
_UNDECLARED = {name: value for name, value in IMAGES_META.items() if name != "num_classes"}

RUNS = (
    DemoRun(
        "zero-gradient", "zero-gradient", 420, 0,
        "every parameter is frozen: the gradient is exactly 0 and nothing moves",
        _zero_gradient, IMAGES_META, 240,
    ),
    DemoRun(
        "frozen-weights", "frozen-weights", 0, 50,
        "the optimizer holds no parameters: val_loss is the same to the last digit",
        _frozen_weights, IMAGES_META,
    ),
    DemoRun(
        "lr-too-low", "lr-too-low", 0, 50,
        "a learning rate a thousand times too small: smooth, and nothing happens",
        _lr_too_low, _PLAIN_SGD,
    ),
    DemoRun(
        "uniform-prediction", "uniform-prediction", 0, 120,
        "flat at ln 10: the model says one tenth to everything",
        _uniform_prediction, IMAGES_META, 60,
    ),
    DemoRun(
        "prior-prediction", "prior-prediction", 120, 120,
        "flat at the entropy of the labels: the model has learned the class counts and nothing else",
        _prior_prediction, _COUNTS_META, 120,
    ),
    DemoRun(
        "double-softmax", "double-softmax", 400, 600,
        "softmax twice: the loss rests on 1.4612 and cannot go under it",
        _double_softmax, IMAGES_META, 600,
    ),
    DemoRun(
        "memorising-noise", "memorising-noise", 50, 100,
        "the train loss falls, the validation loss rises above ln 10 from the first evaluation",
        _memorising_noise, IMAGES_META,
    ),
    DemoRun(
        "flat-midway", "flat-midway", 900, 300,
        "learning, then nothing more, far from done",
        _flat_midway, _UNDECLARED, 3880,
    ),
    DemoRun(
        "vanishing-gradient", "vanishing-gradient", 0, 10,
        "the first layers get nothing; the global gradient norm does not show it",
        _vanishing_gradient, IMAGES_META,
    ),
    DemoRun(
        "dead-relu", "dead-relu", 397, 60,
        "nine tenths of a layer's units die within a hundred steps",
        _dead_relu, IMAGES_META, 260,
    ),
    DemoRun(
        "saturated", "saturated", 0, 40,
        "the inputs of tanh lie far out from the start",
        _saturated, _UNDECLARED,
    ),
)  # fmt: skip
