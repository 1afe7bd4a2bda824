"""The framing of event files."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tuimon.sources.tfrecord import crc32c, crc32c_each, framed, masked, record_length, starts_record, wrong


@pytest.mark.parametrize(
    ("block", "crc"),
    [(b"", 0), (b"123456789", 0xE3069283), (b"\0" * 32, 0x8A9136AA), (b"\xff" * 32, 0x62A8AB43), (b"a", 0xC1D04330)],
)
def test_the_checksum_is_that_of_rfc_3720(block: bytes, crc: int) -> None:
    assert crc32c(block) == crc


@given(st.integers(0, 40), st.integers(0, 40), st.randoms(use_true_random=False))
def test_many_checksums_at_once_are_the_same_as_one_by_one(count: int, length: int, chance: object) -> None:
    records = [chance.randbytes(length) for _ in range(count)]  # type: ignore[attr-defined]
    assert list(crc32c_each(records, length)) == [crc32c(record) for record in records]


def test_a_record_is_framed_as_tensorflow_does() -> None:
    frame = framed(b"hello")
    length, crc = struct.unpack_from("<QI", frame)
    assert (length, crc) == (5, masked(struct.pack("<Q", 5)))
    assert frame[12:17] == b"hello" and len(frame) == 21
    assert record_length(frame) == 5 and starts_record(frame)


def test_a_wrong_length_is_no_record() -> None:
    frame = bytearray(framed(b"hello"))
    frame[0] ^= 1
    assert record_length(bytes(frame)) is None
    assert not starts_record(b"short")


def test_the_records_with_a_wrong_checksum_are_found() -> None:
    records = [bytes([i]) * (3 + i % 2) for i in range(60)]
    checksums = [masked(record) for record in records]
    checksums[7] ^= 1
    checksums[58] ^= 1 << 31
    assert wrong(records, checksums) == {7, 58}
    assert wrong([], []) == set()
