"""The file, for the writer: whole lines into whatever stands at a path, seen to be still the same file."""

from __future__ import annotations

import errno
import os
import stat
import time
from collections.abc import Sequence

CHECK_SECONDS = 1.0
"""Between two looks at whether the path still leads to our file; lines written since are kept until the next look."""
UNPROVEN_BYTES = 1024 * 1024
"""Written between two such looks, whatever the time."""

_FLAGS = os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOCTTY", 0)
# Opening a FIFO that nobody reads would wait for ever; on regular files the flag does nothing.
_FLAGS |= getattr(os, "O_NONBLOCK", 0)


class LogFile:
    """One file opened for appending. Every method may raise OSError, and may be called again after that.

    Attributes:
        written: lines in the file.
        announce: the header is still to be written.
    """

    def __init__(self, path: str, header: bytes) -> None:
        self.path, self.written, self.announce = path, 0, True
        self._header = header
        self.forget()

    def forget(self) -> None:
        """As if never opened; for a forked child, which closes its copy of the descriptor."""
        if getattr(self, "_fd", -1) >= 0:
            self.let_go()
        self._fd = -1
        self._inode = (0, 0)
        self._torn = False  # the file ends within a line
        self._offset = -1  # where the last quick write left the descriptor
        self._check_at = 0.0
        self._unproven: list[bytes] = []  # written since the path was last seen to lead to our file
        self._unproven_bytes = 0
        self._lost: list[bytes] = []  # written to a file that was deleted, to be written again

    def quick(self, line: bytes) -> bool:
        """Writes one line in the ordinary case; False, without the line in the file, when anything is not as usual."""
        if self._torn or self._unproven_bytes >= UNPROVEN_BYTES or time.monotonic() >= self._check_at:
            return False
        try:
            # A descriptor that stands where our last write left it is ours. Asking fstat each time costs 8 us more:
            # it makes the next write store an exact modification time.
            if os.lseek(self._fd, 0, os.SEEK_CUR) != self._offset and not self._is_ours():
                return False
            self._torn = True  # until the write is known to be whole: a signal's exception may come in between
            count = os.write(self._fd, line)
            if count < len(line):
                return False
            self._torn = False
            self._offset = os.lseek(self._fd, 0, os.SEEK_CUR)
        except OSError:
            self._torn = False
            return False
        self._count((line,), count)
        return True

    def ready(self) -> Sequence[bytes]:
        """Sees to it that the descriptor is our file, and the file the one that the path leads to.

        Returns:
            What is to be written before anything else: the lines lost in a deleted file, the header of a new one.
        """
        if self._fd >= 0 and not self._is_ours():
            self._fd = -1
        if self._fd >= 0 and (self._unproven_bytes >= UNPROVEN_BYTES or time.monotonic() >= self._check_at):
            self._check_path()
        header = self._open() if self._fd < 0 else []
        lost, self._lost = self._lost, []
        return [*header, *lost]

    def look_soon(self) -> None:
        """The next `ready` looks at the path."""
        self._check_at = 0.0

    def write(self, lines: Sequence[bytes]) -> int:
        """One write; returns how many of the lines are whole in the file.

        A short write leaves part of a line, which stands as a bad one; its whole text is to come again after it.
        """
        text = lines[0] if len(lines) == 1 else b"".join(lines)
        torn = self._torn
        if torn:
            text = b"\n" + text
        self._torn = True
        try:
            count = os.write(self._fd, text)
        except OSError:
            self._torn = torn
            raise
        self._torn = text[count - 1 : count] != b"\n"
        done = len(lines) if count == len(text) else max(0, text.count(b"\n", 0, count) - torn)
        self._count(lines[:done], count)
        if torn and not done:  # twice in a row: no way to get a line through now
            raise OSError(errno.EIO, "short write")
        return done

    def _count(self, lines: Sequence[bytes], size: int) -> None:
        self.written += len(lines)
        self._unproven += lines
        self._unproven_bytes += size

    def let_go(self) -> None:
        """Closes the descriptor if it is still ours."""
        fd, ours = self._fd, self._fd >= 0 and self._is_ours()
        self._fd = -1
        if ours:
            try:
                os.close(fd)
            except OSError:  # EIO of a write long done: the lines are counted where they were written
                return

    def _is_ours(self) -> bool:
        """Whether the descriptor is still our file: other code may have closed it and reused its number."""
        try:
            status = os.fstat(self._fd)
        except OSError:
            return False
        return (status.st_dev, status.st_ino) == self._inode

    def _check_path(self) -> None:
        """Lets go of a file that the path does not lead to any more; remembers the lines that are gone with it."""
        self._check_at = time.monotonic() + CHECK_SECONDS
        try:
            status = os.stat(self.path)
            followed = (status.st_dev, status.st_ino) == self._inode
        except OSError:
            followed = False
        if not followed:
            if os.fstat(self._fd).st_nlink == 0:  # deleted, not renamed
                self._lost += self._unproven
                self.written -= len(self._unproven)
            self.let_go()
        self._unproven, self._unproven_bytes = [], 0

    def _open(self) -> list[bytes]:
        """Opens the file; returns the header where one is due."""
        if self.announce:  # a directory that vanishes later was removed on purpose, and is waited for
            os.makedirs(os.path.dirname(self.path), exist_ok=True)
        if _is_planted(self.path):
            raise OSError(errno.EACCES, "a link that another user placed in a shared folder")
        self._fd = os.open(self.path, _FLAGS, 0o666)
        status = os.fstat(self._fd)
        self._inode, self._offset = (status.st_dev, status.st_ino), -1
        self._check_at = time.monotonic() + CHECK_SECONDS
        self._torn = stat.S_ISREG(status.st_mode) and status.st_size > 0 and _last_byte(self.path) != b"\n"
        if not self.announce and status.st_size:
            return []
        self.announce = False
        return [self._header]


def _is_planted(path: str) -> bool:
    """Whether `path` is a link that somebody else placed in a folder where everybody may.

    As Linux does where it protects links: a link of one's own, or of the folder's owner, is followed.
    """
    try:
        link, folder = os.lstat(path), os.stat(os.path.dirname(path) or ".")
    except OSError:
        return False
    shared = stat.S_ISVTX | stat.S_IWOTH
    everybody = folder.st_mode & shared == shared
    return stat.S_ISLNK(link.st_mode) and everybody and link.st_uid not in (os.geteuid(), folder.st_uid)


def _last_byte(path: str) -> bytes:
    """The last byte of a file, empty when it cannot be read (a needless newline is harmless)."""
    try:
        with open(path, "rb", buffering=0) as file:
            file.seek(-1, os.SEEK_END)
            return file.read(1)
    except OSError:
        return b""
