"""From lines to the file, for the writer: what is kept, when it is tried again, and who writes."""

from __future__ import annotations

import contextlib
import errno
import sys
import threading
import time
from collections import deque
from collections.abc import Sequence

from .logfile import LogFile

BUFFER_BYTES = 4 * 1024 * 1024
"""Lines kept while the file cannot be written: 40,000 lines of 100 bytes, half an hour at 20 steps/s."""
CHUNK_BYTES = 64 * 1024
"""Bytes per write when kept lines are written together."""
RETRY_SECONDS = 1.0
"""Pause between attempts while the file cannot be written: an attempt costs 10 us on a full disk."""
SLOW_SECONDS = 0.1
"""A write that took longer sends the rest through the queue: a healthy local write takes 3 us."""
CLOSE_SECONDS = 5.0
"""How long `close` and the interpreter's exit wait for the queue."""


def tell(text: str) -> None:
    """One line on stderr, if there is one."""
    try:
        sys.stderr.write(f"tuimon: {text}\n")
    except Exception:  # noqa: BLE001 -- no stderr, or a closed one: there is nobody to tell
        return


def _lines(count: int) -> str:
    return "1 line was" if count == 1 else f"{count} lines were"


class Appender:
    """Appends whole lines to one file, whatever happens to that file. See RunWriter for what it promises.

    Attributes:
        failed: attempts to write that failed.
        dropped: lines that are lost.
    """

    def __init__(self, path: str, header: bytes, retry: float, background: bool) -> None:
        self.failed, self.dropped = 0, 0
        self._file = LogFile(path, header)
        self._retry = retry
        self._told = False
        self._closed = False
        self._background = background
        self._start_afresh()
        if not (background and self._start_worker()):
            self._flush()

    def _start_afresh(self) -> None:
        """No thread and nothing to write: a new appender, or one in a forked child."""
        self._lock = threading.RLock()  # re-entrant: a signal handler may log while its own thread is in here
        self._wake = threading.Condition(self._lock)
        self._worker: threading.Thread | None = None
        self._kept: deque[bytes] = deque()
        self._kept_bytes = 0
        self._underway = 0  # lines in a write that has not come back
        self._last = False  # the attempt that `close` is due has been made
        self._retry_at = 0.0

    @property
    def written(self) -> int:
        """Lines in the file, headers among them."""
        return self._file.written

    def after_fork(self) -> None:
        """In the child: its own descriptor and lock; the parent's lines stay the parent's."""
        self._file.forget()
        self._file.announce = False
        self._start_afresh()

    def add(self, line: bytes) -> None:
        """Takes a line, which ends in a newline."""
        with self._lock:
            if self._closed:
                self.lose(1, "log() was called after close()")
                return
            now = time.monotonic()
            if self._kept or self._background or now < self._retry_at or not self._write_at_once(line):
                self._keep(line)
                if self._background and (self._worker is not None or self._start_worker()):
                    self._wake.notify()
                    return
                if now < self._retry_at:
                    return
                self._flush()
            self._background = time.monotonic() - now > SLOW_SECONDS

    def _write_at_once(self, line: bytes) -> bool:
        try:
            return self._file.quick(line)
        except BaseException:  # a signal handler's exception: the line may be written, and if so stands there twice
            self._keep(line)
            raise

    def _keep(self, line: bytes) -> None:
        """Puts a line behind those that wait; drops the oldest when they are too many."""
        self._kept.append(line)
        self._kept_bytes += len(line)
        while self._kept_bytes > BUFFER_BYTES:
            self._kept_bytes -= len(self._kept.popleft())
            self.dropped += 1

    def lose(self, lines: int, why: str) -> None:
        """Counts lost lines."""
        self.dropped += lines
        if not self._told:
            self._told = True
            tell(f"{why} ({self._file.path!r}); the training goes on")

    def close(self) -> None:
        """Writes what is kept, gives up after CLOSE_SECONDS where a thread writes."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            self._file.look_soon()
            self._wake.notify()
            worker = self._worker
            if worker is None:
                self._flush()
        if worker is not None:
            worker.join(CLOSE_SECONDS)
        with self._lock:
            if self._kept:
                self.dropped += len(self._kept)
                self._kept.clear()
                self._told = True
            if self._told and self.dropped:
                tell(f"{_lines(self.dropped)} lost ({self._file.path!r})")
            if self._underway:
                tell(f"{_lines(self._underway)} still being written, and may be lost ({self._file.path!r})")
        if worker is None or not worker.is_alive():
            self._file.let_go()

    def _start_worker(self) -> bool:
        worker = threading.Thread(target=self._work, name="tuimon-writer", daemon=True)
        try:
            worker.start()
        except RuntimeError:  # no more threads, or the interpreter is going down: write from the caller's
            self._background = False
            return False
        self._worker = worker
        return True

    def _work(self) -> None:
        """The thread: writes what is kept, outside the lock, because any of its calls may hang."""
        try:
            while self._wait_for_work():
                self._flush()
        except Exception as error:  # noqa: BLE001 -- the thread's edge: from here on the caller's thread writes
            self.failed += 1
            self._background = False
            self.lose(0, f"the writing thread died: {type(error).__name__}")

    def _wait_for_work(self) -> bool:
        """Waits until there is something to write and it may be tried; False after the attempt that `close` is due."""
        with self._lock:
            while not self._closed:
                pause = self._retry_at - time.monotonic()
                if (self._kept or self._file.announce) and pause <= 0:
                    return True
                self._wake.wait(pause if pause > 0 else None)
            last, self._last = self._last, True
            return not last

    def _flush(self) -> None:
        """Writes everything that is kept, or fails, counts that and sets the time of the next attempt."""
        try:
            self._put_back(self._file.ready())
            while self._kept:
                self._write_some()
            self._retry_at = 0.0
        except OSError as error:
            self.failed += 1
            self._retry_at = time.monotonic() + self._retry
            if error.errno not in (errno.EAGAIN, errno.EWOULDBLOCK):
                self._file.let_go()  # whatever is wrong with it, a new descriptor has the better chance
            if not self._told:
                self._told = True
                why = f"cannot write {self._file.path!r} ({error.strerror})"
                tell(f"{why}; the training goes on, lines are kept and retried")

    def _write_some(self) -> None:
        """One write: one line, or as many whole lines as fit into a chunk when several are kept."""
        lines = self._take()
        if not lines:
            return
        done = 0
        self._underway = len(lines)
        try:
            done = self._file.write(lines)
        finally:
            self._underway = 0
            self._put_back(lines[done:])

    def _take(self) -> list[bytes]:
        """The first kept lines, up to a chunk; none when a signal handler that logs has just written them."""
        lines: list[bytes] = []
        size = 0
        with self._lock, contextlib.suppress(IndexError):
            while not lines or size + len(self._kept[0]) <= CHUNK_BYTES:
                lines.append(self._kept.popleft())
                size += len(lines[-1])
        with self._lock:
            self._kept_bytes = self._kept_bytes - size if self._kept else 0
        return lines

    def _put_back(self, lines: Sequence[bytes]) -> None:
        """To the front of what is kept, in order; a header that waits there already is not doubled."""
        with self._lock:
            if not lines or (self._kept and self._kept[0] is lines[0]):
                return
            self._kept.extendleft(reversed(lines))
            self._kept_bytes += sum(map(len, lines))
