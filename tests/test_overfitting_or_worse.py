"""Validation that rises is overfitting only while training falls; where both rise the network gets worse."""

from __future__ import annotations

import math
import random
from collections.abc import Callable

import pytest

from tests.streams import found, loud, run, watched
from tuimon.monitor import Monitor, Snapshot
from tuimon.record import Batch


def both_losses(train: Callable[[int], float], val: Callable[[int], float], seed: int = 0) -> Snapshot:
    """2000 steps with noise of 0.02 in training, an evaluation each hundred."""
    rng = random.Random(seed)
    return watched(
        run(
            2000,
            lambda step: {
                "loss": train(step) + rng.gauss(0, 0.02),
                "val_loss": val(step) + rng.gauss(0, 0.003) if step % 100 == 0 else None,
            },
        )
    )


def falls(step: int) -> float:
    return 0.3 + 2.0 * math.exp(-step / 300)


def valley(step: int) -> float:
    return 0.8 + 1.5 * math.exp(-step / 150) + 2e-4 * max(step - 600, 0)


@pytest.mark.parametrize("seed", range(5))
def test_training_that_creeps_up_from_the_minimum_of_validation_is_not_overfitted(seed: int) -> None:
    snapshot = both_losses(lambda step: falls(min(step, 700)) + 1e-4 * max(step - 700, 0), valley, seed)
    assert "overfitting" not in loud(snapshot)


@pytest.mark.parametrize("seed", range(5))
def test_training_that_falls_on_is(seed: int) -> None:
    finding = found(both_losses(falls, valley, seed), "overfitting")
    assert finding.active
    assert 500 <= finding.onset_step <= 900


def test_it_is_over_when_training_rises_as_well() -> None:
    snapshot = both_losses(lambda step: falls(step) if step < 1500 else 0.3 + 2e-3 * (step - 1500), valley)
    finding = found(snapshot, "overfitting")
    assert not finding.active
    assert finding.ended_step in (1600, 1700)
    assert f"risen again at {finding.ended_step}" in finding.evidence


def test_a_flat_end_of_training_is_still_overfitted() -> None:
    assert found(both_losses(lambda step: falls(min(step, 1400)), valley), "overfitting").active


@pytest.mark.parametrize("cut", [1, 9, 50])
def test_it_does_not_depend_on_how_the_log_was_read(cut: int) -> None:
    rng = random.Random(3)
    rows = run(
        1500,
        lambda step: {
            "loss": (falls(step) if step < 1200 else 0.3 + 2e-3 * (step - 1200)) + rng.gauss(0, 0.02),
            "val_loss": valley(step) if step % 50 == 0 else None,
        },
    )
    monitor = Monitor()
    for start in range(0, len(rows), cut):
        snapshot = monitor.feed(Batch.from_rows(rows[start : start + cut]))
    assert snapshot.findings == watched(rows).findings


def test_what_is_told_again_has_not_ended_before() -> None:
    rng = random.Random(1)

    def change(step: int) -> dict[str, float | None]:
        # Both rise, validation comes back to its minimum, training falls again, and validation rises anew.
        train = 2 - step / 500 if step < 600 else 0.8 - (step - 600) / 1200
        train = 1.8 if 1200 <= step < 2000 else 0.2 if step >= 2000 else train
        val = 1 + abs(step - 600) / 600 if step < 1200 else max(2 - max(step - 1500, 0) / 300, 1.01)
        val += max(step - 2300, 0) / 400
        return {
            "loss": train + rng.gauss(0, 0.02),
            "val_loss": val + rng.gauss(0, 0.003) if step % 10 == 0 else None,
        }

    monitor = Monitor()
    ends = set()
    for row in run(2700, change):
        snapshot = monitor.feed(Batch.from_rows([row]))
        finding = next((one for one in snapshot.findings if one.signature == "overfitting"), None)
        if finding is not None and finding.ended_step is not None:
            ends.add((finding.detected_step, finding.ended_step))
    assert ends
    assert all(detected <= ended for detected, ended in ends)
    assert found(snapshot, "overfitting").active
