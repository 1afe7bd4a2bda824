"""JSON documents that are rewritten whole: Hugging Face's trainer_state.json, lists of records, Keras' history."""

from __future__ import annotations

import json
import os
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence

import msgspec

from tuimon.plain import plain_text
from tuimon.record import Batch
from tuimon.sources import loose
from tuimon.sources.base import SourceError
from tuimon.sources.rows import Row, RowSource, in_columns

LARGEST = 128 * 1024 * 1024
"""Bytes of a document that is read: a million records of a trainer_state; it must be held whole to be decoded."""

STATE = "trainer_state.json"
_CHECKPOINT = re.compile(r"checkpoint-(\d+)$")


class JsonFile(RowSource[Row]):
    """See the module. A changed document is read again, and only records that were not there before are handed out.

    Records that differ from what stood at their place (training went back to a checkpoint and on from there) are handed
    out from the first difference on. A document that is not whole is being written: not yet.

    Args:
        path: the document, or the output folder of a training, where the newest checkpoint's is read.
        roles, step: see `open_source`.

    Raises:
        SourceError: the document is no log.
    """

    format = "json"
    title = "JSON document"

    def __init__(self, path: str, **chosen: object) -> None:
        super().__init__(path, **chosen)  # type: ignore[arg-type]
        self._seen: Sequence[Row] = ()
        self._signature: tuple[int, int, int] | None = None
        try:
            self._load(strict=True)
        except OSError:
            self._signature = None

    def look(self, limit: int) -> bool:
        """See `RowSource.look`."""
        self._load(strict=False)
        return False

    def finish(self) -> Batch:
        """The records of a document that was cut off."""
        if not self._seen and self._signature is not None:
            with open(self._document(), "rb") as file:
                self.waiting = list(_salvaged(file.read(LARGEST)))
            self._seen = list(self.waiting)
            if self.waiting:
                self.title += ", cut off"
            return self._all()
        return super().finish()

    def _all(self) -> Batch:
        """One batch of everything that waits."""
        self.learn(self.waiting)
        rows, self.waiting = self.waiting, []
        return self.columns.batch(in_columns(rows, self.columns), len(rows), offset=self.offset, size=self.size)

    def _document(self) -> str:
        return newest_state(self.path) if os.path.isdir(self.path) else self.path

    def _load(self, strict: bool) -> None:
        """Looks whether the document changed, and takes in what is new."""
        name = self._document()
        with open(name, "rb") as file:
            facts = os.fstat(file.fileno())
            signature = (facts.st_ino, facts.st_size, facts.st_mtime_ns)
            if signature == self._signature:
                return
            if facts.st_size > LARGEST:
                raise SourceError(_too_large(name, file.read(_OPENING)))
            text = file.read(LARGEST)
        self._signature = signature
        document = _decoded(text)
        if document is None:
            return
        try:
            self.title, rows = rows_of(document)
        except ValueError as error:
            if strict:
                raise SourceError(f"{plain_text(os.path.basename(name))} is JSON, but no log: {error}") from None
            return
        self.offset = self.size = len(text)
        self._take(rows)

    def _take(self, rows: Sequence[Row]) -> None:
        common = _common(self._seen, rows)
        if self._seen and not common and rows:
            self.restarted = True
            self.waiting = []
        if not self._seen:
            self.learn(rows)
        self.waiting = [*self.waiting, *rows[common:]]
        self._seen = rows


_OPENING = 1 << 16
"""Bytes of a document that tell what kind of one it is."""


def _too_large(name: str, start: bytes) -> str:
    """That a document is too large, and how to make JSON Lines of it, which are read bit by bit."""
    shown = plain_text(name)
    message = f"{shown} is a JSON document of over {LARGEST >> 20} MB: too large to be held. "
    if b'"log_history"' not in start and not start.lstrip().startswith(b"["):
        return f"{message}Write JSON Lines, one object per step"
    which = ".log_history[]" if b'"log_history"' in start else ".[]"
    return f"{message}As JSON Lines it can be read: jq -c '{which}' {shlex.quote(shown)} > run.jsonl"


def newest_state(folder: str) -> str:
    """The trainer_state.json of a training's output folder: that of the last checkpoint, else its own.

    Raises:
        FileNotFoundError: there is none.
    """
    found = []
    for name in os.listdir(folder):
        step = _CHECKPOINT.fullmatch(name)
        state = os.path.join(folder, name, STATE)
        if step and os.path.isfile(state):
            found.append((os.stat(state).st_mtime_ns, int(step[1]), state))
    own = os.path.join(folder, STATE)
    if os.path.isfile(own):
        found.append((os.stat(own).st_mtime_ns, 1 << 62, own))
    if not found:
        raise FileNotFoundError(2, "no trainer_state.json there", folder)
    return max(found)[-1]


def _decoded(text: bytes) -> object:
    """The document, None if it is not whole."""
    for attempt in (text, loose.quoted(text)):
        if attempt is not None:
            try:
                return msgspec.json.decode(attempt)
            except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
                continue
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def rows_of(document: object) -> tuple[str, Sequence[Row]]:
    """Title for people and records of a document.

    Raises:
        ValueError: it holds none; the message says what it holds.
    """
    if isinstance(document, dict):
        history = document.get("log_history")
        if isinstance(history, list):
            return "Hugging Face trainer_state", _objects(history)
        series = {key: value for key, value in document.items() if isinstance(value, list) and value}
        if series and all(_numbers(value) for value in series.values()):
            return "JSON lists of values", _transposed(series)
        if any(isinstance(value, (int, float)) and not isinstance(value, bool) for value in document.values()):
            return "JSON object, last values only", [document]
        keys = ", ".join(plain_text(key, 30) for key in list(document)[:8])
        raise ValueError(f"no log_history and no numbers; its keys are {keys or 'none'}")
    if isinstance(document, list) and all(isinstance(row, dict) for row in document[:100]):
        return "JSON list of records", _objects(document)
    raise ValueError("neither an object nor a list of objects")


def _objects(values: Sequence[object]) -> list[Row]:
    return [value for value in values if isinstance(value, dict)]


def _numbers(values: Sequence[object]) -> bool:
    return all(value is None or isinstance(value, (int, float, str)) for value in values[:100])


def _transposed(series: Mapping[str, Sequence[object]]) -> list[Row]:
    """One record per place of parallel lists."""
    count = max(map(len, series.values()))
    return [{name: column[i] for name, column in series.items() if i < len(column)} for i in range(count)]


def _common(old: Sequence[Row], new: Sequence[Row]) -> int:
    """How many records at the beginning are the same; NaN is the same as NaN."""
    if len(new) >= len(old) and list(map(repr, old[-1:])) == list(map(repr, new[len(old) - 1 : len(old)])) and old:
        return len(old)
    count = 0
    for one, other in zip(old, new, strict=False):
        if repr(one) != repr(other):
            break
        count += 1
    return count


def _salvaged(text: bytes) -> Iterator[Row]:
    """The whole objects in the list of a document that was cut off."""
    whole = text.decode("utf-8", "replace")
    place = whole.find("[", max(whole.find('"log_history"'), 0)) + 1
    decoder = json.JSONDecoder()
    while place > 0:
        place += len(whole[place : place + 200]) - len(whole[place : place + 200].lstrip(" \t\r\n,"))
        try:
            row, place = decoder.raw_decode(whole, place)
        except (ValueError, RecursionError):
            return
        if isinstance(row, dict):
            yield row
