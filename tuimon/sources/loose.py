"""Lines that mean a JSON object but are not quite one: bare NaN, Python's quotes, trailing commas, two on one line."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

import msgspec

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


def quoted(text: bytes) -> bytes | None:
    """`text` with bare NaN and Infinity as strings, None if there is none."""
    if b"aN" not in text and b"an" not in text and b"nf" not in text and b"NAN" not in text:
        return None
    # Twice, because neighbours in a list share their comma.
    changed = _BARE.sub(rb'\1"\2"', _BARE.sub(rb'\1"\2"', text))
    return changed if changed != text else None


def records(line: bytes) -> list[Mapping[str, object]]:
    """The objects of one line: one, or several without anything between.

    Raises:
        ValueError: it is none; the message says why, in a few words without control characters.
    """
    pieces = line.replace(b"}{", b"}\n{").split(b"\n") if b"}{" in line else [line]
    return [_record(piece.strip().removesuffix(b",")) for piece in pieces]


def _record(line: bytes) -> Mapping[str, object]:
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


def _object(value: object) -> Mapping[str, object]:
    if type(value) is dict:
        return value
    raise ValueError("not a JSON object")
