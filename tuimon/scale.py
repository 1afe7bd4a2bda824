"""Both axes of a picture: which steps a column stands for, and where a value lies (stdlib only, pure functions).

Both are sticky: an appended point moves them only when it has to, so that it changes the last cells and no others.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from tuimon.numerals import nice_step

if TYPE_CHECKING:
    from tuimon.dots import Slice

# Dot columns per slice, and steps per slice: (40, 1) are the longest strides of a young run, (3, 4) three dots for four
# steps, and so on by powers of ten. Each pair holds a quarter more steps than the one before, so that a picture is at
# least three quarters full, and a growing run moves its axis no more than three times while it doubles.
_STRIDES = (40, 30, 24, 20, 15, 12, 10, 8, 6, 5, 4, 3, 2)
_FRACTIONS = ((3, 2), (1, 1), (3, 4), (3, 5))
_WIDTHS = (20, 25, 30, 40, 50, 60, 80, 100, 120, 150)
# Largest magnitude on an axis: twice that is still a number.
_LARGEST = 8e307


class Grid(NamedTuple):
    """The x axis: `count` equal slices of the steps low..high, the dot columns `stride` apart."""

    low: int
    high: int
    slices: int
    stride: int

    def column(self, step: int) -> int | None:
        """The cell column of a step, None outside."""
        if not self.low <= step <= self.high:
            return None
        return self.slice_of(step) * self.stride // 2

    def slice_of(self, step: int) -> int:
        """The index of the slice that holds a step inside."""
        return min((step - self.low) * self.slices // max(self.high - self.low, 1), self.slices - 1)

    def step(self, column: int) -> int:
        """The first step of a cell column."""
        k = min(-(-2 * column // self.stride), self.slices - 1)
        return self.low - (-max(self.high - self.low, 1) * k // self.slices)


def fixed_grid(low: int, high: int, dots: int) -> Grid:
    """Exactly the steps low..high in `dots` dot columns."""
    span = max(high - low + 1, 1)
    if span >= dots:
        return Grid(low, high, max(dots, 1), 1)
    stride = max(1, dots // span)
    if span * stride < dots * 9 // 10:
        # Whole dots per step would leave the right end empty: slices between two steps hold none, and are bridged.
        return Grid(low, high, dots, 1)
    return Grid(low, high, span, stride)


# The panels of a screen are as wide as each other, and all show the same steps.
@lru_cache(maxsize=16)
def live_grid(low: int, high: int, dots: int) -> Grid:
    """A grid for a growing run: round slice widths at multiples of themselves, with room at the right."""
    # One slice never holds a run that begins below step 0 and ends above it: its edges are multiples of its width.
    dots = max(dots, 2)
    for stride, width in _slices():
        count = dots // stride
        start = low // width * width
        if high - start + 1 <= width * count:
            return Grid(start, start + width * count - 1, count, stride)
    raise AssertionError("slices grow without end")


def tail_grid(low: int, high: int, dots: int) -> Grid:
    """A grid that holds the steps low..high and moves on by a sixth of the picture at a time."""
    dots = max(dots, 4)
    span = high - low + 1
    for stride, width in _slices():
        count = dots // stride
        spare = max(1, count // 6)
        if span <= width * (count - spare):
            hop = spare * width
            start = low // hop * hop
            return Grid(start, start + width * count - 1, count, stride)
    raise AssertionError("slices grow without end")


def _slices() -> Iterator[tuple[int, int]]:
    """(dot columns, steps) of a slice, from the fewest steps across to ever more."""
    yield from ((stride, 1) for stride in _STRIDES)
    yield from _FRACTIONS
    power = 1
    while True:
        yield from ((1, width * power // 10) for width in _WIDTHS if width * power % 10 == 0)
        power *= 10


class Scale(NamedTuple):
    """The y axis from low to high (low < high); on a log axis both are > 0."""

    low: float
    high: float
    log: bool = False

    def shows(self, value: float) -> bool:
        """Whether the axis has a place for such a value at all: a log axis has none for value <= 0."""
        return value > 0 or not self.log

    def level(self, value: float, dots: int) -> int:
        """The dot of a finite value, 0 (bottom) to dots - 1 (top); what lies outside is at the edge."""
        low, high = self.low, self.high
        if value >= high:
            return dots - 1
        if value <= low:
            return 0
        if self.log:
            # Differences of logarithms: a quotient of 1e58 and 1e-300 is no number any more.
            bottom = math.log(low)
            return round((math.log(value) - bottom) / (math.log(high) - bottom) * (dots - 1))
        return round((value - low) / (high - low) * (dots - 1))


def limits(
    curves: Sequence[Sequence[Slice]], before: Scale | None = None, *, log: bool = False, robust: bool = True
) -> Scale:
    """A y axis for these curves.

    Args:
        curves: what is drawn.
        before: the axis so far; it is kept while the curves lie inside and fill at least 60 % of it.
        log: a logarithmic axis; values <= 0 have no say.
        robust: leave out what lies more than 1.5 times the range of the other values away from them, so that one
            outlier does not flatten the curve. The outermost 2 % of the slices (at least one of five) count as others.
    """
    lows: list[float] = []
    highs: list[float] = []
    for curve in curves:
        for piece in curve:
            low, high = piece.low, piece.high
            if high is None or low is None or (log and high <= 0):
                continue
            highs.append(high)
            lows.append(low if low > 0 or not log else high)
    if not highs:
        return before if before is not None and before.log == log else Scale(0.1, 1.0, True) if log else Scale(0.0, 1.0)
    if log:
        lows, highs = [math.log10(value) for value in lows], [math.log10(value) for value in highs]
    low, high = _extent(lows, highs, robust)
    low, high = max(low, -_LARGEST), min(max(high, -_LARGEST), _LARGEST)
    low = min(low, high)
    if before is not None and before.log == log:
        edges = (math.log10(before.low), math.log10(before.high)) if log else (before.low, before.high)
        if edges[0] <= low and high <= edges[1] and high - low >= 0.6 * (edges[1] - edges[0]):
            return before
    return _rounded(low, high, log)


def _extent(lows: list[float], highs: list[float], robust: bool) -> tuple[float, float]:
    """Least and greatest value, without outliers."""
    lows.sort()
    highs.sort()
    low, high = lows[0], highs[-1]
    count = len(lows)
    if not robust or count < 5:
        return low, high
    trim = max(1, count // 50)
    inner_low, inner_high = lows[trim], highs[-1 - trim]
    span = inner_high - inner_low
    if not 0 < span < math.inf:
        # A curve that is flat but for a few slices: nothing is lost by showing them.
        return low, high
    if low < inner_low - 1.5 * span:
        low = next(value for value in lows if value >= inner_low - 1.5 * span)
    if high > inner_high + 1.5 * span:
        high = next(value for value in reversed(highs) if value <= inner_high + 1.5 * span)
    return low, high


def _rounded(low: float, high: float, log: bool) -> Scale:
    """The extent with a little air, at round values."""
    if log:
        # Powers below that are no full floats any more; such values stand at the bottom edge.
        low, high = max(low, -306.0), max(high, -306.0)
    if high - low <= 1e-12 * max(abs(low), abs(high)) or high - low < 1e-307:
        air = 0.5 if log else 0.1 * abs(high) or 1.0
        # A constant beyond the last round values still needs two different edges.
        low, high = low - air, high + air
    step = nice_step((high - low) / 8)
    floor = min(math.floor(low / step) * step, low)
    ceiling = max(math.ceil(high / step) * step, high)
    if log:
        return Scale(10.0 ** max(floor, -307.0), 10.0 ** min(ceiling, 308.0), True)
    return Scale(floor, ceiling)
