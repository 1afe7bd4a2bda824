"""Synthetic runs that go NaN, one per birthplace."""

from __future__ import annotations

import math
from random import Random

from tuimon.demo.curve import (
    IMAGES,
    IMAGES_META,
    LANGUAGE,
    LANGUAGE_META,
    REGRESSION,
    REGRESSION_META,
    DemoRun,
    Rows,
    set_from,
)

_LARGEST_FLOAT32 = 3.4e38
_FP16_META = {**LANGUAGE_META, "precision": "fp16"}


def _nan_forward(chance: Random) -> Rows:
    return set_from(LANGUAGE.run(chance, 900), 612, loss=math.nan, grad_norm=math.nan, val_loss=math.nan)


def _nan_backward(chance: Random) -> Rows:
    rows = set_from(LANGUAGE.run(chance, 800), 480, grad_norm=math.nan)
    return set_from(rows, 481, loss=math.nan, val_loss=math.nan)


def _nan_after_growth(chance: Random) -> Rows:
    """The loss is five times as large after every step from 520 on, far past the stable learning rate."""
    rows = REGRESSION.run(chance, 800)
    for row in rows[520:]:
        grown = 5.0 ** (row["step"] - 520)
        row["loss"] += 0.004 * grown * chance.lognormvariate(0.0, 0.05)
        row["grad_norm"] += 0.2 * math.sqrt(grown)
        if row["loss"] > _LARGEST_FLOAT32:
            set_from(rows, int(row["step"]), loss=math.inf, grad_norm=math.nan, val_loss=math.inf)
            return set_from(rows, int(row["step"]) + 1, loss=math.nan, val_loss=math.nan)
    return rows


def _nan_first_step(chance: Random) -> Rows:
    return set_from(IMAGES.run(chance, 400), 0, loss=math.nan, grad_norm=math.nan, val_loss=math.nan)


def _nan_masked(chance: Random) -> Rows:
    return set_from(LANGUAGE.run(chance, 800), 540, loss=0.0, grad_norm=math.nan, val_loss=math.nan)


def _nan_val_only(chance: Random) -> Rows:
    return set_from(IMAGES.run(chance, 900), 500, val_loss=math.nan)


def _nan_empty_batch(chance: Random) -> Rows:
    rows = LANGUAGE.run(chance, 900)
    for step in (500, 587):
        rows[step].update(loss=math.nan, grad_norm=0.0)
    return rows


def _inf_first(chance: Random) -> Rows:
    rows = set_from(IMAGES.run(chance, 800), 460, loss=math.inf, grad_norm=math.nan, val_loss=math.nan)
    return set_from(rows, 461, loss=math.nan)


def _fp16_range(chance: Random) -> Rows:
    """A loss scaler finds its scale in the first steps; from 520 on the gradients leave fp16 whatever the scale."""
    rows = LANGUAGE.run(chance, 800)
    scale, skipped = 65536.0, 0
    for row in rows:
        step = row["step"]
        if step in {0, 1} or (step >= 520 and step % 3 == 1 and scale > 1.0):
            row["grad_norm"] = math.inf
            scale /= 2.0
            skipped += 1
        row["loss_scale"], row["skipped"] = scale, skipped
    return rows


RUNS = (
    DemoRun(
        "nan-forward", "nan-forward", 612, 0,
        "a bad batch: loss and grad_norm are NaN in one step, out of a calm run",
        _nan_forward, LANGUAGE_META, 400,
    ),
    DemoRun(
        "nan-backward", "nan-backward", 480, 0,
        "a square root at 0: the gradient is NaN one step before the loss",
        _nan_backward, LANGUAGE_META, 280,
    ),
    DemoRun(
        "nan-after-growth", "nan-after-growth", 520, 4,
        "past the stable learning rate: the loss grows fivefold every step until it overflows",
        _nan_after_growth, REGRESSION_META, 380,
    ),
    DemoRun("nan-first-step", "nan-first-step", 0, 0, "NaN from the very first record", _nan_first_step, IMAGES_META),
    DemoRun(
        "nan-masked", "nan-masked", 540, 0,
        "the logger shows a loss of 0.0 where it is NaN; grad_norm tells",
        _nan_masked, LANGUAGE_META, 340,
    ),
    DemoRun(
        "nan-val-only", "nan-val-only", 500, 0,
        "only the validation loss is NaN: the training is fine",
        _nan_val_only, IMAGES_META, 320,
    ),
    DemoRun(
        "nan-empty-batch", "nan-empty-batch", 500, 0,
        "two batches in which every label is masked: NaN, then all is well again",
        _nan_empty_batch, LANGUAGE_META, 320,
    ),
    DemoRun(
        "inf-first", "inf-first", 460, 0,
        "log(0): the loss is infinite before it is NaN",
        _inf_first, IMAGES_META, 260,
    ),
    DemoRun(
        "fp16-range", "fp16-range", 520, 10,
        "gradients beyond 65504: the loss scale is halved again and again, step after step is skipped",
        _fp16_range, _FP16_META, 360,
    ),
)  # fmt: skip
