"""Hints that a file may have changed: watchdog on the folders that matter, or the reason why there are none.

A hint only makes the Follower look sooner. Nothing is ever concluded from one, and nothing is lost without one.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from watchdog.events import FileSystemEvent

NETWORK = (
    "nfs",
    "cifs",
    "smb",
    "9p",
    "afs",
    "ceph",
    "lustre",
    "gpfs",
    "beegfs",
    "gluster",
    "orangefs",
    "ocfs",
    "fuse.",
)
"""Beginnings of the types of file systems where another machine's writes raise no event on this one."""

LINKS = 16
"""Symbolic links followed from the name to the file; the kernel itself gives up at 40."""

_EXHAUSTED = {
    errno.EMFILE: "no inotify instance left",
    errno.ENFILE: "no inotify instance left",
    errno.ENOSPC: "no inotify watch left",
}


def network_type(path: str, mountinfo: str = "/proc/self/mountinfo") -> str:
    """The type of the network file system that `path` lies on; empty for a local one, or where it cannot be known."""
    try:
        lines = Path(mountinfo).read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return ""
    real, best, kind = os.path.realpath(path), "", ""
    for line in lines:
        left, _, right = line.partition(" - ")
        fields = left.split()
        if len(fields) < 5 or not right:
            continue
        point = fields[4].replace("\\040", " ")
        # A later mount on the same point hides the earlier one.
        if (real == point or real.startswith(point.rstrip("/") + "/")) and len(point) >= len(best):
            best, kind = point, right.split()[0]
    return kind if kind.startswith(NETWORK) else ""


def chain(path: str) -> list[str]:
    """`path` and every path that its symbolic links lead through, all absolute."""
    steps = [os.path.abspath(path)]
    for _ in range(LINKS):
        try:
            target = os.readlink(steps[-1])
        except OSError:
            break
        steps.append(os.path.join(os.path.dirname(steps[-1]), target))
    return steps


class Hints:
    """Watches the folders through which a path is reached, and calls `wake` from watchdog's thread.

    Attributes:
        lost: a watched folder was removed.

    Args:
        path: the file or folder; it need not exist.
        wake: called without arguments; must be quick and must not raise.
    """

    def __init__(self, path: str, wake: Callable[[], None]) -> None:
        self._path = path
        self._wake = wake
        self._names: frozenset[str] = frozenset()
        self._folders: frozenset[str] = frozenset()
        self.lost = False
        self._seen: tuple[object, ...] = ()
        self._observer: Any = None
        self._watches: list[Any] = []

    @property
    def armed(self) -> bool:
        """Whether hints come now."""
        return bool(self._watches)

    def arm(self) -> str:
        """Starts or renews the watch.

        Returns:
            Why no hints will come ("nfs", "no inotify watch left"), empty when they will or when the folder is missing.
        """
        self.disarm()
        self._seen = self._look()
        if kind := network_type(self._path):
            return kind
        steps = chain(self._path)
        folders = {os.path.realpath(os.path.dirname(step)) for step in steps}
        names = {os.path.basename(step) for step in steps}
        if os.path.isdir(self._path):
            folders, names = {os.path.realpath(self._path)}, set()
        self._names, self._folders, self.lost = frozenset(names), frozenset(folders), False
        try:
            self._schedule(folders)
        except OSError as error:
            self.disarm()
            if error.errno in (errno.ENOENT, errno.ENOTDIR):
                return ""
            return _EXHAUSTED.get(error.errno or 0, f"no file events: {error.strerror or error}")
        except ImportError:
            return "watchdog is not installed"
        return ""

    def stale(self) -> bool:
        """Whether the folders are no longer the ones that are watched (removed, made again, a link switched)."""
        return self.lost or self._look() != self._seen

    def disarm(self) -> None:
        """No more hints until `arm`; while a file changes all the time they only cost."""
        watches, self._watches = self._watches, []
        for watch in watches:
            # A folder that was removed took its watch with it.
            with contextlib.suppress(KeyError, OSError, RuntimeError):
                self._observer.unschedule(watch)

    def close(self) -> None:
        """Ends watchdog's threads."""
        self._watches = []
        observer, self._observer = self._observer, None
        if observer is not None:
            observer.stop()
            observer.join(1.0)

    def dispatch(self, event: FileSystemEvent) -> None:
        """Called by watchdog for each event."""
        paths = (os.fsdecode(event.src_path), os.fsdecode(event.dest_path or ""))
        if event.event_type == "deleted" and paths[0] in self._folders:
            # The watch died with the folder; a new one of the same name can have the same inode number.
            self.lost = True
            self._wake()
        elif not self._names or any(os.path.basename(path) in self._names for path in paths):
            self._wake()

    def _schedule(self, folders: set[str]) -> None:
        from watchdog import events
        from watchdog.observers import Observer

        if self._observer is None:
            observer: Any = Observer()
            observer.daemon = True
            observer.start()
            self._observer = observer
        # Without opening and closing among them: our own reads would wake us.
        kinds = [events.FileModifiedEvent, events.FileCreatedEvent, events.FileDeletedEvent, events.FileMovedEvent,
                 events.DirDeletedEvent, events.DirCreatedEvent, events.DirMovedEvent]  # fmt: skip
        for folder in sorted(folders):
            self._watches.append(self._observer.schedule(self, folder, event_filter=kinds))

    def _look(self) -> tuple[object, ...]:
        found: list[object] = []
        for step in chain(self._path):
            found.append(step)
            try:
                status = os.stat(os.path.dirname(step))
                found.append((status.st_dev, status.st_ino))
            except OSError:
                found.append(None)
        return (*found, os.path.isdir(self._path))


def is_pipe(path: str) -> bool:
    """Whether `path` is a FIFO, which raises no file events and is waited for with select."""
    try:
        return stat.S_ISFIFO(os.stat(path).st_mode)
    except OSError:
        return False
