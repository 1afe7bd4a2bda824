"""Cost of one log call with four metrics, beside what else writes such logs.

python -m tests.benchmarks.bench_writer [CALLS]
"""

from __future__ import annotations

import importlib.util
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import tuimon

Log = Callable[[int], object]


@contextmanager
def run_writer(place: Path) -> Iterator[Log]:
    with tuimon.RunWriter(place / "run.jsonl") as run:
        yield lambda step: run.log(step, loss=2.3012, val_loss=2.41, grad_norm=1.02, lr=3e-4)


@contextmanager
def run_writer_background(place: Path) -> Iterator[Log]:
    with tuimon.RunWriter(place / "queue.jsonl", background=True) as run:
        yield lambda step: run.log(step, loss=2.3012, val_loss=2.41, grad_norm=1.02, lr=3e-4)


@contextmanager
def json_dumps_write_flush(place: Path) -> Iterator[Log]:
    with open(place / "plain.jsonl", "a", encoding="utf-8") as file:

        def log(step: int) -> None:
            record = {
                "step": step,
                "time": time.time(),
                "loss": 2.3012,
                "val_loss": 2.41,
                "grad_norm": 1.02,
                "lr": 3e-4,
            }
            file.write(json.dumps(record) + "\n")
            file.flush()

        yield log


@contextmanager
def bare_write(place: Path) -> Iterator[Log]:
    fd = os.open(place / "bare.jsonl", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    line = b'{"step": 1, "time": 1764512345.123, "loss": 2.3012, "val_loss": 2.41, "grad_norm": 1.02, "lr": 0.0003}\n'
    yield lambda _: os.write(fd, line)
    os.close(fd)


@contextmanager
def tensorboard(place: Path) -> Iterator[Log]:
    from torch.utils.tensorboard import SummaryWriter

    with SummaryWriter(place / "tb") as writer:

        def log(step: int) -> None:
            for name, value in (("loss", 2.3012), ("val_loss", 2.41), ("grad_norm", 1.02), ("lr", 3e-4)):
                writer.add_scalar(name, value, step)

        yield log


@contextmanager
def wandb_offline(place: Path) -> Iterator[Log]:
    import wandb

    run = wandb.init(dir=place, mode="offline", settings=wandb.Settings(silent=True))
    yield lambda step: run.log({"loss": 2.3012, "val_loss": 2.41, "grad_norm": 1.02, "lr": 3e-4}, step=step)
    run.finish()


SUBJECTS = {  # name -> (how to make it, what must be installed)
    "one os.write of a ready line": (bare_write, ""),
    "tuimon.RunWriter": (run_writer, ""),
    "tuimon.RunWriter, background": (run_writer_background, ""),
    "json.dumps + write + flush": (json_dumps_write_flush, ""),
    "tensorboard SummaryWriter": (tensorboard, "tensorboard"),
    "wandb.log, offline": (wandb_offline, "wandb"),
}


def main() -> None:
    calls = int(sys.argv[1]) if len(sys.argv) > 1 else 20_000
    with tempfile.TemporaryDirectory() as place:
        for name, (make, needs) in SUBJECTS.items():
            if needs and importlib.util.find_spec(needs) is None:
                print(f"{name:32} not installed")
                continue
            with make(Path(place)) as log:
                best = min(_cost(log, calls, part) for part in range(5))
            print(f"{name:32} {best:8.0f} ns per call (best of 5 x {calls // 5})")


def _cost(log: Log, calls: int, part: int) -> float:
    first, count = part * (calls // 5), calls // 5
    began = time.perf_counter_ns()
    for step in range(first, first + count):
        log(step)
    return (time.perf_counter_ns() - began) / count


if __name__ == "__main__":
    main()
