"""Where the keys act after something that was opened is closed again."""

from __future__ import annotations

from screens import STEPS, broken, growing, screen

from tuimon.app.acting import FilterLine
from tuimon.app.explain import ExplainScreen
from tuimon.panels.metric import MetricPanel
from tuimon.panels.table import SymptomTable
from tuimon.panels.timeline import Timeline


async def test_after_the_autopsy_the_keys_act_on_the_table_again() -> None:
    async with screen(broken()) as shown:
        await shown.press("n")
        await shown.press("escape")
        assert isinstance(shown.app.focused, SymptomTable)


async def test_back_from_an_enlarged_metric_the_focus_is_on_its_panel() -> None:
    async with screen(broken()) as shown:
        panel = shown.app.query(MetricPanel).first()
        panel.focus()
        await shown.press("enter")
        await shown.press("escape")
        assert shown.app.focused is panel


async def test_with_no_row_left_by_the_filter_there_is_nothing_to_explain() -> None:
    async with screen(broken()) as shown:
        await shown.press("slash", "z", "z", "z", "enter")
        await shown.press("x")
        assert "no row contains zzz" in shown.text


async def test_in_the_autopsy_enter_explains_the_row_of_the_nan() -> None:
    async with screen(broken()) as shown:
        await shown.press("j", "j", "n", "enter")
        assert isinstance(shown.app.screen, ExplainScreen)
        assert shown.lines[0].strip().startswith("nan-forward")
        await shown.press("q")
        assert shown.desk.mode == "autopsy"


async def test_end_in_the_autopsy_shows_the_newest_records_and_the_table_again() -> None:
    async with screen(broken()) as shown:
        await shown.press("n", "end")
        assert shown.app.scene.window == (1, STEPS)
        assert "nan-backward" in shown.text
        await shown.pilot.pause()
        assert isinstance(shown.app.focused, SymptomTable)


async def test_without_a_nan_n_says_so_and_e_goes_on_to_the_findings() -> None:
    async with screen(growing()) as shown:
        await shown.press("n")
        assert "No NaN in this run" in shown.text
        await shown.press("e")
        assert "No NaN in this run" not in shown.text
        assert "lr-too-high" in shown.text


async def test_the_strip_shows_by_a_mark_that_it_has_the_focus() -> None:
    async with screen(broken()) as shown:
        shown.app.query(Timeline).first().focus()
        await shown.pilot.pause()
        marked = [line for line in shown.lines if line.startswith("›1 ─")]
        assert len(marked) == 1
        await shown.press("tab")
        assert not any(line.startswith("›1 ─") for line in shown.lines)


async def test_the_table_shows_at_once_whether_it_has_the_focus() -> None:
    async with screen(broken()) as shown:
        table = shown.app.query_one(SymptomTable)
        await shown.press("j", "j")
        inks = {span.ink for line in table._lines for span in line if span.text.strip() == table.scene.desk.row}
        assert inks == {"chosen"}
        await shown.press("tab")
        inks = {span.ink for line in table._lines for span in line if span.text.strip() == table.scene.desk.row}
        assert inks == {"dim"}


async def test_the_filter_line_is_there_as_long_as_something_is_typed_into_it() -> None:
    async with screen(broken()) as shown:
        # Keys typed at once: the line has not got the focus yet when the next one comes.
        shown.app.action_filter()
        shown.app.action_move("usual")
        await shown.pilot.pause()
        await shown.press("s")
        assert not shown.desk.typing
        assert not shown.app.query_one(FilterLine).display
        assert shown.desk.view.smooth == 1
        await shown.press("slash", "s")
        assert shown.app.query_one(FilterLine).display
        assert (shown.desk.pattern, shown.desk.view.smooth) == ("s", 1)
