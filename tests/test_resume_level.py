"""A resume after which the loss is above what it was, and the many after which it is not."""

from __future__ import annotations

import math
import random

import pytest

from tests.streams import Change, Row, found, header, loud, run, watched
from tuimon.monitor import Monitor
from tuimon.record import Batch, Mark


def resumed(change: Change, back: int = 40, steps: int = 200, seed: int = 1) -> list[Row]:
    """600 steps, then another process that goes on `back` steps earlier, its losses by `change`."""
    return [*run(600), *run(steps, change, start=600 - back, seed=seed)]


def bump(step: int) -> dict[str, float | None]:
    """The level of the end of a run, 0.45, thrown up by 0.8 and back in some 60 steps."""
    noise = random.Random(step).gauss(0, 0.05)
    return {"loss": 0.45 + 0.8 * math.exp(-max(step - 560, 0) / 30) + noise}


def test_a_level_above_that_of_the_first_pass_is_told_at_the_resume() -> None:
    snapshot = watched(resumed(bump))
    finding = found(snapshot, "level-jump")
    assert (finding.severity, finding.onset_step, finding.detected_step) == ("warning", 560, 575)
    assert not finding.active
    assert finding.ended_step is not None
    assert 600 < finding.ended_step < 700
    assert "at the same steps" in finding.evidence
    assert "optimizer state not restored?" in finding.evidence
    assert loud(snapshot) == ["level-jump"]


@pytest.mark.parametrize("back", [0, 40])
def test_a_header_before_the_resume_changes_nothing(back: int) -> None:
    rows = resumed(lambda step: bump(step - 40 + back), back)
    snapshot = watched(rows, header(600))
    assert loud(snapshot) == ["level-jump"]
    assert found(snapshot, "level-jump").onset_step == 600 - back


def test_the_note_of_a_resume_after_a_header_compares_the_levels_too() -> None:
    assert "changed at resume" in found(watched(resumed(bump), header(600)), "resumed").evidence


@pytest.mark.parametrize("seed", range(2, 12))
@pytest.mark.parametrize("back", [0, 20, 60, 150])
def test_a_good_resume_is_silent(seed: int, back: int) -> None:
    assert loud(watched(resumed(lambda step: {}, back, seed=seed), header(600))) == []


def test_going_back_to_where_the_loss_was_higher_loses_nothing() -> None:
    for back in (300, 500, 560):
        assert loud(watched(resumed(lambda step: {}, back))) == []


def test_going_back_far_is_compared_with_the_outline_at_that_step() -> None:
    finding = found(watched(resumed(lambda step: {"loss": 2.0}, 300)), "level-jump")
    assert finding.onset_step == 300


def test_another_run_from_the_start_is_no_resume() -> None:
    assert loud(watched([*run(600), *run(600, lambda step: {"loss": 3.0 - 0.002 * step})])) == []


def test_a_level_that_is_only_statistically_higher_is_silent() -> None:
    assert loud(watched(resumed(lambda step: {"loss": 0.6 + random.Random(step).gauss(0, 0.05)}))) == []


def test_a_contest_has_no_level_to_come_back_to() -> None:
    assert loud(watched(resumed(bump), header(objective="gan"))) == []


@pytest.mark.parametrize("scale", [1e-3, 1e4])
def test_the_unit_of_the_loss_does_not_matter(scale: float) -> None:
    rows = [(step, at, metrics | {"loss": (metrics["loss"] or 0.0) * scale}) for step, at, metrics in resumed(bump)]
    assert found(watched(rows), "level-jump").detected_step == 575


@pytest.mark.parametrize("cut", [1, 5, 16, 33])
@pytest.mark.parametrize("again", [(), (600,)])
def test_it_does_not_depend_on_how_the_log_was_read(cut: int, again: tuple[int, ...]) -> None:
    rows, marks = resumed(bump), [header(row) for row in again]
    monitor = Monitor()
    for start in range(0, len(rows), cut):
        here = [Mark(mark.row - start, mark.kind, mark.fields) for mark in marks if start <= mark.row < start + cut]
        snapshot = monitor.feed(Batch.from_rows(rows[start : start + cut], marks=here))
    assert snapshot.findings == watched(rows, *marks).findings
