"""What the cells of a column are worth: numbers, dates, times, roots."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import datetime, timezone
from typing import cast

from tuimon.record import number
from tuimon.sources import names
from tuimon.sources.steps import Column

_EARLIEST, _LATEST = 5e8, 1e10
"""Unix times between 1985 and 2286; a number outside is a duration or in other units."""


def floats(name: str, column: Sequence[object]) -> Column:
    """The numbers of a column; what is no number is missing, and a date in a column of times is its Unix time."""
    kinds = set(map(type, column))
    if kinds <= _PLAIN or (kinds == {int} and _exact(cast("Sequence[int]", column))):
        return cast("Column", column)
    dated = name.lower() in names.TIMES
    return [_cell(value, dated) for value in column]


def _exact(column: Sequence[int]) -> bool:
    return min(column) > -_EXACT and max(column) < _EXACT


_PLAIN = {float, type(None)}
_EXACT = 2**53


def _cell(value: object, dated: bool) -> float | None:
    if type(value) is int and -_EXACT < value < _EXACT:
        return value
    try:
        return number(value)
    except ValueError:
        return _date(value) if dated and isinstance(value, str) else None


def _date(text: str) -> float | None:
    try:
        moment = datetime.fromisoformat(text.strip().replace("Z", "+00:00").replace(",", "."))
    except ValueError:
        return None
    return moment.replace(tzinfo=moment.tzinfo or timezone.utc).timestamp()


def unix_time(value: float | None) -> float | None:
    """Seconds since 1970 from seconds, milliseconds, microseconds or nanoseconds; None if it is no such time."""
    if value is None or not math.isfinite(value):
        return None
    for unit in (1.0, 1e3, 1e6, 1e9):
        if _EARLIEST < value / unit < _LATEST:
            return value / unit
    return None


def unix_times(column: Column) -> Column:
    """The Unix times of a column, None where a number is none."""
    known = cast("Sequence[float]", column)
    if None not in column and min(known) > _EARLIEST and max(known) < _LATEST:
        return column
    return [unix_time(value) for value in column]


def roots(column: Column) -> Column:
    """Square roots, NaN where there is none."""
    return [None if v is None else math.sqrt(v) if v >= 0 else math.nan if v == v else v for v in column]


def first_value(column: Column) -> int | None:
    """Row of the first value, None without any."""
    return next((i for i, value in enumerate(column) if value is not None), None)
