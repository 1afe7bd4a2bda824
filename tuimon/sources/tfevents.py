"""TensorBoard event files; those of one folder are one run, as a restarted training opens another file."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence

from tuimon.plain import plain_text
from tuimon.record import BadLine
from tuimon.sources import tfrecord
from tuimon.sources.base import CHUNK
from tuimon.sources.event import LARGEST, Event, Reader
from tuimon.sources.rows import RowSource

_BLOCK = LARGEST + tfrecord.HEAD + tfrecord.FOOT
"""Bytes of one read at least: the largest event that is looked into fits."""

_LEARN = 256 * 1024
"""Bytes from which the roles are chosen."""

_NAME = re.compile(r"events\.out\.tfevents\.(\d+)")
PHASE = re.compile(r"train|val|valid|validation|eval|test", re.IGNORECASE)
"""Folders of one run, beside each other: their names become part of the tags."""

_MOST_FILES = 1000
_SAME = 64
"""First bytes that are compared to notice a replaced file."""


class EventFile:
    """One file, record by record.

    Attributes:
        offset, size: bytes read and bytes there.
        more: another read may bring more.

    Args:
        path: the file.
        prefix: stands before every tag ("train/" for the file in the folder train).
    """

    def __init__(self, path: str, prefix: str = "") -> None:
        self.path = path
        self.prefix = prefix
        self.offset = self.size = 0
        self.more = True
        self._reader = Reader()
        self._count = 0
        self._head = b""
        self._damaged_at = -1

    def read(self, limit: int, events: list[Event], bad: list[BadLine]) -> bool:
        """Appends the events of about `limit` bytes to `events`; whether the file was replaced. Raises OSError."""
        with open(self.path, "rb") as file:
            self.size = os.fstat(file.fileno()).st_size
            if self.size < self.offset or os.pread(file.fileno(), len(self._head), 0) != self._head:
                return True
            block = os.pread(file.fileno(), max(limit, _BLOCK), self.offset)
            if self.offset == 0:
                self._head = block[:_SAME]
        before = self.offset
        self._take(*self._frames(block, bad), events, bad)
        self.more = before < self.offset < self.size
        return False

    def _frames(self, block: bytes, bad: list[BadLine]) -> tuple[list[bytes], list[int], list[int]]:
        """The whole records of a block that are worth a look, their checksums and their numbers."""
        records: list[bytes] = []
        checksums: list[int] = []
        numbers: list[int] = []
        at, start = 0, self.offset
        while at + tfrecord.HEAD <= len(block):
            length = tfrecord.record_length(block, at)
            if length is None:
                self._damaged(bad)
                break
            body = at + tfrecord.HEAD
            end = body + length + tfrecord.FOOT
            if start + end > self.size or (end > len(block) and length <= LARGEST):
                break
            self._count += 1
            if length <= LARGEST:
                records.append(block[body : end - tfrecord.FOOT])
                checksums.append(int.from_bytes(block[end - tfrecord.FOOT : end], "little"))
                numbers.append(self._count)
            at = end
            self.offset = start + at
        return records, checksums, numbers

    def _take(
        self, records: list[bytes], checksums: list[int], numbers: list[int], events: list[Event], bad: list[BadLine]
    ) -> None:
        wrong = tfrecord.wrong(records, checksums)
        read, prefix = self._reader.read, self.prefix
        for place, record in enumerate(records):
            if place in wrong:
                bad.append(BadLine(numbers[place], "wrong checksum"))
                continue
            try:
                found = read(record)
            except ValueError as error:
                bad.append(BadLine(numbers[place], f"no event: {error}"))
                continue
            if found.scalars:
                if prefix:
                    found = found._replace(scalars=[(prefix + tag, value) for tag, value in found.scalars])
                events.append(found)

    def _damaged(self, bad: list[BadLine]) -> None:
        """Says once that the file cannot be read on from here; it is tried again, as a hole may yet be filled."""
        if self._damaged_at != self.offset:
            self._damaged_at = self.offset
            bad.append(BadLine(self._count + 1, "damaged: the rest of the file cannot be read"))


class EventFiles(RowSource[Event]):
    """See the module. Every event with scalars is a record; pictures and histograms are stepped over.

    Args:
        path: an event file, with which later ones in its folder are read; or a folder, with its folders train,
            validation, ... if it has such.
        roles, step: see `open_source`.
    """

    format = "tfevents"
    title = "TensorBoard events"

    def __init__(self, path: str, *, roles: Mapping[str, str] | None = None, step: str | None = None) -> None:
        super().__init__(path, roles=roles, step=step)
        self._files: dict[str, EventFile] = {}
        self._plan = _Plan(path)
        self._plan.extend(self._files)
        head: list[Event] = []
        try:
            for name in list(self._files)[:8]:
                EventFile(name, self._files[name].prefix).read(_LEARN, head, [])
        except OSError:
            head = []
        self.learn(head)

    def look(self, limit: int = CHUNK) -> bool:
        """See `RowSource.look`."""
        self._plan.extend(self._files)
        if not self._files:
            raise FileNotFoundError(2, "no event file there", self.path)
        for file in self._files.values():
            if file.read(limit, self.waiting, self.bad):
                self.restarted = True
                self.waiting, self.bad = [], []
                self._files = {name: EventFile(name, other.prefix) for name, other in self._files.items()}
                return True
            if self.waiting or file.more:
                break
        self.offset = sum(file.offset for file in self._files.values())
        self.size = sum(file.size for file in self._files.values())
        return any(file.more for file in self._files.values())

    def in_columns(self, rows: Sequence[Event]) -> dict[str, list[object]]:
        """See `RowSource.in_columns`."""
        count = len(rows)
        tags: dict[str, list[object]] = {}
        for place, row in enumerate(rows):
            for tag, value in row.scalars:
                column = tags.get(tag)
                if column is None:
                    column = tags[tag] = [None] * count
                column[place] = value
        # The event's own step and time, whatever tags there are by these names.
        return {**tags, "step": [row.step for row in rows], "wall_time": [row.time for row in rows]}

    def describe(self) -> str:
        """See `Source.describe`."""
        if len(self._files) > 1:
            self.title = f"TensorBoard events ({len(self._files)} files)"
        return super().describe()


class _Plan:
    """Which files belong to a path, oldest first."""

    def __init__(self, path: str) -> None:
        self._path = path

    def extend(self, files: dict[str, EventFile]) -> None:
        """Adds files that are not among `files` yet."""
        if os.path.isdir(self._path):
            found = [(*_age(name), prefix, name) for prefix, name in _below(self._path)]
        else:
            found = self._later()
        for *_, prefix, name in sorted(found)[:_MOST_FILES]:
            if name not in files:
                files[name] = EventFile(name, prefix)

    def _later(self) -> list[tuple[int, str, str, str]]:
        """The file itself and those that the same training opened after it."""
        folder, own = os.path.split(self._path)
        stamp = _NAME.match(own)
        found = [(*_age(self._path), "", self._path)]
        if stamp is not None:
            for name in os.listdir(folder or "."):
                other = _NAME.match(name)
                if other is not None and name != own and int(other[1]) > int(stamp[1]):
                    path = os.path.join(folder, name)
                    found.append((*_age(path), "", path))
        return found


def _age(path: str) -> tuple[int, str]:
    """When the file was begun, by its name."""
    stamp = _NAME.search(os.path.basename(path))
    return (int(stamp[1]) if stamp else 0), os.path.basename(path)


def _below(folder: str) -> list[tuple[str, str]]:
    """(prefix of its tags, path) of the event files in a folder and in its folders for training and validation."""
    found = [("", path) for path in _events(folder)]
    for entry in sorted(os.listdir(folder)):
        inner = os.path.join(folder, entry)
        if PHASE.fullmatch(entry) and os.path.isdir(inner):
            found += [(f"{plain_text(entry)}/", path) for path in _events(inner)]
    return found


def _events(folder: str) -> list[str]:
    names = [name for name in os.listdir(folder) if "tfevents" in name]
    return [path for path in (os.path.join(folder, name) for name in names) if os.path.isfile(path)]
