"""Synthetic runs that are healthy, most of which look bad: none may light a failure or a warning."""

from __future__ import annotations

import math
from dataclasses import replace
from random import Random

from tuimon.demo.curve import (
    IMAGES,
    IMAGES_META,
    LANGUAGE,
    LANGUAGE_META,
    REGRESSION_META,
    DemoRun,
    Meta,
    Rows,
    noisy,
)

_UNDECLARED: Meta = {name: value for name, value in IMAGES_META.items() if name != "num_classes"}
_HUMP = replace(LANGUAGE, warmup=400, total=1500)
_FAST = replace(IMAGES, floor=0.21, tau=25.0, alpha=1.6, total=1000)
_DIFFUSION = replace(LANGUAGE, start=1.0, floor=0.06, tau=20.0, alpha=0.9, norm=0.3, jitter=0.5)
_RESNET = replace(IMAGES, start=6.9, floor=1.75, tau=60.0, alpha=1.1, noise=0.05, norm=1.1, lr=0.4)


def _healthy(chance: Random) -> Rows:
    return LANGUAGE.run(chance, 2000)


def _warmup_hump(chance: Random) -> Rows:
    """While the learning rate still rises, the loss climbs by 0.5 over 150 steps and comes down again."""
    rows = _HUMP.run(chance, 1200)
    for row in rows:
        hump = 0.5 * math.exp(-(((row["step"] - 330.0) / 85.0) ** 2))
        row["loss"] += hump
        row["grad_norm"] *= 1.0 + hump
        if "val_loss" in row:
            row["val_loss"] += hump
    return rows


def _shelf(chance: Random) -> Rows:
    """Parity of bits: ln 2 for half the run, then the network finds it."""
    rows = replace(IMAGES, lr=3e-3, norm=0.4).run(chance, 1600)
    for row in rows:
        found = 1.0 / (1.0 + math.exp((row["step"] - 800.0) / 35.0))
        level = 0.01 + 0.683 * found
        row["loss"] = level + (0.006 + 0.05 * found * (1.0 - found)) * chance.gauss(0.0, 1.0) * min(1.0, level)
        row["grad_norm"] *= 0.2 + 4.0 * found * (1.0 - found)
        if "val_loss" in row:
            row["val_loss"] = level + 0.002 * chance.gauss(0.0, 1.0)
    return rows


def _restarts(chance: Random) -> Rows:
    """Cosine restarts every 500 steps: each throws the loss up by a twelfth, and pays."""
    rows = LANGUAGE.run(chance, 2000)
    for row in rows:
        since = row["step"] % 500
        row["lr"] = 6e-4 * (0.02 + 0.98 * 0.5 * (1.0 + math.cos(math.pi * since / 500.0)))
        share = 0.06 * row["lr"] / 6e-4 if row["step"] >= 500 else 0.0
        row["loss"] *= 1.0 + share
        if "val_loss" in row:
            row["val_loss"] *= 1.0 + share
    return rows


def _converged(chance: Random) -> Rows:
    """Done after a third of the run; the gradient falls with the loss."""
    rows = _FAST.run(chance, 1800)
    for row in rows:
        row["grad_norm"] *= 0.02 + (1.0 + row["step"] / 25.0) ** -1.2
    return rows


def _early_jump(chance: Random) -> Rows:
    """6.9 to 16.9 at the second step of a large learning rate without warm-up, then down."""
    rows = _RESNET.run(chance, 800)
    for row, excess in zip(rows[2:60], (10.0 * 0.86**i for i in range(58)), strict=True):
        row["loss"] += excess
        row["grad_norm"] *= 1.0 + excess
    return rows


def _heavy_tail(chance: Random) -> Rows:
    """A diffusion model: the noise level of each batch spreads the loss over two decades."""
    rows = _DIFFUSION.run(chance, 1500)
    for row in rows:
        row["loss"] = _DIFFUSION.smooth(row["step"]) * chance.lognormvariate(-0.32, 0.8)
    return rows


