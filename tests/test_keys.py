"""Every key does what the help says."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from dataclasses import replace

import pytest
from screens import NOW, ONSET, STEPS, Screen, broken, learning, scene_of, screen, text_of
from textual.binding import Binding

from tuimon.app.acting import ActingApp
from tuimon.app.explain import ExplainScreen
from tuimon.app.help import HelpScreen, help_pages
from tuimon.app.keymap import Wish, remapped
from tuimon.app.runs import RunsScreen
from tuimon.panels.desk import Desk
from tuimon.panels.footer import footer_line
from tuimon.panels.keys import KEYS
from tuimon.panels.metric import MetricPanel
from tuimon.panels.rows import entries
from tuimon.panels.table import SymptomTable

# Processes, threads and terminals of a busy machine: a second look before it counts.
pytestmark = pytest.mark.flaky(reruns=2)

# Keys. Each check presses the key and looks at what it does; a key without a check fails the test below.

Check = Callable[[Screen], Awaitable[None]]
CHECKS: dict[str, Check] = {}


def checks(key: str) -> Callable[[Check], Check]:
    def keep(check: Check) -> Check:
        CHECKS[key] = check
        return check

    return keep


@checks("q")
async def leaves(shown: Screen) -> None:
    await shown.pilot.press("q")
    await shown.pilot.pause()
    assert shown.app._exit
    assert not shown.app.return_code


@checks("?")
async def helps(shown: Screen) -> None:
    await shown.press("question_mark")
    assert isinstance(shown.app.screen, HelpScreen)
    for key in KEYS:
        assert key.text.split()[0] in shown.text
    await shown.press("x")
    assert not isinstance(shown.app.screen, HelpScreen)


@checks("n")
async def jumps_to_the_onset(shown: Screen) -> None:
    await shown.press("n")
    assert shown.desk.mode == "autopsy"
    assert shown.desk.view.cursor == ONSET
    low, high = shown.app.scene.window
    assert low <= ONSET <= high
    assert high - low < 64
    assert "Loss and gradient in the same record: born in the forward pass" in shown.text
    row = next(line for line in shown.lines if f" {ONSET} " in line and "first" in line)
    assert row.count("nan") == 2
    assert re.search(rf"last good step +{ONSET - 1}\b", shown.text)
    await shown.press("escape")
    assert shown.desk.mode == "run"
    assert shown.desk.view.low is None


@checks("e")
async def next_finding(shown: Screen) -> None:
    await shown.press("e")
    first = shown.app.scene.snapshot.findings[0]
    assert (shown.desk.view.cursor, shown.desk.row) == (first.onset_step, first.signature)


@checks("E")
async def previous_finding(shown: Screen) -> None:
    await shown.press("E")
    last = max(shown.app.scene.snapshot.findings, key=lambda f: (f.onset_step, f.signature))
    assert (shown.desk.view.cursor, shown.desk.row) == (last.onset_step, last.signature)


@checks("Enter")
async def opens(shown: Screen) -> None:
    assert isinstance(shown.app.focused, SymptomTable)
    await shown.press("enter")
    assert "then fix" not in shown.text
    await shown.press("enter")
    assert "then fix" in shown.text
    shown.app.query(MetricPanel).first().focus()
    await shown.press("enter")
    assert (shown.desk.mode, shown.desk.metric) == ("large", "loss")
    assert sum("┤" in line for line in shown.lines) > 8
    assert "grad norm" not in shown.text
    await shown.press("enter")
    assert shown.desk.mode == "run"


@checks("x")
async def explains(shown: Screen) -> None:
    await shown.press("x")
    assert isinstance(shown.app.screen, ExplainScreen)
    assert "WHY IT HAPPENS" in shown.text
    await shown.press("q")
    assert not isinstance(shown.app.screen, ExplainScreen)
    assert not shown.app._exit


@checks("Space")
async def pauses(shown: Screen) -> None:
    await shown.press("space")
    assert "paused, 0 behind" in shown.header
    before = shown.lines[1:-1]
    more = [(STEPS + i, NOW + i, {"loss": 0.3, "grad_norm": 1.0, "lr": 1e-4}) for i in range(1, 215)]
    await shown.bring(more)
    assert "paused, 214 behind" in shown.header
    assert shown.lines[1:-1] == before
    await shown.press("space")
    assert "paused" not in shown.header
    assert f"step {STEPS + 214}" in shown.header


@checks("End")
async def back_to_live(shown: Screen) -> None:
    await shown.press("home", "space", "end")
    assert not shown.desk.paused
    assert shown.desk.view.live
    assert shown.desk.view.cursor is None


@checks("← h")
async def cursor_back(shown: Screen) -> None:
    for key in ("left", "h"):
        await shown.press("end", key)
        assert STEPS - 20 <= (shown.desk.view.cursor or 0) < STEPS
    step = shown.desk.view.cursor
    assert shown.text.count(f"@{step}") >= 2


@checks("→ l")
async def cursor_forward(shown: Screen) -> None:
    for key in ("right", "l"):
        await shown.press("home", key)
        assert 1 < (shown.desk.view.cursor or 0) < 20


@checks("↑ k")
async def row_above(shown: Screen) -> None:
    for key in ("up", "k"):
        await shown.press("j", "j")
        below = chosen(shown)
        await shown.press(key)
        assert chosen(shown) == below - 1


@checks("↓ j")
async def row_below(shown: Screen) -> None:
    for key in ("down", "j"):
        above = chosen(shown)
        await shown.press(key)
        assert chosen(shown) == above + 1


@checks("Home")
async def cursor_to_the_start(shown: Screen) -> None:
    await shown.press("home")
    assert shown.desk.view.cursor == 1


@checks("+")
async def zooms_in(shown: Screen) -> None:
    for key in ("plus", "equals_sign"):
        before = span(shown)
        await shown.press(key)
        assert span(shown) == pytest.approx(before / 2, abs=1)


@checks("-")
async def zooms_out(shown: Screen) -> None:
    await shown.press("plus", "plus")
    before = span(shown)
    await shown.press("minus")
    assert span(shown) == pytest.approx(before * 2, abs=2)


@checks("0")
async def whole_run(shown: Screen) -> None:
    await shown.press("plus", "plus", "0")
    assert shown.app.scene.window == (1, STEPS)


@checks("y L")
async def logarithm(shown: Screen) -> None:
    for key in ("y", "L"):
        await shown.press(key)
        assert "log" in shown.lines[1]
        await shown.press(key)
        assert "log" not in shown.lines[1]


@checks("s")
async def smooths(shown: Screen) -> None:
    for level in ("smooth 1", "smooth 2", "smooth 3"):
        await shown.press("s")
        assert level in shown.lines[1]
    await shown.press("s")
    assert "smooth" not in shown.lines[1]


@checks("v")
async def validation_over_training(shown: Screen) -> None:
    assert "•" not in shown.text
    await shown.press("v")
    assert "•" in shown.text


@checks("m")
async def other_metrics(shown: Screen) -> None:
    await shown.bring([(STEPS + 1, NOW, {f"extra_{i}": float(i) for i in range(6)})])
    for expected in ("extra_0", "extra_4", "grad norm"):
        await shown.press("m")
        assert expected in shown.text


@checks("r")
async def rewinds(shown: Screen) -> None:
    await shown.bring([(step, NOW + step, {"loss": 0.4}) for step in range(451, 520)])
    await shown.press("r")
    assert shown.desk.view.cursor == 451


@checks("R")
async def all_as_usual(shown: Screen) -> None:
    await shown.bring([(STEPS + 1, NOW, {f"extra_{i}": float(i) for i in range(6)})])
    await shown.press("y", "s", "v", "plus", "left", "m", "space", "n", "R")
    assert shown.desk == Desk(row=shown.desk.row, said=shown.desk.said)
    assert "everything as usual again" in shown.header
    assert "log" not in shown.lines[1]


@checks("c")
async def another_loss(shown: Screen) -> None:
    await shown.press("c")
    assert "no other loss in this log" in shown.header


@checks("o")
async def lists_the_runs(shown: Screen) -> None:
    await shown.press("o")
    assert isinstance(shown.app.screen, RunsScreen)
    await shown.press("q")
    assert not isinstance(shown.app.screen, RunsScreen)
    assert not shown.app._exit


@checks("/")
async def filters(shown: Screen) -> None:
    await shown.press("slash", *"spike", "enter")
    assert "loss-spike" in shown.text
    assert "nan-backward" not in shown.text
    assert isinstance(shown.app.focused, SymptomTable)
    await shown.press("escape")
    assert "nan-backward" in shown.text
    await shown.press("slash", *"spi")
    assert shown.lines[-1].startswith(" Enter keep this filter  Esc no filter")
    assert shown.lines[-2].strip() == "spi"
    await shown.press("escape")
    assert "nan-backward" in shown.text
    assert shown.lines[-1].startswith(" q quit")


@checks("Tab")
async def focus_moves_on(shown: Screen) -> None:
    first = shown.app.focused
    await shown.press("tab")
    assert shown.app.focused is not first


@checks("S-Tab")
async def focus_moves_back(shown: Screen) -> None:
    first = shown.app.focused
    await shown.press("shift+tab")
    assert shown.app.focused is not first
    await shown.press("tab")
    assert shown.app.focused is first


@checks("Esc")
async def goes_back(shown: Screen) -> None:
    await shown.press("plus", "left", "slash", *"nan", "enter", "n")
    await shown.press("escape")
    assert shown.desk.mode == "run"
    await shown.press("escape")
    assert not shown.desk.pattern
    await shown.press("escape")
    assert shown.desk.view.cursor is None
    await shown.press("escape")
    assert shown.desk.view == type(shown.desk.view)()


def chosen(shown: Screen) -> int:
    """The place of the chosen row in the catalogue's order as the table shows it."""
    return next(place for place, entry in enumerate(entries(shown.app.current())) if entry.chosen)


