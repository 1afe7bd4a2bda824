"""What detectors are shown: a stretch of consecutive records, with the facts that all of them need."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, KeysView, Sequence
from itertools import repeat
from math import isfinite
from typing import TYPE_CHECKING

from tuimon.record import Mark
from tuimon.signatures.finding import Finding
from tuimon.signatures.piece import NO_POINTS, Columns, Piece

if TYPE_CHECKING:
    from tuimon.signatures.course import Course


class Stretch:
    """Consecutive records with nothing between them that changes how they must be read.

    A stretch ends where the baselines of the course are renewed (at every 32nd record, or more seldom), and at every
    event: a rewind, a header, a jump of the learning rate, the first or last of a run of records with a non-finite
    role. It also ends where a read ended, so no result of a detector may depend on its length.

    Attributes:
        index: records before this stretch.
        steps: optimizer step of each record.
        finite: no loss, validation loss or gradient norm here is NaN or infinite.
        loss, gn, lr, val: the finite values of the four roles.
        course: the run up to the record before this stretch.
    """

    __slots__ = (
        "_end", "_evaluations", "_piece", "_start", "course", "finite", "gn", "index", "loss", "lr", "steps", "val",
    )  # fmt: skip

    def __init__(self, piece: Piece, start: int, end: int, course: Course, index: int | None = None) -> None:
        self._piece, self._start, self._end = piece, start, end
        self.index = course.records if index is None else index
        self.steps = piece.steps[start:end]
        self.finite = piece.is_finite(start, end)
        self._evaluations: list[tuple[Sequence[float], int, float | None]] | None = None
        self.course = course
        roles, steps = piece.roles, self.steps
        self.loss = roles["loss"].between(start, end, steps) if "loss" in roles else NO_POINTS
        self.val = roles["val_loss"].between(start, end, steps) if "val_loss" in roles else NO_POINTS
        self.gn = roles["grad_norm"].between(start, end, steps) if "grad_norm" in roles else NO_POINTS
        self.lr = roles["lr"].between(start, end, steps) if "lr" in roles else NO_POINTS

    def __len__(self) -> int:
        return len(self.steps)

    def cut(self, records: int) -> Iterator[Stretch]:
        """The same in parts of so many records, for detectors that look closer at the ones that are not calm."""
        for start in range(self._start, self._end, records):
            end = min(start + records, self._end)
            yield Stretch(self._piece, start, end, self.course, self.index + start - self._start)

    @property
    def names(self) -> KeysView[str]:
        """The metrics of the log, in order; each may be missing from every record here."""
        return self._piece.columns.keys()

    @property
    def columns(self) -> Columns:
        """Metric name -> value per record, as logged."""
        return Columns(self._piece.columns, self._start, self._end)

    @property
    def newest(self) -> int:
        """The greatest step."""
        return self.steps[-1] if self._piece.increasing else max(self.steps)

    @property
    def layered(self) -> bool:
        """Some metric has a name with a slash, such as `grad_norm/<layer>`."""
        return self._piece.layered

    def logged(self, role: str, first: int = 0) -> Sequence[float | None]:
        """The value of one role in every record from the one numbered `first`, as logged; None where there is none."""
        column = self._piece.columns.get(role)
        return [None] * (len(self) - first) if column is None else column[self._start + first : self._end]

    def rows(self, *roles: str) -> Iterator[tuple[int, tuple[float | None, ...]]]:
        """Step and finite values of the `roles` of every record, in the order of the log; None where there is none."""
        columns = [self._finite(role) for role in roles]
        return zip(self.steps, zip(*columns, strict=True), strict=True)

    def _finite(self, role: str) -> Iterable[float | None]:
        """The value of one role in every record, None where it is missing or not finite."""
        known = self._piece.roles.get(role)
        if known is None:
            return repeat(None, len(self))
        column = self.logged(role)
        if known.rows is None:
            return column
        return [value if value is not None and isfinite(value) else None for value in column]

    @property
    def dense(self) -> bool:
        """Every record has a finite loss and a finite validation loss, and a step above the one before it.

        Such logs bring a hundred times more evaluations than others, so detectors take them in all at once.
        """
        return self._piece.increasing and len(self.loss.values) == len(self.val.values) == len(self)

    @property
    def evaluations(self) -> list[tuple[Sequence[float], int, float | None]]:
        """Step and value of every finite validation loss, after the finite losses up to its record since the last one.

        The last of them is the newest step and None, with the losses that are left.
        """
        if self._evaluations is None:
            self._evaluations = []
            losses, taken = self.loss.values, 0
            for row, step, value in zip(self._rows("val_loss"), self.val.steps, self.val.values, strict=True):
                end = self._losses_to(row)
                self._evaluations.append((losses[taken:end], step, value))
                taken = end
            self._evaluations.append((losses[taken:], self.steps[-1], None))
        return self._evaluations

    def _rows(self, role: str) -> Sequence[int]:
        """The records of the piece within this stretch that have a finite value of the role."""
        column = self._piece.roles.get(role)
        if column is None:
            return ()
        if column.rows is None:
            return range(self._start, self._end)
        return column.rows[bisect_left(column.rows, self._start) : bisect_left(column.rows, self._end)]

    def _losses_to(self, row: int) -> int:
        """Finite losses of this stretch up to that record of the piece."""
        column = self._piece.roles.get("loss")
        if column is None:
            return 0
        if column.rows is None:
            return row + 1 - self._start
        return bisect_right(column.rows, row) - bisect_left(column.rows, self._start)


class Detector:
    """Sees the run stretch by stretch and says what it recognises.

    `update` is a fold: the state after two stretches is the state after the one that joins them. Nothing here logs,
    raises or draws, and what a detector remembers does not grow with the run.
    """

    def update(self, stretch: Stretch) -> None:
        """Takes in the next records."""

    def renewed(self, course: Course) -> None:
        """The outline of the course has a new block: the place for what shows only over hundreds of records."""

    def mark(self, mark: Mark, course: Course) -> None:
        """Takes in a header, a note, or a restart of the file, which stood before the next stretch."""

    def rewind(self, step: int, course: Course) -> None:
        """The next stretch begins at `step`, which is not after the last one: the run was resumed."""

    @property
    def findings(self) -> Sequence[Finding]:
        """What has been recognised so far."""
        raise NotImplementedError
