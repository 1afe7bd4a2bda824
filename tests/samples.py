"""Logs of every structured format, built from the same numbers: what tests of sources share."""

from __future__ import annotations

import json
import math
import os
import struct
import zlib
from collections.abc import Sequence
from pathlib import Path

from tuimon.record import Batch
from tuimon.sources import Source
from tuimon.sources.tfrecord import framed

Rows = Sequence[dict[str, object]]


def losses(count: int, first: int = 1, every: int = 1) -> list[dict[str, object]]:
    """Records of a calm run: step, loss, grad_norm, lr."""
    return [
        {
            "step": first + i * every,
            "loss": round(2.5 / (1 + 0.1 * i) + 0.02 * math.sin(i), 5),
            "grad_norm": round(0.8 + 0.1 * math.cos(i), 5),
            "lr": 3e-4,
        }
        for i in range(count)
    ]


def jsonl(rows: Rows) -> bytes:
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


def csv(rows: Rows, mark: str = ",", end: str = "\n") -> bytes:
    names = list(dict.fromkeys(name for row in rows for name in row))
    lines = [mark.join(names), *(mark.join(str(row.get(name, "")) for name in names) for row in rows)]
    return (end.join(lines) + end).encode()


def trainer_state(rows: Rows, indent: int | None = 2) -> bytes:
    document = {"best_metric": None, "epoch": 1.5, "global_step": 40, "log_history": list(rows), "max_steps": 90}
    return json.dumps(document, indent=indent).encode()


def varint(value: int) -> bytes:
    result = b""
    value &= (1 << 64) - 1
    while value > 127:
        result += bytes((value & 127 | 128,))
        value >>= 7
    return result + bytes((value,))


def sized(number: int, message: bytes) -> bytes:
    """A field of bytes."""
    return varint(number << 3 | 2) + varint(len(message)) + message


def scalar(step: int, tag: str, value: float, time: float = 1.76e9) -> bytes:
    """An event with one scalar, as PyTorch writes it."""
    summary = sized(1, sized(1, tag.encode()) + b"\x15" + struct.pack("<f", value))
    return b"\x09" + struct.pack("<d", time) + b"\x10" + varint(step) + sized(5, summary)


def tensor(step: int, tag: str, value: float, time: float = 1.76e9) -> bytes:
    """An event with one scalar, as TensorFlow 2 writes it: a tensor of one float."""
    content = b"\x08\x01" + sized(2, b"") + sized(4, struct.pack("<f", value))
    summary = sized(1, sized(1, tag.encode()) + sized(8, content))
    return b"\x09" + struct.pack("<d", time) + b"\x10" + varint(step) + sized(5, summary)


def tfevents(rows: Rows, make: object = scalar) -> bytes:
    """An event file with one event for each number."""
    events = [b"\x09" + struct.pack("<d", 1.76e9) + sized(3, b"brain.Event:2")]
    for row in rows:
        events += [
            make(row["step"], name, value)  # type: ignore[operator]
            for name, value in row.items()
            if name != "step"
        ]
    return b"".join(map(framed, events))


def wandb_record(row: dict[str, object], number: int) -> bytes:
    """A history record."""
    items = b"".join(
        sized(1, sized(1, name.encode()) + sized(16, json.dumps(value).encode())) for name, value in row.items()
    )
    return b"\x08" + varint(number) + sized(2, items)


def wandb(records: Sequence[bytes]) -> bytes:
    """Records in the blocks and fragments of an offline run."""
    out = bytearray(b":W&B" + struct.pack("<HB", 0xBEE1, 0))
    for record in records:
        rest, first = record, True
        while True:
            left = 32768 - len(out) % 32768
            if left < 7:
                out += b"\0" * left
                continue
            piece, rest = rest[: left - 7], rest[left - 7 :]
            kind = (1 if first else 4) if not rest else (2 if first else 3)
            out += struct.pack("<IHB", zlib.crc32(bytes((kind,)) + piece), len(piece), kind) + piece
            first = False
            if not rest:
                break
    return bytes(out)


def wandb_rows(rows: Rows) -> bytes:
    return wandb([wandb_record(row, i) for i, row in enumerate(rows)])


def write(folder: Path, name: str, content: bytes) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


def grow(path: Path, content: bytes) -> None:
    with path.open("ab") as file:
        file.write(content)


def replace_atomically(path: Path, content: bytes) -> None:
    other = path.with_name(path.name + ".tmp")
    other.write_bytes(content)
    os.replace(other, path)


def read_all(source: Source, limit: int = 64 * 1024, finish: bool = True) -> list[Batch]:
    """Every batch there is now."""
    batches = [source.read(limit)]
    while batches[-1].more:
        batches.append(source.read(limit))
        assert len(batches) < 5000, "the source never comes to an end"
    if finish:
        batches.append(source.finish())
    return batches


Record = tuple[int, float | None, tuple[tuple[str, str], ...]]


def records(batches: Sequence[Batch]) -> list[Record]:
    """(step, time, metrics) of each record, metrics as sorted (name, text of the value) so that NaN equals itself."""
    result: list[Record] = []
    for batch in batches:
        for i, (step, time) in enumerate(zip(batch.steps, batch.times, strict=True)):
            cells = sorted((name, repr(c[i])) for name, c in batch.columns.items() if c[i] is not None)
            result.append((step, time, tuple(cells)))
    return result


def column(batches: Sequence[Batch], name: str) -> list[tuple[int, float]]:
    """(step, value) of one metric."""
    return [
        (step, value)
        for batch in batches
        if name in batch.columns
        for step, value in zip(batch.steps, batch.columns[name], strict=True)
        if value is not None
    ]
