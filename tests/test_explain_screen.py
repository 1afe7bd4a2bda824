"""A row in full over the monitor's screen, and the ways on from it."""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import pytest
from textual.app import App

import tuimon.app
from tuimon import demo
from tuimon.app.explain import ExplainScreen, ExplainSheet
from tuimon.app.following import Place
from tuimon.app.lab import LabSheet
from tuimon.app.monitor_app import MonitorApp, Options
from tuimon.app.themes import THEMES, variables
from tuimon.app.triage import TriageSheet
from tuimon.catalogue import BY_SIGNATURE
from tuimon.cli import main
from tuimon.commands import watch
from tuimon.estimate import Estimate
from tuimon.monitor import Snapshot
from tuimon.panels.ink import width_of
from tuimon.panels.lab.bench import bench_of
from tuimon.panels.palette import DARK
from tuimon.panels.scene import Scene
from tuimon.signatures.finding import Finding
from tuimon.store import Store
from tuimon.triage import Triage, load, state_path

# A thread reads the run of one of these: a second look before it counts.
pytestmark = pytest.mark.flaky(reruns=2)

FOUND = Finding("lr-too-high", "divergence", "failure", 700, 705, True, "loss 2.1 -> 9.4")
RUN = Snapshot(records=800, findings=(FOUND,))


class Host(App[None]):
    CSS_PATH = Path(tuimon.app.__file__).with_name("monitor.tcss")

    def __init__(self, screen: ExplainScreen) -> None:
        super().__init__()
        for each in THEMES.values():
            self.register_theme(each)
        self.theme = THEMES["dark"].name
        self._first = screen

    def get_theme_variable_defaults(self) -> dict[str, str]:
        return variables(DARK)

    def on_mount(self) -> None:
        self.push_screen(self._first, lambda _: self.exit())


async def test_the_numbers_of_the_run_come_first_and_scrolling_stops_at_the_ends() -> None:
    app = Host(ExplainScreen(BY_SIGNATURE["lr-too-high"], RUN, Store()))
    async with app.run_test(size=(80, 24)) as pilot:
        sheet = app.screen.query_one(ExplainSheet)
        text = sheet.text(80)
        assert text.index("IN THIS RUN") < text.index("WHAT IS SEEN")
        assert any("since step 700: loss 2.1 -> 9.4" in line for line in text)
        assert any("No estimate" in line for line in text)
        await pilot.press("up")
        assert sheet.top == 0
        await pilot.press("end")
        assert sheet.top == len(text) - 23
        await pilot.press("c")
        assert text[sheet.top].startswith("CHECK, IN THIS ORDER")
        await pilot.press("home", "space")
        assert sheet.top == 22


async def test_lab_and_triage_open_from_a_row_and_q_comes_back() -> None:
    app = Host(ExplainScreen(BY_SIGNATURE["lr-too-high"], RUN, Store()))
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("b")
        assert app.screen.query_one(LabSheet).bench.origin.startswith("No estimate")
        await pilot.press("q", "t")
        triage = app.screen.query_one(TriageSheet).triage
        assert (triage.procedure, triage.lit) == ("divergence", "lr-too-high")
        await pilot.press("q")
        assert app.screen.query_one(ExplainSheet)
        await pilot.press("x")
        await pilot.pause()
    assert app.return_code == 0


def test_an_estimate_sets_the_bench_and_its_words_stay_on_it() -> None:
    bench = bench_of(Estimate(0.1, "about 0.1", lr=0.13, momentum=0.0))
    assert (bench.lr, bench.curvature, bench.origin) == (0.13, 20.0, "about 0.1")
    assert bench.limit == 0.1


async def test_answers_given_over_the_monitor_are_those_that_the_command_shows(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "run.jsonl"
    demo.write(demo.RUNS["nan-forward"], path)
    parser = argparse.ArgumentParser()
    watch.configure(parser)
    args = parser.parse_args([str(path)])
    app = MonitorApp(Options(), Place(args.file, **watch._open(args, 0)))
    async with app.run_test(size=(120, 40)) as pilot:
        patience = time.monotonic() + 20.0
        while "nan-forward" not in app.known().lit:
            assert time.monotonic() < patience
            await pilot.pause(0.01)
        app.show()
        await pilot.press("x", "t", "n", "y")
        await pilot.pause()
        assert app.screen.query_one(TriageSheet).triage.procedure == "nan"
    assert load(state_path(str(path)), Triage("nan")).answers == {"reproduce": "no", "order": "yes"}
    assert main(["triage", str(path)]) == 0
    assert "2 of 7 answered" in capsys.readouterr().out


@pytest.mark.parametrize("width", [24, 40, 60, 80, 100, 160])
@pytest.mark.parametrize("signature", BY_SIGNATURE)
def test_no_line_of_a_row_is_cut_and_every_piece_of_code_is_there(signature: str, width: int) -> None:
    row = BY_SIGNATURE[signature]
    sheet = ExplainSheet(row, [], [], False)
    spans = sheet.lines(width)
    assert max(len(span.text) for span in spans) <= width
    told = "".join(span.text for span in spans if span.ink == "code")
    for check in row.checks:
        assert "".join(check.code.split()) in "".join(told.split())
    assert all(width_of(line) <= width for line in sheet.picture(Scene(), width, 20))


def test_the_title_says_how_grave_it_is_and_the_curve_is_told_from_the_text() -> None:
    title, *rest = ExplainSheet(BY_SIGNATURE["nan-forward"], [], [], False).lines(80)
    assert title.ink == "failure"
    drawn = [span.text for span in rest if span.ink == "note"]
    assert 6 < len(drawn) < 12
    assert "demo nan-forward" in drawn[-1]


@pytest.mark.parametrize("width", [30, 40, 50])
def test_on_a_narrow_screen_sentences_are_wrapped_once(width: int) -> None:
    lines = [span.text for span in ExplainSheet(BY_SIGNATURE["nan-forward"], [], [], False).lines(width)]
    why = lines.index(" WHY IT HAPPENS")
    assert min(len(line) for line in lines[why + 1 : why + 4]) > width // 2
