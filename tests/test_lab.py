"""The threshold figure: its bench, its pages and its screen."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual.screen import Screen

from tuimon import valley
from tuimon.app.alone import AloneApp
from tuimon.app.lab import LabApp, LabScreen, LabSheet
from tuimon.app.triage import TriageScreen
from tuimon.cli import main
from tuimon.panels.ink import width_of
from tuimon.panels.lab.bench import KNOBS, PAGES, Bench, turned
from tuimon.panels.lab.figure import figure
from tuimon.panels.plot import bins_of, joined, plotted
from tuimon.scale import Scale
from tuimon.triage import Triage

NAMES = sorted({name for knob in KNOBS for name in (knob.less, knob.more)} | {"log"})


def words(bench: Bench, width: int = 100, height: int = 30) -> str:
    return "\n".join("".join(span.text for span in line) for line in figure(bench, width, height))


@given(
    st.lists(st.sampled_from([*NAMES, 0, 1, 2, 3]), max_size=60),
    st.integers(20, 200),
    st.integers(1, 60),
    st.booleans(),
)
def test_any_keys_in_any_room_give_a_whole_picture(
    keys: list[str | int], width: int, height: int, ascii_only: bool
) -> None:
    bench = Bench()
    for key in keys:
        bench = replace(bench, page=key) if isinstance(key, int) else turned(bench, key)
    lines = figure(bench, width, height, ascii_only)
    assert len(lines) == max(height, 2)
    if ascii_only:
        assert all(span.text.isascii() for line in lines for span in line)


@pytest.mark.parametrize(("width", "height"), [(80, 24), (120, 40), (200, 60)])
@pytest.mark.parametrize("page", range(len(PAGES)))
def test_no_line_of_a_page_is_cut_in_a_usual_terminal(page: int, width: int, height: int) -> None:
    assert all(width_of(line) <= width for line in figure(Bench(page=page), width, height))


@pytest.mark.parametrize("width", range(20, 140, 7))
def test_the_foot_says_how_to_leave_in_any_width_and_cuts_no_word(width: int) -> None:
    for page in range(len(PAGES)):
        line = figure(Bench(page=page), width, 24)[-1]
        assert width_of(line) <= width
        assert "".join(span.text for span in line).endswith("q back")


def test_the_flip_stands_exactly_at_the_limit() -> None:
    bench = Bench(lr=0.475, curvature=4.0)
    assert "bounces" in words(bench)
    at = turned(bench, "step-forward")
    assert at.lr == pytest.approx(bench.limit)
    assert "It stands at the limit" in words(at)
    assert "It blows up" in words(turned(at, "step-forward"))
    assert "1 - lr*a = -1.100" in words(turned(at, "step-forward"))


def test_as_many_presses_back_lead_back() -> None:
    bench = Bench()
    for page in range(len(PAGES)):
        here = replace(bench, page=page)
        for knob in KNOBS:
            if page in knob.pages:
                there = turned(turned(here, knob.more), knob.less)
                assert there == replace(here, lr=pytest.approx(here.lr)), knob.word


NUMBER = re.compile(r"(?<![\w^])[-+]?\d+(?:\.\d+)?(?:e-?\d+)?")


def told_numbers(bench: Bench) -> set[float]:
    """Every number in the sentences of a page; not the picture, its axis and the names of keys."""
    lines = words(bench, 160, 30).splitlines()[1:-1]
    text = " ".join(line for line in lines if re.match(r" [A-Z1a-z]", line))
    text = re.sub(r"1 - lr\*a|2/a|2\(1\+m\)/a|\(1 \+ f\^2/n\)\^\(n/2\)|1/a|a\*x\^2/2", " ", text)
    text = re.sub(r"([\d.]+)([kM])\b", lambda match: str(float(match[1]) * {"k": 1e3, "M": 1e6}[match[2]]), text)
    return {float(found) for found in NUMBER.findall(text.replace("%", ""))}


@pytest.mark.parametrize(
    "bench",
    [Bench(), Bench(lr=0.55), Bench(momentum=0.9), Bench(page=1), Bench(page=1, lr=0.499, spread=8), Bench(page=2),
     Bench(page=2, ramp=0), Bench(page=3), Bench(page=3, factor=2.0, depth=20), Bench(page=3, factor=1.0)],
)  # fmt: skip
def test_every_number_on_a_page_is_one_that_a_walk_gives(bench: Bench) -> None:
    assert told_numbers(bench) <= {round(value, 9) for value in expected(bench)}, told_numbers(bench) - expected(bench)


def shown(value: float, *digits: int) -> set[float]:
    """A value as the page may round it."""
    return {float(f"{value:.{count}g}") for count in digits or (3,)} | {round(value, 4), round(value, 3), round(value)}


def per_step(lr: float, curvature: float, momentum: float) -> float:
    """How many times the distance changes per step in the long run, by walking."""
    late = valley.walk(lr, curvature, momentum, steps=400)
    if len(late) > 301 and abs(late[-1]) > 1e-290:
        return float((max(map(abs, late[-20:])) / max(map(abs, late[-220:-200]))) ** (1 / 200))
    return abs(late[3] / late[2])


def expected(bench: Bench) -> set[float]:
    lr, a, m = bench.lr, bench.curvature, bench.momentum
    limit = 2 * (1 + m) / a
    given = {lr, a, m, 60.0, 200.0} | shown(limit) | shown(100 * lr / limit)
    if bench.page == 0:
        size = per_step(lr, a, m)
        return given | shown(size) | shown(-size)
    if bench.page == 1:
        flat = a / bench.spread
        found = given | shown(flat)
        for curvature in (a, flat):
            walk = [abs(position) for position in valley.walk(lr, curvature, m, steps=2000)]
            found |= {next((step for step, position in enumerate(walk) if position <= 0.5), 0.0)}
            found |= shown(per_step(lr, curvature, m), 4)
        return found
    if bench.page == 2:
        early = a * bench.early
        curves = [a + (early - a) * math.exp(-step / (200 / 6)) for step in range(200)]
        ramps = [lr * min(1, (step + 1) / bench.ramp) if bench.ramp else lr for step in range(200)]
        position = {"full": 1.0, "ramp": 1.0}
        losses = {name: [early / 2] for name in position}
        for step in range(200):
            for name, rate in (("full", lr), ("ramp", ramps[step])):
                position[name] *= 1 - rate * curves[step]
                losses[name].append(curves[min(step + 1, 199)] * position[name] ** 2 / 2)
        found = given | {bench.ramp, 2.0} | shown(early) | shown(lr * early) | shown(ramps[0] * early)
        found |= {sum(lr * curve >= 2 for curve in curves), sum(r * c >= 2 for r, c in zip(ramps, curves, strict=True))}
        top = early / 2 * 1e12
        for values in losses.values():
            found |= shown(max(values)) | shown(top) | {next((i for i, v in enumerate(values) if v > top), 0.0)}
        return found
    product = math.prod([bench.factor] * bench.depth)
    squares = 1.0
    for _ in range(bench.depth):
        squares *= 1 + bench.factor**2 / bench.depth  # each layer adds its share to the mean square
    return {bench.factor, bench.depth} | shown(product) | shown(math.sqrt(squares))


def test_the_highest_loss_is_on_the_axis_of_its_picture_or_said_to_be_past_it() -> None:
    said = words(Bench(page=2), 80, 24)
    assert re.search(r"Highest loss past 1.6e13 from step \d+ on, with warmup 16.0", said)
    assert "\n 1.6e13 " in said, "the same number stands at the top of the axis"


def test_one_step_is_no_plural() -> None:
    assert re.search(r"steep: .* halves in 1 step\s", words(Bench(page=1, lr=0.3)) + " ")


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
        assert sheet.bench.lr == pytest.approx(0.4)
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
    assert "lr at 120%" in said
    assert said.isascii()


def test_a_file_that_is_not_there_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lab", str(tmp_path / "none.jsonl")]) == 2
    assert capsys.readouterr().err.count("\n") == 1


@pytest.mark.parametrize("given", [["--lr", "0"], ["--lr", "nan"], ["--momentum", "1"], ["--curvature", "x"]])
def test_values_that_make_no_valley_are_refused(given: list[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["lab", *given])
    assert stopped.value.code == 2


@pytest.mark.parametrize(
    "make", [lambda: LabScreen(Bench()), lambda: TriageScreen(Triage("nan"))], ids=["lab", "triage"]
)
async def test_without_colours_there_are_none_instead_of_black_on_black(
    make: Callable[[], Screen[None]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    app = AloneApp(make())
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        styles = [each.style for strip in app.screen._compositor.render_strips() for each in strip if each.style]
        used = [color for style in styles for color in (style.color, style.bgcolor) if color is not None]
        assert all(color.is_default for color in used)
