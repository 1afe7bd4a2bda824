"""Whole lines of a file that somebody is still writing.

`Tail` and `Pipe` (in `pipe.py`) hand out the same thing, a `Chunk` of whole lines, and are the one place that knows
about torn lines, line ends, overlong lines and files that were cut short or replaced. What the lines mean is the
business of the sources.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Protocol

from tuimon.record import BadLine
from tuimon.sources.base import CHUNK, LONGEST_LINE

HEAD = 256
"""First bytes that are remembered to recognise a file: a header line with a start time fits."""

JOINT = 64
"""Bytes before the offset that are compared at each read: a copied-over file differs there if nowhere else."""

SKIP = 16 * 1024 * 1024
"""Bytes of an overlong line that one read steps over, so that 2 GB without a newline do not hold up the screen."""

_BOM = b"\xef\xbb\xbf"
OVERLONG = f"longer than {LONGEST_LINE // 1024} KB, skipped"


@dataclass(frozen=True, slots=True)
class Chunk:
    r"""Whole lines that came since the last read.

    Attributes:
        text: whole lines, each ended by one "\n" whatever it was in the file ("\r\n" and a bare "\r" end a line too);
            NUL bytes and a byte order mark are gone. Not necessarily valid UTF-8.
        first: 1-based number of the first line of `text` in the file.
        bad_lines: lines that were too long to be held. They are not in `text` and come before it.
        restarted: the file was cut short or replaced; this chunk and what follows start at line 1 again.
        more: there is more to read right now.
        offset, size: bytes consumed so far and size of the input (0: it has no size).
    """

    text: bytes = b""
    first: int = 1
    bad_lines: tuple[BadLine, ...] = ()
    restarted: bool = False
    more: bool = False
    offset: int = 0
    size: int = 0

    def lines(self) -> Iterator[tuple[int, str]]:
        """(line number, line without its end) for each line; bytes that are no UTF-8 become U+FFFD."""
        if self.text:
            yield from enumerate(self.text[:-1].decode("utf-8", "replace").split("\n"), self.first)


class Lines(Protocol):
    """What a line source reads from: a `Tail`, a `Pipe`, or a fake in a test.

    Attributes:
        name: path of the file, "-" for a pipe.
        ended: nothing can come any more (a pipe whose other end is closed).
    """

    name: str
    ended: bool

    def read(self, limit: int = CHUNK) -> Chunk:
        """The lines completed since the last read, from about `limit` bytes. Raises OSError."""

    def finish(self) -> Chunk:
        """The last line though its newline never came: for a log that nobody writes any more."""

    def close(self) -> None:
        """Lets go of the file."""


class Cutter:
    """Cuts bytes at line ends: the state common to files and pipes. A pure fold over the bytes."""

    def __init__(self) -> None:
        self.offset = 0
        self.line = 1
        self.skipping = False

    def cut(self, block: bytes, final: bool) -> tuple[int, bytes, bool]:
        """Takes whole lines off the front of `block`, the bytes from `offset` on.

        Returns:
            Bytes consumed, the lines made plain, and whether an overlong line began (counted once, at its start).
        """
        if self.skipping:
            return self._skip(block, final), b"", False
        taken = block[: _before_overlong(block, len(block) if final else last_end(block))]
        if not taken:
            self.skipping = len(block) > LONGEST_LINE
            return 0, b"", self.skipping
        text = plain_lines(taken, self.offset == 0)
        self.offset += len(taken)
        return len(taken), text, False

    def _skip(self, block: bytes, final: bool) -> int:
        """Bytes of `block` that belong to the overlong line."""
        end = _first_end(block)
        if end:
            self.skipping = False
            self.line += 1
        else:
            end = len(block) - (block.endswith(b"\r") and not final)
        self.offset += end
        return end


def _before_overlong(block: bytes, end: int) -> int:
    """Length of the leading lines of `block[:end]`, up to the first that is too long to be held."""
    if end <= LONGEST_LINE:
        return end
    position = 0
    while position < end:
        size = _first_end(block[position : min(end, position + LONGEST_LINE + 1)])
        if size == 0 and end - position <= LONGEST_LINE:
            return end
        if size == 0 or size > LONGEST_LINE:
            break
        position += size
    return position


def _first_end(block: bytes) -> int:
    r"""Length of the first line of `block` with its end, 0 if it has none. A final "\r" may be half a "\r\n"."""
    newline = block.find(b"\n")
    bare = block.find(b"\r", 0, newline if newline >= 0 else len(block) - 1)
    if bare >= 0 and bare + 1 != newline:
        return bare + 1
    return newline + 1


def last_end(block: bytes) -> int:
    r"""Length of the whole lines that `block` begins with. A final "\r" is not yet an end."""
    return max(block.rfind(b"\n"), block.rfind(b"\r", 0, max(len(block) - 1, 0))) + 1


def plain_lines(block: bytes, at_start: bool = False) -> bytes:
    r"""`block` with "\n" for every line end, without NUL bytes and, at the start of a file, without the BOM."""
    if at_start and block.startswith(_BOM):
        block = block[len(_BOM) :]
    if b"\r" in block:
        block = block.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    if b"\0" in block:
        block = block.translate(None, b"\0")
    if block and not block.endswith(b"\n"):
        block += b"\n"
    return block


class Tail:
    """The lines appended to a file.

    Every read opens the path anew: that is what makes a network file system look at the server, and how a replaced
    file is noticed. A replaced file that begins with the same bytes and goes on where we stopped is the same log (an
    atomic rewrite with lines added) and is read on; anything else starts again, with `restarted` set. The previous file
    is held open between reads, so that lines which a rotation moved away are still read.

    Args:
        name: path of the file; it need not exist yet.
    """

    ended = False

    def __init__(self, name: str | os.PathLike[str]) -> None:
        self.name = os.fspath(name)
        self._cutter = Cutter()
        self._held: int | None = None
        self._head = b""
        self._joint = b""

    def read(self, limit: int = CHUNK) -> Chunk:
        """The lines completed since the last read.

        Args:
            limit: about how many bytes to read; a longer line is read whole up to LONGEST_LINE.

        Raises:
            FileNotFoundError, PermissionError, OSError: not there, or not readable; the next read tries again.
        """
        fresh = os.open(self.name, os.O_RDONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NONBLOCK", 0))
        try:
            _refuse_devices(fresh)
            restarted = not self._continues(fresh)
            if restarted and self._held is not None:
                with contextlib.suppress(OSError):  # what another machine removed from a shared disk is read no more
                    rest = self._take(self._held, limit, False, False) if _moved(self._held, fresh) else Chunk()
                    if rest.text or rest.bad_lines:
                        os.close(fresh)
                        return replace(rest, more=True)
        except OSError:
            os.close(fresh)
            raise
        if restarted:
            self._cutter, self._head, self._joint = Cutter(), b"", b""
        self._hold(fresh)
        return self._take(fresh, limit, restarted, False)

    def finish(self) -> Chunk:
        """The last line though its newline never came; nothing if the file has changed hands meanwhile."""
        if self._held is None:
            return Chunk()
        return self._take(self._held, LONGEST_LINE, False, True)

    def close(self) -> None:
        """Lets go of the file; a later read starts where this one stopped."""
        self._hold(None)

    def go_on_with(self, descriptor: int) -> None:
        """Takes over an open file if it is the one that was read so far, else closes it. Raises OSError."""
        self._hold(descriptor)
        if not self._continues(descriptor):
            self._hold(None)

    def __getstate__(self) -> dict[str, object]:
        """All but the open file, for another process: its next read opens the path anew."""
        return {**self.__dict__, "_held": None}

    def _hold(self, descriptor: int | None) -> None:
        if self._held is not None:
            os.close(self._held)
        self._held = descriptor

    def _continues(self, descriptor: int) -> bool:
        """Whether the file still has what was read from it where it was read."""
        if os.fstat(descriptor).st_size < self._cutter.offset:
            return False
        start = self._cutter.offset - len(self._joint)
        return (
            os.pread(descriptor, len(self._head), 0) == self._head
            and os.pread(descriptor, len(self._joint), start) == self._joint
        )

    def _take(self, descriptor: int, limit: int, restarted: bool, final: bool) -> Chunk:
        """Reads on from the offset in `descriptor`."""
        cutter = self._cutter
        bad: list[BadLine] = []
        text, first, stepped, wanted = b"", cutter.line, 0, limit
        while not text:
            if cutter.skipping:
                self._step_over_hole(descriptor)
            block = os.pread(descriptor, wanted, cutter.offset)
            whole = len(block) < wanted
            consumed, text, overlong = cutter.cut(block, final and whole)
            self._remember(block[:consumed])
            if overlong:
                bad.append(BadLine(cutter.line, OVERLONG))
            first = cutter.line
            stepped += consumed
            if not overlong and (not block or (whole and not consumed) or stepped >= SKIP):
                break
            wanted = min(wanted * 2, LONGEST_LINE + 2) if not consumed else limit
        cutter.line += text.count(b"\n")
        size = os.fstat(descriptor).st_size
        more = size - cutter.offset > 0 and (bool(text) or stepped >= SKIP)
        return Chunk(text, first, tuple(bad), restarted, more, cutter.offset, size)

    def _step_over_hole(self, descriptor: int) -> None:
        """Goes on at the next bytes that were ever written: a hole may have any size, and is read as zeros."""
        try:
            there = os.lseek(descriptor, self._cutter.offset, os.SEEK_DATA)
        except AttributeError:  # a system that knows no holes
            return
        except OSError as error:
            if error.errno != errno.ENXIO:
                return
            there = os.fstat(descriptor).st_size  # nothing but a hole up to the end
        if there > self._cutter.offset:
            self._cutter.offset = there
            self._joint = os.pread(descriptor, JOINT, max(0, there - JOINT))

    def _remember(self, taken: bytes) -> None:
        if len(self._head) < HEAD:
            self._head += taken[: HEAD - len(self._head)]
        self._joint = (self._joint + taken[-JOINT:])[-JOINT:]


def _refuse_devices(descriptor: int) -> None:
    """Raises OSError for what cannot be read at an offset. A folder is refused by the first read."""
    if stat.S_IFMT(os.fstat(descriptor).st_mode) not in (stat.S_IFREG, stat.S_IFDIR):
        raise OSError(errno.EINVAL, "a pipe or device now")


def _moved(old: int, new: int) -> bool:
    """Whether `new` is another file than `old`, so that `old` may still hold unread lines."""
    one, other = os.fstat(old), os.fstat(new)
    return (one.st_dev, one.st_ino) != (other.st_dev, other.st_ino)
