"""The screen on a real pty: `python -m tests.benchmarks.bench_screen [live|idle|start ...]`, all by default.

Prints append -> bytes latency, CPU and bytes per second at 20 steps/s, the same while idle, and for long logs the time
to the first curve, to the whole history, and the memory at its end. Runs on the installed tuimon of this Python.
"""

from __future__ import annotations

import argparse
import contextlib
import fcntl
import json
import math
import os
import pty
import random
import select
import signal
import statistics
import struct
import sys
import tempfile
import termios
import time
from pathlib import Path
from typing import Any

import psutil


class Screen:
    """`tuimon watch FILE` on a pseudo-terminal of its own; everything it writes is read, timed and counted."""

    def __init__(self, file: Path, width: int, height: int) -> None:
        self.started = time.perf_counter()
        self.pid, self.terminal = pty.fork()
        if self.pid == 0:
            os.environ.update(TERM="xterm-256color", COLUMNS=str(width), LINES=str(height))
            os.execv(sys.executable, [sys.executable, "-m", "tuimon.cli", "watch", str(file)])
        fcntl.ioctl(self.terminal, termios.TIOCSWINSZ, struct.pack("HHHH", height, width, 0, 0))
        self.process = psutil.Process(self.pid)
        self.bytes = 0
        self.seen = b""

    def read(self, seconds: float) -> bytes:
        """What is written within `seconds`, returning at the first bytes."""
        if not select.select([self.terminal], [], [], max(seconds, 0))[0]:
            return b""
        with contextlib.suppress(OSError):
            got = os.read(self.terminal, 1 << 16)
            self.bytes += len(got)
            self.seen = (self.seen + got)[-200_000:]
            return got
        return b""

    def drain(self, seconds: float) -> int:
        """Bytes written within the next `seconds`."""
        before, end = self.bytes, time.perf_counter() + seconds
        while (left := end - time.perf_counter()) > 0:
            self.read(left)
        return self.bytes - before

    def until(self, word: bytes, seconds: float) -> float:
        """Seconds from the start to `word` on the terminal, NaN if it does not come in time."""
        end = time.perf_counter() + seconds
        while word not in self.seen:
            if time.perf_counter() > end:
                return math.nan
            self.read(0.05)
        return time.perf_counter() - self.started

    def type(self, keys: bytes) -> None:
        os.write(self.terminal, keys)

    def cpu(self) -> float:
        times = self.process.cpu_times()
        return times.user + times.system

    def close(self) -> None:
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        os.close(self.terminal)


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
    """A run of `rate` steps a second."""
    file, rng = folder / f"live-{width}-{rate}.jsonl", random.Random(1)
    history(file, 2000)
    screen = Screen(file, width, height)
    screen.drain(5)
    waits: list[float] = []
    cpu, sent, begun = screen.cpu(), screen.bytes, time.perf_counter()
    with file.open("ab", buffering=0) as out:
        for step in range(2000, 2000 + seconds * rate):
            out.write(record(step, rng))
            written = time.perf_counter()
            if screen.read(0.5):
                waits.append((time.perf_counter() - written) * 1e3)
            due = begun + (step - 1999) / rate
            while (left := due - time.perf_counter()) > 0:
                screen.read(left)
    took = time.perf_counter() - begun
    load, flow = (screen.cpu() - cpu) / took, (screen.bytes - sent) / took
    waits.sort()
    print(
        f"live {width}x{height} {rate}/s: append -> bytes p50 {statistics.median(waits):.1f} ms, "
        f"p95 {waits[int(0.95 * len(waits))]:.1f} ms; cpu {load:.1%}; {flow / 1e3:.2f} KB/s"
    )
    cpu, sent = screen.cpu(), screen.bytes
    screen.drain(20)
    print(f"idle {width}x{height}: {(screen.bytes - sent)} bytes in 20 s; cpu {(screen.cpu() - cpu) / 20:.2%}")
    screen.close()


def start(folder: Path, steps: int) -> None:
    """Opening a long log."""
    file = folder / f"long-{steps}.jsonl"
    history(file, steps)
    screen = Screen(file, 120, 40)
    # A braille cell of a curve is E2 A0..A3 xx in UTF-8.
    end = time.perf_counter() + 60
    while not any(bytes((0xE2, high)) in screen.seen for high in range(0xA0, 0xA4)) and time.perf_counter() < end:
        screen.read(0.02)
    first = time.perf_counter() - screen.started
    screen.type(b"?")
    answered = screen.until(b"any key closes", 60)
    screen.type(b"x")
    keys: list[float] = []
    # The offset into the file is not to be seen from outside; "reading" goes away with the last byte.
    while not whole(screen.seen):
        begun = time.perf_counter()
        screen.type(b"l" if len(keys) % 2 else b"h")
        if screen.read(5):
            keys.append((time.perf_counter() - begun) * 1e3)
        screen.drain(0.1)
    took = time.perf_counter() - screen.started
    size, keys = screen.process.memory_info().rss / 1e6, sorted(keys) or [math.nan]
    print(
        f"start {steps:,} lines: first curve {first * 1e3:.0f} ms; first key answered {answered * 1e3:.0f} ms; "
        f"whole history {took:.2f} s ({screen.cpu():.2f} s of CPU); "
        f"{len(keys)} keys meanwhile: p50 {statistics.median(keys):.0f} ms, p99 {keys[int(0.99 * len(keys))]:.0f} ms; "
        f"rss {size:.0f} MB"
    )
    screen.close()


def whole(seen: bytes) -> bool:
    """Whether the last that the header said of the following is that it is live."""
    return b"live" in seen.rpartition(b"reading")[2].partition(b"End")[0]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", default=["live", "start"])
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


if __name__ == "__main__":
    main()
