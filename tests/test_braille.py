"""The live curve, cell by cell."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tuimon.braille import (
    ASCII,
    BRAILLE,
    CURSOR,
    CURVE,
    FAILURE,
    FAINT,
    INF,
    NAN,
    NONPOSITIVE,
    OUTLIER,
    POINT,
    UNDER_CURSOR,
    draw,
    strokes,
)
from tuimon.scale import Scale, limits
from tuimon.store import Bin

UNIT = Scale(0.0, 1.0)
EMPTY = Bin(None, None, None, 0, 0)


def point(value: float) -> Bin:
    return Bin(value, value, value, 0, 0)


def bad(nan: int = 0, inf: int = 0) -> Bin:
    return Bin(None, None, None, nan, inf)


def test_eight_points_on_a_diagonal_are_exactly_these_cells() -> None:
    picture = draw([point(k / 7) for k in range(8)], UNIT, 4, 2)
    assert picture.rows == ("  ⡠⠊", "⡠⠊  ")
    assert picture.inks == ("  cc", "cc  ")


def test_a_flat_curve_in_the_middle_is_one_row_of_dots() -> None:
    assert draw([point(0.0)] * 4, UNIT, 2, 1).rows == ("⣀⣀",)
    assert draw([point(1.0)] * 4, UNIT, 2, 1).rows == ("⠉⠉",)


def test_a_slice_is_a_stroke_from_its_least_to_its_greatest_value() -> None:
    assert draw([Bin(0.0, 1.0, 0.5, 0, 0)], UNIT, 1, 1).rows == ("⡇",)
    assert draw([EMPTY, Bin(0.0, 1.0, 0.5, 0, 0)], UNIT, 1, 1).rows == ("⢸",)


def test_a_jump_is_drawn_as_a_line_and_not_as_loose_dots() -> None:
    rows = draw([point(0.0), point(1.0)], UNIT, 1, 2).rows
    assert rows == ("⢸", "⡸")


def test_wide_strides_are_joined_by_straight_lines() -> None:
    picture = draw([point(0.0), point(1.0)], UNIT, 4, 2, stride=7)
    assert picture.rows == ("  ⡠⠊", "⡠⠊  ")


def test_missing_slices_are_bridged_and_non_finite_ones_are_not() -> None:
    bridged = strokes([point(0.5), EMPTY, EMPTY, point(0.5)], UNIT, 4, 1, 4)
    assert all(bridged)
    broken = strokes([point(0.5), bad(nan=1), EMPTY, point(0.5)], UNIT, 4, 1, 4)
    assert [bool(mask) for mask in broken] == [True, False, False, True]


def test_nan_stands_at_the_bottom_and_infinity_at_the_top() -> None:
    picture = draw([point(0.5), point(0.5), bad(nan=3), EMPTY, bad(inf=1), EMPTY, bad(1, 1)], UNIT, 4, 2)
    assert [row[1] for row in picture.rows] == [" ", "×"]
    assert [row[2] for row in picture.rows] == ["∞", " "]
    assert [row[3] for row in picture.rows] == ["∞", "×"]
    assert (picture.inks[1][1], picture.inks[0][2]) == (NAN, INF)


def test_a_nan_in_a_slice_with_finite_points_is_marked_too() -> None:
    picture = draw([Bin(0.9, 1.0, 1.0, 1, 0)], UNIT, 1, 3)
    assert picture.rows[0] != " "
    assert picture.rows[2] == "×"


def test_what_lies_beyond_the_axis_is_marked_with_its_value() -> None:
    picture = draw([point(0.2)] * 12 + [point(25_237.0), EMPTY], UNIT, 7, 3, label=lambda value: f"{value:.0f}")
    assert picture.rows[0] == " 25237▲"
    assert picture.inks[0] == " zzzzzz".replace("z", OUTLIER)
    assert draw([point(0.5), EMPTY, point(-9.0)], UNIT, 2, 2).rows[1][1] == "▼"


def test_on_a_log_axis_what_is_not_positive_is_marked_at_the_bottom() -> None:
    picture = draw([point(1.0), point(1.0), point(0.0), point(-2.0)], Scale(0.1, 10.0, log=True), 2, 3)
    assert (picture.rows[2][1], picture.inks[2][1]) == ("▽", NONPOSITIVE)


def test_a_curve_behind_shows_only_where_the_curve_leaves_room_and_looks_different() -> None:
    low, high = [point(0.0)] * 4, [point(1.0)] * 4
    picture = draw(low, UNIT, 2, 2, behind=[high, low])
    assert picture.inks == (FAINT * 2, CURVE * 2)
    assert picture.rows[0] != draw(high, UNIT, 2, 2).rows[0], "told apart without colour"


def test_companion_points_lie_over_the_curve() -> None:
    picture = draw([point(0.0)] * 4, UNIT, 2, 1, points=[point(0.0), EMPTY, bad(nan=1)])
    assert picture.rows == ("•×",)
    assert picture.inks == (POINT * 2,)


def test_vertical_lines_fill_free_cells_and_the_cursor_marks_the_curve_it_crosses() -> None:
    picture = draw([point(0.0)] * 4, UNIT, 2, 2, lines={0: FAILURE, 1: CURSOR})
    assert picture.rows[0] == "┊│"
    assert picture.inks == (FAILURE + CURSOR, CURVE + UNDER_CURSOR)


def test_ascii_pictures_hold_nothing_but_ascii() -> None:
    slices = [point(k / 9) for k in range(10)] + [bad(1, 1), EMPTY, point(9.0), point(-9.0)]
    lines = {0: FAILURE, 1: CURSOR}
    picture = draw(slices, UNIT, 8, 4, behind=[slices], points=slices, lines=lines, glyphs=ASCII, label=str)
    assert all(row.isascii() for row in picture.rows)
    for mark in "xi^v":
        assert any(mark in row for row in picture.rows), mark


def test_every_braille_cell_holds_the_dots_of_its_two_halves() -> None:
    assert BRAILLE.cells[0] == " "
    assert BRAILLE.cells[15] == "⡇"
    assert BRAILLE.cells[15 << 4] == "⢸"
    assert BRAILLE.cells[255] == "⣿"
    assert len(set(BRAILLE.cells)) == 256


@pytest.mark.parametrize("size", [(0, 5), (5, 0), (-1, 3)])
def test_no_room_is_no_picture(size: tuple[int, int]) -> None:
    assert draw([point(1.0)], UNIT, *size).rows == ()


def test_a_spike_of_one_step_survives_any_reduction() -> None:
    from tuimon.store import Column

    column = Column("loss")
    for step in range(5000):
        column.append(step, 1.6 if step == 3_217 else 1.0)
    for dots in (10, 40, 158, 400):
        bins = column.bins(0, 4999, dots)
        picture = draw(bins, Scale(1.0, 2.0), dots // 2, 8)
        where = min(3_217 * dots // 4999, dots - 1) // 2
        assert picture.inks[8 - 1 - 4][where] == CURVE, dots


numbers = st.one_of(st.floats(allow_nan=False, allow_infinity=False), st.sampled_from([0.0, 1e308, -1e308, 5e-324]))


@st.composite
def slices(drawn: st.DrawFn) -> list[Bin]:
    made = []
    for _ in range(drawn(st.integers(0, 30))):
        nan, inf = drawn(st.integers(0, 2)), drawn(st.integers(0, 2))
        if drawn(st.booleans()):
            low, high = sorted((drawn(numbers), drawn(numbers)))
            made.append(Bin(low, high, high, nan, inf))
        else:
            made.append(bad(nan, inf))
    return made


@settings(max_examples=200, deadline=None)
@given(
    slices(),
    slices(),
    st.integers(1, 12),
    st.integers(1, 6),
    st.integers(1, 9),
    st.booleans(),
    st.booleans(),
    st.dictionaries(st.integers(0, 11), st.sampled_from([CURSOR, FAILURE])),
)
def test_whatever_is_drawn_the_picture_has_its_size_and_no_strange_character(
    curve: list[Bin],
    other: list[Bin],
    width: int,
    height: int,
    stride: int,
    log: bool,
    plain: bool,
    lines: dict[int, str],
) -> None:
    scale = limits([curve, other], log=log)
    glyphs = ASCII if plain else BRAILLE
    room = -(-2 * width // stride)
    picture = draw(
        curve,
        scale,
        width,
        height,
        stride=stride,
        behind=[other],
        points=other[:room],
        lines=lines,
        glyphs=glyphs,
        label=str,
    )
    assert [len(row) for row in picture.rows] == [width] * height
    assert [len(row) for row in picture.inks] == [width] * height
    assert all(row.isprintable() for row in picture.rows)
    if any(piece.nan for piece in curve[:room]):
        assert any(NAN in ink or POINT in ink for ink in picture.inks)


def test_values_at_the_ends_of_what_a_float_holds_do_not_raise() -> None:
    curve = [point(value) for value in (1.7e308, -1.7e308, 5e-324, math.pi)]
    for log in (False, True):
        assert draw(curve, limits([curve], log=log), 6, 3)


def test_the_value_of_an_outlier_stands_beside_all_marks_that_stand_together() -> None:
    picture = draw([point(0.2)] * 12 + [point(9.0), EMPTY, point(40.0), EMPTY], UNIT, 8, 3, label=lambda v: f"{v:.0f}")
    assert picture.rows[0].endswith("40▲▲")
    picture = draw([point(9.0), EMPTY, point(40.0), EMPTY] + [point(0.2)] * 12, UNIT, 8, 3, label=lambda v: f"{v:.0f}")
    assert picture.rows[0].startswith("▲▲40")
