"""From lines to a file, for the writer: whatever happens to that file."""

from __future__ import annotations

import atexit
import contextlib
import errno
import os
import stat
import sys
import threading
import time
import weakref
from collections import deque
from collections.abc import Iterable

BUFFER_BYTES = 4 * 1024 * 1024
"""Lines kept while the file cannot be written: 40,000 lines of 100 bytes, half an hour at 20 steps/s."""
CHUNK_BYTES = 64 * 1024
"""Bytes per write when kept lines are written together."""
RETRY_SECONDS = 1.0
"""Pause between attempts while the file cannot be written: an attempt costs 10 us on a full disk."""
CHECK_SECONDS = 1.0
"""Between two looks at whether the path still leads to our file; lines written since are kept until the next look."""
UNPROVEN_BYTES = 1024 * 1024
"""Written between two such looks, whatever the time."""
SLOW_SECONDS = 0.1
"""A write that took longer sends the rest through the queue: a healthy local write takes 3 us."""
CLOSE_SECONDS = 5.0
"""How long `close` and the interpreter's exit wait for the queue."""

_FLAGS = os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOCTTY", 0)
# Opening a FIFO that nobody reads would wait for ever; on regular files the flag does nothing.
_FLAGS |= getattr(os, "O_NONBLOCK", 0)


def tell(text: str) -> None:
    """One line on stderr, if there is one."""
    try:
        sys.stderr.write(f"tuimon: {text}\n")
    except Exception:  # noqa: BLE001 -- no stderr, or a closed one: there is nobody to tell
        return


