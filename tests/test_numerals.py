"""Numbers on axes and in titles."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tuimon.numerals import log_ticks, nice_step, power_text, step_text, step_ticks, tick_text, ticks, value_text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "-"),
        (math.nan, "nan"),
        (math.inf, "inf"),
        (-math.inf, "-inf"),
        (0.0, "0"),
        (-0.0, "0"),
        (2.3026, "2.303"),
        (2.0, "2.000"),
        (-1.5, "-1.500"),
        (0.001, "0.001000"),
        (3e-4, "3e-4"),
        (1.25e-5, "1.25e-5"),
        (9999.0, "9999"),
        (25_237.0, "25.24k"),
        (1_234_567.0, "1.235M"),
        (3e12, "3e12"),
        (1e300, "1e300"),
        (5e-324, "4.941e-324"),
    ],
)
def test_values_read_like_this(value: float | None, text: str) -> None:
    assert value_text(value) == text


@given(st.floats())
def test_a_value_is_short_and_close_to_the_number(value: float) -> None:
    text = value_text(value)
    assert len(text) <= 11
    if math.isfinite(value) and abs(value) < 9000 and "k" not in text:
        assert float(text) == pytest.approx(value, rel=1e-3, abs=1e-320)


@pytest.mark.parametrize(
    ("step", "text"),
    [(0, "0"), (950, "950"), (2412, "2412"), (25_000, "25k"), (1_250_000, "1.25M"), (76_980, "76.98k"), (-500, "-500")],
)
def test_steps_read_like_this(step: int, text: str) -> None:
    assert step_text(step) == text


@given(st.integers(-(10**15), 10**15))
def test_a_step_fits_under_an_axis(step: int) -> None:
    assert len(step_text(step)) <= 10


@pytest.mark.parametrize(
    ("rough", "nice"), [(1, 1), (1.1, 2), (2.1, 2.5), (3, 5), (7, 10), (0.03, 0.05), (1e-320, None)]
)
def test_a_nice_step_is_the_next_of_1_2_2_5_and_5(rough: float, nice: float | None) -> None:
    step = nice_step(rough)
    assert step == pytest.approx(nice) if nice else step > 0


def test_ticks_are_round_and_told_apart() -> None:
    assert [label for _, label in ticks(0.0, 1.0, 4)] == ["0", "0.25", "0.50", "0.75", "1.00"]
    assert [label for _, label in ticks(-0.5, 0.5, 2)] == ["-0.5", "0", "0.5"]
    assert [label for _, label in ticks(0, 30_000, 3)] == ["0", "10k", "20k", "30k"]


@given(st.floats(-1e300, 1e300), st.floats(1e-300, 1e300), st.integers(1, 12))
def test_ticks_lie_on_the_axis_and_no_two_labels_are_the_same(low: float, span: float, count: int) -> None:
    high = low + span
    if not low < high:
        return
    marks = ticks(low, high, count)
    assert len(marks) <= 4 * count + 2
    step = high - low
    assert all(low - step * 1e-3 <= value <= high + step * 1e-3 for value, _ in marks)
    if span > abs(low) * 1e-3:
        assert len({label for _, label in marks}) == len(marks)


@pytest.mark.parametrize(
    ("low", "high", "count", "labels"),
    [
        (0.01, 1000, 6, "0.01 0.1 1 10 100 1k"),
        (1, 6, 4, "1 2 5"),
        (0.1, 3, 6, "0.1 0.2 0.5 1 2"),
        (0.02, 12, 6, "0.03 0.1 0.3 1 3 10"),
        (0.02, 12, 4, "0.1 1 10"),
        (0.02, 12, 2, "0.020 12"),
        (1e-4, 1e-3, 4, "1e-4 2e-4 5e-4 1e-3"),
        (1.5, 4, 4, "2 3 4"),
        (1, 1.6, 4, "1.0 1.2 1.4 1.6"),
    ],
)
def test_a_log_axis_has_as_many_labels_of_each_decade_as_have_room(
    low: float, high: float, count: int, labels: str
) -> None:
    assert [label for _, label in log_ticks(low, high, count)] == labels.split()


@given(st.floats(-300, 300), st.floats(0.01, 600), st.integers(1, 12))
def test_ticks_of_a_log_axis_are_few_and_lie_on_it(bottom: float, decades: float, count: int) -> None:
    low, high = 10.0**bottom, 10.0 ** min(bottom + decades, 307.0)
    marks = log_ticks(low, high, count)
    assert len(marks) <= 4 * count + 2
    assert all(low * 0.999 <= value <= high * 1.001 for value, _ in marks)


def test_powers_are_written_out_where_that_is_short() -> None:
    assert [power_text(power) for power in (-9, -1, 0, 3, 9)] == ["1e-9", "0.1", "1", "1k", "1e9"]


def test_a_label_has_the_digits_that_tell_it_from_its_neighbour() -> None:
    assert tick_text(0.25, 0.25) == "0.25"
    assert tick_text(2.5, 2.5) == "2.5"
    assert tick_text(3e-4, 1e-4) == "3e-4"
    assert tick_text(1e-12, 1.0) == "0"


def test_step_ticks_are_round_whole_steps_inside() -> None:
    assert step_ticks(0, 1000, 4) == [0, 250, 500, 750, 1000]
    assert step_ticks(604, 626, 3) == [610, 620]
    assert step_ticks(5, 5, 3) == [5]