def span(shown: Screen) -> int:
    low, high = shown.app.scene.window
    return high - low + 1


@pytest.mark.parametrize("cap", [key.cap for key in KEYS])
async def test_every_key_does_what_the_help_says(cap: str) -> None:
    assert cap in CHECKS, f"no check for {cap}"
    async with screen(broken()) as shown:
        await CHECKS[cap](shown)


def test_bindings_and_help_have_the_same_keys() -> None:
    bound = [name for each in ActingApp.BINDINGS if isinstance(each, Binding) for name in each.key.split(",")]
    assert sorted(bound) == sorted(["ctrl+c", *(name for key in KEYS for name in key.keys)])
    assert len(set(bound)) == len(bound), "one key, two meanings"
    told = [text_of(line) for page in help_pages(200, 100) for line in page]
    for key in KEYS:
        assert any(line.startswith(f" {key.cap} ") and line.endswith(key.text) for line in told), key


def test_keys_of_ones_own_stand_in_help_and_footer() -> None:
    keys, wrong = remapped([Wish(1, "nan-onset", ("ctrl+g",)), Wish(2, "explain", ("F7", "i"))])
    assert not wrong
    told = "\n".join(text_of(line) for page in help_pages(200, 100, keys) for line in page)
    assert "^G     first non-finite value" in told
    assert "F7 i   the chosen row in full" in told
    footer = text_of(footer_line(replace(scene_of(), keys=keys), 400))
    assert "^G NaN onset" in footer
    assert "F7 explain" in footer
    assert "n NaN onset" not in footer.replace("^G NaN", "")


