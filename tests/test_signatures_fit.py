"""Fit, data and the notes: what validation and the log itself say."""

from __future__ import annotations

import math
import random
from collections.abc import Callable

import pytest

from tests.streams import Metrics, Row, after, found, header, loud, run, watched
from tuimon.monitor import Monitor
from tuimon.record import Batch


def overfits(step: int) -> Metrics:
    rng = random.Random(step)
    metrics: Metrics = {"loss": 0.02 + 2.3 * math.exp(-step / 200) + rng.gauss(0, 0.01)}
    if step % 25 == 0:
        metrics["val_loss"] = 1.0 + 1.3 * math.exp(-step / 100) + 0.0008 * max(0, step - 300) + rng.gauss(0, 0.005)
    return metrics


def test_overfitting_is_dated_at_the_minimum_of_validation() -> None:
    finding = found(watched(run(1200, overfits)), "overfitting")
    assert abs(finding.onset_step - 325) <= 75
    assert finding.severity == "warning"
    assert finding.detected_step > finding.onset_step


def test_a_validation_that_only_stands_is_no_overfitting() -> None:
    rng = random.Random(1)
    flat = lambda step: {"val_loss": 0.6 + rng.gauss(0, 0.02)} if step % 25 == 0 else {}  # noqa: E731
    assert loud(watched(run(4000, flat))) == []


def test_the_noise_of_a_small_validation_set_is_no_overfitting() -> None:
    rng = random.Random(2)
    noisy = lambda step: {"val_loss": 0.5 + 1.5 * math.exp(-step / 150) + rng.gauss(0, 0.08)} if step % 25 == 0 else {}  # noqa: E731
    assert loud(watched(run(4000, noisy))) == []


def test_a_loss_below_zero_is_overfitted_as_well() -> None:
    def shifted(step: int) -> Metrics:
        return {name: value - 20.0 for name, value in overfits(step).items() if value is not None}

    assert found(watched(run(1200, shifted)), "overfitting").onset_step in range(250, 401)


@pytest.mark.parametrize("seed", range(6))
def test_a_validation_that_wanders_is_no_overfitting(seed: int) -> None:
    rng, away = random.Random(seed), 0.0
    rows = []
    for step in range(1500):
        away = 0.97 * away + rng.gauss(0, 0.01)  # as the loss of 32 samples does when it is taken at every step
        clean = 0.5 + 1.8 * math.exp(-step / 60)
        rows.append((step, None, {"loss": clean - 2e-5 * step + rng.gauss(0, 0.1), "val_loss": clean + away}))
    assert loud(watched(rows)) == []


def test_a_noise_that_the_schedule_ended_counts_at_the_minimum() -> None:
    rng = random.Random(3)

    def change(step: int) -> Metrics:
        metrics: Metrics = {"loss": 0.6 - 1e-4 * step + 1.7 * math.exp(-step / 40) + rng.gauss(0, 0.02)}
        if step % 50 == 0:
            noise = rng.gauss(0, 0.03 if step < 600 else 0.003)
            metrics["val_loss"] = 0.58 + 1.7 * math.exp(-step / 40) + noise - (0.08 if step == 500 else 0.0)
        return metrics

    assert "overfitting" not in loud(watched(run(1500, change)))


