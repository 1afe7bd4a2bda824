"""The framing of TensorBoard event files: length, checksum, bytes, checksum.

Format: https://www.tensorflow.org/tutorials/load_data/tfrecord#tfrecords_format_details. The checksum is CRC-32C,
rotated and shifted ("masked").
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from functools import lru_cache

_POLYNOMIAL = 0x82F63B78
_MASK = 0xA282EAD8
_FRAME = struct.Struct("<QI")
FOOT = 4
HEAD = _FRAME.size

LARGEST = 1 << 31
"""Bytes of one record; TensorFlow itself cannot write a larger one."""


@lru_cache(maxsize=1)
def _tables() -> tuple[list[int], list[int]]:
    """CRC-32C of every byte, and of every pair of bytes: two at a time halve the loop (64 KB table, 15 ms to make)."""
    single = []
    for byte in range(256):
        value = byte
        for _ in range(8):
            value = (value >> 1) ^ (_POLYNOMIAL if value & 1 else 0)
        single.append(value)
    double = [single[(pair >> 8) ^ (single[pair & 255] & 255)] ^ (single[pair & 255] >> 8) for pair in range(65536)]
    return single, double


def crc32c(block: bytes) -> int:
    """CRC-32C (Castagnoli) of `block`, 20-30 ns a byte."""
    single, double = _tables()
    value = 0xFFFFFFFF
    even = len(block) & ~1
    for pair in memoryview(block)[:even].cast("H") if _LITTLE else struct.unpack(f"<{even // 2}H", block[:even]):
        value = double[(value & 65535) ^ pair] ^ (value >> 16)
    if even < len(block):
        value = single[(value & 255) ^ block[-1]] ^ (value >> 8)
    return value ^ 0xFFFFFFFF


_LITTLE = struct.pack("=H", 1) == b"\x01\x00"


def masked(block: bytes) -> int:
    """The checksum of `block` as it stands in the file."""
    crc = crc32c(block)
    return ((crc >> 15 | crc << 17) + _MASK) & 0xFFFFFFFF


def record_length(block: bytes, at: int = 0) -> int | None:
    """Length of the record whose frame begins at `at`; None if the checksum of the length is wrong."""
    return _length(block[at : at + HEAD])


@lru_cache(maxsize=1024)
def _length(frame: bytes) -> int | None:
    """The same of a frame alone. Remembered, because the events of a run have few lengths."""
    length, crc = _FRAME.unpack(frame)
    return int(length) if length <= LARGEST and masked(frame[:8]) == crc else None


def wrong(records: Sequence[bytes], checksums: Sequence[int]) -> set[int]:
    """Places of the records whose checksum, as it stands in the file, is wrong."""
    by_length: dict[int, list[int]] = {}
    for place, record in enumerate(records):
        by_length.setdefault(len(record), []).append(place)
    found: set[int] = set()
    for length, places in by_length.items():
        crcs = crc32c_each([records[place] for place in places], length)
        found.update(
            place
            for place, crc in zip(places, crcs, strict=True)
            if ((crc >> 15 | crc << 17) + _MASK) & 0xFFFFFFFF != checksums[place]
        )
    return found


def crc32c_each(records: Sequence[bytes], length: int) -> Sequence[int]:
    """CRC-32C of records of one length: byte by byte, but of all records at once, 5 ns a byte.

    The state of all records is four strings, one for each byte of a CRC; a table look-up is `bytes.translate`, and xor
    is that of long integers.
    """
    count = len(records)
    if count < _FEW:
        return [crc32c(record) for record in records]
    block = b"".join(records)
    s0 = s1 = s2 = s3 = b"\xff" * count
    t0, t1, t2, t3 = _translations()
    for place in range(length):
        row = _xor(s0, block[place::length], count)
        s0 = _xor(s1, row.translate(t0), count)
        s1 = _xor(s2, row.translate(t1), count)
        s2 = _xor(s3, row.translate(t2), count)
        s3 = row.translate(t3)
    whole = bytearray(4 * count)
    whole[0::4], whole[1::4], whole[2::4], whole[3::4] = s0, s1, s2, s3
    return [value ^ 0xFFFFFFFF for value in struct.unpack(f"<{count}I", whole)]


_FEW = 12
"""Records below which one after the other is quicker."""


def _xor(one: bytes, other: bytes, size: int) -> bytes:
    return (int.from_bytes(one, "little") ^ int.from_bytes(other, "little")).to_bytes(size, "little")


@lru_cache(maxsize=1)
def _translations() -> tuple[bytes, bytes, bytes, bytes]:
    """Bytes 0 to 3 of the CRC of every byte."""
    single, _ = _tables()
    low, second, third, high = (bytes(value >> shift & 255 for value in single) for shift in (0, 8, 16, 24))
    return low, second, third, high


def framed(record: bytes) -> bytes:
    """`record` as it stands in a file."""
    length = struct.pack("<Q", len(record))
    return length + struct.pack("<I", masked(length)) + record + struct.pack("<I", masked(record))


def starts_record(block: bytes) -> bool:
    """Whether `block` begins with a record (its length has the right checksum)."""
    return len(block) >= HEAD and record_length(block) is not None
