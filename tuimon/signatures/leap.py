"""Divergence among the first records, before there is a baseline: only a loss far outside everything so far can be."""

from __future__ import annotations

from collections.abc import Sequence

from tuimon.record import Mark
from tuimon.signatures.course import ARMED, Course
from tuimon.signatures.finding import Finding
from tuimon.signatures.growth import short
from tuimon.signatures.stretch import Detector, Stretch

BEFORE = 5
"""Losses that say what is usual: the blow-up of a start without warm-up comes sooner."""

TENFOLD = 10.0
"""Times the highest of those that the loss must stand: warm-up humps triple it."""

IN_A_ROW = 3
"""Losses in a row that must: a rare batch is over by then."""


class Leap(Detector):
    """A run of few records, as an epoch or a hundred steps a line make it, that has learned and breaks off upwards.

    Three losses in a row ten times above all before them, of which there are five or more, begun among the first 32.
    Withdrawn when the loss is back below. Needs losses above zero; later ones are the matter of the baselines.
    """

    def __init__(self) -> None:
        self._count = 0
        self._top = 0.0
        self._above = 0
        self._onset: tuple[int, float] = (0, 0.0)
        self._last = self._peak = 0.0
        self._detected: int | None = None
        self._over = False
        self._lr: float | None = None

    def update(self, stretch: Stretch) -> None:
        """Exits at once after 32 losses while nothing is open."""
        if self._over:
            return
        for step, (loss, lr) in stretch.rows("loss", "lr"):
            self._lr = lr if lr is not None and not self._above else self._lr
            if loss is not None:
                self._row(step, loss)
        self._over = stretch.course.silent or self._top < 0.0 or (self._count >= ARMED and not self._above)
        self._detected = None if stretch.course.silent else self._detected

    def _row(self, step: int, loss: float) -> None:
        self._count += 1
        if self._top < 0.0 or loss <= 0.0:
            self._top, self._above, self._detected = -1.0, 0, None
        elif self._count <= BEFORE or loss <= TENFOLD * self._top or (self._count > ARMED and not self._above):
            self._top, self._above, self._detected = max(self._top, loss), 0, None
        else:
            if self._above == 0:
                self._onset, self._peak = (step, self._last), loss
            self._above += 1
            self._peak = max(self._peak, loss)
            if self._above >= IN_A_ROW and self._detected is None:
                self._detected = step
        self._last = loss

    def rewind(self, step: int, course: Course) -> None:
        """A resumed run leaves it behind."""
        self._above, self._detected = 0, None

    def mark(self, mark: Mark, course: Course) -> None:
        """Another process does so too."""
        if mark.kind != "note":
            self.rewind(0, course)

    @property
    def findings(self) -> Sequence[Finding]:
        """At most one, while it lasts."""
        if self._detected is None:
            return ()
        onset, before = self._onset
        leap = f"loss {short(before)} -> {short(self._peak)}"
        why = f"{leap} in {self._above} records, never over {short(self._top)} before"
        why += f", lr {short(self._lr)}" if self._lr is not None else ""
        return (Finding("lr-too-high", "divergence", "failure", onset, self._detected, True, why),)
