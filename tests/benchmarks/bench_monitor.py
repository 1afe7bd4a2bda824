"""Cost of diagnosing per record, beside decoding alone, on many kinds of run.

python -m tests.benchmarks.bench_monitor [RECORDS] [KIND...]
"""

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

ROUNDS = 3
LIVE = 3000
SAYS = "A ratio is decoding and diagnosis over decoding alone, in CPU seconds, the best of three rounds."

Row = dict[str, float | str]


def learning(step: int, records: int, rng: random.Random) -> Row:
    """A run that learns: five metrics a line."""
    return {
        "loss": 2 * math.exp(-3 * step / records) + 0.2 + rng.gauss(0, 0.05),
        "grad_norm": math.exp(rng.gauss(0, 0.2)),
        "lr": 1e-3 * (1 - step / records),
        "acc": step / records,
        "tokens": 3.5 * step,
    }


def evaluated(step: int, records: int, rng: random.Random) -> Row:
    """The same with a validation loss every 100 records."""
    row = learning(step, records, rng)
    return row if step % 100 else row | {"val_loss": row["loss"]}


def noisy(step: int, records: int, rng: random.Random) -> Row:
    """Noise with a heavy tail, spikes, and a validation loss in every line."""
    row = learning(step, records, rng)
    spike = 3.0 if step % 997 < 3 else 0.0
    loss = 0.5 + abs(rng.gauss(0, 0.05) / rng.uniform(0.05, 1)) + spike
    return row | {"loss": loss, "val_loss": loss + rng.gauss(0, 0.1)}


def ordinary(step: int, records: int, rng: random.Random) -> Row:
    """Five metrics, a validation loss among them in every line, and a few spikes."""
    row = learning(step, records, rng)
    row["loss"] = float(row["loss"]) + (1.0 if step % 20_011 < 2 else 0.0)
    del row["tokens"]
    return row | {"val_loss": 1.8 * math.exp(-3 * step / records) + 0.3 + rng.gauss(0, 0.05)}


def resting(step: int, records: int, rng: random.Random) -> Row:
    """A loss that stands from the tenth part of the run on."""
    return learning(step, records, rng) | {"loss": 0.5 + math.exp(-60 * step / records) + rng.gauss(0, 0.001)}


def unmeasured(step: int, records: int, rng: random.Random) -> Row:
    """No gradient norm in the log."""
    row = learning(step, records, rng)
    return {"throughput" if name == "grad_norm" else name: value for name, value in row.items()}


def many(step: int, records: int, rng: random.Random) -> Row:
    """Twenty metrics a line."""
    return learning(step, records, rng) | {f"metric_{i}": rng.random() for i in range(15)}


def layered(step: int, records: int, rng: random.Random) -> Row:
    """A gradient norm and a share of dead units for each of six layers."""
    row = learning(step, records, rng)
    for i in range(6):
        row |= {f"grad_norm/{i}": rng.random(), f"dead_fraction/{i}": 0.4 * rng.random()}
    return row


def broken(step: int, records: int, rng: random.Random) -> Row:
    """A NaN in every third line."""
    return learning(step, records, rng) | ({"loss": "NaN"} if step % 3 == 0 else {})


def lost(step: int, records: int, rng: random.Random) -> Row:
    """Nothing but NaN from the middle of the run on."""
    return learning(step, records, rng) | ({"loss": "NaN", "grad_norm": "NaN"} if 2 * step > records else {})


KINDS = (learning, evaluated, ordinary, noisy, resting, unmeasured, many, layered, broken, lost)


def written(kind: Callable[[int, int, random.Random], Row], folder: Path, records: int) -> Path:
    """The log of a run of one kind."""
    rng, path = random.Random(1), folder / f"{kind.__name__}.jsonl"
    with path.open("w") as out:
        for step in range(records):
            row = {"step": step, "time": round(1e9 + 0.05 * step, 2), **kind(step, records, rng)}
            out.write(json.dumps({k: round(v, 6) if isinstance(v, float) else v for k, v in row.items()}) + "\n")
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


def watched(path: Path) -> Monitor:
    """A monitor that has seen the whole file, with a Snapshot for every read."""
    monitor = Monitor()
    for batch in batches(path):
        monitor.feed(batch)
    return monitor


def one_by_one(path: Path) -> float:
    """Microseconds per record, with its Snapshot, when records come singly after the history."""
    monitor, rows = watched(path), []
    for batch in batches(path):
        last = monitor.snapshot.last_step or 0
        for i in range(min(len(batch), LIVE - len(rows))):
            row = batch.slice(i, i + 1)
            rows.append(Batch([last + 1 + len(rows)], row.times, row.columns))
    return 1e6 * seconds(lambda: [monitor.feed(row) for row in rows]) / len(rows)


def main(records: int, names: list[str]) -> None:
    print(f"{records:,} records. {SAYS}")
    print(f"{'kind':12} {'decoding':>9} {'diagnosis':>9}  ratio  {'live':>7}  {'detectors':>9}  verdict")
    for kind in KINDS:
        if not names or kind.__name__ in names:
            with TemporaryDirectory() as folder:
                print(f"{kind.__name__:12} {measured(written(kind, Path(folder), records), records)}", flush=True)


def measured(path: Path, records: int) -> str:
    decoding, whole, live = math.inf, math.inf, math.inf
    for _ in range(ROUNDS):
        decoding = min(decoding, seconds(lambda: [None for _ in batches(path)]))
        whole = min(whole, seconds(lambda: watched(path)))
        live = min(live, one_by_one(path))
    monitor = watched(path)
    held = sum(memory(detector) for detector in monitor._fold.detectors) / 1024
    each, rest = 1e6 * decoding / records, 1e6 * (whole - decoding) / records
    return (
        f"{each:6.2f} us {rest:6.2f} us {whole / decoding:6.2f} {live:5.0f} us {held:7.0f} KB"
        f"  {monitor.snapshot.verdict}"
    )


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
    arguments = sys.argv[1:]
    main(int(arguments[0]) if arguments else 100_000, arguments[1:])
