"""The line format and what one read brings (stdlib only).

A *record* is one line of a run: an optimizer step, a time, and named floats. Readers hand records on in columns, as a
`Batch`. Throughout, `None` means that a record does not have the metric; NaN and the infinities are values like any
other, and the ones this program exists for.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

FORMAT_VERSION = 1
ROLES = ("loss", "val_loss", "grad_norm", "lr")
END, ABORTED = "end", "aborted"
"""Notes with which a run's log ends: the writer was closed or its process exited; an exception ended it."""

# Every spelling of a non-finite value seen in public logs, compared in lower case without surrounding blanks.
_SPELLINGS = {
    **dict.fromkeys(("nan", "-nan", "+nan", "nan()", "-nan(ind)", "1.#qnan", "-1.#ind", "nanxxx"), math.nan),
    **dict.fromkeys(("inf", "+inf", "infinity", "+infinity", "1.#inf"), math.inf),
    **dict.fromkeys(("-inf", "-infinity", "-1.#inf"), -math.inf),
}
_NOTHING = frozenset(("", "none", "null", "n/a", "na", "-", "--"))


def number(value: object) -> float | None:
    """The float that `value` stands for.

    Numbers and numeric strings are themselves, every spelling of NaN and infinity is that float, and what stands for
    nothing (None, "", "null", "N/A") is None: missing. An integer too large for a float is an infinity of its sign.

    Raises:
        ValueError: `value` is no number at all (a word, a truth value, a list).
    """
    if type(value) is float:
        return value
    if value is None:
        return None
    if isinstance(value, bool):
        raise ValueError("a truth value is not a metric")
    if isinstance(value, (int, float)):
        try:
            return float(value)
        except OverflowError:
            return math.inf if value > 0 else -math.inf
    if isinstance(value, str):
        word = value.strip().lower()
        if word in _NOTHING:
            return None
        if word in _SPELLINGS:
            return _SPELLINGS[word]
        return float(word)
    raise ValueError(f"not a number: {type(value).__name__}")


def plain(value: float) -> float | str:
    """`value` as strict JSON can hold it: non-finite floats become the strings "NaN", "Infinity" and "-Infinity"."""
    if math.isfinite(value):
        return value
    if value != value:
        return "NaN"
    return "Infinity" if value > 0 else "-Infinity"


class BadLine(NamedTuple):
    """A line that is not a record: its 1-based number in the file and what is wrong with it."""

    number: int
    reason: str


class Mark(NamedTuple):
    """Something other than metrics that stood in the log, before record `row` of its batch.

    kind "header": a process started or resumed; `fields` has `run`, `started`, `meta` as written.
    kind "note": a remark of the training process (`note`, `step`, and what else the line holds).
    kind "restart": the file was truncated or replaced; what came before belongs to an earlier file.
    """

    row: int
    kind: Literal["header", "note", "restart"]
    fields: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Batch:
    """What one read brought, in columns of equal length.

    Attributes:
        steps: optimizer step of each record; not always increasing (a resumed run goes back).
        times: Unix time in seconds of each record, None where the log has none.
        columns: metric name -> value per record, None where that record lacks the metric. The four roles appear under
            their own names ("loss", "val_loss", "grad_norm", "lr"), whatever the file calls them.
        marks: headers, notes and restarts, in order.
        bad_lines: the lines that could not be read (a torn last line is not among them: it is "not yet").
        bad_count: how many those were; `bad_lines` may hold only the first few.
        more: there is more to read right now.
        offset, size: bytes read so far and size of the input, for progress (0 when it has no size).
    """

    steps: Sequence[int] = ()
    times: Sequence[float | None] = ()
    columns: Mapping[str, Sequence[float | None]] = field(default_factory=dict)
    marks: tuple[Mark, ...] = ()
    bad_lines: tuple[BadLine, ...] = ()
    bad_count: int = 0
    more: bool = False
    offset: int = 0
    size: int = 0

    def __len__(self) -> int:
        return len(self.steps)

    def slice(self, start: int, stop: int) -> Batch:
        """Records `start` to `stop` with the marks that stand before them (one at the very end goes with the last)."""
        last = stop >= len(self)
        return Batch(
            self.steps[start:stop],
            self.times[start:stop],
            {name: column[start:stop] for name, column in self.columns.items()},
            tuple(
                Mark(mark.row - start, mark.kind, mark.fields)
                for mark in self.marks
                if start <= mark.row < stop or (last and mark.row >= stop)
            ),
        )

    @classmethod
    def from_rows(cls, rows: Sequence[tuple[int, float | None, Mapping[str, float | None]]], **rest: object) -> Batch:
        """Columns from rows of (step, time, metrics); a metric that a row lacks is None there."""
        names = dict.fromkeys(name for _, _, metrics in rows for name in metrics)
        return cls(
            [step for step, _, _ in rows],
            [time for _, time, _ in rows],
            {name: [metrics.get(name) for _, _, metrics in rows] for name in names},
            **rest,  # type: ignore[arg-type]
        )
