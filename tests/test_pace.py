"""When a growing file is looked at, and when a look says that there is nothing to read."""

from __future__ import annotations

from pathlib import Path

import pytest

from tuimon.follow.pace import BUSY, FRAME, GLANCE, HOT, LATEST, QUIET, Pace


def grown(path: Path) -> Path:
    with path.open("a") as file:
        file.write("1\n")
    return path


def after_reads(path: Path, every: float, count: int = HOT) -> Pace:
    """A pace after reads that brought a record each, the last of them at 0 seconds."""
    pace = Pace(str(path), 1.0)
    for k in range(count):
        assert pace.may_bring((k - count + 1) * every) or k
        pace.took(1, False, (k - count + 1) * every, may_heat=True)
    return pace


def test_a_file_that_looks_as_before_brings_nothing_until_it_is_read_to_be_sure(tmp_path: Path) -> None:
    pace = after_reads(grown(tmp_path / "run"), 0.05)
    assert not pace.may_bring(0.02)
    assert pace.may_bring(1.0), "a change that a look does not show is found by the heartbeat"
    grown(tmp_path / "run")
    assert pace.may_bring(0.02)


def test_what_is_left_to_read_is_read_whatever_the_file_looks_like(tmp_path: Path) -> None:
    pace = Pace(str(grown(tmp_path / "run")), 1.0)
    assert pace.may_bring(0.0)
    pace.took(100, True, 0.0, may_heat=True)
    assert pace.may_bring(0.001)


def test_a_replaced_file_of_the_same_size_is_read(tmp_path: Path) -> None:
    pace = after_reads(grown(tmp_path / "run"), 0.05)
    grown(tmp_path / "other").replace(tmp_path / "run")
    assert pace.may_bring(0.02)


@pytest.mark.parametrize("path", [".", "no such file", None])
def test_only_a_file_says_anything_from_outside(tmp_path: Path, path: str | None) -> None:
    pace = Pace(None if path is None else str(tmp_path / path), 1.0)
    for now in (0.0, 0.02, 0.04):
        assert pace.may_bring(now)
        pace.took(0, False, now, may_heat=True)
    assert pace.pause == FRAME


def test_it_gets_hot_where_events_cost_more_than_glances(tmp_path: Path) -> None:
    path = grown(tmp_path / "run")
    assert after_reads(path, 0.05).hot
    assert not after_reads(path, BUSY / (HOT - 1) + 0.001).hot
    assert not after_reads(path, 0.05, HOT - 1).hot


def test_a_folder_is_read_on_events_where_a_file_would_be_looked_at(tmp_path: Path) -> None:
    assert not after_reads(tmp_path, 0.05).hot
    assert after_reads(tmp_path, 0.01).hot


def test_it_cools_down_without_data(tmp_path: Path) -> None:
    pace = after_reads(grown(tmp_path / "run"), 0.05)
    pace.rest(QUIET - 0.01)
    assert pace.hot
    pace.rest(QUIET)
    assert not pace.hot


def test_the_next_look_is_taken_when_the_next_record_is_due(tmp_path: Path) -> None:
    path = grown(tmp_path / "run")
    pace = after_reads(path, 0.045)
    assert pace.pause == pytest.approx(0.9 * 0.045)
    pace.rest(0.05)
    assert pace.pause == GLANCE
    assert after_reads(path, 0.001).pause == FRAME, "never more often than a screen is drawn"
    assert after_reads(path, 0.07).pause == LATEST
