"""Consecutive records as one read brought them, prepared once for the many stretches that are cut from them."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, KeysView, Mapping, Sequence
from math import isfinite
from typing import Any, cast

from tuimon.record import ROLES

JUDGED = ROLES[:3]
"""The roles whose non-finite values are a symptom: a learning rate that is not finite is none."""


class Points:
    """The finite values of one role in some records: parallel columns."""

    __slots__ = ("_ordered", "steps", "values")

    def __init__(
        self, steps: Sequence[int] = (), values: Sequence[float] = (), ordered: list[float] | None = None
    ) -> None:
        self.steps, self.values, self._ordered = steps, values, ordered

    @property
    def ordered(self) -> list[float]:
        """The values, sorted: once, because several detectors ask for extremes."""
        if self._ordered is None:
            self._ordered = sorted(self.values)
        return self._ordered

    @property
    def low(self) -> float:
        """The least value, 0.0 without any."""
        return self.ordered[0] if self.values else 0.0

    @property
    def high(self) -> float:
        """The greatest value, 0.0 without any."""
        return self.ordered[-1] if self.values else 0.0


NO_POINTS = Points()


class RoleColumn:
    """The finite values of one role in a piece.

    Attributes:
        rows: the records that have one, in order; None when all have.
        bad: the records whose value is NaN or infinite.
        steps, values: parallel columns of the finite values.
    """

    __slots__ = ("bad", "rows", "steps", "values")

    def __init__(self, steps: Sequence[int], column: Sequence[float | None]) -> None:
        self.rows: list[int] | None = None
        self.bad: list[int] = []
        self.steps, self.values = steps, cast("Sequence[float]", column)
        if not _complete(column):
            rows = [i for i, value in enumerate(column) if value is not None]
            if not _complete([column[i] for i in rows]):
                self.bad = [i for i in rows if not isfinite(self.values[i])]
                rows = [i for i in rows if isfinite(self.values[i])]
            self.rows = rows
            self.steps, self.values = [steps[i] for i in rows], [self.values[i] for i in rows]

    def between(self, start: int, end: int, steps: Sequence[int]) -> Points:
        """The finite values of records `start` to `end`, whose `steps` these are."""
        if self.rows is None:
            return Points(steps, self.values[start:end])
        start, end = bisect_left(self.rows, start), bisect_left(self.rows, end)
        return Points(self.steps[start:end], self.values[start:end])


def _complete(column: Sequence[float | None]) -> bool:
    """Every record has a finite value; False as well where their sum overflows."""
    try:
        return isfinite(sum(cast("Sequence[float]", column)))
    except TypeError:  # some record lacks the metric
        return False


class Columns(Mapping[str, Sequence[float | None]]):
    """The columns of a piece between two records, each cut out when it is asked for."""

    __slots__ = ("_columns", "_end", "_start")

    def __init__(self, columns: Mapping[str, Sequence[float | None]], start: int, end: int) -> None:
        self._columns, self._start, self._end = columns, start, end

    def __getitem__(self, name: str) -> Sequence[float | None]:
        return self._columns[name][self._start : self._end]

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __len__(self) -> int:
        return len(self._columns)

    def __contains__(self, name: object) -> bool:
        return name in self._columns

    def get(self, name: str, default: object = None) -> Any:
        """One of them, the default where there is none; asked for more often than all the rest."""
        column = self._columns.get(name)
        return default if column is None else column[self._start : self._end]

    def keys(self) -> KeysView[str]:
        """The names of all of them."""
        return self._columns.keys()


class Piece:
    """Records between two marks of the log.

    Attributes:
        steps: optimizer step of each record.
        columns: metric name -> value per record, None where that record lacks the metric.
        roles: the finite values of those of the four roles that are among them.
        increasing: the steps are known to increase.
        layered: some metric has a name with a slash, such as `grad_norm/<layer>`.
    """

    __slots__ = ("_bad", "columns", "increasing", "layered", "roles", "steps")

    def __init__(
        self, steps: Sequence[int], columns: Mapping[str, Sequence[float | None]], increasing: bool = False
    ) -> None:
        self.increasing = increasing
        self.steps = steps
        self.columns = columns
        self.roles = {role: RoleColumn(steps, columns[role]) for role in ROLES if role in columns}
        self.layered = any("/" in name for name in columns)
        self._bad = [column.bad for role, column in self.roles.items() if column.bad and role in JUDGED]

    @property
    def edges(self) -> set[int]:
        """The records at which a loss, validation loss or gradient norm ceases to be finite, or is finite again."""
        return {row for bad in self._bad for row in {*bad} ^ {row + 1 for row in bad}}

    def __len__(self) -> int:
        return len(self.steps)

    def is_finite(self, start: int, end: int) -> bool:
        """Whether no loss, validation loss or gradient norm of records `start` to `end` is NaN or infinite."""
        return not self._bad or all(bisect_left(bad, start) == bisect_left(bad, end) for bad in self._bad)
