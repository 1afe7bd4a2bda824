"""The plateau family: levels that tell, weights that stand, rates that buy nothing."""

from __future__ import annotations

import math
import random

import pytest

from tests.streams import Change, Metrics, found, header, loud, run, watched


def level(value: float, noise: float = 0.03, seed: int = 1, **more: float) -> Change:
    """A loss that stands at `value` from the start, with an evaluation that stands there too."""
    rng = random.Random(seed)

    def change(step: int) -> Metrics:
        metrics: Metrics = {"loss": value + rng.gauss(0, noise), **more}
        if step % 25 == 0:
            metrics["val_loss"] = value + rng.gauss(0, 0.004)
        return metrics

    return change


@pytest.mark.parametrize("count", [2, 10, 37, 1000])
def test_a_loss_that_stands_at_ln_c_predicts_uniformly(count: int) -> None:
    snapshot = watched(run(500, level(math.log(count))), header(num_classes=count))
    finding = found(snapshot, "uniform-prediction")
    assert finding.onset_step == 0
    assert f"ln {count}" in finding.evidence
    assert snapshot.verdict == "plateau"


def test_ten_classes_are_guessed_when_none_are_declared_and_37_are_not() -> None:
    assert "num_classes" in found(watched(run(500, level(math.log(10)))), "uniform-prediction").missing
    assert loud(watched(run(500, level(math.log(37))))) == []


@pytest.mark.parametrize(("start", "lights"), [(math.log(7), True), (2.6, False)])
def test_seven_classes_are_supposed_where_the_run_began_at_their_logarithm(start: float, lights: bool) -> None:
    rng = random.Random(7)
    stands = lambda step: {"loss": (start if step < 5 else math.log(7)) + rng.gauss(0, 0.01)}  # noqa: E731
    snapshot = watched(run(500, stands))
    assert loud(snapshot) == (["uniform-prediction"] if lights else [])
    assert snapshot.verdict == ("watch" if lights else "healthy")


def test_epochs_need_fewer_records() -> None:
    rng = random.Random(1)
    rows = [
        (e, None, {"loss": 2.3026 + rng.gauss(0, 2e-4), "val_loss": 2.3026 + rng.gauss(0, 2e-4)}) for e in range(1, 110)
    ]
    assert found(watched(rows), "uniform-prediction").severity == "failure"


def test_a_run_that_leaves_the_level_takes_the_row_with_it() -> None:
    rng = random.Random(1)

    def learns(step: int) -> Metrics:
        return {"loss": (0.693 if step < 300 else 0.05 + 0.643 * math.exp(-(step - 300) / 80)) + rng.gauss(0, 0.01)}

    rows = run(700, learns)
    assert "uniform-prediction" in loud(watched(rows[:300], header(num_classes=2)))
    assert loud(watched(rows, header(num_classes=2))) == []


def test_the_entropy_of_declared_counts_is_the_level_of_a_constant_guess() -> None:
    counts = [700, 200, 100]
    entropy = -sum(n / 1000 * math.log(n / 1000) for n in counts)
    snapshot = watched(run(500, level(entropy)), header(num_classes=3, class_counts=counts))
    assert f"{entropy:.3f}" in found(snapshot, "prior-prediction").evidence
    assert loud(snapshot) == ["prior-prediction"]


def test_just_under_ln_c_tells_the_effective_number_of_classes() -> None:
    finding = found(watched(run(500, level(2.15)), header(num_classes=10)), "prior-prediction")
    assert "8.6 equally likely" in finding.evidence
    assert (finding.severity, "class_counts" in finding.missing) == ("warning", True)
    assert math.exp(2.15) == pytest.approx(8.6, abs=0.05)


@pytest.mark.parametrize(("tau", "level"), [(150.0, 2.15), (20.0, 1.95)])
def test_a_hard_task_that_is_learned_slowly_or_well_is_no_constant_guess(tau: float, level: float) -> None:
    rng = random.Random(6)
    learns = lambda step: {"loss": level + (2.303 - level) * math.exp(-step / tau) + rng.gauss(0, 0.03)}  # noqa: E731
    assert loud(watched(run(2500, learns), header(num_classes=10))) == []


def test_a_doubled_softmax_rests_on_its_floor() -> None:
    floor, rng = math.log(math.e + 9) - 1, random.Random(1)

    def change(step: int) -> Metrics:
        return {"loss": floor + abs(rng.gauss(0, 0.01)) + (math.log(10) - floor) * math.exp(-step / 60), "lr": 1e-3}

    snapshot = watched(run(900, change), header(num_classes=10.0))
    assert found(snapshot, "double-softmax").onset_step == 0
    assert found(snapshot, "double-softmax").severity == "failure"
    assert loud(snapshot) == ["double-softmax"]
    guessed = found(watched(run(900, change)), "double-softmax")
    assert guessed.severity == "warning" and "num_classes" in guessed.missing


def test_three_equal_evaluations_under_a_live_gradient_are_frozen_weights() -> None:
    rng = random.Random(1)
    change = lambda step: {"loss": 2.4 + rng.gauss(0, 0.05)} | ({"val_loss": 2.4137652} if step % 25 == 0 else {})  # noqa: E731
    finding = found(watched(run(400, change)), "frozen-weights")
    assert (finding.onset_step, finding.detected_step) == (0, 50)
    assert "2.4137652" in finding.evidence


def test_a_network_whose_gradient_has_died_has_arrived() -> None:
    def arrives(step: int) -> dict[str, float | None]:
        left = max(math.exp(-step / 10), 1e-6) * (1 + 0.1 * math.sin(step))
        return {
            "loss": left**2,
            "grad_norm": left,
            "val_loss": 0.4137652 + (step < 150) * left if step % 25 == 0 else None,
        }

    assert "frozen-weights" not in loud(watched(run(600, arrives)))


