"""One panel as rows of cells."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from screens import broken, learning, picture_text, scene_of, view

from tuimon.braille import CURSOR, FAILURE, NOTE, WARNING, Picture
from tuimon.panels.curve import Curve
from tuimon.panels.frame import Marks, Title, blank_picture, body_picture, layout_of, lines_of, titled, y_labels
from tuimon.panels.view import View
from tuimon.scale import Grid, Scale

TITLE = Title("loss", "0.2711", "best 0.1743", "@763", "3 non-finite", "log", "")


def panel(
    width: int, height: int, marks: Marks | None = None, shown: View | None = None, plain: bool = False
) -> Picture:
    scene = scene_of(learning())
    layout = layout_of(width, height)
    strokes = Curve().strokes(scene.columns["loss"], shown or View(), (1, 500), 2 * layout.columns)
    cursor = shown.cursor if shown else None
    return titled(body_picture(layout, strokes, marks or Marks(), cursor, plain=plain), layout, TITLE)


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 130), st.integers(1, 24), st.booleans())
def test_a_panel_fills_exactly_its_room(width: int, height: int, plain: bool) -> None:
    marks = Marks(((100, FAILURE), (200, WARNING), (300, NOTE)), (50,))
    picture = panel(width, height, marks, view(cursor=77), plain)
    assert [len(row) for row in picture.rows] == [width] * height
    assert [len(row) for row in picture.inks] == [width] * height
    if plain:
        assert all(row.isascii() for row in picture.rows)
    blank = blank_picture(layout_of(width, height), TITLE, "no loss in this log yet")
    assert [len(row) for row in blank.rows] == [width] * height


def test_a_large_panel_has_both_axes_and_says_the_values() -> None:
    picture = panel(70, 12)
    assert picture.rows[0].startswith("loss  0.2711")
    assert "best 0.1743 @763" in picture.rows[0]
    assert sum("┤" in row for row in picture.rows) >= 3
    assert "└" in picture.rows[-2]
    assert "400" in picture.rows[-1]


def test_a_thin_panel_says_the_values_at_the_left() -> None:
    picture = panel(80, 2)
    assert picture.rows[0].startswith("loss")
    assert "0.2711" in picture.rows[0][:26]
    assert "3 non-finite" in picture.rows[1][:26]


def test_a_long_name_in_a_thin_panel_shows_that_it_was_cut() -> None:
    layout = layout_of(40, 3)
    strokes = Curve().strokes(scene_of(learning()).columns["loss"], View(), (1, 500), 2 * layout.columns)
    picture = titled(body_picture(layout, strokes, Marks(), None), layout, Title("layer_0/activation_norm", "0.9993"))
    assert picture.rows[0].startswith("layer_0/.. 0.9993")


def test_onsets_are_marked_on_the_axis_with_their_step() -> None:
    picture = panel(70, 12, Marks(((250, FAILURE), (100, WARNING), (430, NOTE)), (470,)))
    axis, steps = picture.rows[-2], picture.rows[-1]
    assert "250" in steps
    assert "100" in steps
    assert "430" not in steps, "a note is a dot on the axis"
    assert [axis.count(mark) for mark in "▲△·«"] == [1, 1, 1, 1]
    assert abs(axis.index("▲") - (steps.index("250") + 1)) <= 1
    assert picture_text(picture).count("┊") > 4


def test_the_gravest_onset_wins_a_column_and_the_cursor_lies_over_all() -> None:
    grid = Grid(0, 99, 100, 2)
    assert lines_of(grid, [(5, WARNING), (5, FAILURE), (5, WARNING), (9, NOTE)], None) == {5: FAILURE}
    assert lines_of(grid, [(5, FAILURE)], 5) == {5: CURSOR}
    assert lines_of(grid, [(500, FAILURE)], 700) == {}


@settings(max_examples=200, deadline=None)
@given(
    st.floats(-1e300, 1e300),
    st.floats(1e-12, 1e300),
    st.integers(1, 50),
    st.booleans(),
)
def test_a_y_label_is_never_cut_and_labels_keep_apart(low: float, span: float, rows: int, log: bool) -> None:
    low = abs(low) or 1e-9 if log else low
    high = low + span
    if not low * (1.001 if log else 1) < high < 1e301:
        return
    labels = y_labels(Scale(low, high, log), rows)
    assert all(len(text) <= 6 for text in labels.values())
    chosen = sorted(labels)
    assert all(0 <= row < rows for row in chosen)
    if rows >= 3:
        assert all(b - a >= 2 for a, b in zip(chosen, chosen[1:], strict=False))


@pytest.mark.parametrize("rows", range(3, 20))
@pytest.mark.parametrize(("low", "high"), [(0.65, 1.35), (0.0, 3.0), (2.6e-4, 3.4e-4), (0.3, 2.25), (2.298, 2.311)])
def test_an_axis_always_says_how_far_it_goes(low: float, high: float, rows: int) -> None:
    labels = y_labels(Scale(low, high), rows)
    assert len([text for text in labels.values() if text]) >= 2


def test_a_small_learning_rate_keeps_its_exponent() -> None:
    for low, high in ((5.05e-4, 5.15e-4), (2.5e-4, 3.25e-4), (1e-7, 1.2e-7)):
        labels = [text for text in y_labels(Scale(low, high), 6).values() if text]
        assert labels
        for text in labels:
            assert low * 0.9 <= float(text) <= high * 1.1


def test_a_value_that_is_nan_is_inked_as_bad() -> None:
    layout = layout_of(60, 10)
    strokes = Curve().strokes(scene_of(broken()).columns["loss"], View(), (1, 500), 2 * layout.columns)
    picture = titled(body_picture(layout, strokes, Marks(), None), layout, Title("loss", "nan"))
    start = picture.rows[0].index("nan")
    assert picture.inks[0][start : start + 3] == "BBB"
    assert "×" in picture_text(picture)


@pytest.mark.parametrize("width", range(20, 80, 7))
def test_in_a_narrow_title_the_value_stays_and_nothing_is_half_said(width: int) -> None:
    row = panel(width, 10).rows[0].strip()
    assert row.startswith("loss  0.2711")
    for piece in row.split("  "):
        assert piece.strip() in {"", "loss", "0.2711", "best 0.1743", "best 0.1743 @763", "3 non-finite", "log"}


def test_how_many_are_no_numbers_stays_before_the_best_does() -> None:
    row = panel(34, 10).rows[0]
    assert "3 non-finite" in row
    assert "best" not in row
