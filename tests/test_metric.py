"""The panel of one metric."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from screens import INF, NAN, STEPS, learning, screen

from tuimon.braille import Picture
from tuimon.panels.metric import MetricPanel, title_of
from tuimon.panels.patched import changed_regions
from tuimon.panels.view import View
from tuimon.store import Column


def column(name: str, *values: float) -> Column:
    made = Column(name)
    for step, value in enumerate(values, 10):
        made.append(step, value)
    return made


def test_a_title_has_the_last_value_and_the_best_one() -> None:
    title = title_of("loss", column("loss", 3.0, 1.0, 2.0), View())
    assert (title.value, title.extreme, title.extreme_step, title.trouble) == ("2.000", "best 1.000", "@11", "")


def test_nan_is_never_the_best_value_and_is_counted() -> None:
    title = title_of("loss", column("loss", 3.0, NAN, INF), View())
    assert (title.value, title.extreme, title.trouble) == ("inf", "best 3.000", "2 non-finite")
    assert title_of("loss", column("loss", NAN), View()).extreme == ""


def test_less_is_called_better_of_losses_only() -> None:
    assert title_of("accuracy", column("accuracy", 0.9, 0.1), View()).extreme == "min 0.1000"
    assert title_of("lr", column("lr", 0.9, 0.1), View()).extreme == ""
    assert title_of("grad norm", column("grad_norm", 0.9, 0.1), View()).extreme == ""


def test_with_a_cursor_the_title_has_the_value_there() -> None:
    made = column("loss", 3.0, 1.0, 2.0)
    title = title_of("loss", made, View(cursor=11, log=True, smooth=2))
    assert (title.value, title.at, title.notes) == ("1.000", "@11", "log smooth 2")
    assert (title_of("loss", made, View(cursor=5)).value, title_of("loss", made, View(cursor=5)).at) == ("-", "@5")


@given(st.lists(st.text("ab", min_size=12, max_size=12), min_size=1, max_size=4), st.data())
def test_the_changed_pieces_hold_every_changed_cell_and_little_else(rows: list[str], data: st.DataObject) -> None:
    after = [data.draw(st.text("ab", min_size=12, max_size=12)) for _ in rows]
    inks = ("c" * 12,) * len(rows)
    regions = changed_regions(Picture(tuple(rows), inks), Picture(tuple(after), inks))
    assert regions is not None
    covered = {(x, region.y) for region in regions for x in range(region.x, region.right)}
    differing = {(x, y) for y, (a, b) in enumerate(zip(rows, after, strict=True)) for x in range(12) if a[x] != b[x]}
    assert differing <= covered
    assert len(covered) <= 3 * len(differing)


def test_a_change_of_ink_alone_is_a_change_and_another_size_is_all_new() -> None:
    assert changed_regions(Picture(("aa",), ("cc",)), Picture(("aa",), ("cf",))) is not None
    assert changed_regions(Picture(("aa",), ("cc",)), Picture(("aa",), ("cf",))) != []
    assert changed_regions(Picture(("aa",), ("cc",)), Picture(("aaa",), ("ccc",))) is None
    assert changed_regions(Picture((), ()), Picture((), ())) == []


async def test_every_column_of_the_curve_points_at_a_step_and_the_gutter_at_none() -> None:
    async with screen(learning()) as shown:
        panel = shown.app.query(MetricPanel).first()
        steps = [panel.step_at(x) for x in range(panel.size.width)]
        assert steps[0] is None
        inside = [step for step in steps if step is not None]
        assert inside == sorted(inside)
        assert inside[0] <= 1
        assert inside[-1] >= STEPS * 0.9


async def test_a_metric_that_the_log_lacks_is_named() -> None:
    rows = [(step, None, {"loss": 1.0}) for step in range(1, 30)]
    async with screen(rows) as shown:
        for name in ("val loss", "grad norm", "lr"):
            assert f"no {name} in this log yet" in shown.text


async def test_an_empty_place_of_a_page_stays_blank() -> None:
    async with screen(learning(extra=1)) as shown:
        await shown.press("m")
        assert "layer_0/norm" in shown.text
        assert "in this log yet" not in shown.text


@pytest.mark.parametrize("name", ["\x1b[31mred", "a\u202eb", "[bold]x[/bold]", "\u0000", "wide \u4e16\u754c"])
async def test_any_name_is_shown_as_text(name: str) -> None:
    rows = [(step, None, {"loss": 1.0, name: 2.0}) for step in range(1, 30)]
    async with screen(rows) as shown:
        await shown.press("m")
        assert shown.text.replace("\n", "").isprintable()
