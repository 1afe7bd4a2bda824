"""What detectors are shown: a stretch of consecutive records, with the facts that all of them need."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import repeat
from math import isfinite
from typing import TYPE_CHECKING, NamedTuple

from tuimon.record import Mark
from tuimon.signatures.finding import Finding

if TYPE_CHECKING:
    from tuimon.signatures.course import Course


class Points(NamedTuple):
    """The finite values of one role in a stretch: parallel columns, and their extremes (0.0 without any)."""

    steps: Sequence[int] = ()
    values: Sequence[float] = ()
    low: float = 0.0
    high: float = 0.0


NO_POINTS = Points()


class Stretch:
    """Consecutive records with nothing between them that changes how they must be read.

    A stretch ends at every 32nd record, where the baselines of the course are renewed, and at every event: a rewind, a
    header, the first or last of a run of records with a non-finite role. It also ends where a read ended, so no result
    of a detector may depend on its length.

    Attributes:
        steps: optimizer step of each record.
        times: Unix time of each record, None where the log has none.
        columns: metric name -> value per record, as logged.
        layered: some metric has a name with a slash, such as `grad_norm/<layer>`.
        finite: no role has a non-finite value here.
        loss, gn, lr, val: the finite values of the four roles.
        course: the run up to the record before this stretch.
    """

    __slots__ = ("columns", "course", "finite", "gn", "index", "layered", "loss", "lr", "steps", "times", "val")

    def __init__(
        self,
        index: int,
        steps: Sequence[int],
        times: Sequence[float | None],
        columns: Mapping[str, Sequence[float | None]],
        course: Course,
    ) -> None:
        self.index = index
        self.steps = steps
        self.times = times
        self.columns = columns
        self.course = course
        self.finite = True
        self.layered = False
        self.loss = self.gn = self.lr = self.val = NO_POINTS

    def __len__(self) -> int:
        return len(self.steps)

    def rows(self, *roles: str) -> Iterator[tuple[int, tuple[float | None, ...]]]:
        """Step and finite values of the `roles` of every record, in the order of the log; None where there is none."""
        columns = [
            [value if value is not None and isfinite(value) else None for value in self.columns[role]]
            if role in self.columns
            else repeat(None, len(self.steps))
            for role in roles
        ]
        return zip(self.steps, zip(*columns, strict=True), strict=True)

    def evaluated(self) -> Iterator[tuple[int, float | None, float | None]]:
        """Step, finite loss and finite validation loss of every record."""
        return ((step, loss, value) for step, (loss, value) in self.rows("loss", "val_loss"))


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
