"""The screen on a real pty: `python -m tests.benchmarks.bench_screen [live|start|flood ...]`, all by default.

    live    a run of 20 steps/s: append -> bytes latency, CPU and bytes per second; the same while idle
    start   a long log: time to the first curve, to the first key, to the whole history; keys meanwhile; memory
    flood   a run of 2000 steps/s: how far the screen lags behind, at the start and at the end

Runs on the installed tuimon of this Python. CPU is said beside every time, since it depends less on what else runs.
`bench_peers` takes the same figures of other programs.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import re
import statistics
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil

from tests.terminals import WATCH, Terminal

FIRST = 2000
"""Steps of a live run before it is opened."""


class Screen(Terminal):
    """`tuimon watch FILE`; everything it writes is read, timed and counted."""

    def __init__(self, file: Path, width: int, height: int) -> None:
        self.started = time.perf_counter()
        # Compiled, as an installed program is, whatever the environment says of this one.
        compiled = {"PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": str(file.parent / "compiled")}
        super().__init__([*WATCH, str(file)], (width, height), environment=compiled)
        self.process = psutil.Process(self.pid)

    @property
    def bytes(self) -> int:
        return len(self.seen)

    @property
    def age(self) -> float:
        """Seconds since the program was started."""
        return time.perf_counter() - self.started

    @property
    def cpu(self) -> float:
        """Seconds, with those of the processes that it started and that have ended."""
        return sum(self.process.cpu_times()[:4])

    @property
    def memory(self) -> int:
        """Bytes resident, with those of the processes that it started."""
        total = 0
        for process in [self.process, *self.process.children()]:
            with suppress(psutil.NoSuchProcess):
                total += process.memory_info().rss
        return total

    @property
    def header(self) -> str:
        """The first line of the screen."""
        self._feed()
        line = self.emulator.buffer[0]
        return "".join(line[x].data for x in range(self.emulator.columns))

    @property
    def step(self) -> int:
        """The step that the header says, 0 without."""
        found = re.search(r"step ([\d,]+)", self.header)
        return int(found[1].replace(",", "")) if found else 0

    def drain(self, seconds: float) -> int:
        """Bytes written within the next `seconds`."""
        before, end = self.bytes, time.perf_counter() + seconds
        while (left := end - time.perf_counter()) > 0:
            self.take(left)
        return self.bytes - before


def record(step: int, rng: random.Random) -> bytes:
    loss = 0.3 + 2 / (1 + step / 300) ** 0.5 + rng.gauss(0, 0.03)
    line: dict[str, Any] = {
        "step": step,
        "time": time.time(),
        "loss": loss,
        "grad_norm": 1 + rng.gauss(0, 0.1),
        "lr": 3e-4,
    }
    if step % 50 == 0:
        line["val_loss"] = loss + 0.05
    return json.dumps(line).encode() + b"\n"


def history(file: Path, steps: int) -> None:
    rng = random.Random(0)
    with file.open("wb") as out:
        for start in range(0, steps, 10_000):
            out.write(b"".join(record(step, rng) for step in range(start, min(start + 10_000, steps))))


def live(folder: Path, width: int, height: int, seconds: int = 15, rate: int = 20) -> None:
    """A run of `rate` steps a second, then silence."""
    file, rng = folder / f"live-{width}.jsonl", random.Random(1)
    history(file, FIRST)
    with Screen(file, width, height) as screen, file.open("ab", buffering=0) as out:
        screen.drain(5)
        waits: list[float] = []
        cpu, sent, begun = screen.cpu, screen.bytes, time.perf_counter()
        for number in range(seconds * rate):
            out.write(record(FIRST + number, rng))
            written = time.perf_counter()
            if screen.take(0.5):
                waits.append((time.perf_counter() - written) * 1e3)
            due = begun + (number + 1) / rate
            while (left := due - time.perf_counter()) > 0:
                screen.take(left)
        took = time.perf_counter() - begun
        load, flow = (screen.cpu - cpu) / took, (screen.bytes - sent) / took
        print(
            f"live {width}x{height} {rate}/s: append -> bytes {spread(waits)}; "
            f"cpu {load:.1%}, {load / rate * 1e3:.2f} ms a step; {flow / 1e3:.2f} KB/s"
        )
        cpu = screen.cpu
        sent = screen.drain(20)
        print(f"idle {width}x{height}: {sent} bytes in 20 s; cpu {(screen.cpu - cpu) / 20:.2%}", flush=True)


def spread(milliseconds: list[float], high: int = 95) -> str:
    """Median and a high percentile."""
    ranked = sorted(milliseconds) or [math.nan]
    return f"p50 {statistics.median(ranked):.1f} ms, p{high} {ranked[len(ranked) * high // 100]:.1f} ms"


def begin(screen: Screen) -> tuple[str, str]:
    """When the first curve stood there, and when the first key was answered."""
    # A braille cell of a curve is E2 A0..A3 xx in UTF-8.
    while not re.search(b"\xe2[\xa0-\xa3]", screen.seen):
        screen.take(0.02)
    first = f"{screen.age * 1e3:.0f} ms ({screen.cpu * 1e3:.0f} of CPU)"
    screen.press("?")
    screen.until("any key closes")
    return first, f"{screen.age * 1e3:.0f} ms ({screen.cpu * 1e3:.0f} of CPU)"


def start(folder: Path, steps: int) -> None:
    """Opening a long log."""
    file = folder / f"long-{steps}.jsonl"
    history(file, steps)
    with Screen(file, 120, 40) as compiling:
        begin(compiling)
    with Screen(file, 120, 40) as screen:
        first, answered = begin(screen)
        screen.press("x")
        screen.until(lambda: screen.step > 0 and "reading" in screen.header, "reading")
        keys: list[float] = []
        memory = 0
        # Afterwards it is "live", or silent for as long as it took.
        while "reading" in screen.header:
            begun, before = time.perf_counter(), screen.bytes
            screen.press("lh"[len(keys) % 2])
            if screen.take(5) and screen.bytes > before:
                keys.append((time.perf_counter() - begun) * 1e3)
            memory = max(memory, screen.memory)
            screen.drain(0.1)
        took, cpu = screen.age, screen.cpu
        memory = max(memory, screen.memory)
        screen.press("q")
        begun = time.perf_counter()
        while screen.process.status() != psutil.STATUS_ZOMBIE:
            screen.take(0.01)
        left = time.perf_counter() - begun
        print(
            f"start {steps:,} lines: first curve {first}; first key answered {answered}; "
            f"whole history {took:.2f} s ({cpu:.2f} s of CPU); "
            f"{len(keys)} keys meanwhile {spread(keys, 99)}; rss {memory / 1e6:.0f} MB at most; "
            f"left after {left:.2f} s",
            flush=True,
        )
    file.unlink()


def flood(folder: Path, rate: int = 2000, seconds: int = 30) -> None:
    """A run of `rate` steps a second: what the header says, against what is in the file."""
    file, rng = folder / "flood.jsonl", random.Random(2)
    history(file, FIRST)
    lines = [record(step, rng) for step in range(FIRST, FIRST + rate * seconds)]
    with Screen(file, 120, 40) as screen, file.open("ab", buffering=0) as out:
        screen.drain(5)
        lags: list[float] = []
        cpu, sent, begun = screen.cpu, screen.bytes, time.perf_counter()
        written = 0
        while written < len(lines):
            due = min(int((time.perf_counter() - begun) * rate), len(lines))
            # Ten lines at a time: this process is not what is measured.
            if due - written >= 10 or due == len(lines):
                out.write(b"".join(lines[written:due]))
                written = due
            if screen.take(0.002):
                lags.append((FIRST + written - 1 - screen.step) / rate * 1e3)
        took = time.perf_counter() - begun
        tenth = max(len(lags) // 10, 1)
        print(
            f"flood {rate}/s for {seconds} s: lag at the start {spread(lags[:tenth])}, at the end "
            f"{spread(lags[-tenth:])}; cpu {(screen.cpu - cpu) / took:.1%}; "
            f"{(screen.bytes - sent) / took / 1e3:.2f} KB/s",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", default=["live", "start", "flood"])
    parser.add_argument("--steps", type=int, nargs="*", default=[100_000, 1_000_000])
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if "live" in args.parts:
            live(folder, 120, 40)
            live(folder, 200, 60)
        if "start" in args.parts:
            for steps in args.steps:
                start(folder, steps)
        if "flood" in args.parts:
            flood(folder)


if __name__ == "__main__":
    main()
