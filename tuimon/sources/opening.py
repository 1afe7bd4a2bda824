"""Opens whatever the user named: a file, a folder, a pipe, or something that is not there yet."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from tuimon.plain import plain_text
from tuimon.record import ROLES, Batch
from tuimon.sources.base import CHUNK, Source, SourceError
from tuimon.sources.pipe import Pipe
from tuimon.sources.sniff import HEAD, Format, Head, by_key, is_json, make, read_head, sniff
from tuimon.sources.tail import Tail

if TYPE_CHECKING:
    from tuimon.sources.runs import Run


def open_source(
    path: str | os.PathLike[str],
    *,
    format: str | None = None,
    roles: Mapping[str, str] | None = None,
    step: str | None = None,
    stdin: int = 0,
) -> Source:
    """The source for `path`; it is read only by `Source.read`, apart from a look at its beginning.

    Args:
        path: a log; a folder, in which the run written last is taken; "-" for standard input. It need not exist yet, or
            may be empty: the source then waits, and tells the format by the first lines. So it does for a folder in
            which nothing may be a log.
        format: key of the table of formats, instead of looking.
        roles: role -> name in the log, instead of looking.
        step: name of the step in the log, instead of looking.
        stdin: descriptor that "-" reads from.

    Raises:
        SourceError: this is no log that can be read; the message says why.
        OSError: it is there but cannot be opened.
    """
    name = os.fspath(path)
    entry = by_key(format) if format else None
    for role in roles or {}:
        if role not in ROLES:
            raise SourceError(f"no role is called {plain_text(role, 40)}; there are {', '.join(ROLES)}")
    if name == "-":
        return Waiting(Pipe(stdin), entry, roles, step)
    if os.path.isdir(name):
        from tuimon.sources.runs import is_bare, newest_run

        if is_bare(name):
            return Waiting(Tail(name), entry, roles, step)
        run = newest_run(name, format)
        name, entry = run.path, entry or by_key(run.format)
    if entry is not None and entry.takes == "path" and os.path.exists(name):
        return make(entry, Tail(name), Head(name, b""), roles, step)
    try:
        kind = os.stat(name).st_mode
        if stat.S_ISFIFO(kind):
            return Waiting(Pipe(os.open(name, os.O_RDONLY | os.O_NONBLOCK)), entry, roles, step)
        if stat.S_ISCHR(kind) or stat.S_ISBLK(kind):
            raise SourceError(f"{plain_text(name)} is a device, not a log")
        head = read_head(name)
    except FileNotFoundError:
        return Waiting(Tail(name), entry, roles, step)
    if not _tells(head):
        return Waiting(Tail(name), entry, roles, step)
    return make(entry or sniff(head), Tail(name), head, roles, step)


def open_run(run: Run, *, roles: Mapping[str, str] | None = None, step: str | None = None) -> Source:
    """The source for a run that was found in a folder; arguments and errors as those of `open_source`."""
    entry = by_key(run.format)
    if entry.takes == "path":
        # A folder that is one run may hold others deeper down.
        return make(entry, Tail(run.path), Head(run.path, b""), roles, step)
    return open_source(run.path, format=run.format, roles=roles, step=step)


def _tells(head: Head) -> bool:
    """Whether there is enough to tell the format: a whole line, a whole document, or bytes that are no text."""
    text = head.text
    if b"\n" in text or b"\r" in text or b"\0" in text or len(text) >= _PLENTY:
        return True
    return is_json(head) and text.rstrip().endswith((b"}", b"]"))


_PLENTY = 4096
"""Bytes that tell a format though no line ends in them."""


class Waiting:
    """A source whose input is not there yet, is empty, or is a pipe: it becomes the real one with the first whole line.

    Attributes:
        source: the real one, None while nothing came.
    """

    def __init__(
        self, lines: Tail | Pipe, entry: Format | None, roles: Mapping[str, str] | None, step: str | None
    ) -> None:
        self.source: Source | None = None
        self._lines = lines
        self._entry = entry
        self._chosen = dict(roles or {})
        self._step = step

    @property
    def path(self) -> str:
        """What is read or waited for; in a folder, the run that was found there."""
        return self._lines.name

    @property
    def format(self) -> str:
        """Key of the format, empty while unknown."""
        return self.source.format if self.source else ""

    @property
    def roles(self) -> Mapping[str, str]:
        """Role -> name in the file."""
        return self.source.roles if self.source else self._chosen

    @property
    def candidates(self) -> Mapping[str, Sequence[str]]:
        """Role -> every name in the file that could play it, best first."""
        return self.source.candidates if self.source else {}

    @property
    def ended(self) -> bool:
        """Whether nothing can come any more."""
        return self.source.ended if self.source else self._lines.ended

    def fileno(self) -> int:
        """The descriptor of a pipe, for select(). Raises OSError for a file."""
        if isinstance(self._lines, Pipe):
            return self._lines.fileno()
        raise OSError("a file needs no select()")

    def read(self, limit: int = CHUNK) -> Batch:
        """See `Source.read`."""
        if self.source is None:
            self.source = self._opened()
        return Batch() if self.source is None else self.source.read(limit)

    def finish(self) -> Batch:
        """See `Source.finish`."""
        if self.source is None:
            if os.path.isdir(self._lines.name):
                self._enter(self._lines.name)
            head = self._head()
            if not head.text.strip():
                return Batch()
            self.source = make(self._entry or sniff(head), self._lines, head, self._chosen, self._step)
            self.source.read()
        return self.source.finish()

    def describe(self) -> str:
        """See `Source.describe`."""
        return self.source.describe() if self.source else "nothing there yet, waiting for the first line"

    def close(self) -> None:
        """See `Source.close`."""
        if self.source is not None:
            self.source.close()
        self._lines.close()

    def _opened(self) -> Source | None:
        """The real source, None if it is too early to tell."""
        if not isinstance(self._lines, Pipe) and os.path.isdir(self._lines.name):
            try:
                self._enter(self._lines.name)
            except SourceError:
                # The folder has come, its run has not.
                return None
            if self._entry is not None and self._entry.takes == "path":
                return make(self._entry, self._lines, Head(self._lines.name, b""), self._chosen, self._step)
        head = self._head()
        if not _tells(head) and not (self._lines.ended and head.text):
            return None
        return make(self._entry or sniff(head), self._lines, head, self._chosen, self._step)

    def _enter(self, folder: str) -> None:
        """Turns from a folder to the run in it. Raises SourceError: there is none."""
        from tuimon.sources.runs import newest_run

        run = newest_run(folder, self._entry.key if self._entry else None)
        self._entry, self._lines = self._entry or by_key(run.format), Tail(run.path)

    def _head(self) -> Head:
        if isinstance(self._lines, Pipe):
            return Head("-", self._lines.peek(HEAD))
        return read_head(self._lines.name)
