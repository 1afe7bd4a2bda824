"""What headers and notes say is kept for as long as a run is watched, so it is bounded before it is handed on."""

from __future__ import annotations

import math
from collections.abc import Mapping

import msgspec

MOST_KEYS = 1000
"""Declared names of one run, over all its headers."""
MOST_FIELDS = 32
"""Fields of one note; ours have six at most."""
NAME = 200
"""Characters of a name."""
TEXT = 2000
"""Characters of a text, and bytes of a list or dict in a note."""
LIST = 512 * 1024
"""Bytes of a list or dict in a header: the counts of 20,000 classes."""


def note(fields: Mapping[str, object]) -> dict[str, object]:
    """A note as it is handed on: long texts cut, long names, long lists and fields beyond MOST_FIELDS left out."""
    own = {name: fields[name] for name in ("step", "note", "time") if name in fields}
    return _bounded({**own, **fields}, MOST_FIELDS, TEXT)


class Declared:
    """The headers of one log as they are handed on. A fold: names that came first stay."""

    def __init__(self) -> None:
        self._names: set[str] = set()
        self._lists: set[str] = set()

    def header(self, fields: Mapping[str, object]) -> dict[str, object]:
        """A header, its `meta` within bounds; other fields that nobody uses are left out."""
        result = _bounded({name: fields[name] for name in ("tuimon", "run", "started") if name in fields}, 3, TEXT)
        meta = fields.get("meta")
        if isinstance(meta, dict):
            kept = _bounded(meta, MOST_KEYS, LIST)
            result["meta"] = {name: value for name, value in kept.items() if self._has_room(name, value)}
        return result

    def _has_room(self, name: str, value: object) -> bool:
        """Whether this name came before, or there is room for it; lists and dicts, which may be long, have less."""
        names, most = (self._lists, MOST_FIELDS) if isinstance(value, (list, dict)) else (self._names, MOST_KEYS)
        if name not in names and len(names) >= most:
            return False
        names.add(name)
        return True


def _bounded(fields: Mapping[str, object], most: int, longest: int) -> dict[str, object]:
    result: dict[str, object] = {}
    for name, value in fields.items():
        if len(result) >= most:
            break
        if len(name) > NAME or not _computable(value):
            continue
        if isinstance(value, (list, dict)) and len(msgspec.json.encode(value)) > longest:
            continue
        result[name] = value[:TEXT] if isinstance(value, str) else value
    return result


def _computable(value: object) -> bool:
    """Whether a float can hold the number, or the sum of the numbers in a list or dict."""
    if not isinstance(value, (int, list, dict)):
        return True
    parts = value.values() if isinstance(value, dict) else [value] if isinstance(value, int) else value
    try:
        return math.isfinite(math.fsum([part for part in parts if isinstance(part, (int, float))]))
    except (OverflowError, ValueError):
        return False
