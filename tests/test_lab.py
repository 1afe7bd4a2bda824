"""The threshold figure: its bench, its pages and its screen."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tuimon import valley
from tuimon.app.lab import LabApp, LabSheet
from tuimon.cli import main
from tuimon.panels.ink import width_of
from tuimon.panels.lab.bench import KNOBS, PAGES, Bench, pressed
from tuimon.panels.lab.figure import figure
from tuimon.panels.plot import bins_of, joined, plotted
from tuimon.scale import Scale

KEYS = sorted(
    {key for knob in KNOBS for key in (*knob.less, *knob.more)} | {"1", "2", "3", "4", "tab", "shift+tab", "z"}
)


def words(bench: Bench, width: int = 100, height: int = 30) -> str:
    return "\n".join("".join(span.text for span in line) for line in figure(bench, width, height))


@given(st.lists(st.sampled_from(KEYS), max_size=60), st.integers(20, 200), st.integers(1, 60), st.booleans())
def test_any_keys_in_any_room_give_a_whole_picture(keys: list[str], width: int, height: int, ascii_only: bool) -> None:
    bench = Bench()
    for key in keys:
        bench = pressed(bench, key)
    lines = figure(bench, width, height, ascii_only)
    assert len(lines) == max(height, 2)
    if ascii_only:
        assert all(span.text.isascii() for line in lines for span in line)


@pytest.mark.parametrize(("width", "height"), [(80, 24), (120, 40), (200, 60)])
@pytest.mark.parametrize("page", range(len(PAGES)))
def test_no_line_of_a_page_is_cut_in_a_usual_terminal(page: int, width: int, height: int) -> None:
    assert all(width_of(line) <= width for line in figure(Bench(page=page), width, height))


def test_the_flip_stands_exactly_at_the_limit() -> None:
    bench = Bench(lr=0.475, curvature=4.0)
    assert "bounces" in words(bench)
    at = pressed(bench, "right")
    assert at.lr == pytest.approx(bench.limit)
    assert "blows up" in words(pressed(at, "right"))
    assert "1 - lr*a = -1.100" in words(pressed(at, "right"))


def test_as_many_presses_back_lead_back() -> None:
    bench = Bench()
    for page in range(len(PAGES)):
        here = replace(bench, page=page)
        for knob in KNOBS:
            if page in knob.pages:
                there = pressed(pressed(here, knob.more[0]), knob.less[0])
                assert there == replace(here, lr=pytest.approx(here.lr)), knob.word


def test_every_number_on_the_page_is_computed() -> None:
    bench = Bench(page=1, lr=0.3, curvature=4.0, spread=50.0)
    size = abs(valley.multiplier(0.3, 4.0 / 50))
    halves = next(n for n in range(1, 1000) if size**n <= 0.5)
    assert f"flat: creeps, distance x {size:.4f} per step; halves in {halves} steps" in words(bench)
    deep = re.search(r"0\.90\^50 = ([\d.e-]+)", words(Bench(page=3)))
    assert deep is not None
    assert float(deep[1]) == pytest.approx(0.9**50, rel=0.01)


def test_a_warmup_that_ends_after_the_steep_time_keeps_the_loss_down() -> None:
    said = words(Bench(page=2))
    assert "with warmup 0." in said
    assert "Highest loss 2.82e72, with warmup 16.0" in said


def test_no_slice_is_left_out_of_a_small_picture() -> None:
    slices = bins_of([1.0, float("nan"), 9.0, None, 2.0, float("inf")])
    (one,) = joined(slices, 6)
    assert (one.low, one.high, one.last, one.nan, one.inf) == (1.0, 9.0, 2.0, 1, 1)
    lines = plotted(slices, Scale(0.0, 10.0), 20, 4, ascii_only=True)
    assert [len(line) for line in lines] == [20] * 4
    assert "x" in lines[-1]


async def test_keys_turn_the_figure_and_q_leaves() -> None:
    app = LabApp(Bench())
    async with app.run_test(size=(80, 24)) as pilot:
        sheet = app.screen.query_one(LabSheet)
        await pilot.press("right", "right")
        assert sheet.bench.lr == pytest.approx(0.35)
        await pilot.press("tab", "tab", "tab")
        assert sheet.bench.page == 3
        await pilot.press("0")
        assert sheet.bench == Bench()
        await pilot.press("q")
        await pilot.pause()
    assert app.return_code == 0


def test_without_a_terminal_the_first_page_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lab", "--lr", "0.6", "--curvature", "4", "--ascii"]) == 0
    said = capsys.readouterr().out
    assert "lr is 120% of it" in said
    assert said.isascii()


def test_a_file_that_is_not_there_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lab", str(tmp_path / "none.jsonl")]) == 2
    assert capsys.readouterr().err.count("\n") == 1


@pytest.mark.parametrize("given", [["--lr", "0"], ["--lr", "nan"], ["--momentum", "1"], ["--curvature", "x"]])
def test_values_that_make_no_valley_are_refused(given: list[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["lab", *given])
    assert stopped.value.code == 2
