"""Other programs beside this one, on the same numbers: `python -m tests.benchmarks.bench_peers --bin FOLDER`.

FOLDER holds `wandb` (its `leet` screen), `terminalboard` and a `python` with tensorboard: they are best installed into
an environment of their own (`pip install wandb terminalboard tensorboard "plotext<6"`). What is not there is said.

Each program gets a run of --steps steps in a format that it reads: the time to the first curve, the time after which no
curve changes any more, the CPU and the memory of all its processes until then. Then a run of 20 steps/s: CPU and bytes.
"""

from __future__ import annotations

import argparse
import random
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import psutil

from tests import samples
from tests.terminals import WATCH, Terminal

RATE = 20
FIRST, SECONDS = 2000, 15
"""Steps before a live run is opened, and how long it then goes on."""

CALM = 8.0
"""Seconds without a change of any curve after which all is taken to be drawn; the slowest looks every two seconds."""

CURVE = re.compile("[\u2801-\u28ff]")

Rows = list[dict[str, Any]]


class Program(NamedTuple):
    """A program that draws a run: its name, its command for a file, the file's name, and the file's bytes."""

    name: str
    command: Callable[[Path], Sequence[str]]
    file: str
    build: Callable[[Rows], bytes]


def programs(folder: Path) -> list[Program]:
    return [
        Program("tuimon, JSON lines", lambda file: [*WATCH, str(file)], "run.jsonl", samples.jsonl),
        Program("tuimon, event file", lambda file: [*WATCH, str(file)], "events.out.tfevents.1.a", samples.tfevents),
        Program("tuimon, wandb file", lambda file: [*WATCH, str(file)], "run-abcd1234.wandb", wandb_file),
        Program(
            "wandb leet", lambda file: [str(folder / "wandb"), "leet", str(file)], "run-abcd1234.wandb", wandb_file
        ),
        Program(
            "terminalboard",
            lambda file: [str(folder / "terminalboard"), "--reset-view", str(file.parent)],
            "events.out.tfevents.1.a",
            samples.tfevents,
        ),
    ]


def rows_of(count: int) -> Rows:
    rng = random.Random(0)
    return [
        {
            "step": step,
            "loss": 0.3 + 2 / (1 + step / 300) ** 0.5 + rng.gauss(0, 0.03),
            "grad_norm": 1 + rng.gauss(0, 0.1),
            "lr": 3e-4,
        }
        for step in range(count)
    ]


def wandb_file(rows: Rows) -> bytes:
    """An offline run: its name, then its history."""
    run = b"\x08\x00" + samples.sized(17, samples.sized(1, b"abcd1234") + samples.sized(3, b"bench"))
    records = [run]
    for number, row in enumerate(rows, 1):
        step = row["step"]
        values = {name: value for name, value in row.items() if name != "step"}
        times = {"_step": step, "_timestamp": 1.76e9 + step / RATE, "_runtime": step / RATE}
        records.append(samples.wandb_record({**times, **values}, number))
    return samples.wandb(records)


def tree(pid: int) -> list[psutil.Process]:
    process = psutil.Process(pid)
    return [process, *process.children(recursive=True)]


def cpu(pid: int) -> float:
    times = [process.cpu_times() for process in tree(pid)]
    return sum(each.user + each.system for each in times)


def start(program: Program, folder: Path, steps: int, patience: float) -> str:
    file = samples.write(folder, program.file, program.build(rows_of(steps)))
    begun = changed = time.perf_counter()
    first, picture = 0.0, ""
    with Terminal(program.command(file)) as terminal:
        spent = 0.0
        while (now := time.perf_counter()) - changed < (CALM if first else patience) and now - begun < patience:
            if not terminal.take(0.02):
                continue
            drawn = "".join(CURVE.findall(terminal.text))
            if drawn != picture:
                picture, changed, spent = drawn, time.perf_counter(), cpu(terminal.pid)
                first = first or changed - begun
        size = sum(process.memory_info().rss for process in tree(terminal.pid)) / 1e6
    if not first:
        return f"no curve within {patience:.0f} s"
    whole = changed - begun
    return f"first curve {first:.2f} s, the last change {whole:.1f} s ({spent:.1f} s of CPU), rss {size:.0f} MB"


def live(program: Program, folder: Path) -> str:
    rows = rows_of(FIRST + SECONDS * RATE)
    file = samples.write(folder, program.file, program.build(rows[:FIRST]))
    rest = program.build(rows)[file.stat().st_size :]
    # About a record each; where one ends inside a record, its reader waits for the other half.
    ends = [len(rest) * number // (SECONDS * RATE) for number in range(SECONDS * RATE + 1)]
    with Terminal(program.command(file)) as terminal, file.open("ab", buffering=0) as out:
        wait(terminal, 6)
        before, sent, begun = cpu(terminal.pid), len(terminal.seen), time.perf_counter()
        for number in range(SECONDS * RATE):
            out.write(rest[ends[number] : ends[number + 1]])
            wait(terminal, begun + (number + 1) / RATE - time.perf_counter())
        took = time.perf_counter() - begun
        load, flow = (cpu(terminal.pid) - before) / took, (len(terminal.seen) - sent) / took
    return f"at {RATE}/s: cpu {load:.1%}, {flow / 1e3:.2f} KB/s"


def wait(terminal: Terminal, seconds: float) -> None:
    end = time.perf_counter() + seconds
    while (left := end - time.perf_counter()) > 0:
        terminal.take(left)


LOADER = """
import resource, sys, time
from tensorboard.backend.event_processing.event_file_loader import EventFileLoader
begun = time.perf_counter()
count = sum(1 for _ in EventFileLoader(sys.argv[1]).Load())
used = resource.getrusage(resource.RUSAGE_SELF)
print(f"{count:,} events in {time.perf_counter() - begun:.1f} s ({used.ru_utime + used.ru_stime:.1f} s of CPU), "
      f"rss {used.ru_maxrss / 1e3:.0f} MB")
"""


def loader(python: Path, folder: Path, steps: int) -> str:
    """TensorBoard's own reader, without a screen."""
    file = samples.write(folder, "events.out.tfevents.1.a", samples.tfevents(rows_of(steps)))
    done = subprocess.run([str(python), "-c", LOADER, str(file)], capture_output=True, text=True, check=False)
    return done.stdout.strip() or f"does not run: {(done.stderr.strip().splitlines() or ['no word'])[-1]}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=Path, default=Path(sys.executable).parent)
    parser.add_argument("--steps", type=int, default=100_000)
    parser.add_argument("--patience", type=float, default=120.0)
    args = parser.parse_args()
    for program in programs(args.bin):
        if not Path(program.command(Path())[0]).exists():
            print(f"{program.name}: not installed in {args.bin}")
            continue
        with tempfile.TemporaryDirectory() as name:
            print(f"{program.name}, {args.steps:,} steps: {start(program, Path(name), args.steps, args.patience)}")
        with tempfile.TemporaryDirectory() as name:
            print(f"{program.name}, {live(program, Path(name))}", flush=True)
    with tempfile.TemporaryDirectory() as name:
        print(f"tensorboard's EventFileLoader: {loader(args.bin / 'python', Path(name), args.steps)}")


if __name__ == "__main__":
    main()
