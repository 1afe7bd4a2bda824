"""Lines that mean a JSON object but are not quite one: bare NaN, Python's quotes, trailing commas, two glued together."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Mapping

import msgspec

from tuimon.plain import plain_text

DEEPEST = 64
"""Brackets of a line that is tried as Python: its parser is recursive, and a record needs two."""

_LONGEST_PYTHON = 64 * 1024
"""Bytes of a line that is tried as Python: that parser takes 30 times the memory of the text."""

_BARE = re.compile(rb"([:\[,]\s*)([+-]?(?:NaN|nan|NAN|Infinity|infinity|Inf|inf))(?=\s*[,}\]])")
_TRAILING = re.compile(rb",(\s*[}\]])")
_CALL = re.compile(rb"\b(?:tensor|array|np\.float(?:16|32|64)|np\.int(?:32|64)|float(?:16|32|64))\(([^()\"']*)\)")
_FIRST_ARGUMENT = re.compile(rb"^\s*([^,]*)")
_WORDS = re.compile(rb"\b(true|false|null)\b")
_PYTHON = {b"true": b"True", b"false": b"False", b"null": b"None"}


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
    return [_record(piece) for piece in pieces]


def _record(line: bytes) -> Mapping[str, object]:
    reason = "not JSON"
    for attempt in (line, quoted(line)):
        if attempt is None:
            continue
        try:
            return _object(msgspec.json.decode(attempt))
        except RecursionError:
            raise ValueError("nested too deeply") from None
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            reason = str(error)
    if line.count(b"{") + line.count(b"[") > DEEPEST:
        raise ValueError("nested too deeply or not JSON")
    return _object(_python(line, reason))


def _python(line: bytes, reason: str) -> object:
    """The value of a line by Python's parsers, which take more than JSON's."""
    line = line.strip().removesuffix(b",")
    text = _TRAILING.sub(rb"\1", line).decode("utf-8", "replace")
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        pass
    if not line.lstrip().startswith(b"{") or len(line) > _LONGEST_PYTHON:
        raise ValueError(_reason(reason, line))
    literal = _CALL.sub(lambda call: _first_argument(call[1]), line)
    literal = _BARE.sub(rb'\1"\2"', _BARE.sub(rb'\1"\2"', _WORDS.sub(lambda word: _PYTHON[word[1]], literal)))
    try:
        return ast.literal_eval(literal.decode("utf-8", "replace").strip())
    except (ValueError, SyntaxError, RecursionError, MemoryError, TypeError):
        raise ValueError(_reason(reason, line)) from None


def _first_argument(text: bytes) -> bytes:
    found = _FIRST_ARGUMENT.match(text)
    return found[1].strip() if found else b""


def _reason(reason: str, line: bytes) -> str:
    if not line.lstrip().startswith(b"{"):
        return "not a JSON object"
    return plain_text(f"not JSON: {reason}", 80)


def _object(value: object) -> Mapping[str, object]:
    if not isinstance(value, dict):
        raise ValueError("not a JSON object")
    return {key if isinstance(key, str) else str(key): inner for key, inner in value.items()}
