"""The valley behind a diverging run: found where it can be, and refused where it cannot."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tuimon.estimate import estimate
from tuimon.monitor import Snapshot
from tuimon.record import Batch
from tuimon.signatures.finding import Finding
from tuimon.store import Store

CURVATURE = 20.0
DIVERGED = Finding("lr-too-high", "divergence", "failure", 50, 54, True, "")
SGD = Snapshot(records=60, findings=(DIVERGED,), meta={"optimizer": "SGD", "momentum": 0.0})


def run(lr: float, momentum: float = 0.0, settle: int = 0) -> Store:
    """An exact descent past the limit; its records begin `settle` steps in, when the growth is steady."""
    weight, velocity = 1.0, 0.0
    rows: list[tuple[int, float | None, dict[str, float | None]]] = []
    for step in range(60 + settle):
        gradient = CURVATURE * weight
        velocity = momentum * velocity + gradient
        weight -= lr * velocity
        if step >= settle:
            rows.append((step - settle, None, {"grad_norm": abs(gradient), "lr": lr}))
    store = Store()
    store.append(Batch.from_rows(rows))
    return store


@pytest.mark.parametrize(("lr", "momentum"), [(0.111, 0.0), (0.15, 0.0), (0.25, 0.5)])
def test_the_limit_of_an_exact_descent_is_found(lr: float, momentum: float) -> None:
    snapshot = replace(SGD, meta={"optimizer": "sgd", "momentum": momentum})
    found = estimate(snapshot, run(lr, momentum, settle=40))
    assert found.limit == pytest.approx(2 * (1 + momentum) / CURVATURE, rel=0.02)
    assert found.curvature == pytest.approx(CURVATURE, rel=0.02)
    assert "about 0.1" in found.words
    assert "0.7 to 1.4" in found.words


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"findings": ()}, "does not grow"),
        ({"meta": {}}, "plain SGD"),
        ({"meta": {"optimizer": "adamw"}}, "known for adamw"),
        ({"meta": {"optimizer": 7}}, "plain SGD"),
        ({"meta": {"optimizer": "sgd", "momentum": "much"}}, "plain SGD"),
        ({"meta": {"optimizer": "sgd", "clip_norm": 1.0}}, "clipped"),
        ({"findings": (replace(DIVERGED, onset_step=59),)}, "three steps"),
    ],
)
def test_without_what_it_needs_nothing_is_said_but_why(change: dict[str, Any], why: str) -> None:
    found = estimate(replace(SGD, **change), run(0.12))
    assert (found.limit, found.curvature) == (None, None)
    assert why in found.words


def test_a_growth_too_fast_for_the_picture_is_refused() -> None:
    assert estimate(SGD, run(0.4)).limit is None


def test_noise_is_no_growth() -> None:
    assert "no steady growth" in estimate(SGD, run(0.1 * 1.01)).words


def test_of_several_onsets_the_first_that_can_be_judged_counts() -> None:
    findings = (replace(DIVERGED, onset_step=59), DIVERGED)
    assert estimate(replace(SGD, findings=findings), run(0.12)).limit is not None


def test_a_log_without_gradients_is_refused() -> None:
    assert "grad_norm and lr" in estimate(SGD, Store()).words
