"""JSON Lines: tuimon's own and every other with numbers under flat, or once nested, keys."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from operator import attrgetter
from typing import Any

import msgspec

from tuimon.record import FORMAT_VERSION, BadLine, Mark
from tuimon.sources import loose
from tuimon.sources.declared import Declared, note
from tuimon.sources.lined import LineSource, Parsed
from tuimon.sources.names import LONGEST_RAW, MOST_METRICS, rank_step
from tuimon.sources.rows import NESTED, Row, in_columns
from tuimon.sources.tail import Chunk

_NUMBER = float | str | bool | None
_STEP = int | float | str | bool | None

_LAYOUTS = 40
"""How often the layout may change before the slow way is taken for good: a log whose keys never settle."""

_untyped = msgspec.json.Decoder()


class Layout:
    """The keys of a log's records as a struct: decoding into slots takes half the time of decoding into dicts.

    A chunk with any other key, or with an object or list as a value, is refused as a whole.
    """

    def __init__(self, names: Sequence[str]) -> None:
        self.names = tuple(names)
        fields: list[Any] = [
            (f"f{i}", _STEP if rank_step(name) is not None else _NUMBER, None) for i, name in enumerate(names)
        ]
        rename = {f"f{i}": name for i, name in enumerate(names)}
        struct = msgspec.defstruct("Row", fields, forbid_unknown_fields=True, gc=False, rename=rename)
        self._decoder = msgspec.json.Decoder(struct)
        self._slots = attrgetter(*(name for name, *_ in fields), *(() if len(fields) > 1 else ("__class__",)))

    def __reduce__(self) -> tuple[type[Layout], tuple[tuple[str, ...]]]:
        """A decoder cannot go to another process; it is made anew there."""
        return Layout, (self.names,)

    def decode(self, text: bytes) -> tuple[dict[str, Sequence[object]], int]:
        """Columns and number of records. Raises msgspec.MsgspecError for anything unusual in the chunk."""
        rows: list[Any] = self._decoder.decode_lines(text)
        columns = zip(*map(self._slots, rows), strict=True)
        return dict(zip(self.names, columns, strict=False)), len(rows)


class JsonLines(LineSource):
    """See the module. Lines are decoded a chunk at a time, by the quickest way that takes the whole chunk."""

    format = "jsonl"
    title = "JSON Lines"

    def start(self) -> None:
        """See `LineSource.start`."""
        self._declared = Declared()
        self._layout: Layout | None = None
        self._layouts = 0

    def parse(self, chunk: Chunk) -> Parsed:
        """See `LineSource.parse`."""
        whole = _object_each(chunk.text)
        if self._layout is not None and whole is not None:
            for text in _attempts(whole):
                try:
                    columns, count = self._layout.decode(text)
                except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
                    continue
                return Parsed(columns, count)
        return self._by_rows(chunk, None if whole is None else _decode_together(whole))

    def _by_rows(self, chunk: Chunk, rows: list[Row] | None) -> Parsed:
        bad: list[BadLine] = []
        if rows is None:
            rows = []
            for number, line in enumerate(chunk.text.split(b"\n"), chunk.first):
                if not line.strip():
                    continue
                found, wrong = loose.records(line)
                rows += found
                if wrong:
                    bad.append(BadLine(number, f"only in part: {wrong}" if found else wrong))
        marks: list[Mark] = []
        records: list[Row] = []
        for row in rows:
            mark = self._mark(row, len(records))
            if mark is None:
                records.append(row)
            else:
                marks.append(mark)
        self._settle(records)
        return Parsed(in_columns(records, self.columns), len(records), marks, bad)

    def _mark(self, row: Row, place: int) -> Mark | None:
        """The header or note that this line is, None for a record."""
        if "tuimon" in row:
            self.format, self.title = "tuimon", _title(row["tuimon"])
            return Mark(place, "header", self._declared.header(row))
        if isinstance(row.get("note"), str) and row.get(self.roles.get("loss", "loss")) is None:
            return Mark(place, "note", note(row))
        return None

    def _settle(self, records: Sequence[Row]) -> None:
        """Makes a layout of the keys seen so far, if all values are plain."""
        if self._layouts >= _LAYOUTS:
            return
        names = dict.fromkeys(self._layout.names if self._layout else ())
        for row in records:
            if not row.keys() <= names.keys():
                names.update(dict.fromkeys(name for name in row if len(name) <= LONGEST_RAW))
            if not NESTED.isdisjoint(map(type, row.values())):
                self._layouts = _LAYOUTS
                self._layout = None
                return
        if "note" in names or not 0 < len(names) <= MOST_METRICS:
            return
        if self._layout is None or tuple(names) != self._layout.names:
            self._layouts += 1
            try:
                self._layout = Layout(tuple(names))
            except ValueError:
                # A key with quotes or control characters cannot name a slot.
                self._layouts = _LAYOUTS


def _title(version: object) -> str:
    """What to call a log by the format that its header declares."""
    if type(version) is int and FORMAT_VERSION < version < 1000:
        return f"tuimon log in format {version} (newer than this program; what it knows is read)"
    return "tuimon log"


def _object_each(text: bytes) -> bytes | None:
    """`text` without blank lines and blanks around lines, None unless every line begins and ends as an object does.

    Decoding many lines at once takes a newline for any other blank. One object on two lines would be read when both
    come together, and not when a read ends between them.
    """
    if not _are_objects(text):
        text = b"\n".join([line for raw in text.split(b"\n") if (line := raw.strip())]) + b"\n"
    return text if _are_objects(text) else None


def _are_objects(text: bytes) -> bool:
    return text.startswith(b"{") and text.endswith(b"}\n") and text.count(b"}\n{") == text.count(b"\n") - 1


def _attempts(text: bytes) -> Iterator[bytes]:
    """`text` as it is, then with bare NaN as strings, if there are such."""
    yield text
    changed = loose.quoted(text)
    if changed is not None:
        yield changed


def _decode_together(text: bytes) -> list[Row] | None:
    """All lines at once, None if any of them is not a JSON object."""
    for attempt in _attempts(text):
        try:
            rows = _untyped.decode_lines(attempt)
        except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
            continue
        return rows if all(type(row) is dict for row in rows) else None
    return None
