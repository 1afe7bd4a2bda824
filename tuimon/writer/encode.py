"""From values to the text of a line, for the writer."""

from __future__ import annotations

import json
import math
import operator
from collections.abc import Mapping

try:
    from ..record import ABORTED, END, FORMAT_VERSION, plain  # noqa: TID252 -- in a package of any name
except ImportError:  # copied beside the training script
    from record import ABORTED, END, FORMAT_VERSION, plain  # type: ignore[import-not-found, no-redef]

__all__ = ["ABORTED", "END", "FORMAT_VERSION", "encode", "key", "plain", "scalar", "whole"]

LINE_BYTES = 512 * 1024
"""Longer lines are dropped: half of what a reader takes, and far above any line of numbers."""
NAME_LENGTH = 200
"""A longer metric name is a mistake (a tensor printed into a key), and would be repeated on every line."""
TEXT_LENGTH = 2000
"""Characters kept of each text in a note or in meta."""
FARTHEST_STEP = 2**63 - 1

_RESERVED = frozenset(("step", "time", "note", "tuimon"))


def scalar(value: object) -> float | int | None:
    """The number in `value`; an integer beyond 64 bits becomes a float, at the worst an infinity."""
    if not isinstance(value, (int, float)):
        item = getattr(value, "item", None)
        if item is not None:
            value = item()
        elif hasattr(value, "__float__"):
            value = float(value)  # Decimal, Fraction, 0-d arrays of other libraries
    if isinstance(value, float):
        return float(value)
    if not isinstance(value, int):
        return None
    if -FARTHEST_STEP <= value <= FARTHEST_STEP:
        return int(value)
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def whole(step: object) -> int:
    """A step of any integer type (or a float without a fraction) as an int."""
    if isinstance(step, float) and step.is_integer():
        return int(step)
    return int(operator.index(step))  # type: ignore[arg-type]


def strict(value: object, depth: int = 0) -> object:
    """`value` as strict JSON can hold it: texts cut, keys as texts, numbers as in records, the rest by its str()."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, Mapping) and depth < 4:
        return {str(key)[:NAME_LENGTH]: strict(item, depth + 1) for key, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)) and depth < 4:
        return [strict(item, depth + 1) for item in value]
    if not isinstance(value, (str, bytes)):
        try:
            number = scalar(value)
        except Exception:  # noqa: BLE001 -- a tensor of several elements, or anything else that is no scalar
            number = None
        if number is not None:
            return plain(number)
    return str(value)[:TEXT_LENGTH].encode("utf-8", "replace").decode()


def encode(fields: Mapping[str, object]) -> bytes | None:
    """One line, or None when it would be too long."""
    line = json.dumps(strict(fields), allow_nan=False).encode() + b"\n"
    return line if len(line) <= LINE_BYTES else None


def key(name: str) -> str:
    """A metric's name as it stands in a line, with what surrounds it; the format's own names get a prefix."""
    kept = f"metric/{name}" if name in _RESERVED else name
    return f", {json.dumps(kept.encode('utf-8', 'replace').decode())}: "
