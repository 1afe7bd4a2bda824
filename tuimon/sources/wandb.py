"""Offline runs of Weights & Biases: `run-<id>.wandb`, a LevelDB log of protobuf records.

Format: https://github.com/google/leveldb/blob/main/doc/log_format.md with a header of seven bytes and plain CRC-32;
wandb/proto/wandb_internal.proto.
"""

from __future__ import annotations

import os
import struct
import zlib
from collections.abc import Iterator, Mapping

from tuimon.record import BadLine
from tuimon.sources.base import CHUNK, LONGEST_LINE
from tuimon.sources.protobuf import fields, one, signed
from tuimon.sources.rows import Row, RowSource

MAGIC = b":W&B"
_HEADER = 7
_BLOCK = 32768
_FRAGMENT = struct.Struct("<IHB")
_FULL, _FIRST, _MIDDLE, _LAST = 1, 2, 3, 4

# Field numbers: a record's history; its items and its step; an item's key, nested key and value.
_HISTORY = 2
_ITEM, _STEP = 1, 2
_KEY, _NESTED, _JSON = 1, 2, 16

_LONGEST_NUMBER = 64
"""Bytes of a value that can be a number; a longer one is a histogram or a picture."""

_LEARN = 1 << 20
"""Bytes from which the roles are chosen: console output stands between the records, so that 256 KB hold few."""


class Log:
    """The records of a file, put together from fragments.

    Attributes:
        offset: bytes read.
        count: records so far.
    """

    def __init__(self) -> None:
        self.offset = 0
        self.count = 0
        self._part: bytes | None = None
        self._lost_at = -1

    def records(self, block: bytes, bad: list[BadLine]) -> Iterator[bytes]:
        """The records that end in `block`, the bytes from `offset` on."""
        start = self.offset
        at = 0 if start else _HEADER
        while (fragment := self._fragment(block, start, at, bad)) is not None:
            kind, body, at = fragment
            self.offset = start + at
            whole = self._join(kind, body) if kind else None
            if whole is not None:
                self.count += 1
                yield whole
        self.offset = start + at

    def _fragment(self, block: bytes, start: int, at: int, bad: list[BadLine]) -> tuple[int, bytes, int] | None:
        """Kind (0: to be stepped over), bytes and end of the fragment at `at`; None if it is not all there."""
        left = _BLOCK - (start + at) % _BLOCK
        stepped_over = (0, b"", at + left) if at + left <= len(block) else None
        if left < _FRAGMENT.size:
            return stepped_over
        if at + _FRAGMENT.size > len(block):
            return None
        checksum, size, kind = _FRAGMENT.unpack_from(block, at)
        if kind == 0 and size == 0:
            return None
        if not _FULL <= kind <= _LAST or size > left - _FRAGMENT.size:
            # LevelDB's own way out: what is left of the block is lost, the next one begins with a fragment.
            self._lose(bad, start + at, "damaged")
            return stepped_over
        body = block[at + _FRAGMENT.size : at + _FRAGMENT.size + size]
        end = at + _FRAGMENT.size + size
        if end > len(block):
            return None
        if zlib.crc32(body, zlib.crc32(bytes((kind,)))) != checksum:
            self._lose(bad, start + at, "wrong checksum")
            return 0, b"", end
        return kind, body, end

    def _lose(self, bad: list[BadLine], place: int, reason: str) -> None:
        self._part = None
        if place != self._lost_at:
            self._lost_at = place
            bad.append(BadLine(self.count + 1, reason))

    def _join(self, kind: int, body: bytes) -> bytes | None:
        """The record that this fragment completes; one too large to be held is empty."""
        if kind == _FULL:
            return body
        if kind == _FIRST:
            self._part = body
            return None
        if self._part is None:
            return None
        if len(self._part) + len(body) <= LONGEST_LINE:
            self._part += body
        else:
            self._part = b""
        if kind == _MIDDLE:
            return None
        whole, self._part = self._part, None
        return whole


def history(record: bytes) -> Row | None:
    """Names and values of a history record, None for a record of another kind.

    Raises:
        ValueError: the record is damaged.
    """
    message = one(record, _HISTORY)
    if not isinstance(message, bytes):
        return None
    row: dict[str, object] = {}
    step: int | None = None
    for number, _, value in fields(message):
        if number == _STEP and isinstance(value, bytes):
            step = signed(one(value, 1))
        elif number == _ITEM and isinstance(value, bytes):
            name, text = _item(value)
            if len(text) <= _LONGEST_NUMBER and text[:1] not in (b"{", b"["):
                row[name] = text.decode("utf-8", "replace").strip('"')
    if step is not None:
        row.setdefault("_step", step)
    return row


def _item(message: bytes) -> tuple[str, bytes]:
    """Name and JSON text of a history item."""
    key: list[str] = []
    text = b""
    for number, _, value in fields(message):
        if isinstance(value, bytes):
            if number in (_KEY, _NESTED):
                key.append(value.decode("utf-8", "replace"))
            elif number == _JSON:
                text = value
    return "/".join(part for part in key if part), text


class WandbFile(RowSource[Row]):
    """See the module. A partial last record is not yet; a file cut off by a crash loses nothing but that.

    Args:
        path: the file.
        roles, step: see `open_source`.
    """

    format = "wandb"
    title = "W&B offline run"

    def __init__(self, path: str, *, roles: Mapping[str, str] | None = None, step: str | None = None) -> None:
        super().__init__(path, roles=roles, step=step)
        self._log = Log()
        self._head = b""
        try:
            with open(path, "rb") as file:
                self.learn([row for row in self._rows(Log(), file.read(_LEARN), []) if row])
        except OSError:
            pass

    def look(self, limit: int = CHUNK) -> bool:
        """See `RowSource.look`."""
        with open(self.path, "rb") as file:
            self.size = os.fstat(file.fileno()).st_size
            if self.size < self._log.offset or os.pread(file.fileno(), len(self._head), 0) != self._head:
                self._log, self._head, self.restarted = Log(), b"", True
            before = self._log.offset
            block = os.pread(file.fileno(), max(limit, _BLOCK + _FRAGMENT.size), before)
            if before == 0:
                self._head = block[: 4 * _HEADER]
        if before == 0 and len(block) < _HEADER:
            return False
        self.waiting += self._rows(self._log, block, self.bad)
        self.offset = self._log.offset
        return self.offset > before and self.offset < self.size

    @staticmethod
    def _rows(log: Log, block: bytes, bad: list[BadLine]) -> Iterator[Row]:
        for record in log.records(block, bad):
            try:
                row = history(record)
            except ValueError as error:
                bad.append(BadLine(log.count, f"damaged: {error}"))
                continue
            if row:
                yield row
