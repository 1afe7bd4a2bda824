"""Runs that give back what they had learned, and rest there."""

from __future__ import annotations

import math
import random
from collections.abc import Callable

import pytest

from tests.streams import Metrics, Row, found, header, loud, watched
from tuimon.monitor import Monitor
from tuimon.record import Batch

UNIFORM = math.log(10)


def forgetting(
    shape: Callable[[int], float], steps: int = 1200, lr: Callable[[int], float] = lambda step: 1e-2, seed: int = 0
) -> list[Row]:
    """A classifier of ten classes whose loss follows `shape`, with noise of a tenth."""
    rng = random.Random(seed)
    rows: list[Row] = []
    for step in range(1, steps + 1):
        loss = max(shape(step) + rng.gauss(0, 0.1), 1e-3)
        metrics: Metrics = {"loss": loss, "grad_norm": math.exp(rng.gauss(0, 0.2)), "lr": lr(step)}
        rows.append((step, 1e9 + step, metrics))
    return rows


def learning(step: int) -> float:
    return 0.4 + (UNIFORM - 0.4) * math.exp(-step / 60)


def test_a_warmup_that_kills_the_network_before_there_is_a_baseline() -> None:
    """The loss turns at step 50 and rests at that of a uniform guess: nowhere above the start of the run."""
    rows = forgetting(
        lambda step: UNIFORM - 0.03 * step if step < 50 else min(0.8 + 0.02 * (step - 50), UNIFORM),
        lr=lambda step: min(step * 2e-3, 0.6),
    )
    finding = found(watched(rows), "lr-too-high")
    assert finding.severity == "failure" and finding.active
    assert 40 <= finding.onset_step <= 100
    assert finding.detected_step <= 130 + 192 + 32
    assert "of its progress given back" in finding.evidence and "lr 0.1" in finding.evidence


def test_a_slow_return_to_the_level_of_a_guess() -> None:
    def shape(step: int) -> float:
        return learning(step) if step < 500 else min(0.4 + 0.005 * (step - 500), UNIFORM - 0.1)

    snapshot = watched(forgetting(shape))
    assert snapshot.verdict == "divergence"
    assert [finding.signature for finding in snapshot.findings if finding.severity == "failure"] == ["slow-divergence"]
    assert 440 <= found(snapshot, "slow-divergence").onset_step <= 640


@pytest.mark.parametrize("factor", [1e-3, 1.0, 1e3])
def test_scaling_the_loss_changes_nothing(factor: float) -> None:
    rows = forgetting(lambda step: learning(step) if step < 300 else UNIFORM - 0.2)
    scaled = [(step, at, metrics | {"loss": factor * (metrics["loss"] or 0.0)}) for step, at, metrics in rows]
    plain, other = watched(rows), watched(scaled)
    assert [(f.signature, f.onset_step, f.detected_step) for f in plain.findings] == [
        (f.signature, f.onset_step, f.detected_step) for f in other.findings
    ]


def test_what_comes_back_is_silent() -> None:
    """A change of data that is learnt again within some hundred records, however high it went."""
    rows = forgetting(lambda step: learning(step if step < 600 else step - 600))
    assert not [name for name in loud(watched(rows)) if name in ("slow-divergence", "lr-too-high")]


def test_a_cyclic_schedule_is_silent() -> None:
    """At the high rate the loss rests high, as it did in the cycle before."""

    def high(step: int) -> bool:
        return step // 300 % 2 == 0

    rows = forgetting(
        lambda step: max(1.6 if high(step) else 0.3, learning(step)),
        steps=2400,
        lr=lambda step: 1e-1 if high(step) else 1e-3,
    )
    assert not [f for f in watched(rows).findings if "given back" in f.evidence]


def test_ground_that_is_regained_is_over() -> None:
    rows = forgetting(lambda step: learning(step) if step < 300 or step > 700 else UNIFORM - 0.2)
    findings = [f for f in watched(rows).findings if f.severity == "failure"]
    assert findings and all(not f.active and f.ended_step is not None for f in findings)


def test_a_raw_objective_is_none_of_its_business() -> None:
    rows = forgetting(lambda step: learning(step) if step < 300 else UNIFORM)
    assert not loud(watched(rows, header(objective="rl")))


def test_after_a_rewind_the_overtaken_pass_is_no_measure() -> None:
    """Training goes on from step 40, where the loss was high: that is no loss of ground, and what follows is one."""
    first = forgetting(learning, steps=600)
    again = forgetting(lambda step: UNIFORM - 0.02 * step if step < 100 else 0.4, steps=400, seed=1)
    rows = first + again[39:]
    assert not [f for f in watched(rows).findings if "given back" in f.evidence]


def test_a_resume_that_stays_far_above_what_was_reached() -> None:
    """The wrong checkpoint, or a lost optimizer: after 192 records it is no longer finding its level."""
    rows = forgetting(learning, steps=600)
    rows += [(step, at, metrics | {"loss": 1.9}) for step, at, metrics in forgetting(learning, steps=900)[549:]]
    assert found(watched(rows), "unrecovered-spike").onset_step in range(530, 600)


def test_any_split_says_the_same() -> None:
    rows = forgetting(lambda step: learning(step) if step < 300 else UNIFORM - 0.2)
    whole = watched(rows)
    for size in (1, 7, 100):
        monitor = Monitor()
        for start in range(0, len(rows), size):
            monitor.feed(Batch.from_rows(rows[start : start + size]))
        assert monitor.snapshot.findings == whole.findings


@pytest.mark.parametrize("holds", [True, False])
def test_ground_is_not_lost_while_validation_holds_it(holds: bool) -> None:
    """Batches become harder from step 500 on; an evaluation that does not see it says that the network is well."""
    rows = forgetting(lambda step: learning(step) + 1.5 * min(max(step - 500, 0) / 200, 1.0))
    for step, _, metrics in rows:
        if step % 50 == 0:
            metrics["val_loss"] = learning(step) + 0.01 * math.sin(step) + (0.0 if holds or step <= 500 else 1.2)
    failures = [finding for finding in watched(rows).findings if finding.severity == "failure"]
    assert bool(failures) is not holds


def test_validation_that_never_gained_anything_holds_no_ground() -> None:
    """The first evaluation comes after the network has forgotten; that the next ones are no worse says nothing."""
    rows = forgetting(
        lambda step: UNIFORM - 0.03 * step if step < 50 else min(0.8 + 0.02 * (step - 50), UNIFORM),
        lr=lambda step: min(step * 2e-3, 0.6),
    )
    for step, _, metrics in rows:
        if step % 100 == 0:
            metrics["val_loss"] = 2.6 - 1e-4 * step
    assert found(watched(rows), "lr-too-high").severity == "failure"
