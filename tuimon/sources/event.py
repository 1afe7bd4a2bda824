"""One TensorBoard event: its step, its time and the scalars in it.

Format: tensorflow/core/util/event.proto, framework/summary.proto and framework/tensor.proto.
"""

from __future__ import annotations

import struct
from typing import NamedTuple

from tuimon.sources.protobuf import BYTES, double, fields, signed, single

# Field numbers of the messages.
_TIME, _STEP, _SUMMARY = 1, 2, 5
_VALUE = 1
_TAG, _SIMPLE, _TENSOR = 1, 2, 8
_TYPE, _SHAPE, _CONTENT = 1, 2, 4

# TensorFlow's types of a scalar tensor -> how its bytes are read and which field holds a value that is not in bytes.
_TYPES = {1: ("<f", 5), 2: ("<d", 6), 3: ("<i", 7), 9: ("<q", 10)}

LARGEST = 64 * 1024
"""Bytes of an event that is looked into: a larger one holds pictures or histograms."""


class Event(NamedTuple):
    """Scalars that were written together."""

    step: int
    time: float | None
    scalars: list[tuple[str, float]]


def event(record: bytes) -> Event:
    """The event in a record; without scalars if it holds other things.

    Raises:
        ValueError: it is no event.
    """
    step, time = 0, None
    scalars: list[tuple[str, float]] = []
    for number, kind, value in fields(record):
        if number == _STEP:
            step = signed(value)
        elif number == _TIME:
            time = double(value)
        elif number == _SUMMARY and kind == BYTES and isinstance(value, bytes):
            for inner, _, summary in fields(value):
                if inner == _VALUE and isinstance(summary, bytes):
                    scalar = _scalar(summary)
                    if scalar is not None:
                        scalars.append(scalar)
    return Event(step, time, scalars)


def _scalar(summary: bytes) -> tuple[str, float] | None:
    """(tag, value) of a summary, None if it is no scalar."""
    tag, number = "", None
    for field, _, value in fields(summary):
        if field == _TAG and isinstance(value, bytes):
            tag = value.decode("utf-8", "replace")
        elif field == _SIMPLE:
            number = single(value)
        elif field == _TENSOR and isinstance(value, bytes):
            number = _tensor(value)
    return None if number is None else (tag, number)


def _tensor(message: bytes) -> float | None:
    """The value of a tensor with one element, None for any other."""
    found = dict.fromkeys(range(1, 18), None) | {number: value for number, _, value in fields(message)}
    kind = found[_TYPE]
    layout, place = _TYPES.get(kind, ("", 0)) if isinstance(kind, int) else ("", 0)
    if not layout or (isinstance(found[_SHAPE], bytes) and _elements(found[_SHAPE]) != 1):
        return None
    content = found[_CONTENT]
    size = struct.calcsize(layout)
    if isinstance(content, bytes) and len(content) == size:
        return float(struct.unpack(layout, content)[0])
    value = found[place]
    if isinstance(value, bytes) and layout in ("<f", "<d") and len(value) == size:
        return float(struct.unpack(layout, value)[0])
    return float(signed(value)) if isinstance(value, int) else None


def _elements(shape: object) -> int:
    """Product of the sizes of a TensorShapeProto."""
    count = 1
    for number, _, dimension in fields(shape if isinstance(shape, bytes) else b""):
        if number == 2 and isinstance(dimension, bytes):
            count *= next((signed(value) for field, _, value in fields(dimension) if field == 1), 0)
    return count


class Reader:
    """Reads events, those of the usual shape (one scalar under `simple_value`) at a tenth of the time.

    Of such an event only time, step and value differ from the last one with its tag: what stands between is looked up.
    """

    def __init__(self) -> None:
        self._tags: dict[bytes, str] = {}

    def read(self, record: bytes) -> Event:
        """The event in a record; ValueError if it is none."""
        # wall_time is field 1 (key 9), step field 2 (key 16).
        if len(record) > 20 and record[0] == 9 and record[9] == 16:
            at, step, shift = 11, record[10], 7
            if step > 127:
                step &= 127
                while shift < 63:
                    byte = record[at]
                    at += 1
                    step |= (byte & 127) << shift
                    if byte < 128:
                        break
                    shift += 7
                else:  # a negative step has a tenth byte
                    return event(record)
            tag = self._tags.get(record[at:-4])
            if tag is not None:
                return Event(
                    step, _DOUBLE.unpack_from(record, 1)[0], [(tag, _FLOAT.unpack_from(record, len(record) - 4)[0])]
                )
            found = event(record)
            if len(found.scalars) == 1 and _is_usual(record[at:]) and len(self._tags) < _MOST_TAGS:
                self._tags[record[at:-4]] = found.scalars[0][0]
            return found
        return event(record)


_MOST_TAGS = 10_000


def _is_usual(rest: bytes) -> bool:
    """Whether what follows the step is a summary with one value that ends in its float (key 21) and nothing else."""
    parts = list(fields(rest))
    if len(parts) != 1 or parts[0][0] != _SUMMARY or not isinstance(parts[0][2], bytes):
        return False
    values = list(fields(parts[0][2]))
    if len(values) != 1 or not isinstance(values[0][2], bytes):
        return False
    inner = [number for number, _, _ in fields(values[0][2])]
    return inner == [_TAG, _SIMPLE]


_DOUBLE = struct.Struct("<d")
_FLOAT = struct.Struct("<f")
