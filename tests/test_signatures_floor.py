"""Losses that rest on the noise of their gradients, made by plain gradient descent on a bowl."""

from __future__ import annotations

import math
import random
from collections.abc import Callable

import pytest

from tests.streams import Row, header, loud, watched
from tuimon.signatures.course import Course
from tuimon.signatures.finding import Finding
from tuimon.signatures.floor import momentum_of

STEPS, BOTTOM = 2000, 0.3
CURVATURES = [0.5, 0.5, 1.0, 1.0, 2.0, 2.0, 3.0, 4.0]
Rate = Callable[[int], float]


def descent(
    rate: float | Rate, *, noise: float = 1.0, momentum: float = 0.0, start: float = 0.5, clip: float = math.inf
) -> list[Row]:
    """Descent in a bowl of eight curvatures whose gradients have `noise`; the logged loss has the noise of a batch."""
    rng = random.Random(1)
    place, speed = [start] * len(CURVATURES), [0.0] * len(CURVATURES)
    rows: list[Row] = []
    for step in range(STEPS):
        lr = rate(step) if callable(rate) else rate
        loss = BOTTOM + sum(c * x * x / 2 for c, x in zip(CURVATURES, place, strict=True))
        slopes = [c * x + rng.gauss(0, noise) for c, x in zip(CURVATURES, place, strict=True)]
        norm = math.hypot(*slopes)
        rows.append((step, float(step), {"loss": loss + rng.gauss(0, 0.05), "grad_norm": norm, "lr": lr}))
        speed = [momentum * v + g * min(1.0, clip / norm) for v, g in zip(speed, slopes, strict=True)]
        place = [x - lr * v for x, v in zip(place, speed, strict=True)]
    return rows


def told(rows: list[Row], **meta: object) -> Finding | None:
    snapshot = watched(rows, header(**{"optimizer": "sgd", "total_steps": STEPS} | meta))
    return next((finding for finding in snapshot.findings if finding.signature == "flat-midway"), None)


def held_up(finding: Finding | None) -> float:
    assert finding is not None
    return float(finding.evidence.rsplit(" ", 1)[1])


@pytest.mark.parametrize(("rate", "momentum", "clip"), [(0.15, 0.0, math.inf), (0.015, 0.9, math.inf), (0.3, 0.0, 1.5)])
def test_the_height_of_the_floor_is_what_the_noise_makes_of_the_bowl(rate: float, momentum: float, clip: float) -> None:
    rows = descent(rate, momentum=momentum, clip=clip)
    finding = told(rows, optimizer="SGD", momentum=momentum, **({} if clip == math.inf else {"clip_norm": clip}))
    tail = [metrics["loss"] or 0.0 for _, _, metrics in rows[STEPS // 2 :]]
    assert held_up(finding) == pytest.approx(sum(tail) / len(tail) - BOTTOM, rel=0.25)
    assert finding is not None and finding.severity == "warning" and finding.detected_step >= 0.9 * STEPS


def test_a_loss_that_has_arrived_is_silent_though_its_gradient_is_alive() -> None:
    """The noise holds it up by a twentieth of the way."""
    assert loud(watched(descent(0.02), header(optimizer="sgd", total_steps=STEPS))) == []


@pytest.mark.parametrize("optimizer", ["adamw", ""])
def test_what_another_optimizer_makes_of_the_noise_is_not_known(optimizer: str) -> None:
    assert told(descent(0.15), optimizer=optimizer) is None


def test_a_rate_that_decays_lowers_the_floor_by_itself() -> None:
    assert told(descent(lambda step: 0.15 if step < 1600 else 0.015)) is None
    assert told(descent(lambda step: 0.4 if step < 100 else 0.15)) is None


def test_before_its_end_the_run_may_still_be_going_to_lower_the_rate() -> None:
    rows = descent(0.15)
    assert told(rows, total_steps=2 * STEPS) is None
    finding = told(rows, total_steps=None)
    assert finding is not None and finding.severity == "note" and "total_steps" in finding.missing


def test_a_loss_on_its_way_down_is_silent() -> None:
    """From one quarter to the next it falls by six tenths of what the noise holds back."""
    rows = descent(0.15)
    falling = [
        (step, time, metrics | {"loss": (metrics["loss"] or 0.0) + 0.8 * (1 - step / STEPS)})
        for step, time, metrics in rows
    ]
    assert told(rows) is not None and told(falling) is None


def test_a_loss_that_is_logged_in_other_units_than_its_gradient_is_silent() -> None:
    """No noise holds it up by more than the whole of it."""
    rows = [
        (step, time, metrics | {"grad_norm": 1.6 * (metrics["grad_norm"] or 0.0)})
        for step, time, metrics in descent(0.15)
    ]
    assert told(rows) is None


def test_momentum_is_what_was_declared() -> None:
    course = Course()
    assert momentum_of(course) is None
    for meta, momentum in [
        ({"optimizer": "SGD"}, 0.0),
        ({"optimizer": "momentum"}, 0.9),
        ({"optimizer": "sgd", "momentum": 0.8}, 0.8),
        ({"optimizer": "AdamW"}, None),
    ]:
        course.declare(meta)
        assert momentum_of(course) == momentum
