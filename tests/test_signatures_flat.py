"""Losses that have never moved since the first record."""

from __future__ import annotations

import math
import random

import pytest

from tests.streams import Change, Metrics, found, header, loud, run, watched
from tuimon.stats import rank_sum


def never(value: float = 0.7, noise: float = 0.05, **more: float) -> Change:
    """A loss that stands, without a header that would say at what."""
    rng = random.Random(3)

    def change(step: int) -> Metrics:
        metrics: Metrics = {"loss": value + rng.gauss(0, noise), **more}
        if step % 25 == 0:
            metrics["val_loss"] = value + rng.gauss(0, 0.02)
        return metrics

    return change


@pytest.mark.parametrize("value", [0.7, -3.0])
def test_a_loss_that_has_never_moved_is_a_warning(value: float) -> None:
    finding = found(watched(run(900, never(value))), "flat-midway")
    assert finding.severity == "warning" and finding.onset_step == 0
    assert "never moved" in finding.evidence


def test_a_log_that_begins_in_the_middle_of_a_training_may_stand() -> None:
    assert loud(watched(run(900, never(), start=50_000))) == []


@pytest.mark.parametrize(("classes", "lights"), [(10, False), (3, True)])
def test_a_start_below_a_guess_is_a_checkpoint_and_may_stand(classes: int, lights: bool) -> None:
    snapshot = watched(run(900, never(1.3)), header(num_classes=classes))
    assert ("flat-midway" in loud(snapshot)) is lights


@pytest.mark.parametrize("steps", [3000, 20_000])
def test_a_last_stair_of_exactly_half_the_run_is_not_more_than_half(steps: int) -> None:
    def change(step: int) -> Metrics:
        lr = (0.1, 0.01, 0.001)[(step >= steps // 4) + (step >= steps // 2)]
        return {"lr": lr, "loss": 0.8 + 1.5 * math.exp(-step / 120) + random.Random(step).gauss(0, 0.1)}

    assert "flat-midway" not in loud(watched(run(steps, change, without=["val_loss"])))


def test_a_falling_validation_says_that_it_learns() -> None:
    """A noisy training loss of a small batch hides what the evaluations show."""
    noisy = never(noise=0.4)

    def change(step: int) -> Metrics:
        return noisy(step) | ({"val_loss": 0.7 - 2e-4 * step} if step % 25 == 0 else {})

    assert "flat-midway" not in loud(watched(run(900, change)))


def test_a_slow_fall_is_a_movement() -> None:
    """A tenth of the noise within a third of the run is seen by the rank sum over blocks."""
    rng = random.Random(5)
    snapshot = watched(run(3000, lambda step: {"loss": 0.7 - 2e-5 * step + rng.gauss(0, 0.05)}, without=["val_loss"]))
    assert "flat-midway" not in loud(snapshot)


def test_a_shelf_that_ends_leaves_no_warning() -> None:
    shelf = never(value=2.3)
    snapshot = watched(run(1500, lambda step: shelf(step) if step < 800 else {}))
    assert "flat-midway" not in [finding.signature for finding in snapshot.findings]


def stairs(step: int) -> Metrics:
    """A learning rate that falls tenfold at each third of 3000 steps; the noise that it makes falls with it."""
    lr, rng = (0.1, 0.01, 0.001)[step // 1000], random.Random(step)
    floor = 0.8 + {0: 0.2, 1: 0.05, 2: 0.0}[step // 1000]
    return {"lr": lr, "loss": floor + 1.5 * math.exp(-step / 120) + rng.gauss(0, 0.1), "val_loss": floor + 0.1}


def test_a_loss_that_stands_on_the_last_stair_of_its_schedule_is_healthy() -> None:
    assert loud(watched(run(3000, stairs))) == []


def test_a_rate_that_is_gone_while_the_loss_falls_is_a_failure_and_a_warning_where_it_had_stood() -> None:
    def gone(at: int) -> Change:
        def change(step: int) -> Metrics:
            loss = 0.8 + 1.5 * math.exp(-min(step, at) / 120) + random.Random(step).gauss(0, 0.1)
            return {"lr": 0.1 if step < at else 1e-4, "loss": loss}

        return change

    early, late = (watched(run(3000, gone(at), without=["val_loss"])) for at in (100, 1400))
    assert found(early, "flat-midway").severity == "failure" and found(early, "flat-midway").onset_step <= 128
    assert found(late, "flat-midway").severity == "warning"


def test_rank_sum_against_a_count_by_hand() -> None:
    # 2 and 5 against 1, 3, 4: larger in 1 + 3 = 4 of 6 pairs; the deviation of the count is sqrt(2 * 3 * 6 / 12).
    assert rank_sum([2.0, 5.0], [1.0, 3.0, 4.0]) == pytest.approx((4 - 3) / 3**0.5)
    assert rank_sum([1.0, 2.0], [3.0, 4.0]) == -rank_sum([3.0, 4.0], [1.0, 2.0])


@pytest.mark.parametrize(("shift", "scale"), [(0.0, 1.0), (-20.0, 1.0), (-20.0, 1e3)])
def test_a_rate_that_is_gone_partway_is_told_wherever_zero_lies(shift: float, scale: float) -> None:
    rng = random.Random(7)

    def change(step: int) -> Metrics:
        gone = min(step, 120)
        return {"loss": 0.4 + 2.0 * 0.993**gone + rng.gauss(0, 0.03), "lr": 1e-2 if step < 120 else 1e-6}

    snapshot = watched(run(1200, change, shift=scale * shift, scale=scale, without=["val_loss"]))
    assert found(snapshot, "flat-midway").severity == "failure"


def test_a_negative_loss_that_had_arrived_when_the_rate_went_is_silent() -> None:
    rng = random.Random(7)

    def change(step: int) -> Metrics:
        return {"loss": 2.0 * 0.98**step + rng.gauss(0, 0.03), "lr": 1e-2 if step < 700 else 1e-6}

    assert "flat-midway" not in loud(watched(run(1400, change, shift=-20.0, without=["val_loss"])))


@pytest.mark.parametrize("without", [(), ("grad_norm",)])
def test_the_tail_of_a_loss_that_goes_on_converging_is_silent(without: tuple[str, ...]) -> None:
    """It has come 96 % of its way; of what is left, it loses a tenth in half of the run."""
    snapshot = watched(
        run(1600, lambda step: {"loss": 2.4 * 0.96**step + 0.08 * (step + 50) ** -0.15}, without=["val_loss", *without])
    )
    assert "flat-midway" not in loud(snapshot)
