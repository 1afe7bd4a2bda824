"""Many values in few: what a run of evaluations looked like on the whole."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from tuimon.stats import median, order_score, thinned

ROOM = 128
"""Evaluations that are kept of a run, evenly spaced: they give its noise and its trends."""

PARTS = 12
"""Most parts since the minimum whose means make a trend: neighbours see nearly the same weights, and wander alike."""

LAGS = (1, 2, 4, 8)
"""Kept evaluations between the points of which noise is taken: what wanders slowly shows only further apart."""

PER_LAG = 8
"""Times a lag that there must be evaluations: the bend of a trend is small over an eighth of it. And a trend since the
minimum must last for that share of the run, as what wanders comes back from its extremes."""

BEND_TO_SIGMA = 1.21
"""Standard deviation of a normal series over the median distance of a point from the middle of its neighbours, which a
trend does not enter: 1 / (0.6745 * sqrt(1.5))."""


class Overview:
    """At most 128 values, evenly spaced over all that have come: every first, second, fourth, ... of them."""

    def __init__(self) -> None:
        self.values: list[float] = []
        self.count = 0
        self._stride = 1
        self._trend: float | None = None
        self._noise: float | None = None

    @property
    def passed(self) -> int:
        """How many of the next values will not be kept."""
        return -self.count % self._stride

    def append(self, value: float) -> None:
        """Takes in the next value."""
        self.extend(1, lambda _: value)

    def extend(self, count: int, value: Callable[[int], float]) -> None:
        """Takes in the next `count` values, of which `value` gives the one of that number when it is kept."""
        following, self.count = self.passed, self.count + count
        while following < count:
            stride, room = self._stride, ROOM - len(self.values)
            kept = range(following, count, stride)[:room]
            self.values.extend(map(value, kept))
            self._trend = self._noise = None
            if len(self.values) == ROOM:
                del self.values[1::2]
                self._stride *= 2
            following = kept[-1] + stride

    @property
    def trend(self) -> float:
        """Score of the order of the means of at most twelve equal parts, positive for a rise."""
        if self._trend is None:
            size = -(-len(self.values) // PARTS)
            self._trend = order_score(thinned(self.values, len(self.values) // max(size, 1))) if size else 0.0
        return self._trend

    @property
    def noise(self) -> float:
        """Sigma of one value, from the lag where it is greatest."""
        if self._noise is None:
            self._noise = max(noise_of(self.values, lag) for lag in LAGS)
        return self._noise


def noise_of(values: Iterable[float], lag: int) -> float:
    """Sigma of one of the `values` about those `lag` before and after it; zero where there are too few to say."""
    line = list(values)
    if len(line) < 3 or (lag > 1 and len(line) < PER_LAG * lag):
        return 0.0
    triples = zip(line, line[lag:], line[2 * lag :], strict=False)
    return BEND_TO_SIGMA * median([abs(middle - 0.5 * (before + after)) for before, middle, after in triples])
