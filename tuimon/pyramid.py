"""Extremes over any range of a growing column in logarithmic time."""

from __future__ import annotations

import math
from array import array
from collections.abc import Sequence
from typing import NamedTuple

FAN = 8
"""Points per group, and groups per group of the next level: one group is one cache line of floats."""


class Extremes(NamedTuple):
    """What a range of values spans; `low`, `high` and `last` tell of finite values only, None without any."""

    low: float | None = None
    high: float | None = None
    last: float | None = None
    nan: int = 0
    inf: int = 0


def extremes(values: Sequence[float]) -> Extremes:
    """The extremes of a few values, one by one."""
    if not values:
        return Extremes()
    if math.isfinite(sum(values)):
        return Extremes(min(values), max(values), values[-1])
    finite = [value for value in values if math.isfinite(value)]
    nan = sum(value != value for value in values)
    inf = len(values) - len(finite) - nan
    return Extremes(min(finite), max(finite), finite[-1], nan, inf) if finite else Extremes(nan=nan, inf=inf)


def joined(parts: Sequence[Extremes]) -> Extremes:
    """The extremes of neighbouring ranges as one."""
    if len(parts) == 1:
        return parts[0]
    lows = [part.low for part in parts if part.low is not None]
    highs = [part.high for part in parts if part.high is not None]
    last = next((part.last for part in reversed(parts) if part.last is not None), None)
    nan, inf = sum(part.nan for part in parts), sum(part.inf for part in parts)
    return Extremes(min(lows, default=None), max(highs, default=None), last, nan, inf)


class _Level:
    """Groups of one size. NaN stands for "no finite value" in the three columns of floats."""

    __slots__ = ("high", "inf", "last", "low", "nan")

    def __init__(self, size: int) -> None:
        """Groups of `size` points; a byte holds the counts of the many small ones."""
        self.low, self.high, self.last = array("d"), array("d"), array("d")
        counter = "B" if size < 256 else "I"
        self.nan, self.inf = array(counter), array(counter)

    def __len__(self) -> int:
        return len(self.low)

    def append(self, part: Extremes) -> None:
        self.low.append(math.nan if part.low is None else part.low)
        self.high.append(math.nan if part.high is None else part.high)
        self.last.append(math.nan if part.last is None else part.last)
        self.nan.append(part.nan)
        self.inf.append(part.inf)

    def extend(self, low: Sequence[float], high: Sequence[float], last: Sequence[float]) -> None:
        """One group per eight neighbours in parallel columns of finite values; none of their points is non-finite."""
        lows = _groups(low)
        highs = lows if high is low else _groups(high)
        self.low.extend([group[0] for group in lows])
        self.high.extend([group[-1] for group in highs])
        self.last.extend(last[FAN - 1 :: FAN])
        uncounted = bytes(self.nan.itemsize * (len(low) // FAN))
        self.nan.frombytes(uncounted)
        self.inf.frombytes(uncounted)

    def extend_from(self, below: _Level, start: int, stop: int) -> None:
        """One group per eight groups from `start` to `stop` of the level below."""
        low, high, last = (column[start:stop] for column in (below.low, below.high, below.last))
        if math.isfinite(sum(low)) and not any(below.nan[start:stop]) and not any(below.inf[start:stop]):
            self.extend(low, high, last)
        else:
            for first in range(start, stop, FAN):
                self.append(below.reduce(first, first + FAN))

    def reduce(self, start: int, stop: int) -> Extremes:
        """The extremes of groups `start` to `stop`."""
        low, high, last = (extremes(column[start:stop]) for column in (self.low, self.high, self.last))
        return Extremes(low.low, high.high, last.last, sum(self.nan[start:stop]), sum(self.inf[start:stop]))


def _groups(column: Sequence[float]) -> list[list[float]]:
    """Every eight neighbours, sorted: for floats that costs less than half of asking for their least and greatest."""
    values = list(column)
    return [sorted(values[start : start + FAN]) for start in range(0, len(values), FAN)]


class Pyramid:
    """Extremes of groups of 8, 64, 512, ... points of one column."""

    def __init__(self) -> None:
        self._levels: list[_Level] = [_Level(FAN)]

    @property
    def covered(self) -> int:
        """Points whose group of 8 is complete and known."""
        return len(self._levels[0]) * FAN

    def grow(self, values: Sequence[float]) -> None:
        """Takes in the next values; their number must be a multiple of 8."""
        base = self._levels[0]
        if math.isfinite(sum(values)):
            base.extend(values, values, values)
        else:
            for start in range(0, len(values), FAN):
                base.append(extremes(values[start : start + FAN]))
        self._lift()

    def _lift(self) -> None:
        for height, level in enumerate(self._levels):
            if len(level) < FAN:
                return
            if height + 1 == len(self._levels):
                self._levels.append(_Level(FAN ** (height + 2)))
            above = self._levels[height + 1]
            above.extend_from(level, len(above) * FAN, len(level) // FAN * FAN)

    def groups(self, start: int, stop: int) -> Extremes:
        """The extremes of the groups of 8 from `start` to `stop`."""
        parts: list[Extremes] = []
        tail: list[Extremes] = []
        for height, level in enumerate(self._levels):
            if start >= stop:
                break
            above = len(self._levels[height + 1]) if height + 1 < len(self._levels) else 0
            first = min(-(-start // FAN), above)
            last = min(stop // FAN, above)
            if first >= last:
                parts.append(level.reduce(start, stop))
                break
            if start < first * FAN:
                parts.append(level.reduce(start, first * FAN))
            if last * FAN < stop:
                tail.append(level.reduce(last * FAN, stop))
            start, stop = first, last
        return joined([*parts, *reversed(tail)]) if parts or tail else Extremes()

    def group(self, index: int) -> Extremes:
        """The extremes of one group of 8."""
        return self._levels[0].reduce(index, index + 1)
