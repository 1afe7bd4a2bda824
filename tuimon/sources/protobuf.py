"""As much of the protobuf wire format as event files and W&B records need: fields of a message, in order.

Format: https://protobuf.dev/programming-guides/encoding/
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5
Value = int | bytes

_DOUBLE = struct.Struct("<d")
_FLOAT = struct.Struct("<f")


def varint(message: bytes, at: int) -> tuple[int, int]:
    """The number at `at` and the place behind it.

    Raises:
        ValueError: it does not end, or is longer than ten bytes.
    """
    value = shift = 0
    try:
        while True:
            byte = message[at]
            at += 1
            value |= (byte & 127) << shift
            if byte < 128:
                return value, at
            shift += 7
            if shift > 63:
                raise ValueError("a number of more than ten bytes")
    except IndexError:
        raise ValueError("cut off in a number") from None


def fields(message: bytes) -> Iterator[tuple[int, int, Value]]:
    """(field number, wire type, value) of each field; numbers as int, everything else as bytes.

    Raises:
        ValueError: this is no message, or it is cut off.
    """
    at, end = 0, len(message)
    while at < end:
        key, at = varint(message, at)
        kind = key & 7
        if kind == VARINT:
            value, at = varint(message, at)
            yield key >> 3, kind, value
            continue
        if kind == BYTES:
            size, at = varint(message, at)
        elif kind in (FIXED64, FIXED32):
            size = 8 if kind == FIXED64 else 4
        else:
            raise ValueError("a field of unknown kind")
        if at + size > end:
            raise ValueError("cut off in a field")
        yield key >> 3, kind, message[at : at + size]
        at += size


def one(message: bytes, number: int) -> Value | None:
    """The last value of a field, None without. Raises ValueError."""
    found: Value | None = None
    for field, _, value in fields(message):
        if field == number:
            found = value
    return found


def signed(value: Value | None) -> int:
    """An int64 as it is meant; 0 for what is none."""
    if not isinstance(value, int):
        return 0
    value &= (1 << 64) - 1
    return value - (1 << 64) if value >> 63 else value


def double(value: Value | None) -> float | None:
    """The double of a fixed64 field."""
    return float(_DOUBLE.unpack(value)[0]) if isinstance(value, bytes) and len(value) == 8 else None


def single(value: Value | None) -> float | None:
    """The float of a fixed32 field."""
    return float(_FLOAT.unpack(value)[0]) if isinstance(value, bytes) and len(value) == 4 else None
