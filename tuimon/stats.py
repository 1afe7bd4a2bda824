"""Running statistics: small, robust, in pure Python (stdlib only).

Scales here are robust: 1.4826 * MAD estimates the standard deviation of a normal sample and ignores up to half of the
points (Rousseeuw and Croux, 1993, JASA 88:1273).
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from functools import cache
from itertools import compress, islice, repeat
from operator import mul, sub
from statistics import NormalDist
from typing import NamedTuple

MAD_TO_SIGMA = 1.4826
"""Standard deviation of a normal sample over its median absolute deviation: 1 / Phi^-1(3/4)."""

FLOAT32_GRAIN = 1.2e-7
"""Relative spacing of 32-bit floats: a difference below it is not a difference, whatever the MAD says."""

TAIL_POINTS, TAIL_RANK, TAIL_SIGMAS = 32, 3, 1.4
"""Of 32 normal points the third largest lies 1.4 sigma above the middle; two outliers do not move it."""


IQR_TO_SIGMA = 1.349
"""Interquartile range of a normal sample over its standard deviation."""


class Level(NamedTuple):
    """A robust centre and scale, in the units of the sample."""

    middle: float
    sigma: float

    def z(self, value: float) -> float:
        """How many sigmas `value` lies above the middle."""
        return (value - self.middle) / self.sigma


class Sample(NamedTuple):
    """Values without their order in time.

    Attributes:
        ordered: all of them, sorted.
        newest: the last 32 of them (or as many as there are), sorted.
    """

    ordered: Sequence[float]
    newest: Sequence[float]

    def level(self) -> Level:
        """Median and 1.4826 * MAD, with a floor under the scale so that it is never zero.

        A log that rounds can make the MAD zero while the values still move: the floor is one step of the rounding grid,
        and at least the grain of a 32-bit float. The floor is in the units of the sample, so the result scales with it.

        Raises:
            IndexError: there are no values.
        """
        ordered = self.ordered
        count = len(ordered)
        middle = middle_of(ordered)
        sigma = MAD_TO_SIGMA * _deviation(ordered, middle)
        if sigma < 1e-3 * (ordered[-1] - ordered[0]) or sigma == 0.0:
            # More than half of the points agree: the MAD says nothing, the grid and the mean deviation do, without the
            # farthest sixteenth, which may be the start of what is to be told from noise.
            away = sorted([abs(value - middle) for value in ordered])
            kept = away[: max(1, count - count // 16)]
            sigma = max(sigma, grid_of(ordered), sum(kept) / len(kept))
        if count >= TAIL_POINTS:
            # A skewed sample, whose upper values lie far out as a rule, is wider upwards than its middle says; the
            # newest points say it, because those before may still come from a fall.
            sigma = max(sigma, (self.newest[-TAIL_RANK] - middle) / TAIL_SIGMAS)
        return Level(middle, max(sigma, FLOAT32_GRAIN * abs(middle), 1e-300))

    def log_level(self) -> Level | None:
        """Median and scale of the natural logarithms; None when not all values are positive.

        From the quartiles: few logarithms.

        Raises:
            IndexError: there are no values.
        """
        ordered = self.ordered
        count = len(ordered)
        if ordered[0] <= 0.0:
            return None
        middle = math.log(ordered[count // 2])
        quartiles = math.log(ordered[(3 * count) // 4]) - math.log(ordered[count // 4])
        sigma = max(quartiles / IQR_TO_SIGMA, FLOAT32_GRAIN)
        if count >= TAIL_POINTS:
            sigma = max(sigma, (math.log(self.newest[-TAIL_RANK]) - middle) / TAIL_SIGMAS)
        if quartiles <= 0.0:
            sigma = max(sigma, (math.log(ordered[-1]) - math.log(ordered[0])) / count)
        return Level(middle, sigma)


def sample_of(values: Iterable[float]) -> Sample:
    """The sample of values in the order of time."""
    values = list(values)
    return Sample(sorted(values), sorted(values[-TAIL_POINTS:]))


def level_of(values: Iterable[float]) -> Level:
    """The level of values in the order of time.

    Raises:
        IndexError: there are no values.
    """
    return sample_of(values).level()


def median(values: Iterable[float]) -> float:
    """The median; the mean of the two middle values for an even count.

    Raises:
        IndexError: there are no values.
    """
    return middle_of(sorted(values))


def middle_of(ordered: Sequence[float]) -> float:
    """The median of a sorted sample.

    Raises:
        IndexError: there are no values.
    """
    half = len(ordered) // 2
    return ordered[half] if len(ordered) % 2 else 0.5 * (ordered[half - 1] + ordered[half])


def _deviation(ordered: Sequence[float], middle: float) -> float:
    """The median distance from the middle, without sorting again: the nearer half are neighbours in a sorted sample."""
    count = len(ordered)
    half = count // 2
    first, end = 0, count - half
    while first < end:
        i = (first + end) // 2
        if middle - ordered[i] > ordered[i + half] - middle:
            first = i + 1
        else:
            end = i
    following = ordered[first + half] - middle if first + half < count else math.inf
    if first:
        following = min(following, middle - ordered[first - 1])
    if count % 2:
        return following
    return 0.5 * (max(middle - ordered[first], ordered[first + half - 1] - middle) + following)


def grid_of(ordered: Sequence[float]) -> float:
    """The least positive difference between neighbours of a sorted sample: its rounding grid, if it was rounded."""
    steps = [step for step in map(sub, ordered[1:], ordered) if step > 0]
    return min(steps, default=0.0)


def slope(values: Sequence[float]) -> tuple[float, float]:
    """Least-squares slope per point and its t value (0 where the fit is exact or has fewer than three points).

    The t value takes the residuals as independent; where they are not, `thinned` blocks make them nearly so.
    """
    count = len(values)
    if count < 3:
        return 0.0, 0.0
    centre = (count - 1) / 2
    mean = math.fsum(values) / count
    sxx = count * (count * count - 1) / 12
    sxy = math.fsum(map(mul, [i - centre for i in range(count)], values))
    gradient = sxy / sxx
    rest = math.fsum([(value - mean - gradient * (i - centre)) ** 2 for i, value in enumerate(values)])
    error = math.sqrt(max(rest, 0.0) / (count - 2) / sxx)
    if error <= FLOAT32_GRAIN * abs(mean) / count:
        flat = abs(gradient) * count <= FLOAT32_GRAIN * abs(mean)
        return gradient, 0.0 if flat else math.copysign(math.inf, gradient)
    return gradient, gradient / error


def autocorrelation(values: Sequence[float]) -> float:
    """Lag-1 autocorrelation, between -1 and 1; 0 where the values do not vary."""
    count = len(values)
    if count < 3:
        return 0.0
    mean = sum(values) / count
    parts = list(map(sub, values, repeat(mean)))
    spread: float = sum(map(mul, parts, parts))
    if spread <= 0.0 or spread <= (FLOAT32_GRAIN * mean) ** 2 * count:
        return 0.0
    return float(sum(map(mul, parts, islice(parts, 1, None)))) / spread


def mann_kendall(values: Sequence[float]) -> float:
    """Normal score of the Mann-Kendall trend test: positive for a rise (Mann 1945; Kendall 1975, with ties)."""
    count = len(values)
    if count < 4:
        return 0.0
    total = 0
    seen: list[float] = []
    ties: dict[float, int] = {}
    for value in values:
        place = bisect_left(seen, value)
        equal = ties.get(value, 0)
        total += place - (len(seen) - place - equal)
        ties[value] = equal + 1
        seen.insert(place, value)
    variance = count * (count - 1) * (2 * count + 5)
    if len(ties) < count:
        variance -= sum([t * (t - 1) * (2 * t + 5) for t in ties.values()])
    if variance <= 0:
        return 0.0
    return (total - (total > 0) + (total < 0)) / math.sqrt(variance / 18)


def order_score(values: Sequence[float]) -> float:
    """Normal score of the exact chance of as many rising pairs in any order (Kendall 1938, Biometrika 30:81).

    Shows what the normal limit of `mann_kendall` hides below some twelve values: six of six in order are a chance of
    1 in 720, and 3.0 instead of 2.6. Equal values make no pair, which errs on the side of no trend.
    """
    count = len(values)
    total = sum((b > a) - (b < a) for i, a in enumerate(values) for b in values[i + 1 :])
    falling = (count * (count - 1) // 2 - abs(total)) // 2
    chance = sum(_orders(count)[: falling + 1]) / math.factorial(count)
    return math.copysign(max(0.0, NormalDist().inv_cdf(1.0 - chance)), total) if 0.0 < chance < 1.0 else 0.0


@cache
def _orders(count: int) -> tuple[int, ...]:
    """How many orders of `count` values have 0, 1, 2, ... falling pairs."""
    if count < 2:
        return (1,)
    fewer = _orders(count - 1)
    return tuple(sum(fewer[max(0, pairs - count + 1) : pairs + 1]) for pairs in range(len(fewer) + count - 1))


def rank_sum(one: Sequence[float], other: Sequence[float]) -> float:
    """Normal score of the rank-sum test: positive where `one` tends to be larger (Mann and Whitney 1947, no ties)."""
    ordered = sorted(other)
    larger = sum(bisect_left(ordered, value) for value in one)
    m, n = len(one), len(other)
    return (larger - m * n / 2) / math.sqrt(m * n * (m + n + 1) / 12)


def poisson_tail(count: int, expected: float) -> float:
    """P(N >= count) for a Poisson variable with mean `expected`."""
    if count <= 0:
        return 1.0
    term = below = math.exp(-expected)
    for k in range(1, count):
        term *= expected / k
        below += term
    return max(0.0, 1.0 - below)


def thinned(values: Sequence[float], parts: int) -> list[float]:
    """Means of `parts` equal consecutive blocks (the remainder at the front is left out)."""
    size = len(values) // parts
    if size == 0:
        return list(values)
    start = len(values) - size * parts
    return [math.fsum(values[i : i + size]) / size for i in range(start, len(values), size)]


def all_finite(values: Sequence[float]) -> bool:
    """Whether no value is NaN or infinite (an overflowing sum of finite values is looked at one by one)."""
    return math.isfinite(sum(values)) or all(map(math.isfinite, values))


def present(steps: Sequence[int], values: Sequence[float | None]) -> tuple[Sequence[int], Sequence[float]]:
    """Steps and values without the records that lack the metric."""
    there = [value is not None for value in values]
    return list(compress(steps, there)), list(compress(values, there))  # type: ignore[arg-type]
