"""Spikes where the noise of the loss is a factor: hard samples of a network that has nearly converged are none."""

from __future__ import annotations

import math
import random

import pytest

from tests.streams import Metrics, Row, found, loud, run, watched


def converged(step: int, rng: random.Random) -> float:
    """A loss that falls to log-normal noise of one and a half decades around 0.01."""
    return 2.0 * math.exp(-step / 60) + 0.01 * math.exp(rng.gauss(0, 1.2))


def small_batches(seed: int, hard: int = 900, height: float = 0.2) -> list[Row]:
    rng = random.Random(seed)

    def change(step: int) -> Metrics:
        loss = converged(step, rng)
        return {"loss": height if hard <= step < hard + 2 else loss, "val_loss": None}

    return run(1500, change)


@pytest.mark.parametrize("seed", range(8))
def test_two_hard_samples_in_a_row_are_within_the_noise(seed: int) -> None:
    """0.2 is 20 times the median and 2.5 sigma of the logarithm."""
    assert "loss-spike" not in loud(watched(small_batches(seed)))


def test_what_is_far_out_even_so_is_a_spike() -> None:
    finding = found(watched(small_batches(1, height=40.0)), "loss-spike")
    assert (finding.onset_step, finding.detected_step) == (900, 900)


@pytest.mark.parametrize("seed", range(8))
def test_pairs_of_losses_among_zeros_are_no_spikes(seed: int) -> None:
    """A hinge loss of single samples: ever fewer of them have one, in the end one of ten."""
    rng = random.Random(seed)

    def hinge(step: int) -> Metrics:
        share = 0.1 + 0.9 * math.exp(-step / 60)
        loss = math.exp(rng.gauss(-0.5, 0.8)) if rng.random() < share else 0.0
        return {"loss": loss, "grad_norm": 1.0, "val_loss": None}

    assert "loss-spike" not in loud(watched(run(1500, hinge)))


def test_a_spike_over_narrow_noise_is_told_as_before() -> None:
    for level in (0.5, 5.0, -5.0):
        rows = run(600, lambda step: {"loss": 2.0 if 400 <= step < 403 else 0.1 * random.Random(step).gauss(0, 0.5)})
        rows = [(step, at, metrics | {"loss": (metrics["loss"] or 0.0) + level}) for step, at, metrics in rows]
        assert found(watched(rows), "loss-spike").onset_step == 400


def evaluated(lr: dict[int, float]) -> list[Row]:
    """An evaluation each 25 steps, one of them far off at step 1000; the learning rate from each of some steps on."""

    def change(step: int) -> Metrics:
        rate = lr[max(at for at in lr if at <= step)]
        return {"lr": rate} | ({"val_loss": 3.0} if step == 1000 else {})

    return run(1200, change)


def test_one_evaluation_far_off_is_told() -> None:
    assert loud(watched(evaluated({0: 0.01}))) == ["loss-spike"]


@pytest.mark.parametrize("at", [960, 980, 1000])
def test_one_evaluation_far_off_just_after_the_learning_rate_rose_is_expected(at: int) -> None:
    assert loud(watched(evaluated({0: 0.01, at: 0.1}))) == []


def test_and_later_on_it_is_not() -> None:
    assert loud(watched(evaluated({0: 0.01, 900: 0.1}))) == ["loss-spike"]


@pytest.mark.parametrize(
    ("height", "gradient", "told"), [(50.0, 40.0, True), (50.0, None, True), (50.0, 1.0, False), (1.5, 40.0, False)]
)
def test_one_record_alone_is_a_spike_where_it_is_worse_than_untrained_and_pushed_the_weights(
    height: float, gradient: float | None, told: bool
) -> None:
    rng = random.Random(1)

    def change(step: int) -> Metrics:
        loss = height if step == 900 else 0.1 + 2.0 * math.exp(-step / 60) + rng.gauss(0, 0.005)
        norm = gradient if step == 900 or gradient is None else math.exp(rng.gauss(0, 0.2))
        return {"loss": loss, "grad_norm": norm}

    snapshot = watched(run(1500, change))
    spikes = [(one.onset_step, one.ended_step) for one in snapshot.findings if one.signature == "loss-spike"]
    assert spikes == ([(900, 902)] if told else [])
