"""Running statistics against their definitions and small exact computations."""

from __future__ import annotations

import math
import random
import statistics
from itertools import combinations, permutations
from statistics import NormalDist

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tuimon import stats

SAMPLES = st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=80)


@given(SAMPLES)
def test_the_median_is_the_textbook_one(values: list[float]) -> None:
    assert stats.median(values) == pytest.approx(statistics.median(values))


@given(
    st.lists(st.integers(-1000, 1000), min_size=1, max_size=80),
    st.sampled_from([0.25, 2.0, 1024.0]),
    st.integers(-64, 64),
)
def test_a_level_scales_and_shifts_with_its_sample(values: list[float], scale: float, shift: float) -> None:
    one, other = stats.level_of(values), stats.level_of([value * scale + shift for value in values])
    spread = max(values) - min(values)
    assert other.middle == pytest.approx(one.middle * scale + shift, abs=1e-6 * (1 + spread * scale))
    if spread > 1.0:
        assert other.sigma == pytest.approx(one.sigma * scale, rel=1e-3)


def test_the_scale_of_a_normal_sample_is_its_standard_deviation() -> None:
    rng = random.Random(1)
    level = stats.level_of([rng.gauss(3, 2) for _ in range(4001)])
    assert level.middle == pytest.approx(3, abs=0.1)
    assert 1.9 < level.sigma < 2.6


def test_outliers_do_not_move_a_level() -> None:
    rng = random.Random(1)
    values = [rng.gauss(0, 1) for _ in range(64)]
    with_spikes = [*values[:62], 1e9, 1e9]
    assert stats.level_of(with_spikes).sigma < 2 * stats.level_of(values).sigma


def test_a_skewed_sample_is_wide_upwards() -> None:
    values = [0.0] * 54 + [10.0] * 10
    assert stats.level_of([v for pair in zip(values[:32], values[32:], strict=True) for v in pair]).sigma > 5


@pytest.mark.parametrize("value", [0.0, 2.3026, -1e5, 1e-30])
def test_a_constant_sample_has_a_scale_above_zero(value: float) -> None:
    level = stats.level_of([value] * 64)
    assert level.sigma > 0
    assert level.z(value) == 0


def test_a_rounding_grid_is_the_least_scale_of_a_rounded_sample() -> None:
    values = [0.5] * 60 + [0.501, 0.499, 0.5, 0.501]
    assert stats.level_of(values).sigma >= 0.001 * 0.99
    assert stats.grid_of(sorted(values)) == pytest.approx(0.001)


def test_the_level_of_logarithms_is_free_of_scale() -> None:
    rng = random.Random(1)
    values = [math.exp(rng.gauss(0, 0.3)) for _ in range(64)]
    one, other = (stats.sample_of(sample).log_level() for sample in (values, [1e6 * value for value in values]))
    assert one is not None
    assert other is not None
    assert stats.sample_of([0.0, 1.0]).log_level() is None
    assert other.middle - one.middle == pytest.approx(math.log(1e6))
    assert other.sigma == pytest.approx(one.sigma)
    assert 0.2 < one.sigma < 0.5


def test_the_slope_and_its_t_value_are_those_of_least_squares() -> None:
    values = [1.0, 2.1, 2.9, 4.2, 5.0]
    gradient, t = stats.slope(values)
    fit = statistics.linear_regression(range(5), values)
    assert gradient == pytest.approx(fit.slope)
    rest = sum((y - fit.intercept - fit.slope * x) ** 2 for x, y in enumerate(values))
    assert t == pytest.approx(fit.slope / math.sqrt(rest / 3 / 10))
    assert stats.slope([1.0, 2.0]) == (0.0, 0.0)


def test_autocorrelation_tells_noise_alternation_and_a_running_mean() -> None:
    rng = random.Random(1)
    noise = [rng.gauss(0, 1) for _ in range(2000)]
    assert abs(stats.autocorrelation(noise)) < 0.06
    assert stats.autocorrelation([(-1.0) ** i for i in range(64)]) < -0.9
    assert stats.autocorrelation([sum(noise[i : i + 9]) for i in range(1990)]) > 0.8
    assert stats.autocorrelation([b - a for a, b in zip(noise, noise[1:], strict=False)]) == pytest.approx(
        -0.5, abs=0.05
    )
    assert stats.autocorrelation([2.5] * 30) == 0.0


def test_the_score_of_an_order_is_its_chance_among_all_orders() -> None:
    def rising(values: tuple[int, ...]) -> int:
        return sum(b > a for a, b in combinations(values, 2))

    values = (2, 1, 3, 4, 5, 6)
    orders = list(permutations(values))
    chance = sum(rising(order) >= rising(values) for order in orders) / len(orders)
    assert stats.order_score(values) == pytest.approx(NormalDist().inv_cdf(1 - chance))
    assert stats.order_score(values[::-1]) == -stats.order_score(values)
    assert stats.order_score([]) == stats.order_score([1.0]) == stats.order_score([2.0, 2.0, 2.0, 2.0]) == 0.0


def test_mann_kendall_of_seven_in_order_is_three_sigma() -> None:
    # S = 21, variance 7 * 6 * 19 / 18 (Kendall 1975).
    assert stats.mann_kendall([1, 2, 3, 4, 5, 6, 7]) == pytest.approx(20 / math.sqrt(7 * 6 * 19 / 18))
    assert stats.mann_kendall([7, 6, 5, 4, 3, 2, 1]) == pytest.approx(-20 / math.sqrt(7 * 6 * 19 / 18))
    assert stats.mann_kendall([1.0] * 10) == 0.0


@given(st.lists(st.integers(0, 5), min_size=4, max_size=30))
def test_mann_kendall_counts_pairs(values: list[int]) -> None:
    pairs = sum((b > a) - (b < a) for i, a in enumerate(values) for b in values[i + 1 :])
    score = stats.mann_kendall([float(value) for value in values])
    assert (score > 0) == (pairs > 1) or pairs in (0, 1) or score == 0.0
    assert (score < 0) == (pairs < -1) or pairs in (0, -1) or score == 0.0


def test_the_poisson_tail_is_one_minus_the_sum() -> None:
    assert stats.poisson_tail(0, 2.0) == 1.0
    assert stats.poisson_tail(3, 2.0) == pytest.approx(1 - math.exp(-2) * (1 + 2 + 2))
