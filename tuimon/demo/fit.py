"""Synthetic runs with something to say about fit, data and the log itself."""

from __future__ import annotations

import math
from dataclasses import replace
from random import Random

from tuimon.demo.curve import IMAGES, IMAGES_META, LANGUAGE, LANGUAGE_META, DemoRun, Rows, drop

_STILL_FALLING = replace(LANGUAGE, tau=400.0, alpha=0.7, total=1500)
_FINE_TUNING = replace(IMAGES, start=2.31, floor=0.03, tau=150.0, alpha=1.3)


def _overfitting(chance: Random) -> Rows:
    """The validation loss is least at 800 and rises by 0.07 every 100 steps from there; the train loss goes on down."""
    rows = _FINE_TUNING.run(chance, 1500)
    for row in rows:
        if "val_loss" in row:
            step = row["step"]
            row["val_loss"] = 0.61 + 1.7 * math.exp(-step / 150.0) + 0.0007 * max(0.0, step - 800.0)
            row["val_loss"] += 0.003 * chance.gauss(0.0, 1.0)
    return rows


def _undertrained(chance: Random) -> Rows:
    return _STILL_FALLING.run(chance, 1500)


def _val_below_train(chance: Random) -> Rows:
    """Dropout and augmentation make training harder than validation."""
    return replace(IMAGES, floor=0.4, noise=0.04, gap=-0.25).run(chance, 1000)


def _initial_loss_off(chance: Random) -> Rows:
    """Summed over the 64 samples of a batch, not averaged: 64 * ln 10 = 147."""
    return replace(IMAGES, start=147.6, floor=8.0, noise=0.05, norm=90.0, lr=8e-4).run(chance, 400)


def _stalled_run(chance: Random) -> Rows:
    return LANGUAGE.run(chance, 700)


def _resumed(chance: Random) -> Rows:
    """Stops at 600, goes on from the checkpoint of step 500."""
    first = LANGUAGE.run(chance, 601)
    return first + LANGUAGE.run(chance, 900)[501:]


def _no_validation(chance: Random) -> Rows:
    return drop(LANGUAGE.run(chance, 600), "val_loss")


def _no_grad_norm(chance: Random) -> Rows:
    return drop(LANGUAGE.run(chance, 500), "grad_norm")


RUNS = (
    DemoRun(
        "overfitting", "overfitting", 800, 150,
        "the validation loss turns at 800 while the train loss goes on falling",
        _overfitting, IMAGES_META, 880,
    ),
    DemoRun(
        "undertrained", "undertrained", None, 0,
        "ends while both losses still fall",
        _undertrained, {**LANGUAGE_META, "total_steps": 1500}, 1300,
    ),
    DemoRun(
        "val-below-train", "val-below-train", 50, 100,
        "validation is easier than training: dropout, augmentation, or a leak",
        _val_below_train, IMAGES_META,
    ),
    DemoRun(
        "initial-loss-off", "initial-loss-off", 0, 8,
        "starts at 147 = 64 * ln 10: the loss is summed, not averaged",
        _initial_loss_off, IMAGES_META,
    ),
    DemoRun(
        "stalled-run", "stalled-run", 699, 1,
        "no record any more: the training hangs",
        _stalled_run, LANGUAGE_META, 600, silent=True,
    ),
    DemoRun("resumed", "resumed", 501, 1, "crashed at 600, goes on from 501", _resumed, LANGUAGE_META, 500),
    DemoRun("no-validation", "no-validation", None, 0, "no validation loss", _no_validation, LANGUAGE_META, 320),
    DemoRun("no-grad-norm", "no-grad-norm", None, 0, "no gradient norm", _no_grad_norm, LANGUAGE_META),
)  # fmt: skip
