"""A long history is decoded by a process of its own, while this one takes in what it decoded.

Decoding is a quarter to a third of what opening a long log costs, and Python runs one thread at a time. The process is
given the source as it is before its first read, and hands over one Batch after the other, each with the source as it
then is: at the end of the history, or where the process ends before, it is read on here as if it always had been.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import pickle
import subprocess
import sys
import weakref
from array import array
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import IO, Any, NamedTuple

from tuimon.record import Batch
from tuimon.sources.base import CHUNK, Source, SourceError
from tuimon.sources.lined import LineSource
from tuimon.sources.tail import Tail

LEAST = 8 * 1024 * 1024
"""Bytes of a log that is worth a process: it takes a quarter of a second to start, in which 15 MB are decoded here."""

READ = 128 * 1024
"""Bytes per read of the process: a thousand records, which take the consumer about 5 ms."""

PIPE = 1 << 20
"""Bytes that the process may be ahead: about twenty batches."""

_START = "import sys; sys.path[:] = sys.argv[1:]; from tuimon.sources.apart import main; main()"
"""The modules of this process, and none of the folder that it was started in."""


class Told(NamedTuple):
    """What a source takes its input for, sent whenever a metric has come up."""

    roles: Mapping[str, str]
    candidates: Mapping[str, Sequence[str]]
    description: str


def apart(source: Source) -> Source:
    """`source`, whose history is read by a process of its own if that is worth one and can be had.

    Args:
        source: not read yet.
    """
    if not (isinstance(source, LineSource) and isinstance(source.lines, Tail) and sys.executable and _cores() > 1):
        return source
    try:
        if os.stat(source.lines.name).st_size < LEAST:
            return source
        return Apart(source)
    except (OSError, ValueError, TypeError, AttributeError, pickle.PicklingError):
        # Gone meanwhile, no process to be had, or a source that cannot travel: it is read here.
        return source


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class Message(NamedTuple):
    """What the process sends after each read.

    Attributes:
        batch: what was read.
        told: what the source takes its input for, if that has changed.
        source: the source after this read, pickled: it is needed after the last read only. A hundredth of the time
            that a read takes.
    """

    batch: Batch
    told: Told | None
    source: bytes


class Apart:
    """See the module.

    Args:
        source: not read yet. Raises pickle.PicklingError and others if it cannot travel, OSError without a process.
    """

    def __init__(self, source: LineSource) -> None:
        self._source: LineSource = source
        self._told: Told | None = None
        self._state = b""
        self._process: subprocess.Popen[bytes] | None = None
        travelling = pickle.dumps(source)
        self._process = subprocess.Popen(  # noqa: S603 - this Python and our own words
            [sys.executable, "-c", _START, *sys.path],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        # The program may end while a thread waits for a process that is stopped, or whose disk does not answer.
        weakref.finalize(self, self._process.kill)
        self._file = _opened(source.lines.name)
        _widen(_pipe(self._process.stdout))
        with contextlib.suppress(OSError):  # it has ended already, and the first read will see that
            _pipe(self._process.stdin).write(travelling)
            _pipe(self._process.stdin).close()

    @property
    def path(self) -> str:
        """What is read."""
        return self._source.lines.name

    @property
    def format(self) -> str:
        """See `Source.format`."""
        return self._source.format

    @property
    def roles(self) -> Mapping[str, str]:
        """See `Source.roles`."""
        return self._told.roles if self._told else self._source.roles

    @property
    def candidates(self) -> Mapping[str, Sequence[str]]:
        """See `Source.candidates`."""
        return self._told.candidates if self._told else self._source.candidates

    @property
    def ended(self) -> bool:
        """See `Source.ended`."""
        return self._process is None and self._source.ended

    def read(self, limit: int = CHUNK) -> Batch:
        """See `Source.read`; while the process reads, its own limit holds."""
        if self._process is None:
            return self._source.read(limit)
        came = self._receive(self._process)
        if came is None:
            self._let_go()
            self._take_over()
            return self._source.read(limit)
        self._told = came.told or self._told
        self._state = came.source
        return unpacked(came.batch)

    def finish(self) -> Batch:
        """See `Source.finish`."""
        return self._source.finish()

    def describe(self) -> str:
        """See `Source.describe`."""
        return self._told.description if self._told else self._source.describe()

    def close(self) -> None:
        """See `Source.close`."""
        self._let_go()
        self._take_over()
        self._source.close()

    def _receive(self, process: subprocess.Popen[bytes]) -> Message | None:
        """What comes next, None where the process has ended."""
        try:
            came = pickle.load(_pipe(process.stdout))  # noqa: S301 - from a process of our own
        except Exception:  # noqa: BLE001 - whatever was cut off, or printed by a start-up file, fails in ways of its own
            return None
        return came if isinstance(came, Message) else None

    def _take_over(self) -> None:
        """Reads on here, from the file that was there first as well: it may have been moved away meanwhile."""
        if self._state:
            self._source, self._told = pickle.loads(self._state), None  # noqa: S301 - from a process of our own
        file, self._file = self._file, None
        if file is not None and isinstance(self._source.lines, Tail):
            try:
                self._source.lines.go_on_with(file)
            except OSError:
                self._source.lines.close()

    def _let_go(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            _pipe(process.stdout).close()
            process.wait()


def _pipe(stream: IO[bytes] | None) -> IO[bytes]:
    assert stream is not None
    return stream


def _opened(name: str) -> int | None:
    """A descriptor of the file, None where it cannot be opened: the first read will say so."""
    with contextlib.suppress(OSError):
        return os.open(name, os.O_RDONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NONBLOCK", 0))
    return None


def _widen(pipe: IO[bytes]) -> None:
    """Gives a pipe the room that is wanted, where the system has it and allows it."""
    with contextlib.suppress(OSError, AttributeError):
        fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, PIPE)


def packed(batch: Batch) -> Batch:
    """`batch` with arrays for lists: a tenth of the time to pickle and to load."""
    return replace(
        batch,
        steps=_packed("q", batch.steps),
        times=_packed("d", batch.times),
        columns={name: _packed("d", column) for name, column in batch.columns.items()},
    )


def _packed(kind: str, column: Sequence[Any]) -> Sequence[Any]:
    """An array if nothing is missing."""
    try:
        return array(kind, column)
    except (TypeError, OverflowError):
        return column


def unpacked(batch: Batch) -> Batch:
    """What `packed` made of it, with lists again: the detectors go through them faster."""
    return replace(
        batch,
        steps=_listed(batch.steps),
        times=_listed(batch.times),
        columns={name: _listed(column) for name, column in batch.columns.items()},
    )


def _listed(column: Sequence[Any]) -> Sequence[Any]:
    return column.tolist() if isinstance(column, array) else column


def main() -> None:
    """The process: a source comes in, and after each read of its history a Message goes out."""
    source = pickle.load(sys.stdin.buffer)  # noqa: S301 - from the process that started this one
    # The standard output may be unbuffered, and then a write that a stopped and continued process resumes is cut short.
    out = os.fdopen(os.dup(1), "wb")
    with contextlib.suppress(BrokenPipeError):
        seen: set[str] = set()
        for batch in _history(source):
            if any(mark.kind == "restart" for mark in batch.marks):
                seen.clear()
            fresh = not seen or not seen >= batch.columns.keys()
            seen.update(batch.columns)
            told = Told(source.roles, source.candidates, source.describe()) if fresh else None
            pickle.dump(Message(packed(batch), told, pickle.dumps(source, 5)), out, 5)
            out.flush()
    # Nobody reads any more: the exit flush would complain of what could not be written.
    os._exit(0)


def _history(source: LineSource) -> Any:
    """All that is there now; what goes wrong is met again by whoever reads on."""
    with contextlib.suppress(OSError, SourceError):
        while True:
            batch = source.read(READ)
            yield batch
            if not batch.more:
                return
