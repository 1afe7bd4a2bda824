"""The tour: each run, then what lit and why."""

from __future__ import annotations

import pytest

from tuimon.commands import tour
from tuimon.demo import RUNS


@pytest.mark.parametrize("name", ["nan-forward", "lr-too-high", "overfitting"])
def test_a_lesson_tells_what_lit_since_when_and_what_to_check(name: str) -> None:
    told = tour.lesson(RUNS[name])
    run = RUNS[name]
    assert f"What lit: {run.signature}" in told
    assert "It began at step" in told
    assert "First check:" in told
    assert all(len(line) <= tour.WIDTH for line in told.splitlines())


def test_the_lesson_of_a_healthy_run_is_silence() -> None:
    name = next(name for name, run in RUNS.items() if not run.signature)
    assert "No failure and no warning" in tour.lesson(RUNS[name])


def test_the_tour_goes_on_with_enter_and_ends_with_q(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    answers = iter(["", "q"])
    monkeypatch.setattr("tuimon.commands.tour.ask", lambda prompt, at_once: next(answers))
    played: list[str] = []
    tour.take(("nan-forward", "loss-spike", "overfitting"), RUNS, lambda run: played.append(run.name))
    assert played == ["nan-forward", "loss-spike"]
    assert "loss-spike" in capsys.readouterr().out


def test_the_last_run_of_the_tour_says_where_there_is_more(capsys: pytest.CaptureFixture[str]) -> None:
    tour.take(("nan-forward",), RUNS, lambda run: None)
    assert "tuimon demo --list" in capsys.readouterr().out
