"""The gradient family: what the gradient norm shows before, or without, the loss."""

from __future__ import annotations

import math
import random

import pytest

from tests.streams import INF, Change, after, both, found, header, loud, run, watched
from tuimon.monitor import Monitor
from tuimon.record import Batch


def test_a_jump_of_the_gradient_under_a_calm_loss_is_dated_at_its_first_record() -> None:
    snapshot = watched(run(600, after(400, 406, grad_norm=60.0)))
    finding = found(snapshot, "exploding-gradient")
    assert (finding.onset_step, finding.detected_step, finding.ended_step) == (400, 401, 408)
    assert "-> 60" in finding.evidence


def test_one_wide_gradient_is_noise() -> None:
    assert loud(watched(run(600, after(400, 400, grad_norm=11140.0)))) == []


def test_a_gradient_that_jumps_with_its_loss_is_told_by_the_loss() -> None:
    snapshot = watched(run(600, after(400, 403, loss=3.0, grad_norm=60.0)))
    assert loud(snapshot) == ["loss-spike"]


def test_the_size_of_gradients_does_not_matter() -> None:
    for size in (1e-8, 1e5):
        rng = random.Random(1)
        rows = run(
            600,
            lambda step, size=size, rng=rng: {
                "grad_norm": size * math.exp(rng.gauss(0, 0.2)) * (60 if 400 <= step < 406 else 1)
            },
        )
        assert found(watched(rows), "exploding-gradient").onset_step == 400


def test_a_gradient_that_grows_as_the_steps_is_accumulated() -> None:
    rng = random.Random(1)
    snapshot = watched(run(64, lambda step: {"grad_norm": 0.5 * (step + 1) * math.exp(rng.gauss(0, 0.02))}))
    finding = found(snapshot, "gradients-accumulate")
    assert (finding.onset_step, finding.detected_step) == (0, 31)


def test_accumulation_is_not_looked_for_in_the_middle_of_a_run() -> None:
    assert loud(watched(run(64, lambda step: {"grad_norm": 0.5 * (step - 4999)}, start=5000))) == []


def test_three_zeros_are_no_gradient_and_two_are_not() -> None:
    assert loud(watched(run(402, after(400, grad_norm=0.0, loss=0.5)))) == []
    finding = found(watched(run(403, after(400, grad_norm=0.0, loss=0.5))), "zero-gradient")
    assert (finding.onset_step, finding.detected_step, finding.severity) == (400, 402, "failure")


def test_zero_from_the_start_is_no_gradient_when_the_loss_stands() -> None:
    rng = random.Random(1)
    snapshot = watched(run(40, lambda step: {"grad_norm": 0.0, "loss": 2.3 + rng.gauss(0, 0.05)}))
    assert found(snapshot, "zero-gradient").onset_step == 0
    exact = watched(run(3, lambda step: {"grad_norm": 0.0, "loss": 2.3132107734680176}))
    assert found(exact, "zero-gradient").detected_step == 2


def test_zero_in_every_line_of_a_loss_that_moves_was_not_computed() -> None:
    assert loud(watched(run(600, lambda step: {"grad_norm": 0.0}))) == []


def rounded(step: int, val: float, drift: float = 0.0) -> dict[str, float | None]:
    """A record of six digits whose gradient norm reads zero."""
    noise = random.Random(step).gauss(0, 0.05)
    return {"grad_norm": 0.0, "loss": round(2.3 + noise - drift * step, 5), "val_loss": val if step % 50 == 0 else None}


def test_zero_in_a_log_that_rounds_is_no_gradient_when_the_evaluations_agree_to_the_last_digit() -> None:
    finding = found(watched(run(160, lambda step: rounded(step, 2.31256))), "zero-gradient")
    assert (finding.onset_step, finding.detected_step) == (0, 100)
    assert "val_loss 2.31256 in 4 evaluations" in finding.evidence


def test_zero_in_a_log_that_rounds_says_nothing_without_such_evaluations() -> None:
    assert loud(watched(run(160, lambda step: rounded(step, 2.3)))) == []
    assert loud(watched(run(160, lambda step: rounded(step, round(2.31256 + step * 1e-5, 5))))) == []
    assert "zero-gradient" not in loud(watched(run(160, lambda step: rounded(step, 2.31256, drift=0.01))))


def test_no_learning_rate_is_too_low_for_a_gradient_of_zero() -> None:
    rows = run(800, lambda step: rounded(step, 2.3) | {"lr": 0.1})
    assert "lr-too-low" not in loud(watched(rows, header(optimizer="sgd", objective="mse")))


def test_a_loss_of_zero_that_was_reached_needs_no_gradient() -> None:
    assert loud(watched(run(600, after(400, grad_norm=0.0, loss=0.0)))) == []


def test_a_gradient_that_returns_closes_the_row() -> None:
    finding = found(watched(run(600, after(400, 450, grad_norm=0.0, loss=0.5))), "zero-gradient")
    assert (finding.active, finding.ended_step) == (False, 451)


def test_skips_are_only_counted_under_a_scaler() -> None:
    skips = both(*[after(at, at, grad_norm=INF) for at in (300, 302, 304)])
    assert loud(watched(run(600, skips), header(precision="fp16"))) == []


def level_of_gradients(fold: float) -> Change:
    """From step 400 on the gradient norm is `fold` times as large; the loss goes on falling."""
    rng = random.Random(9)
    return lambda step: {"grad_norm": (fold if step >= 400 else 1.0) * math.exp(rng.gauss(0, 0.1))}


def test_a_gradient_norm_that_finds_a_new_level_while_the_loss_falls_is_over() -> None:
    findings = [f for f in watched(run(1200, level_of_gradients(8.0))).findings if f.severity != "note"]
    assert [(f.signature, f.onset_step, f.active, f.ended_step) for f in findings] == [
        ("exploding-gradient", 400, False, 465)
    ]
    assert "settled by 465" in findings[0].evidence


@pytest.mark.parametrize("size", [1, 7, 100])
def test_any_split_of_a_new_level_says_the_same(size: int) -> None:
    rows = run(900, level_of_gradients(8.0))
    monitor = Monitor()
    for start in range(0, len(rows), size):
        monitor.feed(Batch.from_rows(rows[start : start + size]))
    assert monitor.snapshot.findings == watched(rows).findings
