"""Lines that mean a JSON object but are not quite one: bare NaN, Python's quotes, trailing commas, several glued."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

from tuimon.plain import plain_text

_BARE = re.compile(rb"([:\[,]\s*)([+-]?(?:NaN|nan|NAN|Infinity|infinity|Inf|inf))(?=\s*[,}\]])")

# What is different in a Python dict: quotes, words, calls around a number, a comma before the end. Double-quoted
# strings are matched so that nothing in them is.
_PIECE = re.compile(
    rb"""(?P<double>"(?:[^"\\]|\\.)*")
    |'(?P<single>(?:[^'\\]|\\.)*)'
    |\b(?:tensor|(?:np|numpy)\.\w+|float\d+|int\d+)\(\s*(?P<inner>[^(),"'\[\]]*)[^()]*\)
    |(?<![\w.])(?P<word>[+-]?(?:None|True|False|NaN|nan|NAN|Infinity|infinity|Inf|inf))(?![\w.])
    |(?P<comma>,)(?=\s*[}\]])""",
    re.VERBOSE,
)
_WORDS = {b"None": b"null", b"True": b"true", b"False": b"false"}

_OPENING = re.compile(rb"""\{\s*(?:"[^"\\]*"|'[^'\\]*')\s*:""")
_BETWEEN = re.compile(r"[\s,]*")

MOST_TORN = 16
"""Torn objects on one line after which the rest of it is left: each costs another look at what follows."""

Row = Mapping[str, object]


def quoted(text: bytes) -> bytes | None:
    """`text` with bare NaN and Infinity as strings, None if there is none."""
    if b"aN" not in text and b"an" not in text and b"nf" not in text and b"NAN" not in text:
        return None
    # Twice, because neighbours in a list share their comma.
    changed = _BARE.sub(rb'\1"\2"', _BARE.sub(rb'\1"\2"', text))
    return changed if changed != text else None


def records(line: bytes) -> tuple[list[Row], str]:
    """The objects of one line: one, or several that were glued together.

    Returns:
        The objects, and why something on the line could not be read, in a few words without control characters; that is
        empty when all of it was.
    """
    line = line.strip().removesuffix(b",")
    try:
        return [_record(line)], ""
    except ValueError as error:
        reason = str(error)
    rows, torn = _glued(line) if line.startswith(b"{") else ([], True)
    return rows, reason if torn else ""


def is_readable(line: bytes) -> bool:
    """Whether all of the line can be read; nearly every line says so to the standard library."""
    try:
        if isinstance(json.loads(line), dict):
            return True
    except (ValueError, RecursionError):
        pass
    return not records(line)[1]


def _glued(line: bytes) -> tuple[list[Row], bool]:
    """The objects that stand behind one another, and whether there is anything else.

    Behind something torn it goes on where an object begins as the line does: `{"step": 1, "lo{"step": 2, "loss": 3}`.
    What begins in another way may be a part of what was torn, and no record.
    """
    first = _OPENING.match(line)
    opening = first[0] if first else line
    rows: list[Row] = []
    torn = 0
    start = 0
    while start >= 0 and torn < MOST_TORN:
        stop = line.find(opening, start + 1)
        found, whole = _in_a_row(line[start : stop if stop >= 0 else len(line)])
        rows += found
        torn += not whole
        start = stop
    return rows, torn > 0


def _in_a_row(piece: bytes) -> tuple[list[Row], bool]:
    """The objects that `piece` begins with, and whether they are all of it."""
    text = _PIECE.sub(_as_json, piece).decode("utf-8", "replace")
    rows: list[Row] = []
    place = 0
    while place < len(text):
        try:
            row, place = _json.raw_decode(text, place)
        except (ValueError, RecursionError):
            return rows, False
        if type(row) is not dict:
            return rows, False
        rows.append(row)
        place = _BETWEEN.match(text, place).end()  # type: ignore[union-attr]
    return rows, True


_json = json.JSONDecoder()


def _record(line: bytes) -> Row:
    # Imported when there is a line: the first picture of a log is drawn without it.
    import msgspec

    reason = "not JSON"
    if not line.startswith(b"{"):
        raise ValueError("not a JSON object")
    try:
        return _object(msgspec.json.decode(line))
    except RecursionError:
        raise ValueError("nested too deeply") from None
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        reason = str(error)
    text = _PIECE.sub(_as_json, line).decode("utf-8", "replace")
    try:
        return _object(json.loads(text))
    except RecursionError:
        raise ValueError("nested too deeply") from None
    except ValueError:
        raise ValueError(plain_text(f"not JSON: {reason}", 80)) from None


def _as_json(piece: re.Match[bytes]) -> bytes:
    """A piece of a Python dict as JSON has it."""
    if piece["single"] is not None:
        return b'"' + piece["single"].replace(b"\\'", b"'").replace(b'"', b'\\"') + b'"'
    if piece["word"] is not None:
        return _WORDS.get(piece["word"], b'"' + piece["word"] + b'"')
    if piece["inner"] is not None:
        inner = piece["inner"].strip()
        return inner if inner[-1:].isdigit() else b'"' + inner + b'"'
    return b"" if piece["comma"] else piece["double"]


def _object(value: object) -> Row:
    if type(value) is dict:
        return value
    raise ValueError("not a JSON object")
