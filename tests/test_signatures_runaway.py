"""Losses of reinforcement learning and contests: only a growth out of every scale is told."""

from __future__ import annotations

import random

import pytest

from tests.streams import Change, Metrics, Row, found, header, loud, run, watched
from tuimon.monitor import Monitor
from tuimon.record import Batch
from tuimon.signatures.finding import Finding
from tuimon.signatures.runaway import Runaway


def growing(fold: float, steps: int = 800) -> Change:
    """A temporal-difference loss that grows `fold` times over the run, with noise of a third."""
    rng = random.Random(2)

    def change(step: int) -> Metrics:
        return {"loss": 14 * fold ** (step / steps) * rng.lognormvariate(0, 0.3), "val_loss": None}

    return change


def test_a_millionfold_growth_is_a_divergence_whatever_the_objective() -> None:
    snapshot = watched(run(800, growing(1e9)), header(objective="rl"))
    finding = found(snapshot, "lr-too-high")
    assert finding.severity == "failure" and snapshot.verdict == "divergence"
    # A thousandfold at a third of the way, a millionfold at two thirds.
    assert 230 <= finding.onset_step <= 330 and 500 <= finding.detected_step <= 580


@pytest.mark.parametrize("fold", [30.0, 1e4])
def test_less_is_what_returns_and_critics_do(fold: float) -> None:
    assert loud(watched(run(800, growing(fold)), header(objective="rl"))) == []


def test_without_the_objective_the_other_rules_speak() -> None:
    found(watched(run(800, growing(1e9))), "lr-too-high")


def test_what_is_kept_before_the_objective_is_known_does_not_depend_on_the_reads() -> None:
    """A header that comes late, after losses that another rule was for."""
    rows = run(30, growing(10.0, 30))
    kept = []
    for size in (24, 1):
        monitor = Monitor()
        for start in range(0, 30, size):
            marks = (header(objective="rl"),) if start == 24 else ()
            monitor.feed(Batch.from_rows(rows[start : start + size], marks=marks))
        runaway = next(detector for detector in monitor._fold.detectors if isinstance(detector, Runaway))
        kept.append((runaway._first, list(runaway._recent)))
    assert kept[0] == kept[1]


def told(rows: list[Row]) -> list[Finding]:
    """What is said of a loss of reinforcement learning."""
    return [finding for finding in watched(rows, header(objective="rl")).findings if finding.severity == "failure"]


def test_a_rewind_ends_what_was_told() -> None:
    """The run goes back to a checkpoint from before the growth, and stays small."""
    rows = run(800, growing(1e9)) + run(600, growing(1.0), start=150)
    (finding,) = told(rows)
    assert not finding.active and finding.ended_step == 799
    assert finding.detected_step <= 580


def test_what_grows_again_after_a_rewind_goes_on() -> None:
    """Two findings of overlapping steps are one; it is not over because its first half is."""
    (finding,) = told(run(800, growing(1e9)) + run(650, growing(1e9), start=150))
    assert finding.active and finding.ended_step is None
    assert finding.detected_step <= 580


def test_a_rewind_before_the_millionfold_leaves_nothing() -> None:
    """At step 420 the loss is at fifty thousand times its first size; the next pass holds."""
    assert told(run(420, growing(1e9)) + run(400, growing(1.0), start=200)) == []


def test_a_log_that_begins_again_at_the_start_is_another_run() -> None:
    """Its losses are a millionfold of those before from the first one on, and stand."""
    rows = run(100, growing(1.0)) + [
        (step, at, {**m, "loss": 1e8 * (m["loss"] or 0)}) for step, at, m in run(400, growing(1.0))
    ]
    assert told(rows) == []


def test_a_loss_that_comes_back_is_over() -> None:
    rows = run(700, growing(1e9)) + run(300, growing(1.0), start=700)
    (finding,) = told(rows)
    assert not finding.active and 700 < (finding.ended_step or 0) <= 716


@pytest.mark.parametrize("size", [1, 7, 100])
def test_any_split_of_a_rewind_says_the_same(size: int) -> None:
    rows = run(800, growing(1e9)) + run(650, growing(1e9), start=150)
    monitor = Monitor()
    for start in range(0, len(rows), size):
        monitor.feed(Batch.from_rows(rows[start : start + size], marks=(header(objective="rl"),) if not start else ()))
    assert monitor.snapshot.findings == watched(rows, header(objective="rl")).findings
