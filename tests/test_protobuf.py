"""The wire format."""

from __future__ import annotations

import contextlib
import struct

import pytest
import samples
from hypothesis import given
from hypothesis import strategies as st

from tuimon.sources.protobuf import double, fields, one, signed, single, varint


@given(st.integers(0, 2**64 - 1))
def test_numbers_survive(value: int) -> None:
    assert varint(samples.varint(value), 0) == (value, len(samples.varint(value)))


@given(st.integers(-(2**63), 2**63 - 1))
def test_negative_numbers_are_meant_in_64_bits(value: int) -> None:
    assert signed(varint(samples.varint(value), 0)[0]) == value


def test_the_fields_come_in_order_and_the_last_of_a_kind_counts() -> None:
    message = b"\x08\x05" + samples.sized(2, b"ab") + b"\x1d" + struct.pack("<f", 1.5) + b"\x08\x07"
    assert [number for number, _, _ in fields(message)] == [1, 2, 3, 1]
    assert one(message, 1) == 7 and one(message, 9) is None
    assert single(one(message, 3)) == 1.5
    assert double(struct.pack("<d", 2.5)) == 2.5
    assert double(3) is None and single(None) is None and signed(b"x") == 0


@pytest.mark.parametrize(
    "message", [b"\x08", b"\x12\x05ab", b"\x0b", b"\x80" * 12, b"\x0d\x01", b"\x08" + b"\xff" * 11]
)
def test_what_is_no_message_raises(message: bytes) -> None:
    with pytest.raises(ValueError, match=r"cut off|ten bytes|unknown kind"):
        list(fields(message))


@given(st.binary(max_size=100))
def test_any_bytes_are_read_or_refused(message: bytes) -> None:
    with contextlib.suppress(ValueError):
        assert all(number >= 0 for number, _, _ in fields(message))
