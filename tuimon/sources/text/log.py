"""The source of text logs."""

from __future__ import annotations

from collections.abc import Mapping

from tuimon.record import Batch
from tuimon.sources.lined import LineSource, Parsed
from tuimon.sources.tail import Chunk, Lines
from tuimon.sources.text.reader import Reader, Row


class TextLog(LineSource):
    """What a trainer prints for people, whichever trainer it is. Takes the arguments of `LineSource`."""

    format = "text"

    def __init__(
        self, lines: Lines, *, head: bytes = b"", roles: Mapping[str, str] | None = None, step: str | None = None
    ) -> None:
        self._step = step or "step"
        super().__init__(lines, head=head, roles=roles, step=step)

    @property
    def title(self) -> str:  # type: ignore[override]
        """What the log was taken for."""
        return f"{self._reader.family} text log" if self._reader.family else "text log"

    def start(self) -> None:
        """See `LineSource.start`."""
        self._reader = Reader()

    def parse(self, chunk: Chunk) -> Parsed:
        """See `LineSource.parse`."""
        self._take(chunk)
        return self._parsed()

    def finish(self) -> Batch:
        """See `Source.finish`. Records that still wait for evidence are taken if nothing better came."""
        chunk = self.lines.finish()
        if chunk.text:
            self._take(chunk)
        self._reader.finish()
        parsed = self._parsed()
        return self.columns.batch(parsed.columns, parsed.count, offset=chunk.offset, size=chunk.size)

    def _take(self, chunk: Chunk) -> None:
        take = self._reader.line
        for line in chunk.text[:-1].decode("utf-8", "replace").split("\n"):
            take(line)

    def _parsed(self) -> Parsed:
        rows, self._reader.rows = self._reader.rows, []
        return Parsed(columns(rows, self._step), len(rows))


def columns(rows: list[Row], step: str) -> dict[str, list[object]]:
    """Rows as columns, the step under the name `step`."""
    result: dict[str, list[object]] = {step: [row[0] for row in rows]} if rows else {}
    count = len(rows)
    if rows and all(row[1] is rows[0][1] for row in rows):
        result.update(zip(rows[0][1], map(list, zip(*[row[2] for row in rows], strict=True)), strict=True))
        return result
    for place, (_, names, cells) in enumerate(rows):
        for name, cell in zip(names, cells, strict=True):
            column = result.get(name)
            if column is None:
                column = result[name] = [None] * count
            column[place] = cell
    return result
