"""The store: exact points, extremes of any window, passes, and bounded memory."""

from __future__ import annotations

import math
from array import array
from itertools import accumulate, cycle, islice

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tuimon.store
from tuimon.record import Batch
from tuimon.store import Bin, Column, Store

NAN, INF = math.nan, math.inf
POINTS = st.lists(
    st.tuples(st.integers(1, 6), st.one_of(st.floats(-100, 100), st.sampled_from([NAN, INF, -INF]))),
    min_size=1,
    max_size=400,
)


def walked(points: list[tuple[int, float]]) -> list[tuple[int, float]]:
    """Steps from gaps."""
    step, result = 0, []
    for gap, value in points:
        step += gap
        result.append((step, value))
    return result


def expected(points: list[tuple[int, float]], low: int, high: int, count: int) -> list[Bin]:
    """The bins by their definition."""
    span, result = max(high - low, 1), []
    for k in range(count):
        start = low + math.ceil(span * k / count)
        end = low + math.ceil(span * (k + 1) / count) if k < count - 1 else high + 1
        values = [value for step, value in points if start <= step < end]
        finite = [value for value in values if math.isfinite(value)]
        nan = sum(value != value for value in values)
        last = finite[-1] if finite else None
        result.append(
            Bin(min(finite, default=None), max(finite, default=None), last, nan, len(values) - len(finite) - nan)
        )
    return result


@given(POINTS, st.integers(0, 1500), st.integers(1, 1500), st.integers(1, 60), st.integers(0, 300))
@settings(deadline=None)
def test_bins_are_the_extremes_of_their_slice(
    points: list[tuple[int, float]], low: int, width: int, count: int, early: int
) -> None:
    column, steps = Column("loss"), walked(points)
    for i, (step, value) in enumerate(steps):
        if i == early:
            column.bins(0, 100, 5)  # a picture drawn in between must not matter
        column.append(step, value)
    assert column.bins(low, low + width, count) == expected(steps, low, low + width, count)


@given(POINTS, st.lists(st.integers(0, 400), max_size=5))
@settings(deadline=None)
def test_the_store_does_not_depend_on_where_batches_end(points: list[tuple[int, float]], cuts: list[int]) -> None:
    steps, values = zip(*walked(points), strict=True)
    batch = Batch(list(steps), [None] * len(steps), {"loss": list(values)})
    whole, parts = Store(), Store()
    whole.append(batch)
    edges = sorted({0, len(batch), *(cut for cut in cuts if cut < len(batch))})
    for low, high in zip(edges, edges[1:], strict=False):
        parts.append(batch.slice(low, high))
    one, other = whole.columns["loss"], parts.columns["loss"]
    assert one.passes[0].steps == other.passes[0].steps
    assert repr(one.passes[0].values) == repr(other.passes[0].values)
    assert (one.count, one.non_finite, one.best, one.best_step) == (
        other.count,
        other.non_finite,
        other.best,
        other.best_step,
    )


def test_records_that_lack_a_metric_leave_no_point() -> None:
    store = Store()
    store.append(Batch([1, 2, 3], [None] * 3, {"loss": [1.0, None, 3.0], "lr": [None, None, None]}))
    assert list(store.columns["loss"].passes[0].steps) == [1, 3]
    assert "lr" not in store.columns


def test_a_rewind_starts_a_pass_and_keeps_the_earlier_one() -> None:
    store = Store()
    store.append(Batch([1, 2, 3, 2, 3], [None] * 5, {"loss": [5.0, 4.0, 3.0, 9.0, 8.0]}))
    column = store.columns["loss"]
    assert [list(walk.values) for walk in column.passes] == [[5.0, 4.0, 3.0], [9.0, 8.0]]
    assert store.rewinds == [2]
    assert column.window(0, 10, 0)[1] == array("d", [5.0, 4.0, 3.0])


def test_a_second_value_of_a_step_replaces_only_a_finite_one() -> None:
    column = Column("loss")
    for step, value in ((1, 5.0), (1, 4.0), (2, NAN), (2, 3.0)):
        column.append(step, value)
    assert column.at(1) == 4.0
    assert math.isnan(column.at(2) or 0.0)


def test_best_skips_nan_and_last_does_not() -> None:
    store = Store()
    store.append(Batch([1, 2, 3], [None] * 3, {"loss": [2.0, NAN, -INF]}))
    column = store.columns["loss"]
    assert (column.best, column.best_step, column.non_finite, column.last) == (2.0, 1, 2, -INF)


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tuimon.store, "EXACT", 64)


@pytest.mark.usefixtures("small")
def test_old_points_become_extremes_and_no_non_finite_value_is_lost() -> None:
    column = Column("loss")
    for step in range(1000):
        column.append(step, NAN if step == 5 else INF if step == 77 else 50.0 if step == 300 else math.sin(step))
    walk = column.passes[0]
    assert walk.dropped > 0
    assert len(walk.steps) < 130
    bins = column.bins(0, 999, 10)
    assert (sum(b.nan for b in bins), sum(b.inf for b in bins)) == (1, 1)
    assert max(b.high for b in bins if b.high is not None) == 50.0
    steps, values = column.window(0, 999)
    assert list(steps) == sorted(steps)
    assert 50.0 in values
    assert any(value != value for value in values)
    assert column.at(301) is not None
    assert column.first_step == 0


@pytest.mark.usefixtures("small")
def test_a_coarse_column_counts_like_an_exact_one_on_whole_groups() -> None:
    column, points = Column("loss"), [(step, math.cos(step)) for step in range(2000)]
    for step, value in points:
        column.append(step, value)
    for low, high in ((0, 799), (160, 959), (1600, 1999)):
        for mine, theirs in zip(column.bins(low, high, 1), expected(points, low, high, 1), strict=True):
            assert (mine.low, mine.high, mine.last) == (theirs.low, theirs.high, theirs.last)


def test_a_log_whose_steps_jump_about_keeps_the_newest_passes() -> None:
    column = Column("loss")
    for step in range(1000, 0, -1):
        column.append(step, 1.0)
    assert len(column.passes) == tuimon.store.PASSES


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("strides", [[1], [3], [1, 2], [1] * 200 + [5] * 200 + [10**12]])
def test_old_steps_are_found_whether_regular_or_not(strides: list[int]) -> None:
    steps = list(accumulate(islice(cycle(strides), 1000)))
    store = Store()
    for start in range(0, 1000, 50):
        losses = [float(i) for i in range(start, start + 50)]
        store.append(Batch(steps[start : start + 50], [None] * 50, {"loss": losses}))
    column = store.columns["loss"]
    assert column.first_step == steps[0]
    for group in range(0, 800, 8):
        assert column.at(steps[group]) == group + 7  # the last of its group
        assert column.window(steps[group], steps[group + 7])[1].tolist() == [group, group + 7]
