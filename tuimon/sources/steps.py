"""Which step a record belongs to, when logs count in steps, iterations, epochs or not at all."""

from __future__ import annotations

import math
from array import array
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import cast

from tuimon.sources.names import clean, is_epoch, rank_step, words

Column = Sequence[float | None]
Ask = Callable[[], Sequence[bool]]

_LARGEST = 2**53
"""A step beyond this is not exact as a float; it is taken for missing."""

_PER_EPOCH = frozenset(("iter", "iters", "iteration", "batch", "batch idx", "i", "it", "step"))
"""Counters that some trainers start again in every epoch."""

_GAPS = 2000
"""Distances between steps that are looked at to say how often the run logs."""


class Steps:
    """Gives every record its step: a fold over the columns, whose result does not depend on where reads end.

    In this order: a column that counts steps (a record without it belongs to the step before); a column of whole
    epochs; the number of the record, from 0, which goes back where a fractional epoch does. A step column that turns up
    later takes over from there. A counter that starts again in every epoch is continued across epochs.

    Args:
        forced: name of the step column, when the user said so.
    """

    def __init__(self, forced: str | None = None) -> None:
        self.forced = forced
        self.name = forced
        self.kind = "step" if forced else ""
        self.epoch: str | None = None
        self.last = 0
        self._begun = False
        self._raw = 0
        self._base = 0
        self._bases: dict[int, int] = {}
        self._in_epoch = 0.0
        self._count = 0
        self._epochs = array("d")
        self._gaps: Counter[int] = Counter()

    def learn(self, columns: Mapping[str, Column], count: int, loss: str | None) -> None:
        """Fixes the column from the head of a log of `count` records; `loss` is the name of its loss, if known."""
        self.epoch = next((name for name in columns if is_epoch(name)), None)
        if self.forced or not count:
            return
        found = [(rank, name) for name in columns if (rank := rank_step(name)) is not None and _counts(columns[name])]
        if found:
            # mmengine writes the epoch as "step" into validation records: of equal columns, the one that they lack.
            ordered = sorted((_backward(columns[name]), rank, name) for rank, name in found)
            names = [name for _, _, name in ordered]
            twin = next((n for n in names[1:] if " ".join(words(n)) == "iter" and _same(columns, names[0], n)), None)
            self.name, self.kind = twin or names[0], "step"
        elif self.epoch is not None:
            self._by_epoch(columns[self.epoch], columns.get(loss or "", ()))

    def _by_epoch(self, epochs: Column, losses: Column) -> None:
        whole = [value for value in epochs if value is not None and math.isfinite(value)]
        if not whole:
            return
        measured = sum(value is not None for value in losses) or len(whole)
        usable = all(value == int(value) for value in whole) and measured <= 1.5 * len(set(whole))
        self.name, self.kind = (self.epoch, "epoch") if usable else (None, "record")

    def assign(self, columns: Mapping[str, Column], count: int, measured: Ask) -> list[int | None]:
        """The step of each record; None for what is no record.

        Args:
            columns: name -> value per record.
            count: number of records.
            measured: asked only where it matters, whether each record holds what this log is about, and so counts even
                without a step; what comes before the first step without being measured is configuration.
        """
        if not self.kind and count:
            self._decide(columns, count)
        start = self._appears(columns, count) if self.kind not in ("step", "") else 0
        result: list[int | None] = []
        if start:
            result = self._numbered(columns, measured, start)
        if start < count:
            if self.kind in ("epoch", "record"):
                self._take_over(columns, start)
            result += self._counted(columns, count, measured, start)
        return result

    def _decide(self, columns: Mapping[str, Column], count: int) -> None:
        """Chooses by the first record alone, for a log that was empty when it was opened."""
        row = next((i for i in range(count) if any(column[i] is not None for column in columns.values())), None)
        if row is None:
            return
        first = {name: [column[row]] for name, column in columns.items() if column[row] is not None}
        self.learn(first, 1, None)
        self.kind = self.kind or "record"

    def _appears(self, columns: Mapping[str, Column], count: int) -> int:
        """The first record with a step column, `count` without."""
        firsts = [_first(columns[name]) for name in columns if rank_step(name) is not None]
        return min((i for i in firsts if i is not None), default=count)

    def _take_over(self, columns: Mapping[str, Column], row: int) -> None:
        ranked = [
            (rank, name)
            for name, column in columns.items()
            if (rank := rank_step(name)) is not None and whole(column[row]) is not None
        ]
        self.name, self.kind = min(ranked)[1], "step"

    def _counted(self, columns: Mapping[str, Column], count: int, measured: Ask, start: int) -> list[int | None]:
        """Steps of the records from `start` on, from the step column."""
        column = columns.get(self.name or "", [None] * count)
        if start:
            column = column[start:]
        values = _wholes(column)
        if self.epoch is None:
            self.epoch = next((name for name in columns if is_epoch(name)), None)
        if self.epoch is not None and self.epoch in columns and " ".join(words(self.name or "")) in _PER_EPOCH:
            values = self._across_epochs(values, columns[self.epoch][start:])
        return self._carry(values, measured, columns, start)

    def _carry(
        self, values: Sequence[int | None], measured: Ask, columns: Mapping[str, Column], start: int
    ) -> list[int | None]:
        """`values`, where a measured record without a step belongs to the step before."""
        result: list[int | None] = list(values)
        if None in result:
            last, counts = self.last, measured()
            for i, value in enumerate(result):
                row = start + i
                if value is not None:
                    last = value
                elif counts[row] or (self._begun and any(column[row] is not None for column in columns.values())):
                    result[i] = last
                self._begun = self._begun or value is not None
        self._note(result)
        return result

    def _across_epochs(self, values: Sequence[int | None], epochs: Column) -> list[int | None]:
        if not self._base and values and _rising(values, self._raw):
            self._raw = int(values[-1] or 0)
            self._in_epoch = next((epoch for epoch in reversed(epochs) if epoch is not None), self._in_epoch)
            return list(values)
        result: list[int | None] = []
        for value, epoch in zip(values, epochs, strict=True):
            if value is None:
                result.append(None)
                continue
            raw = value
            if epoch is not None and epoch != self._in_epoch:
                if epoch > self._in_epoch and raw < self._raw:
                    self._base += self._raw
                elif epoch < self._in_epoch:
                    self._base = self._bases.get(int(epoch), 0) if math.isfinite(epoch) else 0
                self._in_epoch = epoch
                if math.isfinite(epoch) and len(self._bases) < _LARGEST.bit_length() * 1000:
                    self._bases.setdefault(int(epoch), self._base)
            self._raw = raw
            result.append(self._base + raw)
        return result

    def _numbered(self, columns: Mapping[str, Column], measured: Ask, stop: int) -> list[int | None]:
        """Steps of the records up to `stop`, from the epoch or the number of the record."""
        epochs = columns.get(self.epoch or "", [None] * stop)[:stop]
        result: list[int | None] = []
        if self.kind == "epoch":
            until = next((row for row, epoch in enumerate(epochs) if not _is_whole(epoch)), stop)
            result = self._carry(_wholes(epochs[:until]), measured, columns, 0)
            if until == stop:
                return result
            # Epochs are fractions after all: from here on the records are numbered.
            self.kind, self.name, self._count = "record", None, self.last + 1
        counts = measured()
        for row in range(len(result), stop):
            result.append(self._number(epochs[row]) if counts[row] else None)
        self._note(result)
        return result

    def _number(self, epoch: float | None) -> int:
        """The number of a record, which goes back to where the epoch stood before."""
        seen = self._epochs
        value = epoch if epoch is not None and math.isfinite(epoch) else (seen[-1] if seen else 0.0)
        if seen and value < seen[-1]:
            place = bisect_left(seen, value)
            self._count -= len(seen) - place
            del seen[place:]
        seen.append(value)
        self._count += 1
        return self._count - 1

    def _note(self, steps: Sequence[int | None]) -> None:
        """Remembers the last step and how far apart steps are."""
        known = [step for step in steps if step is not None]
        if not known:
            return
        room = _GAPS - self._gaps.total()
        if room > 0:
            self._gaps.update(b - a for a, b in pairwise([self.last, *known[: room + 1]]) if b > a)
        self.last, self._begun = known[-1], True

    @property
    def interval(self) -> int | None:
        """The usual distance between steps, None while unknown."""
        common = self._gaps.most_common(1)
        return common[0][0] if common else None

    def describe(self) -> str:
        """Where steps come from, empty when that needs no word."""
        if self.kind == "step":
            return "" if self.name in ("step", None) else f"step <- {clean(self.name or '')}"
        return {"epoch": f"step <- {clean(self.name or '')}", "record": "no step: records are numbered from 0"}.get(
            self.kind, ""
        )


