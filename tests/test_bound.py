"""Keys of the user's own on the screens over the monitor's."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from screens import Screen, broken, screen
from textual.binding import Binding

from tuimon.app.bound import of_screen
from tuimon.app.explain import ExplainScreen, ExplainSheet
from tuimon.app.help import HelpScreen
from tuimon.app.keymap import Wish, remapped
from tuimon.app.lab import LabApp, LabScreen, LabSheet
from tuimon.app.runs import RunsScreen
from tuimon.app.triage import TriageApp, TriageScreen, TriageSheet
from tuimon.commands.own import own_keys
from tuimon.panels.keys import ALL, USES, Keys
from tuimon.panels.lab.bench import Bench
from tuimon.triage import Triage


def wanted(**keys: str) -> Keys:
    found, wrong = remapped([Wish(1, name.replace("_", "-"), tuple(cap.split())) for name, cap in keys.items()])
    assert not wrong
    return found


async def closed_by(shown: Screen, key: str, kind: type) -> None:
    assert isinstance(shown.app.screen, kind)
    await shown.press(key)
    assert not isinstance(shown.app.screen, kind), f"{key} does not close it"


@pytest.mark.parametrize("name", USES)
def test_every_use_on_a_screen_is_of_a_key_that_there_is_or_stays(name: str) -> None:
    named = {key.name for key in ALL}
    assert all(use.keys or use.name in named for use in USES[name])
    bound = [key for each in of_screen(name) if isinstance(each, Binding) for key in each.key.split(",")]
    assert len(set(bound)) == len(bound), "one key, two meanings"


async def test_the_explanation_heeds_them_and_its_footer_shows_them() -> None:
    keys = wanted(explain="i", row_down="w", row_up="W", live="G", first_step="g", checks="C", page_down="F", quit="Q")
    async with screen(broken(), (80, 24), keys=keys) as shown:
        await shown.press("i")
        sheet = shown.app.screen.query_one(ExplainSheet)
        assert shown.lines[-1].startswith(" w W scroll  C checks  b lab  t triage  Q back")
        for key in ("j", "down", "end", "c", "pagedown", "x", "q"):
            await shown.press(key)
            assert (sheet.top, isinstance(shown.app.screen, ExplainScreen)) == (0, True), key
        tops = []
        for key in ("w", "w", "W", "F", "g", "C", "G"):
            await shown.press(key)
            tops.append(sheet.top)
        assert tops[:5] == [1, 2, 1, 23, 0]
        assert 0 < tops[5] <= tops[6]
        await closed_by(shown, "Q", ExplainScreen)
        await shown.press("i")
        await closed_by(shown, "i", ExplainScreen)
        await shown.press("i")
        await closed_by(shown, "escape", ExplainScreen)


async def test_lab_and_triage_over_the_monitor_heed_them() -> None:
    keys = wanted(lab="T", triage="B", quit="Q", yes="n", no="y", step_forward="w", momentum_up="P")
    async with screen(broken(), (100, 30), keys=keys) as shown:
        await shown.press("x", "T")
        assert isinstance(shown.app.screen, LabScreen)
        assert "← w lr" in shown.lines[-1]
        assert "m P momentum" in shown.lines[-1]
        assert shown.lines[-1].rstrip().endswith("Q back")
        sheet = shown.app.screen.query_one(LabSheet)
        first = sheet.bench
        await shown.press("right", "l", "M")
        assert sheet.bench == first
        await shown.press("w", "P")
        assert sheet.bench.lr > first.lr
        assert sheet.bench.momentum > first.momentum
        await closed_by(shown, "Q", LabScreen)
        await shown.press("B")
        assert isinstance(shown.app.screen, TriageScreen)
        assert "n yes  y no" in shown.lines[-1]
        await shown.press("n")
        assert set(shown.app.screen.query_one(TriageSheet).triage.answers.values()) == {"yes"}
        await closed_by(shown, "Q", TriageScreen)


async def test_help_and_the_list_of_runs_close_by_the_key_that_leaves() -> None:
    keys = wanted(quit="Q", help="h", step_back="left", runs="O", open="w")
    async with screen(broken(), (80, 10), keys=keys) as shown:
        await shown.press("h", "q")
        assert isinstance(shown.app.screen, HelpScreen), "q is any key now, and there is a second page"
        await closed_by(shown, "Q", HelpScreen)
        for key in ("Q", "O", "escape", "w"):
            await shown.press("O")
            assert re.search(r"j k choose  w watch it  Q back", shown.text)
            await shown.press("q", "o", "enter")
            await closed_by(shown, key, RunsScreen)


@pytest.mark.parametrize("kind", ["lab", "triage"])
async def test_the_screens_alone_heed_them(kind: str) -> None:
    keys = wanted(quit="Q", row_up="w")
    lab = LabApp(Bench(), keys=keys)
    triage = TriageApp(Triage("nan"), keys=keys)
    app = lab if kind == "lab" else triage
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("q", "k")
        assert app.is_running
        await pilot.press("w")
        if kind == "lab":
            assert lab.screen.query_one(LabSheet).bench.curvature > Bench().curvature
        else:
            assert triage.screen.query_one(TriageSheet).chosen > 0
        await pilot.press("Q")
        await pilot.pause()
    assert app.return_code == 0


def test_a_line_that_means_nothing_is_told_by_the_commands_without_a_run_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "tuimon").mkdir()
    (tmp_path / "tuimon/config.ini").write_text("[keys]\nrow-down = b\nquit = Q\n")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    keys = own_keys(ascii_only=True)
    told = capsys.readouterr().err
    assert "config.ini:2: b cannot be row-down: it is lab already, in the explanation" in told
    assert next(key.keys for key in keys if key.name == "quit") == ("Q",)
