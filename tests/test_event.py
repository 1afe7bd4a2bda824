"""TensorBoard events."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable

import pytest
import samples
from hypothesis import given
from hypothesis import strategies as st

from tuimon.sources.event import Event, Reader, event


@pytest.mark.parametrize("make", [samples.scalar, samples.tensor])
@pytest.mark.parametrize("value", [0.5, -3.0, math.inf, math.nan])
def test_a_scalar_is_read_however_it_is_packed(make: object, value: float) -> None:
    found = event(make(7, "train/loss", value, 1.76e9))  # type: ignore[operator]
    assert repr(found) == repr(Event(7, 1.76e9, [("train/loss", value)]))


def test_several_scalars_of_one_event_stay_together() -> None:
    one, other = (samples.sized(1, samples.sized(1, tag) + b"\x15" + struct.pack("<f", 2.0)) for tag in (b"a", b"b"))
    assert event(b"\x10\x05" + samples.sized(5, one + other)) == Event(5, None, [("a", 2.0), ("b", 2.0)])


def test_pictures_and_vectors_are_no_scalars() -> None:
    picture = samples.sized(5, samples.sized(1, samples.sized(1, b"img") + samples.sized(4, b"\x08\x01")))
    shape = samples.sized(2, samples.sized(2, b"\x08\x03"))
    vector = samples.sized(8, b"\x08\x01" + shape + samples.sized(4, struct.pack("<3f", 1, 2, 3)))
    assert event(b"\x10\x01" + picture).scalars == []
    assert event(b"\x10\x01" + samples.sized(5, samples.sized(1, samples.sized(1, b"v") + vector))).scalars == []


@pytest.mark.parametrize(
    ("kind", "content"), [(2, struct.pack("<d", 4)), (9, struct.pack("<q", 4)), (3, struct.pack("<i", 4))]
)
def test_doubles_and_integers_are_scalars_too(kind: int, content: bytes) -> None:
    tensor = samples.sized(8, b"\x08" + bytes((kind,)) + samples.sized(4, content))
    assert event(samples.sized(5, samples.sized(1, samples.sized(1, b"x") + tensor))).scalars == [("x", 4.0)]


@given(
    st.lists(
        st.tuples(
            st.sampled_from([samples.scalar, samples.tensor]),
            st.one_of(st.integers(-5, 2**40), st.integers(0, 300)),
            st.sampled_from(["loss", "lr", "val/loss", "x" * 200, ""]),
            st.floats(width=32),
        ),
        max_size=30,
    )
)
def test_the_quick_way_reads_the_same_as_the_slow_one(made: list[tuple[object, int, str, float]]) -> None:
    reader = Reader()
    for make, step, tag, value in made:
        record = make(step, tag, value)  # type: ignore[operator]
        assert repr(reader.read(record)) == repr(event(record))


@given(st.binary(max_size=80), st.integers(0, 60), st.integers(0, 7))
def test_a_damaged_event_reads_the_same_both_ways_or_is_refused(tail: bytes, place: int, bit: int) -> None:
    whole = samples.scalar(300, "train/loss", 0.5)
    reader = Reader()
    reader.read(whole)
    damaged = bytearray(whole + tail)
    damaged[place % len(damaged)] ^= 1 << bit
    assert outcome(reader.read, bytes(damaged)) == outcome(event, bytes(damaged))


def outcome(read: Callable[[bytes], Event], record: bytes) -> str:
    try:
        return repr(read(record))
    except ValueError:
        return "refused"
