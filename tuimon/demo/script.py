"""Writes a synthetic run through the real writer, at once or at a pace one can follow."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from random import Random
from threading import Event

from tuimon.demo.curve import DemoRun, Rows
from tuimon.writer import RunWriter

SECONDS_PER_STEP = 0.05
STARTED = 1_764_500_000.0
"""When a run written at once pretends to have started (November 2025), so that its file is the same every time."""


def records(run: DemoRun, seed: int = 0) -> Rows:
    """All records of a run, the same for one seed on every machine."""
    return run.make(Random(f"{run.name} {seed}"))


class Script:
    """The records of a run, written one by one; where the steps go back, by a new writer as after a crash.

    Args:
        run: what to write.
        path: the file.
        clock: Unix time in seconds of the next line.
        seed: of the noise.
    """

    def __init__(self, run: DemoRun, path: Path | str, clock: Callable[[], float] = time.time, seed: int = 0) -> None:
        self.run, self.path, self.clock = run, path, clock
        self.rows = records(run, seed)
        self.written = 0
        self._last = -1
        self._writer = self._open()

    def _open(self) -> RunWriter:
        # A run that hangs had more to come; the others say how long they are, so that their end is no surprise.
        length = {} if self.run.silent else {"total_steps": int(self.rows[-1]["step"]) + 1}
        return RunWriter(self.path, run=self.run.name, meta={**self.run.meta, **length}, clock=self.clock)

    def advance(self) -> bool:
        """Writes the next record; False when there is none."""
        if self.written == len(self.rows):
            return False
        row = self.rows[self.written]
        step = int(row["step"])
        if step <= self._last:
            self._writer.close(ended=False)
            self._writer = self._open()
        self._writer.log(step, **{name: value for name, value in row.items() if name != "step"})
        self._last = step
        self.written += 1
        return True

    def close(self) -> None:
        """Closes the file; only a run that is complete and did not hang says that it has ended."""
        self._writer.close(ended=self.written == len(self.rows) and not self.run.silent)


def write(run: DemoRun, path: Path | str, seed: int = 0) -> int:
    """Appends a whole run to `path` at once, with times at a constant pace.

    Returns:
        How many records were written.
    """
    script: Script | None = None

    def clock() -> float:
        return STARTED + (script.written if script is not None else 0) * SECONDS_PER_STEP

    script = Script(run, path, clock, seed)
    while script.advance():
        pass
    script.close()
    return script.written


class Player:
    """Plays a run: its calm part stands in the file at once, the rest comes at a pace.

    Args:
        run: what to play.
        path: the file.
        speed: 1 for 20 steps a second.
    """

    def __init__(self, run: DemoRun, path: Path | str, speed: float = 1.0) -> None:
        self.pace = SECONDS_PER_STEP / speed
        self._calm = run.calm
        self._stop = Event()
        self._began = time.time() - run.calm * self.pace
        self._script: Script | None = None
        self._script = Script(run, path, self._clock)
        while self._script.written < run.calm and self._script.advance():
            pass

    def _clock(self) -> float:
        """Now, or, for the calm part, when that record would have come."""
        written = self._script.written if self._script is not None else 0
        return self._began + written * self.pace if written < self._calm else time.time()

    def play(self) -> None:
        """Writes the rest; returns at its end, or soon after `stop`. For a thread of its own."""
        script = self._script
        if script is None:
            return
        due = time.monotonic()
        while not self._stop.wait(max(0.0, due - time.monotonic())) and script.advance():
            due = max(due + self.pace, time.monotonic() - 1.0)  # after a suspend, do not make up for hours
        script.close()

    def stop(self) -> None:
        """Ends `play`."""
        self._stop.set()