def test_a_short_run_needs_no_more_evaluations_than_its_order_takes() -> None:
    """Seven of which two neighbours changed places: 1 order in 700 rises as much; the normal limit says 1 in 300."""
    evaluations = [1.84, 1.18, 0.80, 0.68, 0.633, 0.655, 0.645, 0.666, 0.680, 0.699, 0.725, 0.736]

    def change(step: int) -> Metrics:
        loss = 0.1 + 1.7 * math.exp(-step / 120) + random.Random(step).gauss(0, 0.01)
        return {"loss": loss, "val_loss": evaluations[step // 50] if step % 50 == 0 else None}

    assert found(watched(run(50 * len(evaluations), change)), "overfitting").onset_step == 200


def drifts(training: float) -> Callable[[int], Metrics]:
    """Evaluations that rise by a tenth in turns, beside a training loss that moves by `training` in that time."""
    turns = (0.022, 0.039, 0.058, 0.040, 0.040, 0.062, 0.021, 0.099, 0.094, 0.094, 0.088, 0.108)

    def change(step: int) -> Metrics:
        later = max(0, step - 200) / 600
        loss = 0.4 + 1.4 * math.exp(-min(step, 200) / 40) + training * later + random.Random(step).gauss(0, 0.05)
        validation = 0.6 + 1.2 * math.exp(-step / 40) if step <= 200 else 0.608 + turns[step // 50 - 5]
        return {"loss": loss, "val_loss": validation if step % 50 == 0 else None}

    return change


def test_a_likely_rise_of_validation_counts_beside_a_sure_fall_of_training() -> None:
    assert "overfitting" in loud(watched(run(801, drifts(-0.3))))
    assert "overfitting" not in loud(watched(run(801, drifts(-0.02))))


def learnt_by_heart(noise: float, *, every: int = 25, **more: float) -> Callable[[int], Metrics]:
    """A training loss that goes to zero with this share of noise, and a validation loss that rises from ln 10."""

    def change(step: int) -> Metrics:
        loss = 2.3 * math.exp(-step / 120) * (1 + random.Random(step).gauss(0, noise))
        metrics: Metrics = {"loss": loss, "val_loss": None}
        if step % every == 0:
            metrics |= {"val_loss": 2.31 + 0.004 * step, **more}
        return metrics

    return change


def test_validation_above_ln_c_from_the_start_is_memorised_noise() -> None:
    snapshot = watched(run(600, learnt_by_heart(0.1)), header(num_classes=10))
    assert found(snapshot, "memorising-noise").onset_step == 0
    assert loud(snapshot) == ["memorising-noise"]


@pytest.mark.parametrize(
    "change",
    [
        learnt_by_heart(0.0),  # no noise of batches: each step sees all samples
        learnt_by_heart(0.1, every=150),  # the second evaluation comes when most is known by heart
        learnt_by_heart(0.1, val_acc=0.41),
        learnt_by_heart(0.1, val_acc=41.0),
    ],
)
def test_what_few_honest_samples_do_as_well_is_told_as_overfitting(change: Callable[[int], Metrics]) -> None:
    assert loud(watched(run(900, change), header(num_classes=10))) == ["overfitting"]


@pytest.mark.parametrize("cut", [1, 7, 10_000])
def test_a_share_of_right_answers_in_a_line_of_its_own_counts_however_it_is_read(cut: int) -> None:
    rows: list[Row] = []
    for step, time, metrics in run(900, learnt_by_heart(0.1, val_acc=0.41)):
        shares = {"val_acc": metrics.pop("val_acc")} if "val_acc" in metrics else {}
        rows += [(step, time, metrics), *([(step, time, shares)] if shares else [])]
    monitor = Monitor()
    monitor.feed(Batch(marks=(header(num_classes=10),)))
    for start in range(0, len(rows), cut):
        snapshot = monitor.feed(Batch.from_rows(rows[start : start + cut]))
    assert loud(snapshot) == ["overfitting"]


def test_answers_by_chance_do_not_clear_the_labels() -> None:
    snapshot = watched(run(600, learnt_by_heart(0.1, val_acc=0.12)), header(num_classes=10))
    assert loud(snapshot) == ["memorising-noise"]


def test_without_classes_a_validation_that_never_gains_is_a_warning() -> None:
    def change(step: int) -> dict[str, float | None]:
        return {
            "val_loss": 50.0 + math.sin(step) if step % 25 == 0 else None,
            "loss": 25 + 20 * math.exp(-step / 90),
        }

    assert found(watched(run(600, change)), "memorising-noise").severity == "warning"


def test_without_classes_few_samples_learnt_by_heart_are_none() -> None:
    def change(step: int) -> dict[str, float | None]:
        # The first evaluation, after 25 steps, holds all that validation will gain.
        return {
            "val_loss": 0.1 + 0.001 * math.sin(step) if step % 25 == 0 and step else None,
            "loss": 0.065 + 1.1 * math.exp(-step / 12) + random.Random(step).gauss(0, 0.02),
        }

    assert loud(watched(run(600, change))) == []


@pytest.mark.parametrize("meta", [{}, {"num_classes": 10}])
def test_a_pretrained_network_that_gains_nothing_more_is_healthy(meta: dict[str, object]) -> None:
    rng = random.Random(4)

    def change(step: int) -> Metrics:
        metrics: Metrics = {"loss": 0.03 + 0.13 * math.exp(-step / 150) + rng.gauss(0, 0.01), "val_loss": None}
        if step % 25 == 0:
            metrics["val_loss"] = 0.17 + rng.gauss(0, 0.002)
        return metrics

    assert loud(watched(run(900, change), header(**meta))) == []


def test_one_evaluation_far_off_is_a_spike_of_validation() -> None:
    snapshot = watched(run(1200, after(800, 800, val_loss=2.5)))
    assert (found(snapshot, "loss-spike").onset_step, loud(snapshot)) == (800, ["loss-spike"])


@pytest.mark.parametrize(("first", "lights"), [(2.35, False), (2.7, False), (4.0, True), (1.0, False)])
def test_the_first_loss_must_be_near_ln_c(first: float, lights: bool) -> None:
    snapshot = watched(run(200, after(0, 5, loss=first)), header(num_classes=10))
    assert ("initial-loss-off" in loud(snapshot)) is lights


def test_a_first_loss_of_batch_size_times_ln_c_was_summed() -> None:
    finding = found(
        watched(run(50, after(0, 5, loss=32 * 2.31)), header(num_classes=10, batch_size=32)), "initial-loss-off"
    )
    assert "32 times" in finding.evidence


def test_the_spread_of_initial_logits_is_said_for_many_classes() -> None:
    finding = found(
        watched(run(50, after(0, 5, loss=math.log(1000) + 2.0)), header(num_classes=1000)), "initial-loss-off"
    )
    assert "spread of 2 " in finding.evidence
    # Gaussian logits of spread 2: E ln sum exp(z) - E z = ln C + 2^2 / 2.
    rng = random.Random(0)
    total = sum(math.log(sum(math.exp(rng.gauss(0, 2)) for _ in range(1000))) for _ in range(60)) / 60
    assert total == pytest.approx(math.log(1000) + 2.0, abs=0.15)


def test_still_falling_at_the_declared_end_is_a_note() -> None:
    rng = random.Random(1)
    snapshot = watched(
        run(640, lambda step: {"loss": 2.3 - 0.002 * step + rng.gauss(0, 0.02)}), header(total_steps=640)
    )
    assert found(snapshot, "undertrained").severity == "note"
    assert snapshot.verdict == "healthy"


def test_validation_below_training_is_a_note() -> None:
    snapshot = watched(run(600, lambda step: {"val_loss": 0.2} if step % 25 == 0 else {}, without=("lr",)))
    assert found(snapshot, "val-below-train").severity == "note"


def test_one_wide_window_does_not_end_that_note() -> None:
    rng = random.Random(5)

    def change(step: int) -> Metrics:
        wide = 4.0 if 360 <= step < 400 else 1.0
        metrics: Metrics = {"loss": 1.0 + wide * rng.gauss(0, 0.1), "val_loss": None}
        if step % 25 == 0:
            metrics["val_loss"] = 0.8
        return metrics

    assert "val-below-train" in [f.signature for f in watched(run(500, change)).findings]


def test_what_is_not_logged_is_a_note() -> None:
    snapshot = watched(run(600, without=("val_loss", "grad_norm")))
    assert [f.signature for f in snapshot.findings] == ["no-grad-norm", "no-validation"]
    assert {f.missing for f in snapshot.findings} == {"log grad_norm", "log val_loss"}
    assert watched(run(600)).findings == ()


def test_a_resume_says_how_many_steps_repeat() -> None:
    snapshot = watched([*run(400), *run(200, start=350, seed=1)])
    finding = found(snapshot, "resumed")
    assert finding.onset_step == 350
    assert "50 steps repeat" in finding.evidence


def test_a_second_header_is_a_resume_without_repeats() -> None:
    snapshot = watched(run(400), header(), header(200, optimizer="adam"))
    assert found(snapshot, "resumed").onset_step == 200
    assert snapshot.meta == {"optimizer": "adam"}


def test_an_evaluation_counted_in_epochs_is_no_rewind() -> None:
    rows = []
    for epoch in range(1, 9):
        rows += [(step, None, {"loss": 1.0}) for step in range(50 * epoch - 50, 50 * epoch)]
        rows.append((epoch, None, {"val_loss": 1.0 / epoch}))
    assert watched(rows).rewinds == ()


def test_a_stall_is_judged_by_the_run_s_own_pace() -> None:
    monitor = Monitor()
    rows = run(400)
    monitor.feed(Batch.from_rows(rows))
    last = rows[-1][1]
    assert last is not None
    assert monitor.look_at(last + 29).lit == ()
    snapshot = monitor.look_at(last + 31)
    assert snapshot.lit == ("stalled-run",)
    assert snapshot.pace == pytest.approx(0.5)
    assert monitor.feed(Batch.from_rows(run(5, start=400))).lit == ()


def test_a_first_loss_far_off_needs_no_second_one() -> None:
    rows = [(10 * i, None, {"loss": value}) for i, value in enumerate([9.0, 2.1, 1.9, 1.8, 1.7, 1.6])]
    assert found(watched(rows, header(num_classes=10)), "initial-loss-off").onset_step == 0


def test_an_evaluation_that_never_moves_does_not_look_at_the_model() -> None:
    def change(step: int) -> Metrics:
        metrics: Metrics = {"loss": 0.3 + 2.0 * math.exp(-step / 100)}
        if step % 25 == 0:
            metrics["val_loss"] = 2.31
        return metrics

    assert "memorising-noise" not in loud(watched(run(600, change)))


def test_validation_says_that_it_still_falls_where_batches_hide_it() -> None:
    def noisy(step: int) -> Metrics:
        clean = 2.5 - 4e-4 * step
        metrics: Metrics = {"loss": clean + random.Random(step).gauss(0, 0.5)}
        if step % 25 == 0:
            metrics["val_loss"] = clean
        return metrics

    said = found(watched(run(600, noisy), header(total_steps=600)), "undertrained")
    assert (said.severity, "val_loss" in said.evidence) == ("note", True)
    assert "undertrained" not in [f.signature for f in watched(run(600, noisy), header(total_steps=6000)).findings]
