"""Synthetic training runs that fail on purpose, one or more per row of the table, and healthy ones that look bad.

Each is seeded and made the way the failure makes a real curve: a power law with noise in proportion, a real schedule,
evaluations every so many steps, and one thing that goes wrong at a step the table states. Standard library only.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random

from tuimon.demo import divergence, fit, healthy, nan, plateau
from tuimon.demo.curve import DemoRun, Fields, Rows
from tuimon.writer import RunWriter

__all__ = ["RUNS", "SECONDS_PER_STEP", "DemoRun", "Fields", "Rows", "Script", "records", "write"]

RUNS: dict[str, DemoRun] = {run.name: run for module in (nan, divergence, plateau, fit, healthy) for run in module.RUNS}

SECONDS_PER_STEP = 0.05
STARTED = 1_764_500_000.0
"""When a run written at once pretends to have started (November 2025), so that its file is the same every time."""


def records(run: DemoRun, seed: int = 0) -> Rows:
    """All records of a run, the same for one seed on every machine."""
    return run.make(Random(f"{run.name} {seed}"))


class Script:
    """Writes the records of a run one by one through the real writer; where the steps go back, as a new process.

    Args:
        run: what to write.
        path: the file.
        live: lines carry the clock's times; otherwise times at a constant pace.
        seed: of the noise.
    """

    def __init__(self, run: DemoRun, path: Path | str, *, live: bool, seed: int = 0) -> None:
        self.run, self.path, self.live = run, path, live
        self.rows = records(run, seed)
        self.written = 0
        self._writer = self._open()

    def _open(self) -> RunWriter:
        if self.live:
            return RunWriter(self.path, run=self.run.name, meta=self.run.meta)
        return RunWriter(
            self.path,
            run=self.run.name,
            meta=self.run.meta,
            clock=lambda: STARTED + self.written * SECONDS_PER_STEP,
        )

    def steps(self) -> Iterator[int]:
        """Writes a record each time it is asked, and says its step."""
        before = -1
        for row in self.rows:
            step = int(row["step"])
            if step <= before:
                self._writer.close()
                self._writer = self._open()
            self.written += 1
            self._writer.log(step, **{name: value for name, value in row.items() if name != "step"})
            before = step
            yield step

    def close(self) -> None:
        """Closes the file."""
        self._writer.close()


def write(run: DemoRun, path: Path | str, seed: int = 0) -> int:
    """Appends a whole run to `path` at once.

    Returns:
        How many records were written.
    """
    script = Script(run, path, live=False, seed=seed)
    count = sum(1 for _ in script.steps())
    script.close()
    return count
