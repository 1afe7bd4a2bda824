"""Columns of a run, kept so that any window of steps can be drawn cheaply."""

from __future__ import annotations

import math
import struct
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from operator import lt
from typing import Any, cast

from tuimon.pyramid import FAN, Extremes, Pyramid, extremes, joined
from tuimon.record import Batch

EXACT = 1 << 18
"""Newest points of a pass that stay single; beyond twice as many, the oldest become groups of 8 (10M points of four
metrics then take about 180 MB instead of 640)."""

AT_ONCE = 4096
"""Points that are grouped at once, as soon as they are older than the newest `EXACT`, which a picture groups when it
needs them: half a million at once would be an eighth of a second without an answer."""

PASSES = 256
"""Passes kept per metric: a log whose steps jump about must not exhaust memory; the first ones go."""

REWINDS = 10_000
"""Rewinds kept, for the same reason."""


@dataclass(frozen=True, slots=True)
class Bin:
    """The points of one horizontal slice of a picture; `low` and `high` are None where it has no finite point."""

    low: float | None
    high: float | None
    last: float | None
    nan: int
    inf: int


class Pass:
    """One walk over the steps without going back.

    Attributes:
        steps, values: parallel columns of increasing steps and their values: all points, or the newest of a long pass.
        dropped: points before those, known by groups of 8 only.
    """

    __slots__ = ("_pyramid", "_starts", "dropped", "steps", "values")

    def __init__(self) -> None:
        self.steps = array("q")
        self.values = array("d")
        self.dropped = 0
        self._pyramid = Pyramid()
        self._starts: range | array[int] = range(0)

    def __len__(self) -> int:
        return self.dropped + len(self.steps)

    def extend(self, steps: array[int], values: array[float]) -> None:
        """Adds points; the steps increase, and lie after the last one."""
        self.steps.extend(steps)
        self.values.extend(values)
        if len(self) - EXACT - self._pyramid.covered >= AT_ONCE:
            self._catch_up(EXACT)
        if len(self.steps) >= 2 * EXACT:
            self._coarsen()

    def _coarsen(self) -> None:
        """The older half of the single points goes; their groups stay."""
        self._catch_up(EXACT)
        self._starts = _followed(self._starts, self.steps[0:EXACT:FAN])
        del self.steps[:EXACT]
        del self.values[:EXACT]
        self.dropped += EXACT

    def _catch_up(self, newest: int = 1) -> None:
        """Completes the pyramid up to the `newest` points; a second value of a step may still replace the very last."""
        start = self._pyramid.covered - self.dropped
        stop = start + (len(self.values) - newest - start) // FAN * FAN
        if stop > start:
            self._pyramid.grow(self.values[start:stop])

    @property
    def first_step(self) -> int | None:
        """The first step, None without points."""
        return self._starts[0] if self._starts else self.steps[0] if self.steps else None

    def _index(self, step: int) -> int:
        """How many points lie before `step`; a multiple of 8 where only groups are known."""
        if self._starts and step < self.steps[0]:
            return bisect_left(self._starts, step) * FAN
        return self.dropped + bisect_left(self.steps, step)

    def between(self, low: int, high: int) -> Extremes:
        """The extremes of the points with low <= step < high."""
        return self._reduce(self._index(low), self._index(high))

    def _reduce(self, start: int, stop: int) -> Extremes:
        if stop - start <= 2 * FAN and start >= self.dropped:
            return extremes(self.values[start - self.dropped : stop - self.dropped])
        first, last = -(-start // FAN), min(stop, self._pyramid.covered) // FAN
        if first >= last:
            return extremes(self.values[max(start - self.dropped, 0) : stop - self.dropped])
        parts = [self._pyramid.groups(first, last)]
        if start < first * FAN:
            parts.insert(0, extremes(self.values[start - self.dropped : first * FAN - self.dropped]))
        if last * FAN < stop:
            parts.append(extremes(self.values[last * FAN - self.dropped : stop - self.dropped]))
        return joined(parts)

    def bins(self, low: int, high: int, count: int) -> list[Bin]:
        """`count` equal slices of the steps low..high."""
        self._catch_up()
        span = max(high - low, 1)
        edges = [low + -(-span * k // count) for k in range(count)]
        places = [self._index(edge) for edge in edges]
        places.append(self._index(high + 1))
        return [Bin(*self._reduce(places[k], max(places[k], places[k + 1]))) for k in range(count)]

    def window(self, low: int, high: int) -> tuple[Sequence[int], Sequence[float]]:
        """Steps and values with low <= step <= high; a group of 8 gives its extremes, and a NaN where it has any."""
        i, j = bisect_left(self.steps, low), bisect_right(self.steps, high)
        if not self._starts or (self.steps and low >= self.steps[0]):
            return self.steps[i:j], self.values[i:j]
        steps, values = array("q"), array("d")
        for group in range(bisect_left(self._starts, low), bisect_right(self._starts, high)):
            part = self._pyramid.group(group)
            points = [value for value in (part.low, part.high) if value is not None]
            points += [math.nan] * (part.nan > 0) + [math.inf] * (part.inf > 0)
            steps.extend([self._starts[group]] * len(points))
            values.extend(points)
        return steps + self.steps[i:j], values + self.values[i:j]

    def at(self, step: int) -> float | None:
        """The value at `step`, or the latest one before it."""
        i = bisect_right(self.steps, step)
        if i:
            return self.values[i - 1]
        group = bisect_right(self._starts, step)
        return self._pyramid.group(group - 1).last if group else None


@dataclass(slots=True)
class Column:
    """One metric. `passes[-1]` is the current pass; earlier ones were overtaken by a rewind.

    `best` is the least finite value, None while there is none.
    """

    name: str
    passes: list[Pass] = field(default_factory=lambda: [Pass()])
    count: int = 0
    non_finite: int = 0
    best: float | None = None
    best_step: int | None = None

    @property
    def first_step(self) -> int | None:
        """Where the metric first appears."""
        return self.passes[0].first_step

    @property
    def last_step(self) -> int | None:
        """Where it was last logged."""
        return self.passes[-1].steps[-1] if self.passes[-1].steps else None

    @property
    def last(self) -> float | None:
        """Its last value, finite or not."""
        return self.passes[-1].values[-1] if self.passes[-1].values else None

    def append(self, step: int, value: float) -> None:
        """Adds a value; a second value of one step replaces the first unless that one was non-finite."""
        walk = self.passes[-1]
        if walk.steps and step == walk.steps[-1]:
            if math.isfinite(walk.values[-1]):
                walk.values[-1] = value
                self._rate([step], [value])
            return
        if walk.steps and step < walk.steps[-1]:
            walk = Pass()
            self.passes.append(walk)
            del self.passes[:-PASSES]
        walk.extend(array("q", (step,)), array("d", (value,)))
        self.count += 1
        self._rate([step], [value])

    def extend(self, steps: array[int], floats: array[float], values: Sequence[float]) -> None:
        """Adds `floats` at increasing steps; `values` are the same in the list they came in, faster to look through."""
        walk = self.passes[-1]
        if walk.steps and steps[0] <= walk.steps[-1]:
            self.append(steps[0], values[0])
            steps, floats, values, walk = steps[1:], floats[1:], values[1:], self.passes[-1]
            if not steps:
                return
        walk.extend(steps, floats)
        self.count += len(values)
        self._rate(steps, values)

    def _rate(self, steps: Sequence[int], values: Sequence[float]) -> None:
        """Keeps the least value; non-finite ones are counted."""
        finite = values
        if not math.isfinite(sum(values)):
            finite = [value for value in values if math.isfinite(value)]
            self.non_finite += len(values) - len(finite)
            if not finite:
                return
        low = min(finite)
        if self.best is None or low < self.best:
            self.best, self.best_step = low, steps[values.index(low)]

    def window(self, low: int, high: int, walk: int = -1) -> tuple[Sequence[int], Sequence[float]]:
        """Steps and values of one pass with low <= step <= high."""
        return self.passes[walk].window(low, high)

    def at(self, step: int) -> float | None:
        """The value at `step` in the current pass, or the latest one before it."""
        return self.passes[-1].at(step)

    def bins(self, low: int, high: int, count: int, walk: int = -1) -> list[Bin]:
        """`count` equal slices of the steps low..high of one pass, in time O(count * log(points))."""
        return self.passes[walk].bins(low, high, count)


class Store:
    """Every metric of a run, by name, in order of first appearance."""

    def __init__(self) -> None:
        self.columns: dict[str, Column] = {}
        self.records = 0
        self.last_step: int | None = None
        self.rewinds: list[int] = []

    def append(self, batch: Batch, increasing: bool | None = None) -> None:
        """Takes in a batch; `increasing` says whether its steps increase, where that is known already."""
        steps = batch.steps
        if not steps:
            return
        if increasing is None:
            increasing = all(map(lt, steps, steps[1:]))
        whole = _packed("q", steps)
        for name, logged in batch.columns.items():
            there = whole
            values = cast("Sequence[float]", logged)
            try:
                floats = _packed("d", values)
            except struct.error:  # some record lacks the metric
                kept = [i for i, value in enumerate(logged) if value is not None]
                if not kept:
                    continue
                there = _packed("q", [steps[i] for i in kept])
                values = [values[i] for i in kept]
                floats = _packed("d", values)
            column = self.columns.get(name)
            if column is None:
                column = self.columns[name] = Column(name)
            if increasing:
                column.extend(there, floats, values)
            else:
                for step, value in zip(there, floats, strict=True):
                    column.append(step, value)
        if not increasing or (self.last_step is not None and steps[0] < self.last_step):
            self._go_back(steps)
        self.last_step = steps[-1]
        self.records += len(steps)

    def _go_back(self, steps: Sequence[int]) -> None:
        for step in steps:
            if self.last_step is not None and step < self.last_step and len(self.rewinds) < REWINDS:
                self.rewinds.append(step)
            self.last_step = step


def _packed(kind: str, values: Sequence[float]) -> array[Any]:
    """The values as an array of 64 bits each, three times as fast as the constructor of `array` makes one.

    Raises:
        struct.error: some value is no number.
    """
    column = array(kind)
    column.frombytes(struct.pack(f"{len(values)}{kind}", *values))
    return column


def _followed(known: range | array[int], more: array[int]) -> range | array[int]:
    """Increasing steps, and those after them; regular ones are kept as a range, which takes no memory."""
    if isinstance(known, range):
        first, stride = known.start if known else more[0], more[1] - more[0]
        if first + stride * (len(known) + len(more) - 1) == more[-1]:
            regular = range(first, more[-1] + 1, stride)
            if known == regular[: len(known)] and array("q", regular[len(known) :]) == more:
                return regular
        known = array("q", known)
    known.extend(more)
    return known
