"""Since when: the date of a finding is the first sign of it, and never after the record that settled it."""

from __future__ import annotations

import math
import random

import pytest

from tests.streams import NAN, Metrics, after, both, climb, found, loud, run, watched
from tuimon.monitor import Monitor
from tuimon.record import Batch


def evaluations(*bad: int) -> dict[int, float]:
    return dict.fromkeys(bad, math.inf)


def test_a_validation_loss_that_is_not_finite_now_and_then_is_dated_at_the_first_time() -> None:
    bad = evaluations(200, 300, 500)
    finding = found(watched(run(600, lambda step: {"val_loss": bad[step]} if step in bad else {})), "nan-val-only")
    assert (finding.onset_step, finding.detected_step, finding.ended_step) == (200, 200, 525)
    assert (finding.severity, finding.active) == ("warning", False)
    assert "3 evaluations from 200 to 500" in finding.evidence


def test_two_in_a_row_later_on_settle_that_it_is_the_evaluation() -> None:
    bad = evaluations(200, 500, 525)
    finding = found(watched(run(540, lambda step: {"val_loss": bad[step]} if step in bad else {})), "nan-val-only")
    assert (finding.severity, finding.onset_step, finding.detected_step) == ("failure", 200, 525)
    assert finding.active


def test_evaluations_of_a_run_that_is_lost_are_not_the_evaluation_codes_fault() -> None:
    lost = after(410, loss=NAN, grad_norm=NAN)
    rows = run(600, lambda step: {"val_loss": NAN} if step == 100 or (step >= 410 and step % 25 == 0) else {})
    rows = [(step, time, metrics | lost(step)) for step, time, metrics in rows]
    snapshot = watched(rows)
    assert found(snapshot, "nan-val-only").ended_step == 125
    assert found(snapshot, "nan-forward").active


@pytest.mark.parametrize("cut", [1, 7, 32, 100])
def test_the_dates_do_not_depend_on_how_the_log_was_read(cut: int) -> None:
    bad = evaluations(200, 300, 500)
    change = both(lambda step: {"val_loss": bad[step]} if step in bad else {}, after(450, 451, loss=NAN, lr=NAN))
    rows = run(600, change)
    monitor = Monitor()
    for start in range(0, len(rows), cut):
        snapshot = monitor.feed(Batch.from_rows(rows[start : start + cut]))
    assert snapshot.findings == watched(rows).findings


@pytest.mark.parametrize("first", [399, 400])
def test_a_learning_rate_that_went_first_is_named(first: int) -> None:
    rows = run(600, both(after(first, lr=NAN), after(400, loss=NAN, grad_norm=NAN)))
    finding = found(watched(rows), "nan-forward")
    assert finding.onset_step == 400
    assert finding.evidence.startswith(f"lr NaN at {first}; loss NaN and grad_norm non-finite together at 400")


def test_a_learning_rate_that_was_finite_again_is_not() -> None:
    rows = run(600, both(after(100, 110, lr=NAN), after(400, loss=NAN, grad_norm=NAN)))
    assert "lr" not in found(watched(rows), "nan-forward").evidence


def test_a_learning_rate_that_follows_the_loss_is_not() -> None:
    rows = run(600, both(after(401, lr=NAN), after(400, loss=NAN, grad_norm=NAN)))
    assert "lr" not in found(watched(rows), "nan-forward").evidence


@pytest.mark.parametrize("seed", range(6))
def test_one_low_record_does_not_move_the_date_of_a_run_that_was_never_good(seed: int) -> None:
    rng = random.Random(seed)
    values = [2.4, *(4.0 + abs(rng.gauss(0, 0.3)) for _ in range(599))]
    for low in range(20, 600, 37):
        values[low] = 2.2
    snapshot = watched(run(600, lambda step: {"loss": values[step], "val_loss": None}))
    finding = found(snapshot, "lr-too-high")
    assert finding.onset_step == 1
    assert all(each.onset_step <= each.detected_step for each in snapshot.findings), loud(snapshot)


def test_a_steady_climb_is_dated_where_it_began_not_where_it_left_the_noise() -> None:
    """By two percent a step: 45 records pass before the loss is three sigma above those before."""
    snapshot = watched(run(400, lambda step: {"loss": 0.5 - 0.005 * step if step < 40 else 0.3 * 1.02 ** (step - 40)}))
    assert found(snapshot, "lr-too-high").onset_step == 41


def test_a_slow_rise_does_not_date_the_jump_that_follows_it() -> None:
    def bent(step: int) -> Metrics:
        slow = 0.5 - 1e-4 * min(step, 390) + 1e-6 * max(step - 390, 0)
        return {"loss": slow if step < 400 else 0.6 * 1.1 ** (step - 400)}

    assert found(watched(run(600, bent)), "lr-too-high").onset_step == 400


def test_rises_in_a_row_by_chance_do_not_date_a_jump() -> None:
    for seed in range(20):
        assert (
            found(watched(run(460, climb(400, 1.5, "loss", "grad_norm"), seed=seed)), "lr-too-high").onset_step == 400
        )
