"""Columns of a run, kept so that any window of steps can be drawn cheaply."""

from __future__ import annotations

import math
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field

from tuimon.record import Batch


@dataclass(frozen=True, slots=True)
class Bin:
    """The points of one horizontal slice of a picture; `low` and `high` are None where it has no finite point."""

    low: float | None
    high: float | None
    last: float | None
    nan: int
    inf: int


class Pass:
    """One walk over the steps without going back: parallel columns of increasing steps and their values."""

    __slots__ = ("steps", "values")

    def __init__(self) -> None:
        self.steps = array("q")
        self.values = array("d")


@dataclass(slots=True)
class Column:
    """One metric. `passes[-1]` is the current pass; earlier ones were overtaken by a rewind."""

    name: str
    passes: list[Pass] = field(default_factory=lambda: [Pass()])
    count: int = 0
    non_finite: int = 0
    best: float | None = None
    best_step: int | None = None
    worst: float | None = None

    @property
    def first_step(self) -> int | None:
        return next((walk.steps[0] for walk in self.passes if walk.steps), None)

    @property
    def last_step(self) -> int | None:
        return next((walk.steps[-1] for walk in reversed(self.passes) if walk.steps), None)

    @property
    def last(self) -> float | None:
        return next((walk.values[-1] for walk in reversed(self.passes) if walk.steps), None)

    def append(self, step: int, value: float) -> None:
        """Adds a value; a second value of one step replaces the first unless that one was non-finite."""
        walk = self.passes[-1]
        if walk.steps:
            if step == walk.steps[-1]:
                if math.isfinite(walk.values[-1]):
                    walk.values[-1] = value
                return
            if step < walk.steps[-1]:
                walk = Pass()
                self.passes.append(walk)
        walk.steps.append(step)
        walk.values.append(value)
        self.count += 1
        if not math.isfinite(value):
            self.non_finite += 1
        elif self.best is None or value < self.best:
            self.best, self.best_step = value, step

    def window(self, low: int, high: int, walk: int = -1) -> tuple[Sequence[int], Sequence[float]]:
        """Steps and values of one pass with low <= step <= high."""
        chosen = self.passes[walk]
        i, j = bisect_left(chosen.steps, low), bisect_right(chosen.steps, high)
        return chosen.steps[i:j], chosen.values[i:j]

    def at(self, step: int) -> float | None:
        """The value at `step` in the current pass, or the latest one before it."""
        chosen = self.passes[-1]
        i = bisect_right(chosen.steps, step)
        return chosen.values[i - 1] if i else None

    def bins(self, low: int, high: int, count: int, walk: int = -1) -> list[Bin]:
        """`count` equal slices of the steps low..high of one pass."""
        chosen = self.passes[walk]
        span = max(high - low, 1)
        result = []
        for k in range(count):
            i = bisect_left(chosen.steps, low + math.ceil(span * k / count))
            end = low + math.ceil(span * (k + 1) / count)
            j = bisect_left(chosen.steps, end) if k < count - 1 else bisect_right(chosen.steps, high)
            values = chosen.values[i:j]
            finite = [value for value in values if math.isfinite(value)]
            nan = sum(value != value for value in values)
            result.append(
                Bin(
                    min(finite, default=None),
                    max(finite, default=None),
                    finite[-1] if finite else None,
                    nan,
                    len(values) - len(finite) - nan,
                )
            )
        return result


class Store:
    """Every metric of a run, by name, in order of first appearance."""

    def __init__(self) -> None:
        self.columns: dict[str, Column] = {}
        self.records = 0
        self.last_step: int | None = None
        self.rewinds: list[int] = []

    def append(self, batch: Batch) -> None:
        """Takes in a batch."""
        for name, values in batch.columns.items():
            column = self.columns.get(name)
            if column is None:
                column = self.columns[name] = Column(name)
            for step, value in zip(batch.steps, values, strict=True):
                if value is not None:
                    column.append(step, value)
        for step in batch.steps:
            if self.last_step is not None and step < self.last_step:
                self.rewinds.append(step)
            self.last_step = step
        self.records += len(batch)
