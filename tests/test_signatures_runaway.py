"""Losses of reinforcement learning and contests: only a growth out of every scale is told."""

from __future__ import annotations

import random

import pytest

from tests.streams import Change, Metrics, found, header, loud, run, watched
from tuimon.monitor import Monitor
from tuimon.record import Batch
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
