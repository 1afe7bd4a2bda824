"""The rows that are about the log and not about the training, made from healthy logs without training anything.

Each of these rows must be said, and no failure with it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from tests.quality.corpus import Run
from tests.quality.printed import Table, share
from tests.quality.variants import Variant, batch
from tuimon.monitor import Monitor, Snapshot
from tuimon.record import Batch

AN_HOUR = 3600.0
GAP_OPENS = 200  # steps over which train and validation come apart


def resumed(run: Run) -> Snapshot:
    """Killed at three quarters and resumed from a checkpoint 60 steps earlier, in the same file."""
    whole = batch(run)
    cut = len(whole) * 3 // 4
    back = next(row for row, step in enumerate(whole.steps) if step >= whole.steps[cut] - 60)
    monitor = Monitor()
    monitor.feed(whole.slice(0, cut))
    return monitor.feed(_without_end_marks(whole.slice(back, len(whole))))


def _without_end_marks(part: Batch) -> Batch:
    return replace(part, marks=())


def stalled(run: Run) -> Snapshot:
    """No record for an hour after one every 50 ms."""
    half = batch(run).slice(0, run.steps // 2)
    monitor = Monitor()
    monitor.feed(half)
    return monitor.look_at((half.times[-1] or 0.0) + AN_HOUR)


def lacking(name: str) -> Callable[[Run], Snapshot]:
    """A log without that metric."""
    variant = Variant(f"no {name}", without=(name,))
    return lambda run: Monitor().feed(batch(run, variant))


def augmented(run: Run) -> Snapshot:
    """Train comes to lie half above validation: what dropout and augmentation do as a network learns."""
    steps, loss = run.columns["loss"]
    raised = loss * (1 + 0.5 * (steps / GAP_OPENS).clip(0, 1))
    return Monitor().feed(batch(replace(run, columns={**run.columns, "loss": (steps, raised)})))


DERIVED: dict[str, Callable[[Run], Snapshot]] = {
    "resumed": resumed,
    "stalled-run": stalled,
    "no-validation": lacking("val_loss"),
    "no-grad-norm": lacking("grad_norm"),
    "val-below-train": augmented,
}


def derived_table(runs: Iterable[Run]) -> Table:
    """Row, on how many of the "plain" healthy logs it was said, and on how many a failure beside it."""
    plain = [run for run in runs if run.fault == "plain" and run.truth.row == "healthy"]
    table = [["row", "logs", "row found", "failures"]]
    for row, make in DERIVED.items():
        shots = [make(run) for run in plain]
        found = sum(any(x.signature == row for x in shot.findings) for shot in shots)
        failed = sum(any(x.severity == "failure" for x in shot.findings) for shot in shots)
        table.append([row, str(len(plain)), share(found, len(plain)), str(failed)])
    return table
