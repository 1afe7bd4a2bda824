"""Cost of diagnosing per record, beside decoding alone: python -m tests.benchmarks.bench_monitor [RECORDS]."""

from __future__ import annotations

import json
import math
import random
import sys
import time
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from tuimon.monitor import Monitor
from tuimon.record import Batch
from tuimon.sources.opening import open_source

READ = 800  # records in one read of 64 KB


def written(folder: Path, records: int) -> Path:
    """A log of a run that learns: five metrics a line."""
    rng, path = random.Random(1), folder / "run.jsonl"
    with path.open("w") as out:
        for step in range(records):
            row = {
                "step": step,
                "time": 1e9 + 0.1 * step,
                "loss": 2.3 * math.exp(-step / 3000) + 0.3 + rng.gauss(0, 0.05),
                "grad_norm": math.exp(rng.gauss(0, 0.2)),
                "lr": 1e-3,
                "tokens": 1e5 + step,
                "reward": rng.gauss(0, 1),
            }
            out.write(json.dumps(row) + "\n")
    return path


def batches(path: Path) -> Iterator[Batch]:
    source = open_source(str(path))
    while True:
        batch = source.read()
        yield batch
        if not batch.more:
            return


def seconds(work: Callable[[], object]) -> float:
    """CPU seconds, which other programs on the machine disturb least."""
    start = time.process_time()
    work()
    return time.process_time() - start


def main(records: int) -> None:
    with TemporaryDirectory() as folder:
        path = written(Path(folder), records)
        decoding = seconds(lambda: [None for _ in batches(path)])
        decoded = list(batches(path))
        monitor = Monitor()
        watching = seconds(lambda: [monitor.feed(batch) for batch in decoded])
        print(f"{records:,} records of five metrics, {path.stat().st_size / 1e6:.0f} MB")
        print(f"decoding  {decoding:6.2f} s  {1e6 * decoding / records:.2f} us a record")
        print(f"diagnosis {watching:6.2f} s  {1e6 * watching / records:.2f} us a record")
        print(f"both over decoding alone: {(decoding + watching) / decoding:.2f}")
        print(f"said: {monitor.snapshot.verdict} {monitor.snapshot.lit}")
    one_by_one = Monitor()
    rows = [batch.slice(i, i + 1) for batch in decoded[:3] for i in range(len(batch))]
    live = seconds(lambda: [one_by_one.feed(row) for row in rows])
    print(f"one record at a time, with its Snapshot: {1e6 * live / len(rows):.0f} us a record")
    detectors = sum(memory(detector) for detector in monitor._fold.detectors)
    print(f"detectors hold {detectors / 1024:.0f} KB after {records:,} records")


def memory(thing: object) -> int:
    """Bytes of a copy of `thing`."""
    from copy import deepcopy

    tracemalloc.start()
    kept = deepcopy(thing)
    size = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    del kept
    return size


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000)