def whole(value: float | None) -> int | None:
    """`value` as a step, None if it cannot be one (missing, not finite, beyond 2**53)."""
    if value is None or not -_LARGEST < value < _LARGEST:
        return None
    return int(value)


def _wholes(column: Column) -> list[int | None]:
    """`whole` of each value; at once where all are usual numbers."""
    known = cast("Sequence[float]", column)
    if column and None not in column and min(known) > -_LARGEST and max(known) < _LARGEST:
        try:
            return list(map(int, known))
        except (ValueError, OverflowError):
            # A NaN hides from min and max.
            pass
    return [whole(value) for value in column]


def _rising(values: Sequence[int | None], least: int) -> bool:
    """Whether every value is there and none is less than the one before."""
    if None in values:
        return False
    known = cast("list[int]", values)
    # Sorting what is sorted already is one pass in C.
    return known[0] >= least and known == sorted(known)


def _is_whole(epoch: float | None) -> bool:
    return epoch is None or not math.isfinite(epoch) or epoch == int(epoch)


def _counts(column: Column) -> bool:
    return any(whole(value) is not None for value in column)


def _first(column: Column) -> int | None:
    return next((i for i, value in enumerate(column) if whole(value) is not None), None)


def _backward(column: Column) -> int:
    """How often the column goes back."""
    values = [value for value in column if value is not None]
    return sum(b < a for a, b in pairwise(values))


def _same(columns: Mapping[str, Column], one: str, other: str) -> bool:
    pairs = [(a, b) for a, b in zip(columns[one], columns[other], strict=True) if a is not None and b is not None]
    return bool(pairs) and all(a == b for a, b in pairs)
