"""Records per second of each source, beside what else reads such files; CPU time, one million records each.

python -m tests.benchmarks.bench_sources [RECORDS]
"""

from __future__ import annotations

import csv
import importlib.util
import json
import os
import random
import struct
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from tuimon.sources import open_source
from tuimon.sources.tfrecord import framed

TAGS = ("train/loss", "train/grad_norm", "lr", "train/acc", "val/loss")


def write_jsonl(path: Path, count: int) -> None:
    chance = random.Random(1)
    with path.open("w") as file:
        for step in range(count):
            loss, norm, lr, acc = (chance.random() for _ in range(4))
            file.write(
                f'{{"step": {step}, "time": {1.7645e9 + 0.28 * step:.2f}, "loss": {loss:.4f}, '
                f'"grad_norm": {norm:.3f}, "lr": {lr * 1e-3:.6g}, "acc": {acc:.4f}}}\n'
            )


def write_nan_jsonl(path: Path, count: int) -> None:
    """A run that is NaN from its middle on, as the writer puts it down."""
    chance = random.Random(1)
    with path.open("w") as file:
        for step in range(count):
            loss = f"{chance.random():.4f}" if step < count // 2 else '"NaN"'
            file.write(
                f'{{"step": {step}, "time": {1.7645e9 + 0.28 * step:.2f}, "loss": {loss}, "grad_norm": {loss}, '
                f'"lr": 0.0003, "acc": 0.5}}\n'
            )


def write_csv(path: Path, count: int) -> None:
    chance = random.Random(1)
    with path.open("w") as file:
        file.write("step,epoch,loss,grad_norm,lr,acc\n")
        for step in range(count):
            loss, norm, lr, acc = (chance.random() for _ in range(4))
            file.write(f"{step},{step // 1000},{loss:.4f},{norm:.3f},{lr * 1e-3:.6g},{acc:.4f}\n")


def write_events(path: Path, count: int) -> None:
    chance = random.Random(1)
    with path.open("wb") as file:
        for i in range(count):
            tag = TAGS[i % len(TAGS)].encode()
            value = b"\x0a" + bytes((len(tag),)) + tag + b"\x15" + struct.pack("<f", chance.random())
            summary = b"\x0a" + bytes((len(value),)) + value
            step = i // len(TAGS)
            head = b"\x09" + struct.pack("<d", 1.7645e9 + step) + b"\x10" + _varint(step)
            file.write(framed(head + b"\x2a" + bytes((len(summary),)) + summary))


def _varint(value: int) -> bytes:
    result = b""
    while value > 127:
        result, value = result + bytes((value & 127 | 128,)), value >> 7
    return result + bytes((value,))


def ours(path: Path) -> int:
    source = open_source(path)
    count, more = 0, True
    while more:
        batch = source.read()
        count, more = count + len(batch), batch.more
    return count


def json_loads(path: Path) -> int:
    with path.open() as file:
        return sum(1 for line in file if json.loads(line))


def csv_reader(path: Path) -> int:
    with path.open() as file:
        rows = csv.reader(file)
        next(rows)
        return sum(1 for row in rows if [float(cell) for cell in row])


def tensorboard_loader(path: Path) -> int:
    from tensorboard.backend.event_processing.event_file_loader import EventFileLoader

    return sum(1 for event in EventFileLoader(str(path)).Load() if event.summary.value)


CASES: tuple[tuple[str, str, Callable[[Path, int], None], tuple[Callable[[Path], int], ...]], ...] = (
    ("JSON Lines", "run.jsonl", write_jsonl, (ours, json_loads)),
    ("JSON Lines, half NaN", "nan.jsonl", write_nan_jsonl, (ours, json_loads)),
    ("CSV", "metrics.csv", write_csv, (ours, csv_reader)),
    ("TensorBoard events", "events.out.tfevents.1", write_events, (ours, tensorboard_loader)),
)


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    with tempfile.TemporaryDirectory() as folder:
        for title, name, write, readers in CASES:
            path = Path(folder) / name
            write(path, count)
            for reader in readers:
                if reader is tensorboard_loader and importlib.util.find_spec("tensorboard") is None:
                    print(f"{title:22} {reader.__name__:20} not installed")
                    continue
                start = time.process_time()
                found = reader(path)
                took = time.process_time() - start
                print(
                    f"{title:22} {reader.__name__:20} {found:9,} records {took:6.2f} s {found / took:10,.0f} records/s"
                )
            os.unlink(path)


if __name__ == "__main__":
    main()
