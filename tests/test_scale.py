"""Both axes: where a step and a value lie, and that they stay there."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tuimon.scale import Grid, Scale, fixed_grid, limits, live_grid, tail_grid
from tuimon.store import Bin


def curve(*values: float) -> list[Bin]:
    return [Bin(value, value, value, 0, 0) for value in values]


def test_a_fixed_grid_holds_exactly_its_steps() -> None:
    assert fixed_grid(10, 19, 100) == Grid(10, 19, 10, 10)
    assert fixed_grid(0, 999, 100) == Grid(0, 999, 100, 1)
    assert fixed_grid(5, 5, 10) == Grid(5, 5, 1, 10)


@settings(max_examples=200)
@given(st.integers(-(10**6), 10**9), st.integers(0, 10**7), st.integers(1, 400))
def test_live_and_tail_grids_hold_the_run(low: int, span: int, dots: int) -> None:
    for grid in (live_grid(low, low + span, dots), tail_grid(low, low + span, dots)):
        assert grid.low <= low
        assert grid.high >= low + span
        assert grid.slices * grid.stride <= max(dots, 4)


def test_a_live_grid_stays_while_the_run_grows_into_its_room() -> None:
    grids = {live_grid(0, last, 100) for last in range(100, 1000)}
    assert len(grids) <= 10


@pytest.mark.parametrize("dots", [44, 106, 180, 300])
def test_no_picture_has_an_empty_right_half(dots: int) -> None:
    for span in [*range(8, 600), *range(600, 60_000, 77)]:
        for grid, last, least in (
            (live_grid(0, span - 1, dots), span - 1, 2 / 3),
            (tail_grid(60_000 - span, 59_999, dots), 59_999, 0.6),
            (fixed_grid(0, span - 1, dots), span - 1, 0.85),
        ):
            assert (grid.slice_of(last) + 1) * grid.stride >= least * dots - 4, (span, grid)


@settings(max_examples=200)
@given(st.integers(0, 10**6), st.integers(0, 10**6), st.integers(2, 300), st.data())
def test_a_column_begins_with_the_step_that_it_names(low: int, span: int, dots: int, data: st.DataObject) -> None:
    grid = fixed_grid(low, low + span, dots)
    step = data.draw(st.integers(low, low + span))
    column = grid.column(step)
    assert column is not None
    assert 0 <= column < max(-(-dots // 2), 1)
    assert grid.step(column) <= step
    assert grid.column(low - 1) is None
    assert grid.column(low + span + 1) is None


def test_levels_go_from_the_bottom_dot_to_the_top_dot() -> None:
    scale = Scale(1.0, 3.0)
    assert [scale.level(value, 5) for value in (-9, 1, 2, 3, 9)] == [0, 0, 2, 4, 4]
    log = Scale(0.01, 100.0, log=True)
    assert [log.level(value, 5) for value in (0.01, 0.1, 1, 10, 100)] == [0, 1, 2, 3, 4]
    assert not log.shows(0.0)
    assert not log.shows(-1.0)


def test_a_log_axis_bears_any_two_numbers() -> None:
    scale = Scale(1e-300, 1e300, log=True)
    assert scale.level(1.0, 101) == 50


def test_limits_hold_the_curve_with_round_ends() -> None:
    scale = limits([curve(0.13, 0.57, 0.92)])
    assert scale.low <= 0.13
    assert scale.high >= 0.92
    assert (scale.low, scale.high) == pytest.approx((0.1, 1.0), abs=0.11)


def test_one_outlier_does_not_flatten_the_curve() -> None:
    values = [1.0 + 0.01 * (i % 7) for i in range(100)]
    values[40] = 25_237.0
    assert limits([curve(*values)]).high < 2
    assert limits([curve(*values)], robust=False).high >= 25_237


def test_a_curve_that_fell_from_high_up_is_no_outlier() -> None:
    scale = limits([curve(*[8 * math.exp(-i / 20) for i in range(100)])])
    assert scale.high >= 8


def test_the_axis_stays_while_the_curve_lies_inside_and_fills_it() -> None:
    before = limits([curve(0.0, 1.0)])
    assert limits([curve(0.0, 0.8, 0.9)], before) is before
    assert limits([curve(0.0, 1.5)], before) != before
    assert limits([curve(0.0, 0.1)], before) != before
    assert limits([curve(0.1, 0.9)], before, log=True).log


@pytest.mark.parametrize("log", [False, True])
def test_without_a_value_there_is_an_axis_all_the_same(log: bool) -> None:
    scale = limits([[], [Bin(None, None, None, 3, 1)]], log=log)
    assert scale.low < scale.high


@settings(max_examples=300)
@given(
    st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=20), st.booleans(), st.booleans()
)
def test_the_axis_is_always_a_real_range(values: list[float], log: bool, robust: bool) -> None:
    scale = limits([curve(*values)], log=log, robust=robust)
    assert math.isfinite(scale.low)
    assert math.isfinite(scale.high)
    assert scale.low < scale.high
    assert scale.log == log
    assert scale.low > 0 or not log
    for value in values:
        assert 0 <= scale.level(value, 40) < 40
