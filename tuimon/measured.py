"""A row's formulas with the numbers of a run put in: only what the run has logged, else nothing."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from statistics import median

from tuimon.estimate import estimate_for
from tuimon.formulas import effective_classes, logit_spread, softmax_floor, uniform_loss
from tuimon.monitor import Snapshot
from tuimon.numerals import value_text
from tuimon.plain import plain_text
from tuimon.signatures.finding import Finding
from tuimon.store import Column, Store

RESTING = 200
"""Newest steps whose median is the level of a loss: as many as the detectors of levels look at."""

MOST = 10**9
"""Largest count that is believed: a header may declare anything, also what no float can hold."""

MANY = 100
"""Classes from which the spread of initial logits can be had from the first loss."""


@dataclass(frozen=True, slots=True)
class _Run:
    """What a formula is filled from."""

    snapshot: Snapshot
    store: Store

    @property
    def classes(self) -> int | None:
        """The declared number of classes, None without one."""
        return self._declared("num_classes")

    @property
    def batch_size(self) -> int | None:
        """The declared number of samples in a batch, None without one."""
        return self._declared("batch_size")

    def _declared(self, name: str) -> int | None:
        count = self.snapshot.meta.get(name)
        return count if isinstance(count, int) and not isinstance(count, bool) and 2 <= count <= MOST else None

    def column(self, name: str) -> Column | None:
        """The metric, None if it was never logged."""
        column = self.store.columns.get(name)
        return column if column is not None and column.last_step is not None else None


Told = Callable[[_Run], Iterator[str]]


def measured(finding: Finding, snapshot: Snapshot, store: Store) -> list[str]:
    """Lines about one finding of a run: since when, what the rate did there, what is still good, the row's formula."""
    run = _Run(snapshot, store)
    lines: list[str] = []
    if finding.severity != "note":
        lines += [*_since(finding, snapshot), *_rate_there(finding, run), *_still_good(finding, snapshot)]
    formula = FORMULAS.get(finding.signature)
    lines += formula(run) if formula else ()
    limit = estimate_for(finding.signature, finding.family, snapshot, store).words
    return [*lines, limit] if limit else lines


def _since(finding: Finding, snapshot: Snapshot) -> Iterator[str]:
    steps = (snapshot.last_step or 0) - finding.onset_step
    if finding.active and steps > 0:
        spent = "" if snapshot.pace is None else f", about {duration(steps * snapshot.pace)}"
        yield f"The run has gone on for {steps:,} steps since{spent}."


def _rate_there(finding: Finding, run: _Run) -> Iterator[str]:
    column = run.column("lr")
    if column is None or finding.family in {"overfit", "data"}:
        return
    before, there = column.at(finding.onset_step - 1), column.at(finding.onset_step)
    if before is not None and there is not None and before > 0 and not 1 / 1.5 < there / before < 1.5:
        yield (
            f"The learning rate went from {value_text(before, 3)} to {value_text(there, 3)} at the onset: "
            f"{value_text(there / before, 3)} times."
        )
    elif there is not None:
        steady = ", with no jump at the onset" if before is not None else ""
        yield f"The learning rate was {value_text(there, 3)} there{steady}."


def _still_good(finding: Finding, snapshot: Snapshot) -> Iterator[str]:
    kept = [note for note in snapshot.notes if note.name == "checkpoint" and note.step is not None]
    good = [note for note in kept if note.step is not None and note.step < finding.onset_step]
    if good:
        path = plain_text(good[-1].fields.get("path", ""), 200)
        yield f"Newest checkpoint from before it: step {good[-1].step}, {path}"
    elif kept:
        yield "No checkpoint in the log is from before it."


def duration(seconds: float) -> str:
    """Seconds as a person says them: 40 s, 12 min, 3.5 h."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def _level(column: Column) -> float | None:
    _, values = column.window((column.last_step or 0) - RESTING, column.last_step or 0)
    finite = [value for value in values if math.isfinite(value)]
    return median(finite) if finite else None


def _of_level(run: _Run) -> Iterator[str]:
    column, classes = run.column("loss"), run.classes
    level = None if column is None else _level(column)
    if level is None or not 0 < level < 50:
        return
    known = f"; ln {classes} = {uniform_loss(classes):.3f}" if classes else ""
    yield f"Loss level {level:.3f}{known}. exp({level:.3f}) = {effective_classes(level):.4g} equally likely classes."


def _of_floor(run: _Run) -> Iterator[str]:
    column, classes = run.column("loss"), run.classes
    if column is not None and column.best is not None and classes:
        floor = softmax_floor(classes)
        yield f"Least loss {column.best:.4f}; floor for {classes} classes ln(e + {classes - 1}) - 1 = {floor:.4f}."


def _of_start(run: _Run) -> Iterator[str]:
    column, classes = run.column("loss"), run.classes
    first = None if column is None or column.first_step is None else column.passes[0].at(column.first_step)
    if first is None or not math.isfinite(first) or classes is None:
        return
    want = uniform_loss(classes)
    line = f"First loss {value_text(first)}, ln {classes} = {want:.3f}: {first / want:.3g} times as much."
    batch = run.batch_size
    if batch is not None and abs(first / want / batch - 1) < 0.1:
        line += f" The batch size is {batch}: the loss is a sum."
    elif classes >= MANY and first > want:
        line += f" Initial logits spread by {logit_spread(first, classes):.2g}."
    yield line


def _of_budget(run: _Run) -> Iterator[str]:
    rates, norms = run.column("lr"), run.column("grad_norm")
    if rates is None or norms is None or norms.last_step is None:
        return
    if rates.last == 0:
        yield "The learning rate is 0 now: no step moves anything. Ten times 0 is 0; the schedule is to be mended."
        return
    steps, values = norms.window(norms.first_step or 0, norms.last_step)
    pairs = ((rates.at(step), norm) for step, norm in zip(steps, values, strict=True) if math.isfinite(norm))
    total = sum(rate * norm * norm for rate, norm in pairs if rate is not None and math.isfinite(rate))
    yield f"Sum of lr * grad_norm^2 so far: {value_text(total, 3)} of loss at most, if this is plain SGD."


def _of_validation(run: _Run) -> Iterator[str]:
    column = run.column("val_loss")
    if column is not None and column.best is not None and column.last is not None and math.isfinite(column.last):
        yield f"Best val_loss {value_text(column.best)} at step {column.best_step}; now {value_text(column.last)}."


def _of_layers(run: _Run) -> Iterator[str]:
    layers = [column for name, column in run.store.columns.items() if name.startswith("grad_norm/")]
    if len(layers) < 2:
        return
    first, last = layers[0].last, layers[-1].last
    if first is not None and last is not None and 0 < first < last < math.inf:
        factor = (first / last) ** (1 / (len(layers) - 1))
        share = value_text(first / last, 1)
        yield f"{share} from the last layer to the first: {factor:.2f} per layer, over {len(layers)} layers."


FORMULAS: dict[str, Told] = {
    "uniform-prediction": _of_level,
    "prior-prediction": _of_level,
    "double-softmax": _of_floor,
    "initial-loss-off": _of_start,
    "lr-too-low": _of_budget,
    "overfitting": _of_validation,
    "memorising-noise": _of_validation,
    "vanishing-gradient": _of_layers,
}
