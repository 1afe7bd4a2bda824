"""From columns to slices, kept from one picture to the next."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tuimon.panels.curve import Curve, grid_of, smoothed, value_at
from tuimon.panels.view import View
from tuimon.store import Bin, Column


def column(values: list[float], first: int = 0, name: str = "loss") -> Column:
    made = Column(name)
    for step, value in enumerate(values, first):
        made.append(step, value)
    return made


views = st.sampled_from(
    [View(), View(tail=20), View(low=3, high=30), View(low=5), View(log=True), View(smooth=2), View(overlay=True)]
)


@settings(max_examples=120, deadline=None)
@given(
    st.lists(st.integers(1, 12), min_size=1, max_size=12),
    views,
    st.integers(2, 90),
    st.lists(st.integers(0, 11), max_size=2),
)
def test_a_picture_of_a_growing_run_is_that_of_the_run_at_once(
    reads: list[int], view: View, dots: int, rewinds: list[int]
) -> None:
    growing = column([])
    curve = Curve()
    step = 0
    strokes = None
    for number, count in enumerate(reads):
        if number in rewinds:
            step = max(step - 5, 0)
        for _ in range(count):
            growing.append(step, math.sin(step) + 2 + number)
            step += 1
        last = max(walk.steps[-1] for walk in growing.passes)
        strokes = curve.strokes(growing, view, (0, last), dots)
    assert strokes is not None
    fresh = Curve().strokes(growing, view, (0, max(walk.steps[-1] for walk in growing.passes)), dots)
    assert strokes.grid == fresh.grid
    assert list(strokes.curve) == list(fresh.curve)
    assert [list(each) for each in strokes.behind] == [list(each) for each in fresh.behind]


def test_the_later_pass_is_the_curve_and_what_it_overtook_lies_behind() -> None:
    made = column([1.0] * 10)
    for step in range(6, 10):
        made.append(step, 5.0)
    strokes = Curve().strokes(made, View(), (0, 9), 10)
    assert [piece.last for piece in strokes.curve[:10]] == [1.0] * 6 + [5.0] * 4
    assert [piece.last for piece in strokes.behind[0][:10]] == [None] * 6 + [1.0] * 4


def test_smoothing_draws_the_raw_curve_behind() -> None:
    values = [1.0 + (-1) ** i for i in range(100)]
    strokes = Curve().strokes(column(values), View(smooth=3), (0, 99), 100)
    assert [piece.last for piece in strokes.behind[0][:100]] == values
    assert all(abs((piece.last or 0) - 1) < 0.2 for piece in strokes.curve[60:100])


def test_a_mean_begins_with_the_first_value_and_skips_what_is_not_finite() -> None:
    bins = [Bin(4.0, 4.0, 4.0, 0, 0), Bin(None, None, None, 1, 0), Bin(4.0, 4.0, 4.0, 0, 0)]
    means = smoothed(bins, 2)
    assert means[0].last == pytest.approx(4.0)
    assert means[1] == bins[1]
    assert means[2].last == pytest.approx(4.0)
    wide = smoothed([Bin(v, v, v, 0, 0) for v in (1.7e308, -1.7e308, 1.7e308)], 1)
    assert all(math.isfinite(piece.last or 0) for piece in wide)


def test_a_companion_is_drawn_only_on_request_and_shares_the_axis() -> None:
    loss, validation = column([1.0] * 20), column([9.0] * 20, name="val_loss")
    assert not Curve().strokes(loss, View(), (0, 19), 20, validation).points
    over = Curve().strokes(loss, View(overlay=True), (0, 19), 20, validation)
    assert over.points[3].last == 9.0
    assert over.scale.high >= 9
    shared = Curve().strokes(loss, View(share=True), (0, 19), 20, validation)
    assert not shared.points
    assert shared.scale.high >= 9


def test_the_axes_stay_while_points_come() -> None:
    made, curve = column([2.0, 1.0]), Curve()
    for step in range(2, 300):
        made.append(step, 1.0 + (step % 7) / 10)
    scales, grids = set(), set()
    for step in range(300, 500):
        made.append(step, 1.0 + (step % 7) / 10)
        strokes = curve.strokes(made, View(), (0, step), 200)
        scales.add(strokes.scale)
        grids.add(strokes.grid)
    assert len(scales) == 1
    assert len(grids) <= 3


def test_a_view_chooses_the_grid() -> None:
    assert grid_of(View(low=10, high=19), (0, 100), 40)[:2] == (10, 19)
    live = grid_of(View(), (0, 100), 40)
    assert live.low <= 0
    assert live.high >= 100
    tail = grid_of(View(tail=20), (0, 100), 40)
    assert tail.low > 40


def test_the_value_at_a_step_is_the_newest_at_or_before_it() -> None:
    made = column([1.0, 2.0, 3.0], first=10)
    assert value_at(made, 9) is None
    assert value_at(made, 11) == (11, 2.0)
    assert value_at(made, 99) == (12, 3.0)
    made.append(11, 7.0)
    assert value_at(made, 12) == (11, 7.0)
    assert value_at(made, 10) == (10, 1.0)


@pytest.mark.parametrize("level", [1, 2, 3])
@pytest.mark.parametrize("value", [3e-4, 0.1, 1e-3, -7.3, 0.0])
def test_smoothing_leaves_a_constant_as_it_is(value: float, level: int) -> None:
    curve = [Bin(value, value, value, 0, 0)] * 300
    assert {piece.low for piece in smoothed(curve, level)} == {value}
