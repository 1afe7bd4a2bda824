"""The records around the first non-finite value, and what their order says; no drawing."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tuimon.panels import words
from tuimon.record import ROLES
from tuimon.store import Column

GREW = 4.0
"""Growth over the records shown that is told as growth: training noise stays well below fourfold."""


@dataclass(frozen=True, slots=True)
class Records:
    """Some records as a table.

    Attributes:
        names: metrics, in columns.
        steps: in rows.
        cells: a row per step, a value per metric, None where the record lacks it.
        first: metric -> step of its first non-finite value.
    """

    names: tuple[str, ...]
    steps: tuple[int, ...]
    cells: tuple[tuple[float | None, ...], ...]
    first: Mapping[str, int]

    @property
    def onset(self) -> int | None:
        """Step of the first non-finite value of all, None without one."""
        return min(self.first.values(), default=None)


def first_bad(column: Column) -> int | None:
    """Step of the first non-finite value of a metric, in the order of the log."""
    if not column.non_finite:
        return None
    for walk in column.passes:
        for step, value in zip(walk.steps, walk.values, strict=True):
            if not math.isfinite(value):
                return step
    return None


def first_bad_steps(columns: Mapping[str, Column]) -> dict[str, int]:
    """Role -> step of its first non-finite value, for the roles that have one.

    Other metrics do not count: a timing or an empty mean may be NaN in the best of runs.
    """
    found = {name: first_bad(columns[name]) for name in ROLES if name in columns}
    return {name: step for name, step in found.items() if step is not None}


def first_bad_step(columns: Mapping[str, Column]) -> int | None:
    """Step of the first non-finite value of a role, None without one."""
    return min(first_bad_steps(columns).values(), default=None)


def records(columns: Mapping[str, Column], at: int, before: int, after: int, last: int | None = None) -> Records:
    """The records around step `at`: at most `before` earlier ones, `at` itself, and `after` later ones up to `last`."""
    names = tuple(name for name in ROLES if name in columns)
    near: set[int] = set()
    for name in names:
        for walk in columns[name].passes:
            place = bisect_left(walk.steps, at)
            near.update(walk.steps[max(0, place - before) : place + after + 1])
    ordered = sorted(step for step in near if last is None or step <= last)
    place = bisect_left(ordered, at)
    steps = tuple(ordered[max(0, place - before) : place + after + 1])
    cells = tuple(tuple(exactly(columns[name], step) for name in names) for step in steps)
    return Records(names, steps, cells, first_bad_steps(columns))


def exactly(column: Column, step: int) -> float | None:
    """The value logged at `step`, the first non-finite one if several passes have it, else the newest; None without."""
    newest: float | None = None
    for walk in column.passes:
        place = bisect_left(walk.steps, step)
        if place < len(walk.steps) and walk.steps[place] == step:
            newest = walk.values[place]
            if not math.isfinite(newest):
                return newest
    return newest


def growth(values: Sequence[float | None]) -> float | None:
    """Last finite magnitude before the first non-finite value, over the first one; None where that says nothing."""
    sizes: list[float] = []
    for value in values:
        if value is None:
            continue
        if not math.isfinite(value):
            break
        sizes.append(abs(value))
    return sizes[-1] / sizes[0] if len(sizes) > 1 and sizes[0] > 0 else None


def story(found: Records) -> str:
    """One sentence on where the first non-finite value was born, from the order in which fields broke."""
    onset, first = found.onset, found.first
    if onset is None:
        return "No NaN in this run: every loss, gradient and learning rate so far is finite."
    grown = [(name, growth([row[i] for row in found.cells])) for i, name in enumerate(found.names)]
    climbing = [
        f"{name} {words.factor(ratio)}"
        for name, ratio in grown
        if ratio is not None and ratio >= GREW and name in first
    ]
    if climbing:
        climbed = " and ".join(climbing)
        return f"{climbed} over the records before it: a divergence that overflowed. Look where the growth began."
    loss, gradient, validation = first.get("loss"), first.get("grad_norm"), first.get("val_loss")
    if onset == first.get("lr"):
        return "The learning rate itself is not finite: look at the schedule."
    if loss is None and gradient is None and validation is not None:
        return "Only val_loss: the training is fine, look at the evaluation code."
    if loss is None and gradient is not None:
        return "Only grad_norm: the loss stays finite. A loss scaler skipped the step, or the logger filters NaN."
    if loss is not None and gradient is None:
        return "The loss broke" + (
            "; grad_norm stayed finite."
            if "grad_norm" in found.names
            else "; log grad_norm to tell forward from backward."
        )
    assert loss is not None and gradient is not None  # the other cases have returned
    return _order(loss, gradient)


def _order(loss: int, gradient: int) -> str:
    if gradient < loss:
        return f"Gradient first, loss {_later(loss - gradient)}: born in the backward pass."
    if loss < gradient:
        return f"Loss first, gradient {_later(gradient - loss)}: born in the forward pass."
    return "Loss and gradient in the same record: born in the forward pass, or in the batch itself."


def _later(count: int) -> str:
    return "one step later" if count == 1 else f"{words.steps(count)} steps later"


def last_good_step(columns: Mapping[str, Column], onset: int) -> int | None:
    """The last step before the onset at which a role was logged; all of them were finite until then."""
    ends = []
    for name in ROLES:
        for walk in columns[name].passes if name in columns else ():
            place = bisect_left(walk.steps, onset)
            if place:
                ends.append(walk.steps[place - 1])
    return max(ends, default=None)