def test_a_rounded_evaluation_may_repeat() -> None:
    rows = run(200, lambda step: {"val_loss": 0.69} if step % 25 == 0 else {})
    assert "frozen-weights" not in loud(watched(rows))


def test_an_evaluation_that_is_carried_along_is_not_frozen() -> None:
    rows = run(600, lambda step: {"val_loss": 2.0123457 * math.exp(-(step // 25) / 6)})
    assert loud(watched(rows)) == []


@pytest.mark.parametrize(
    ("meta", "lr", "gn"),
    [
        ({"optimizer": "sgd"}, 1e-6, 1.0),
        ({"optimizer": "momentum", "momentum": 0.9}, 1e-7, 1.0),
        ({"optimizer": "adam"}, 1e-7, 1.0),
        ({}, 0.0, 1.0),
    ],
)
def test_a_rate_that_can_buy_nothing_is_too_low(meta: dict[str, object], lr: float, gn: float) -> None:
    snapshot = watched(run(500, level(1.7, lr=lr, grad_norm=gn)), header(**meta))
    assert loud(snapshot) == ["lr-too-low"]
    assert found(snapshot, "lr-too-low").detected_step < 300


def test_a_clipped_gradient_buys_no_more_than_its_clipped_norm() -> None:
    rows = run(448, level(1.7, lr=1e-6, grad_norm=200.0))
    assert loud(watched(rows, header(optimizer="sgd"))) == []
    finding = found(watched(rows, header(optimizer="sgd", clip_norm=2.0)), "lr-too-low")
    assert float(finding.evidence.rpartition(" ")[2]) == pytest.approx(448 * 1e-6 * 200 * 2, rel=0.01)


def test_what_a_rate_can_buy_is_the_sum_of_lr_times_squared_gradient() -> None:
    finding = found(watched(run(448, level(1.7, lr=1e-5, grad_norm=2.0)), header(optimizer="sgd")), "lr-too-low")
    # Exact for these constants: 448 steps of 1e-5 * 2^2.
    assert float(finding.evidence.rpartition(" ")[2]) == pytest.approx(448 * 4e-5, rel=0.01)


def test_the_budget_bounds_what_gradient_descent_on_a_quadratic_gains() -> None:
    curvature, lr, theta, bought = 0.5, 1e-3, 3.0, 0.0
    start = curvature * theta**2 / 2
    for _ in range(448):
        bought += lr * (curvature * theta) ** 2
        theta -= lr * curvature * theta
    gained = start - curvature * theta**2 / 2
    assert gained <= bought
    assert gained == pytest.approx(bought, rel=1e-3)


def test_a_rate_that_moves_the_loss_is_not_too_low() -> None:
    assert loud(watched(run(600), header(optimizer="sgd"))) == []


def test_a_run_whose_learning_rate_has_gone_is_flat_midway() -> None:
    rng = random.Random(1)

    def change(step: int) -> Metrics:
        loss = 0.6 + 1.7 * math.exp(-min(step, 400) / 200) + rng.gauss(0, 0.05)
        return {"loss": loss, "lr": 1e-2 if step < 400 else 1e-6}

    snapshot = watched(run(1400, change))
    assert abs(found(snapshot, "flat-midway").onset_step - 400) <= 32
    assert loud(snapshot) == ["flat-midway"]


def test_the_tail_of_a_schedule_is_not_flat_midway() -> None:
    change = lambda step: {"lr": 1e-2 * 0.5 * (1 + math.cos(math.pi * step / 2000))}  # noqa: E731
    assert loud(watched(run(2000, change))) == []


def test_a_smooth_loss_that_stops_far_from_zero_is_a_warning() -> None:
    rng = random.Random(1)
    rows = [(e, None, {"loss": 0.5 + 2 * math.exp(-e / 6) + rng.gauss(0, 1e-3)}) for e in range(400)]
    assert found(watched(rows), "flat-midway").severity == "warning"
    falling = [(e, None, {"loss": 1e-4 + 2 * math.exp(-e / 6) + abs(rng.gauss(0, 1e-6))}) for e in range(400)]
    assert loud(watched(falling)) == []


def test_layers_tell_vanishing_dead_and_saturated() -> None:
    vanishing = watched(run(200, lambda step: {"grad_norm/a": 1e-6, "grad_norm/b": 1e-2, "grad_norm/c": 1.0}))
    assert (found(vanishing, "vanishing-gradient").onset_step, found(vanishing, "vanishing-gradient").module) == (
        0,
        "a",
    )
    dead = watched(run(300, lambda step: {"dead_fraction/fc1": min(0.9, step / 200)}))
    assert found(dead, "dead-relu").onset_step == 101
    stuck = watched(run(300, lambda step: {"saturation/fc1": 0.8}))
    assert found(stuck, "saturated").detected_step == 31
    assert (
        loud(watched(run(300, lambda step: {"dead_fraction/fc1": 0.4, "grad_norm/a": 0.1, "grad_norm/b": 1.0}))) == []
    )


def test_where_the_learning_rate_is_gone_the_level_says_nothing_of_the_labels() -> None:
    rng = random.Random(7)

    def stops(step: int) -> Metrics:
        fallen = min(step, 100) / 100
        return {"loss": 2.3 - 0.35 * fallen + rng.gauss(0, 0.03), "lr": 0.1 if step < 100 else 1e-5}

    assert loud(watched(run(1200, stops), header(num_classes=10))) == ["flat-midway"]


def test_a_sparse_log_stands_by_its_steps() -> None:
    rows = run(1100, level(math.log(10)), every=10)
    assert found(watched(rows, header(num_classes=10)), "uniform-prediction").severity == "failure"
