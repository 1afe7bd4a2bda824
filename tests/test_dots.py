"""Strokes that are drawn again: what is kept of the last ones is what a new drawing would have there."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tuimon.dots import Dots, strokes
from tuimon.scale import Scale
from tuimon.store import Bin

LEVELS = st.floats(-2, 12, allow_nan=False)


@st.composite
def pieces(draw: st.DrawFn) -> Bin:
    """A slice: with points, with none, or with nothing but non-finite ones."""
    kind = draw(st.sampled_from(("points", "points", "points", "none", "nan")))
    if kind != "points":
        return Bin(None, None, None, int(kind == "nan"), 0)
    low, high = sorted((draw(LEVELS), draw(LEVELS)))
    return Bin(low, high, high, draw(st.integers(0, 1)), 0)


CURVES = st.lists(pieces(), min_size=1, max_size=12)


@given(CURVES, st.data(), st.sampled_from((1, 2, 5)), st.booleans())
def test_redrawing_after_any_changes_is_drawing_anew(
    curve: list[Bin], data: st.DataObject, stride: int, log: bool
) -> None:
    scale = Scale(0.5, 10.0, log)
    width = 2 * len(curve) * stride
    dots = Dots()
    dots.take(curve, scale, 16, stride, width)
    for _ in range(4):
        before = dots.masks
        curve = list(curve)
        for place in data.draw(st.lists(st.integers(0, len(curve) - 1), max_size=3)):
            curve[place] = data.draw(pieces())
        kept = dots.take(curve, scale, 16, stride, width)
        assert dots.masks == strokes(curve, scale, 16, stride, width)
        assert dots.masks[:kept] == before[:kept]


@given(CURVES, CURVES, st.sampled_from(((8, 1), (16, 2))))
def test_on_another_scale_or_size_nothing_is_kept(one: list[Bin], other: list[Bin], form: tuple[int, int]) -> None:
    dots = Dots()
    dots.take(one, Scale(0.0, 10.0), 16, 1, 24)
    height, stride = form
    assert dots.take(other, Scale(0.0, 5.0), height, stride, 24) <= 1
    assert dots.masks == strokes(other, Scale(0.0, 5.0), height, stride, 24)


def test_an_appended_point_redraws_the_columns_behind_the_last_one() -> None:
    empty = Bin(None, None, None, 0, 0)
    curve = [Bin(float(k), float(k), float(k), 0, 0) for k in range(8)] + [empty] * 4
    dots = Dots()
    assert dots.take(curve, Scale(0.0, 10.0), 16, 1, 12) == 0
    assert dots.take([*curve[:8], Bin(3.0, 3.0, 3.0, 0, 0), *curve[9:]], Scale(0.0, 10.0), 16, 1, 12) == 8
    assert dots.take(curve, Scale(0.0, 10.0), 16, 1, 12) == 8
    assert dots.take(list(curve), Scale(0.0, 10.0), 16, 1, 12) == 12
