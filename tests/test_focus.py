"""Where the keys act after something that was opened is closed again."""

from __future__ import annotations

from screens import broken, screen

from tuimon.panels.metric import MetricPanel
from tuimon.panels.table import SymptomTable


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
