"""Cuts batches into stretches at places that do not depend on how the run was read, and shows them to the detectors."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from operator import lt

from tuimon.record import ROLES, Batch, Mark
from tuimon.signatures import detectors
from tuimon.signatures.course import BLOCK, LR_RISE, Course
from tuimon.signatures.stall import Pace
from tuimon.signatures.stretch import Detector, Points, Stretch

REWINDS_KEPT = 10_000
"""Rewinds that are kept: a log whose steps jump about must not exhaust memory."""

STRAGGLERS = 8
"""Steps by which one of several writers may lag behind the others."""

Columns = Mapping[str, Sequence[float | None]]


class Fold:
    """The state of a run under reading: the course, the detectors, and the step that the last line belonged to."""

    def __init__(self) -> None:
        self.course = Course()
        self.detectors = detectors()
        self._fast = [detector for detector in self.detectors if type(detector).update is not Detector.update]
        self._slow = [detector for detector in self.detectors if type(detector).renewed is not Detector.renewed]
        self.pace = Pace()
        self.rewinds: list[int] = []
        self._step: int | None = None
        self._there: dict[str, float] = {}
        self._resumes = False
        self._has_loss = False
        self._layered = False
        self._recent: deque[tuple[int, float | None]] = deque(maxlen=STRAGGLERS)

    def feed(self, batch: Batch) -> Iterator[Batch]:
        """Takes in a batch; yields it again in pieces between marks, second values of one step left out."""
        start = 0
        for mark in batch.marks:
            if mark.row > start:
                yield self._piece(batch, start, mark.row)
                start = mark.row
            self._mark(mark)
        if start < len(batch):
            yield self._piece(batch, start, len(batch))

    def _mark(self, mark: Mark) -> None:
        if mark.kind == "header":
            meta = mark.fields.get("meta")
            if isinstance(meta, Mapping):
                self.course.declare(meta)
        self.pace.mark(mark)
        if mark.kind != "note":
            self._resumes = self.course.records > 0
        for detector in self.detectors:
            detector.mark(mark, self.course)
        if mark.kind != "note" and self.course.records:
            self.course.restart()
            self._there = {}

    def _piece(self, batch: Batch, start: int, stop: int) -> Batch:
        whole = start == 0 and stop == len(batch)
        steps = batch.steps if whole else batch.steps[start:stop]
        times = batch.times if whole else batch.times[start:stop]
        columns = batch.columns if whole else {name: column[start:stop] for name, column in batch.columns.items()}
        backs: set[int] = set()
        forward = (self._step is None or steps[0] > self._step) and all(map(lt, steps, steps[1:]))
        if not forward:
            merged = {name: list(column) for name, column in columns.items()}
            backs = self._merge(steps, merged)
            columns = merged
        self._resumes = False
        self._layered = any("/" in name for name in columns)
        self._walk(steps, times, columns, backs)
        if forward:
            losses = columns.get("loss") or [None] * len(steps)
            self._step = steps[-1]
            self._recent.extend(zip(steps[-STRAGGLERS:], losses[-STRAGGLERS:], strict=True))
            self._has_loss = self._has_loss or any(loss is not None for loss in losses)
            self._there = {name: value for name, column in columns.items() if (value := column[-1]) is not None}
        self.pace.update(steps, times)
        return Batch(steps, times, columns)

    def _merge(self, steps: Sequence[int], columns: dict[str, list[float | None]]) -> set[int]:
        """Drops second values of one step; returns the rows at which the log goes back."""
        backs = set()
        for i, step in enumerate(steps):
            row = {name: value for name, column in columns.items() if (value := column[i]) is not None}
            self._has_loss = self._has_loss or "loss" in row
            if self._step is None or step > self._step:
                self._step, self._there = step, row
                self._recent.append((step, row.get("loss")))
            elif step == self._step:
                self._drop(i, row, columns)
            elif ("loss" in row or not self._has_loss or self._resumes) and not self._straggles(step, row):
                backs.add(i)
                self._step, self._there = step, row
                self._recent.append((step, row.get("loss")))
            elif "loss" in row:
                for name in row:
                    columns[name][i] = None
            self._resumes = False
        return backs

    def _drop(self, i: int, row: dict[str, float], columns: dict[str, list[float | None]]) -> None:
        """The first value of a step counts, unless a later one is not finite."""
        for name, value in row.items():
            first = self._there.get(name)
            if first is not None and (math.isfinite(value) or not math.isfinite(first)):
                columns[name][i] = None
            else:
                self._there[name] = value

    def _straggles(self, step: int, row: dict[str, float]) -> bool:
        """Another writer repeats a value of a few steps ago."""
        if self._resumes or "loss" not in row:
            return False
        return any(seen == step and loss == row["loss"] for seen, loss in self._recent)

    def _walk(self, steps: Sequence[int], times: Sequence[float | None], columns: Columns, backs: set[int]) -> None:
        """Shows the records to the detectors, cut where the course renews its baselines and at every event."""
        course = self.course
        start, stop = 0, len(steps)
        while start < stop:
            end = min(stop, start + BLOCK - course.records % BLOCK)
            if backs:
                end = min([end, *(row for row in backs if start < row)])
                if start in backs:
                    self._rewind(steps[start])
            end = self._show(start, end, steps, times, columns)
            start = end

    def _rewind(self, step: int) -> None:
        if len(self.rewinds) < REWINDS_KEPT:
            self.rewinds.append(step)
        for detector in self.detectors:
            detector.rewind(step, self.course)
        self.course.restart(step)

    def _show(self, start: int, end: int, steps: Sequence[int], times: Sequence[float | None], columns: Columns) -> int:
        """Shows records from `start`, at most up to `end`; returns where the next stretch begins."""
        course = self.course
        part = {name: column[start:end] for name, column in columns.items()}
        stretch = Stretch(course.records, steps[start:end], times[start:end], part, course)
        stretch.layered = self._layered
        if not _fill(stretch):
            rows = _bad_rows(part)
            same = next((i for i in range(1, len(rows)) if rows[i] != rows[0]), len(rows))
            if same < len(rows):
                return self._show(start, start + same, steps, times, columns)
            stretch.finite = not any(rows[0])
        lr = stretch.lr
        if lr.values:
            known = lr.low if course.lr is None else min(lr.low, course.lr)
            if lr.high > LR_RISE * known:
                row = self._lr_jump(part["lr"])
                if row is not None and row > 0:
                    return self._show(start, start + row, steps, times, columns)
                if row == 0:
                    course.lr_jump(part["lr"][0] or 0.0)
                    later = self._lr_jump(part["lr"], 1)
                    if later is not None:
                        return self._show(start, start + later, steps, times, columns)
        for detector in self._fast:
            detector.update(stretch)
        course.learn(stretch)
        if course.due and course.renew():
            for detector in self._slow:
                detector.renewed(course)
        return end

    def _lr_jump(self, column: Sequence[float | None], skip: int = 0) -> int | None:
        """The first row, after `skip` ones, whose learning rate is far above the one before."""
        before = self.course.lr
        for i, value in enumerate(column):
            if value is None:
                continue
            if before is not None and before > 0.0 and value > LR_RISE * before and i >= skip:
                return i
            before = value
        return None


def _fill(stretch: Stretch) -> bool:
    """Sets the finite points of the roles; False when some value of a role is not finite."""
    finite = True
    for role, name in (("loss", "loss"), ("val_loss", "val"), ("grad_norm", "gn"), ("lr", "lr")):
        column = stretch.columns.get(role)
        if column is None:
            continue
        steps: Sequence[int] = stretch.steps
        if None in column:
            there = [i for i, value in enumerate(column) if value is not None]
            if not there:
                continue
            steps = [steps[i] for i in there]
            column = [column[i] for i in there]
        if not math.isfinite(sum(column)):  # type: ignore[arg-type]
            there = [i for i, value in enumerate(column) if math.isfinite(value)]  # type: ignore[arg-type]
            if len(there) < len(column):
                finite = finite and role == "lr"
                steps = [steps[i] for i in there]
                column = [column[i] for i in there]
                if not there:
                    continue
        setattr(stretch, name, Points(steps, column, min(column), max(column)))  # type: ignore[arg-type,type-var]
    return finite


def _bad_rows(columns: Columns) -> list[tuple[bool, ...]]:
    """For every record, which of loss, validation loss and gradient norm are not finite."""
    roles = [columns[role] for role in ROLES[:3] if role in columns]
    return [tuple(value is not None and not math.isfinite(value) for value in row) for row in zip(*roles, strict=True)]
