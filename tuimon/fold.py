"""Cuts batches into stretches at places that do not depend on how the run was read, and shows them to the detectors."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from operator import lt

from tuimon.record import Batch, Mark
from tuimon.signatures import detectors
from tuimon.signatures.course import LR_RISE, Course
from tuimon.signatures.piece import Piece
from tuimon.signatures.stall import Pace
from tuimon.signatures.stretch import Detector, Stretch

REWINDS_KEPT = 10_000
"""Rewinds that are kept: a log whose steps jump about must not exhaust memory."""

STRAGGLERS = 8
"""Steps by which one of several writers may lag behind the others."""


class Fold:
    """The state of a run under reading: the course, the detectors, and the step that the last line belonged to."""

    def __init__(self) -> None:
        self.course = Course()
        self.detectors = detectors()
        self._updates = [one.update for one in self.detectors if type(one).update is not Detector.update]
        self._renewals = [one.renewed for one in self.detectors if type(one).renewed is not Detector.renewed]
        self.pace = Pace()
        self.rewinds: list[int] = []
        self._step: int | None = None
        self._there: dict[str, float] = {}
        self._resumes = False
        self._has_loss = False
        self._recent: deque[tuple[int, float | None]] = deque(maxlen=STRAGGLERS)

    def feed(self, batch: Batch) -> Iterator[tuple[Batch, bool]]:
        """Takes in a batch; yields it again in pieces between marks, second values of one step left out.

        With each piece comes whether its steps are known to increase.
        """
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

    def _piece(self, batch: Batch, start: int, stop: int) -> tuple[Batch, bool]:
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
        self._walk(Piece(steps, columns, forward), backs)
        if forward:
            losses = columns.get("loss") or [None] * len(steps)
            self._step = steps[-1]
            self._recent.extend(zip(steps[-STRAGGLERS:], losses[-STRAGGLERS:], strict=True))
            self._has_loss = self._has_loss or any(loss is not None for loss in losses)
            self._there = {name: value for name, column in columns.items() if (value := column[-1]) is not None}
        self.pace.update(steps, times)
        return Batch(steps, times, columns), forward

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

    def _walk(self, piece: Piece, backs: set[int]) -> None:
        """Shows the records to the detectors, cut where the course renews its baselines and at every event."""
        course = self.course
        jumps = self._jumps(piece, backs)
        cuts = sorted(backs | jumps.keys() | piece.edges)
        start, stop = 0, len(piece)
        while start < stop:
            if start in backs:
                self._rewind(piece.steps[start])
            if start in jumps:
                course.lr_jump(jumps[start])
            end = min(stop, start + course.left)
            if cuts:
                end = min([end, *cuts[bisect_right(cuts, start) :][:1]])
            self._show(Stretch(piece, start, end, course))
            start = end

    def _jumps(self, piece: Piece, backs: set[int]) -> dict[int, float]:
        """The records whose learning rate is far above the one before (which a rewind forgets), and that rate."""
        column = piece.roles.get("lr")
        if column is None or not column.values:
            return {}
        before = self.course.lr
        least = min(column.values)
        if max(column.values) <= LR_RISE * (least if before is None else min(before, least)):
            return {}
        jumps = {}
        last = -1
        for row, value in zip(range(len(piece)) if column.rows is None else column.rows, column.values, strict=True):
            if before is not None and 0.0 < LR_RISE * before < value and not any(last < back <= row for back in backs):
                jumps[row] = value
            before, last = value, row
        return jumps

    def _rewind(self, step: int) -> None:
        if len(self.rewinds) < REWINDS_KEPT:
            self.rewinds.append(step)
        for detector in self.detectors:
            detector.rewind(step, self.course)
        self.course.restart(step)

    def _show(self, stretch: Stretch) -> None:
        """Shows a stretch to the detectors; at the end of a block, the renewed course as well."""
        for update in self._updates:
            update(stretch)
        course = self.course
        course.learn(stretch)
        if course.due and course.renew():
            for renewed in self._renewals:
                renewed(course)