async def test_keys_of_ones_own_do_it_and_the_usual_ones_do_not() -> None:
    keys, _ = remapped([Wish(1, "log", ("g", "F2")), Wish(2, "next-finding", ("n",)), Wish(3, "nan-onset", ("e",))])
    async with screen(broken(), keys=keys) as shown:
        for key in ("y", "L"):
            await shown.press(key)
            assert not shown.desk.view.log
        for key in ("g", "f2"):
            await shown.press(key)
            assert shown.desk.view.log
            await shown.press(key)
            assert not shown.desk.view.log
        await shown.press("n")
        assert shown.desk.mode == "run"
        assert shown.desk.view.cursor is not None
        await shown.press("e")
        assert shown.desk.mode == "autopsy"
        await shown.press("question_mark")
        assert "g F2" in shown.text


async def test_what_was_wrong_with_the_users_keys_is_said_on_the_screen() -> None:
    async with screen(learning(), (160, 40), notice="config.ini:3: no key is called hyper") as shown:
        assert "config.ini:3: no key is called hyper" in shown.header


async def test_caps_are_ascii_where_the_screen_is() -> None:
    async with screen(learning(), ascii=True) as shown:
        await shown.press("question_mark")
        assert shown.text.isascii()
        assert "Left h" in shown.text


def test_no_key_is_one_that_tmux_screen_or_terminals_take() -> None:
    taken = {"ctrl+a", "ctrl+b", "ctrl+j", "ctrl+k", "ctrl+s", "ctrl+q", "ctrl+z"}
    names = {name for key in KEYS for name in key.keys}
    assert not names & taken
    assert not any(name.startswith("alt+") for name in names)
