"""Rows of records to columns, and the frame of a source that brings rows and not lines."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Any, Generic, TypeVar

from tuimon.record import BadLine, Batch, Mark
from tuimon.sources.base import CHUNK, MOST_BAD
from tuimon.sources.columns import Columns
from tuimon.sources.describing import describe

Row = Mapping[str, object]
Item = TypeVar("Item")

AT_ONCE = 2000
"""Records of one batch: some milliseconds of work, so that the screen can draw in between."""

NESTED = frozenset((dict, list))
"""What a value is that holds others; rows are decoded documents, in which no other type does."""

LEARNED = 4000
"""Rows from whose names the roles are chosen."""


def flat(row: Row) -> Row:
    """`row` with one level of nesting as "a/b"; lists and what lies deeper are left out."""
    if NESTED.isdisjoint(map(type, row.values())):
        return row
    result: dict[str, object] = {}
    for name, value in row.items():
        if isinstance(value, dict):
            result.update(
                (f"{name}/{key}", inner) for key, inner in value.items() if not isinstance(inner, (dict, list))
            )
        elif not isinstance(value, list):
            result[name] = value
    return result


def in_columns(rows: Iterable[Row], found: Columns | None = None) -> dict[str, list[object]]:
    """Columns of rows, names in order of appearance; without what `found` ignores."""
    plain = [flat(row) for row in rows]
    names = dict.fromkeys(chain.from_iterable(plain))
    return {name: [row.get(name) for row in plain] for name in names if found is None or not found.ignores(name)}


class RowSource(Generic[Item]):
    """A source of whole rows: mappings, or what a subclass makes columns of. It fills `waiting` in `look`.

    Attributes:
        waiting: rows that are not handed out yet.
        bad: what could not be read since the last batch.
        restarted: the input was replaced; said with the next batch.

    Args:
        path: what to read.
        roles, step: the user's choice of names, see `open_source`.
    """

    format = ""
    title = ""
    ended = False

    def __init__(self, path: str, *, roles: Mapping[str, str] | None = None, step: str | None = None) -> None:
        self.path = path
        self.columns = Columns(roles, step)
        self.waiting: list[Item] = []
        self.bad: list[BadLine] = []
        self.restarted = False
        self.offset = self.size = 0
        self._more = False

    @property
    def roles(self) -> Mapping[str, str]:
        """Role -> name in the file."""
        return self.columns.roles

    @property
    def candidates(self) -> Mapping[str, Sequence[str]]:
        """Role -> every name in the file that could play it, best first."""
        return self.columns.candidates

    def look(self, limit: int) -> bool:
        """Adds to `waiting` what is new, from about `limit` bytes; whether there is more. Raises OSError."""
        raise NotImplementedError

    def read(self, limit: int = CHUNK) -> Batch:
        """See `Source.read`."""
        if not self.waiting:
            self._more = self.look(limit)
        return self._batch()

    def finish(self) -> Batch:
        """See `Source.finish`."""
        return Batch(offset=self.offset, size=self.size)

    def describe(self) -> str:
        """See `Source.describe`."""
        return describe(self.title, self.columns)

    def close(self) -> None:
        """See `Source.close`."""

    def in_columns(self, rows: Sequence[Any]) -> Mapping[str, Sequence[object]]:
        """Columns of rows; rows are mappings of names to values unless a subclass says otherwise."""
        return in_columns(rows, self.columns)

    def learn(self, rows: Sequence[Item]) -> None:
        """Chooses roles from the first rows there are."""
        head = rows[:LEARNED]
        if head:
            self.columns.learn(self.in_columns(head), len(head))

    def _batch(self) -> Batch:
        if self.restarted:
            self.columns.restart()
            self.learn(self.waiting)
        rows, self.waiting = self.waiting[:AT_ONCE], self.waiting[AT_ONCE:]
        marks = [Mark(0, "restart", {})] if self.restarted else []
        bad, self.bad, self.restarted = self.bad, [], False
        return self.columns.batch(
            self.in_columns(rows),
            len(rows),
            marks=marks,
            bad_lines=bad[:MOST_BAD],
            bad_count=len(bad),
            more=self._more or bool(self.waiting),
            offset=self.offset,
            size=self.size,
        )
