"""Whole lines of a pipe, without ever waiting for them."""

from __future__ import annotations

import os
import select

from tuimon.record import BadLine
from tuimon.sources.base import CHUNK, LONGEST_LINE
from tuimon.sources.tail import OVERLONG, Chunk, Cutter, last_end


class Pipe:
    """The lines that come through a pipe; a read takes what is there and never waits.

    Args:
        descriptor: file descriptor to read from. It stays open for whoever opened it.
    """

    def __init__(self, descriptor: int = 0) -> None:
        self.name = "-"
        self.ended = False
        self._descriptor = descriptor
        self._cutter = Cutter()
        self._rest = b""

    def fileno(self) -> int:
        """The descriptor, for select()."""
        return self._descriptor

    def peek(self, limit: int) -> bytes:
        """What has come and was not read yet, at most about `limit` bytes; it stays unread."""
        self._fill(limit)
        return self._rest[:limit]

    def read(self, limit: int = CHUNK) -> Chunk:
        """The lines completed since the last read; at the end of the input the last one counts without a newline."""
        self._fill(limit)
        return self._cut(self.ended)

    def finish(self) -> Chunk:
        """The last line though its newline never came."""
        return self._cut(True)

    def close(self) -> None:
        """Nothing to let go of."""

    def _fill(self, limit: int) -> None:
        room = max(limit, LONGEST_LINE + 2) - len(self._rest)
        while room > 0 and not self.ended and select.select([self._descriptor], [], [], 0)[0]:
            block = os.read(self._descriptor, min(room, limit))
            self.ended = not block
            self._rest += block
            room -= len(block)
            if len(self._rest) >= limit and last_end(self._rest):
                break

    def _cut(self, final: bool) -> Chunk:
        cutter = self._cutter
        bad: list[BadLine] = []
        text, first = b"", cutter.line
        while self._rest and not text:
            consumed, text, overlong = cutter.cut(self._rest, final)
            self._rest = self._rest[consumed:]
            if overlong:
                bad.append(BadLine(cutter.line, OVERLONG))
            first = cutter.line
            if not consumed and not overlong:
                break
        cutter.line += text.count(b"\n")
        waiting = bool(self._rest and (last_end(self._rest) or self.ended))
        ready = not self.ended and bool(select.select([self._descriptor], [], [], 0)[0])
        more = waiting or ready
        return Chunk(text, first, tuple(bad), False, more, cutter.offset, 0)