class Appender:
    """Appends whole lines to one file, whatever happens to that file. See RunWriter for what it promises."""

    def __init__(self, path: str, header: bytes, retry: float, background: bool) -> None:
        self.path, self.written, self.failed, self.dropped = path, 0, 0, 0
        self._header, self._retry = header, retry
        self._announce = True  # the header is still to be written
        self._told = False
        self._closed = False
        self._background = background
        self._start_afresh()
        _appenders.add(self)
        if not (background and self._start_worker()):
            self._flush()

    def _start_afresh(self) -> None:
        """No file, no thread, nothing to write: a new appender, or one in a forked child."""
        self._lock = threading.RLock()  # re-entrant: a signal handler may log while its own thread is in here
        self._wake = threading.Condition(self._lock)
        self._worker: threading.Thread | None = None
        self._kept: deque[bytes] = deque()
        self._kept_bytes = 0
        self._unproven: list[bytes] = []  # written since the path was last seen to lead to our file
        self._unproven_bytes = 0
        self._fd = -1
        self._inode = (0, 0)
        self._torn = False  # the file ends within a line
        self._last = False  # the attempt that `close` is due has been made
        self._retry_at = 0.0
        self._check_at = 0.0

    def after_fork(self) -> None:
        """In the child: its own descriptor and lock; the parent's lines stay the parent's."""
        if self._is_ours():
            os.close(self._fd)
        self._announce = False
        self._start_afresh()

    def add(self, line: bytes) -> None:
        """Takes a line, which ends in a newline."""
        with self._lock:
            if self._closed:
                self.lose(1, "log() was called after close()")
                return
            self._kept.append(line)
            self._kept_bytes += len(line)
            while self._kept_bytes > BUFFER_BYTES:
                self._kept_bytes -= len(self._kept.popleft())
                self.dropped += 1
            if self._background and (self._worker is not None or self._start_worker()):
                self._wake.notify()
                return
            now = time.monotonic()
            if now >= self._retry_at:
                self._flush()
                self._background = time.monotonic() - now > SLOW_SECONDS

    def lose(self, lines: int, why: str) -> None:
        """Counts lost lines."""
        self.dropped += lines
        if not self._told:
            self._told = True
            tell(f"{why} ({self.path!r}); the training goes on")

    def close(self) -> None:
        """Writes what is kept, gives up after CLOSE_SECONDS where a thread writes."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            self._check_at = 0.0
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
                tell(f"{self.dropped} lines were lost ({self.path!r})")
        if worker is None or not worker.is_alive():
            self._let_go()
        _appenders.discard(self)

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
                if (self._kept or self._announce) and pause <= 0:
                    return True
                self._wake.wait(pause if pause > 0 else None)
            last, self._last = self._last, True
            return not last

    def _flush(self) -> None:
        """Writes everything that is kept, or fails, counts that and sets the time of the next attempt."""
        try:
            self._ready()
            while self._kept:
                self._write_some()
            self._retry_at = 0.0
        except OSError as error:
            self.failed += 1
            self._retry_at = time.monotonic() + self._retry
            if error.errno not in (errno.EAGAIN, errno.EWOULDBLOCK):
                self._let_go()  # whatever is wrong with it, a new descriptor has the better chance
            if not self._told:
                self._told = True
                tell(f"cannot write {self.path!r} ({error.strerror}); the training goes on, lines are kept and retried")

    def _write_some(self) -> None:
        """One write: one line, or as many whole lines as fit into a chunk when several are kept."""
        lines = self._take()
        if not lines:
            return
        text = lines[0] if len(lines) == 1 else b"".join(lines)
        torn = self._torn
        if torn:
            text = b"\n" + text
        done = 0
        self._torn = True  # until the write is known to be whole: a signal's exception may come in between
        try:
            count = os.write(self._fd, text)
            self._torn = text[count - 1 : count] != b"\n"
            done = max(0, text.count(b"\n", 0, count) - torn) if count < len(text) else len(lines)
        except OSError:
            self._torn = torn
            raise
        finally:
            # A short write leaves part of a line, which stands as a bad one; its whole text comes again after it.
            self._put_back(lines[done:])
            self.written += done
            self._unproven += lines[:done]
            self._unproven_bytes += len(text)
        if torn and not done:  # twice in a row: no way to get a line through now
            raise OSError(errno.EIO, "short write")

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

    def _put_back(self, lines: Iterable[bytes]) -> None:
        """Back to the front of what is kept, in order."""
        if lines := list(lines):
            with self._lock:
                self._kept.extendleft(reversed(lines))
                self._kept_bytes += sum(map(len, lines))

    def _is_ours(self) -> bool:
        """Whether the descriptor is still our file: other code may have closed it and reused its number."""
        try:
            status = os.fstat(self._fd)
        except OSError:
            return False
        return (status.st_dev, status.st_ino) == self._inode

    def _let_go(self) -> None:
        """Closes the descriptor if it is still ours."""
        fd, ours = self._fd, self._fd >= 0 and self._is_ours()
        self._fd = -1
        if ours:
            try:
                os.close(fd)
            except OSError:  # EIO of a write long done: the lines are counted where they were written
                return

    def _ready(self) -> None:
        """Sees to it that the descriptor is our file, and the file the one that the path leads to."""
        if self._fd >= 0 and not self._is_ours():
            self._fd = -1
        if self._fd >= 0 and (self._unproven_bytes >= UNPROVEN_BYTES or time.monotonic() >= self._check_at):
            self._check_path()
        if self._fd < 0:
            self._open()

    def _check_path(self) -> None:
        self._check_at = time.monotonic() + CHECK_SECONDS
        try:
            status = os.stat(self.path)
            followed = (status.st_dev, status.st_ino) == self._inode
        except OSError:
            followed = False
        if not followed:
            if os.fstat(self._fd).st_nlink == 0:  # deleted, not renamed: what was written since is gone with it
                self.written -= len(self._unproven)
                self._put_back(self._unproven)
            self._let_go()
        self._unproven.clear()
        self._unproven_bytes = 0

    def _open(self) -> None:
        if self._announce:  # a directory that vanishes later was removed on purpose, and is waited for
            os.makedirs(os.path.dirname(self.path), exist_ok=True)
        self._fd = os.open(self.path, _FLAGS, 0o666)
        status = os.fstat(self._fd)
        self._inode = (status.st_dev, status.st_ino)
        self._check_at = time.monotonic() + CHECK_SECONDS
        self._torn = stat.S_ISREG(status.st_mode) and status.st_size > 0 and _last_byte(self.path) != b"\n"
        if self._announce or status.st_size == 0:
            self._announce = False
            if not self._kept or self._kept[0] is not self._header:
                self._put_back([self._header])


def _last_byte(path: str) -> bytes:
    """The last byte of a file, empty when it cannot be read (a needless newline is harmless)."""
    try:
        with open(path, "rb", buffering=0) as file:
            file.seek(-1, os.SEEK_END)
            return file.read(1)
    except OSError:
        return b""


_appenders: weakref.WeakSet[Appender] = weakref.WeakSet()


def _close_all() -> None:
    for appender in list(_appenders):
        appender.close()


def _after_fork() -> None:
    for appender in list(_appenders):
        appender.after_fork()


atexit.register(_close_all)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
