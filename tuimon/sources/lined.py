"""The frame of a source that reads lines: tail, columns, progress. A format adds how its lines become columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from tuimon.record import BadLine, Batch, Mark
from tuimon.sources.base import CHUNK, MOST_BAD
from tuimon.sources.columns import Columns
from tuimon.sources.describing import describe
from tuimon.sources.tail import Chunk, Lines, plain_lines


@dataclass(frozen=True, slots=True)
class Parsed:
    """What the lines of a chunk hold, under the log's own names."""

    columns: Mapping[str, Sequence[object]]
    count: int
    marks: Sequence[Mark] = ()
    bad_lines: Sequence[BadLine] = ()


class LineSource:
    """A source of records that stand on lines of their own.

    A subclass has `format` (key of the table of formats), `title` (for people) and `parse`.

    Args:
        lines: where lines come from.
        head: the first bytes, in which roles and steps are looked for; empty if nothing is there yet.
        roles, step: the user's choice of names, see `open_source`.
    """

    format = ""
    title = ""

    def __init__(
        self, lines: Lines, *, head: bytes = b"", roles: Mapping[str, str] | None = None, step: str | None = None
    ) -> None:
        self.lines = lines
        self.columns = Columns(roles, step)
        self.bad_count = 0
        self.start()
        whole = plain_lines(head[: max(head.rfind(b"\n"), head.rfind(b"\r")) + 1] or head, True)
        if whole:
            parsed = self.parse(Chunk(whole))
            self.columns.learn(parsed.columns, parsed.count)
            self.start()

    def start(self) -> None:
        """Forgets what was learned from earlier lines: the input is read from its start (again)."""

    def parse(self, chunk: Chunk) -> Parsed:
        """The records of whole lines."""
        raise NotImplementedError

    @property
    def roles(self) -> Mapping[str, str]:
        """Role -> name in the file."""
        return self.columns.roles

    @property
    def candidates(self) -> Mapping[str, Sequence[str]]:
        """Role -> every name in the file that could play it, best first."""
        return self.columns.candidates

    @property
    def ended(self) -> bool:
        """Whether nothing can come any more."""
        return self.lines.ended

    def read(self, limit: int = CHUNK) -> Batch:
        """See `Source.read`."""
        return self._batch(self.lines.read(limit))

    def finish(self) -> Batch:
        """See `Source.finish`."""
        batch = self._batch(self.lines.finish())
        # A last line that is torn is not bad: it is not yet.
        self.bad_count -= batch.bad_count
        return replace(batch, bad_lines=(), bad_count=0)

    def close(self) -> None:
        """See `Source.close`."""
        self.lines.close()

    def describe(self) -> str:
        """See `Source.describe`."""
        return describe(self.title, self.columns)

    def _batch(self, chunk: Chunk) -> Batch:
        if chunk.restarted:
            self.columns.restart()
            self.start()
        parsed = self.parse(chunk) if chunk.text else Parsed({}, 0)
        if chunk.restarted:
            self.columns.learn(parsed.columns, parsed.count)
        marks = [Mark(0, "restart", {}), *parsed.marks] if chunk.restarted else parsed.marks
        bad = [*chunk.bad_lines, *parsed.bad_lines]
        self.bad_count += len(bad)
        return self.columns.batch(
            parsed.columns,
            parsed.count,
            marks=marks,
            bad_lines=bad[:MOST_BAD],
            bad_count=len(bad),
            more=chunk.more,
            offset=chunk.offset,
            size=chunk.size,
        )