def _flat_until_decay(chance: Random) -> Rows:
    """At a constant learning rate almost flat on its noise; each division by ten brings the loss down at once."""
    rows = []
    for row in replace(_RESNET, every=100).run(chance, 2400):
        step = row["step"]
        falls = sum(1 for when in (1000, 1700) if step >= when)
        level = _RESNET.smooth(step) * 0.72**falls * (1.0 - 0.00003 * step)
        row["lr"] = 0.4 * 0.1**falls
        row["loss"] = noisy(chance, level, 0.05)
        if "val_loss" in row:
            row["val_loss"] = noisy(chance, level * 1.06, 0.008)
        rows.append(row)
    return rows


def _fp16_skips(chance: Random) -> Rows:
    """The scaler tries a larger scale every 400 steps, is refused, skips one step and goes back."""
    rows = LANGUAGE.run(chance, 1500)
    scale, skipped = 65536.0, 0
    for row in rows:
        if row["step"] in {0, 1, 2}:
            row["grad_norm"] = math.inf
            scale, skipped = scale / 2.0, skipped + 1
        elif row["step"] % 400 == 399:
            scale *= 2.0
        elif row["step"] % 400 == 0:
            row["grad_norm"] = math.inf
            scale, skipped = scale / 2.0, skipped + 1
        row["loss_scale"], row["skipped"] = scale, skipped
    return rows


def _rl_critic(chance: Random) -> Rows:
    """The critic's loss grows thirtyfold, because the returns it must predict grow: the policy gets better."""
    rows = replace(LANGUAGE, every=0, lr=3e-4).run(chance, 1500)
    for row in rows:
        learned = 1.0 / (1.0 + math.exp(-(row["step"] - 700.0) / 180.0))
        row["loss"] = (0.4 + 12.0 * learned) * chance.lognormvariate(0.0, 0.35)
        row["return"] = 20.0 + 460.0 * learned + 15.0 * chance.gauss(0.0, 1.0)
        row["grad_norm"] *= 1.0 + 5.0 * learned
    return rows


RUNS = (
    DemoRun("healthy", "", None, 0, "a small language model, from first to last step", _healthy, LANGUAGE_META, 300),
    DemoRun(
        "healthy-warmup-hump", "", None, 0,
        "a hump while the learning rate warms up",
        _warmup_hump, LANGUAGE_META, 150,
    ),
    DemoRun("healthy-shelf", "", None, 0, "a shelf at ln 2 for half the run, then it learns", _shelf, _UNDECLARED, 600),
    DemoRun("healthy-restarts", "", None, 0, "cosine restarts throw the loss up", _restarts, LANGUAGE_META, 400),
    DemoRun("healthy-converged", "", None, 0, "done: flat, and nothing wrong with it", _converged, IMAGES_META, 300),
    DemoRun("healthy-early-jump", "", None, 0, "6.9 to 16.9 at step 2, then down", _early_jump, _UNDECLARED),
    DemoRun(
        "healthy-heavy-tail", "", None, 0,
        "a diffusion model: two decades of noise",
        _heavy_tail, REGRESSION_META, 300,
    ),
    DemoRun(
        "healthy-flat-until-decay", "", None, 0,
        "almost flat until the learning rate is divided by ten",
        _flat_until_decay, _UNDECLARED, 850,
    ),
    DemoRun(
        "healthy-fp16-skips", "", None, 0,
        "a loss scaler at work: one skipped step now and then",
        _fp16_skips, {**LANGUAGE_META, "precision": "fp16"}, 300,
    ),
    DemoRun(
        "healthy-rl-critic", "", None, 0,
        "a critic's loss rises thirtyfold while the policy gets better",
        _rl_critic, {"objective": "rl", "optimizer": "adam"}, 500,
    ),
)  # fmt: skip
