"""A long log at a glance: its beginning, a thousand places in it, and its end, read like a short log.

The first picture waits for this, so that it needs the standard library only: to import msgspec takes longer than to
decode all samples without it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping

from tuimon.record import Batch
from tuimon.sources.base import SourceError
from tuimon.sources.lined import LineSource, Parsed
from tuimon.sources.rows import in_columns
from tuimon.sources.sniff import read_head, sniff
from tuimon.sources.tail import Chunk

PLACES = 1000
"""Places that are read: four per dot column of the widest panel, and about 5 ms."""

LINE = 1024
"""Bytes read at each place; a longer line is left out there."""

START = 16 * 1024
"""Bytes read at the beginning: of a long log, less than one dot of the picture."""

END = 64 * 1024
"""Bytes read at the end: the newest few hundred records are all there."""

HEAD = 64 * 1024
"""Bytes of the beginning from which roles are chosen; all that the log's source looks at would take 10 ms more."""


class Samples:
    """Whole lines from all over a file, in order; `Lines` that are read once.

    Args:
        name: path of the file. Raises OSError.
    """

    ended = True

    def __init__(self, name: str) -> None:
        self.name = name
        self._file = os.open(name, os.O_RDONLY)
        self._size = os.fstat(self._file).st_size

    def read(self, limit: int = 0) -> Chunk:
        """All samples as one chunk. Raises OSError."""
        if self._size <= START + END + PLACES * LINE:
            return Chunk(_whole(os.pread(self._file, self._size, 0), at_line=True), offset=self._size, size=self._size)
        stretch = self._size - START - END
        parts = [_whole(os.pread(self._file, START, 0), at_line=True)]
        for place in range(PLACES):
            read = os.pread(self._file, LINE, START + stretch * place // PLACES)
            parts.append(_whole(read, most=1))
        parts.append(_whole(os.pread(self._file, END, self._size - END)))
        return Chunk(b"".join(parts), offset=self._size, size=self._size)

    def finish(self) -> Chunk:
        """Nothing: a torn last line is not yet."""
        return Chunk()

    def close(self) -> None:
        """Lets go of the file."""
        os.close(self._file)


def _whole(read: bytes, *, at_line: bool = False, most: int = -1) -> bytes:
    """The whole lines of some bytes, at most `most`; the first is taken for a rest unless it begins `at_line`."""
    start = 0 if at_line else read.find(b"\n") + 1
    stop = read.rfind(b"\n") + 1 if most < 0 else read.find(b"\n", start) + 1
    return read[start:stop] if (at_line or start) and stop > start else b""


class Glimpse(LineSource):
    """A source of the samples: JSON Lines without what the log says of itself. A line that is no JSON is left out."""

    format = "jsonl"
    title = "JSON Lines"

    def parse(self, chunk: Chunk) -> Parsed:
        """See `LineSource.parse`."""
        lines = [line for line in chunk.text.split(b"\n") if line.strip()]
        try:
            found = json.loads(b"[%b]" % b",".join(lines))
        except (ValueError, RecursionError):
            found = [_decoded(line) for line in lines]
        loss = self.roles.get("loss", "loss")
        rows = [
            row
            for row in found
            if isinstance(row, dict)
            and "tuimon" not in row
            and not (isinstance(row.get("note"), str) and row.get(loss) is None)
        ]
        return Parsed(in_columns(rows, self.columns), len(rows))


def _decoded(line: bytes) -> object:
    """What one line says, None if that is no JSON."""
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return None


def sampled(path: str, *, roles: Mapping[str, str] | None = None, step: str | None = None) -> Batch | None:
    """Records from all over a log of JSON lines whose records say their steps, None for every other input.

    Without steps of their own, records would have to be counted, and that takes all of them.

    Args:
        path: of the log.
        roles, step: as `open_source` takes them.
    """
    try:
        head = read_head(path) if os.path.isfile(path) else None
        if head is None or sniff(head).key not in ("tuimon", "jsonl"):
            return None
        samples = Samples(path)
        try:
            source = Glimpse(samples, head=head.text[:HEAD], roles=roles, step=step)
            batch = source.read()
        finally:
            samples.close()
    except (OSError, SourceError, ValueError):
        # Whoever opens the log in earnest says what is wrong with it.
        return None
    return batch if source.columns.steps.kind == "step" and batch.steps else None
