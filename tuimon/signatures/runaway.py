"""Losses without a rule of their own that leave every scale."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import replace

from tuimon.signatures.course import Course
from tuimon.signatures.finding import Finding
from tuimon.signatures.growth import short
from tuimon.signatures.stretch import Detector, Stretch
from tuimon.stats import median

FIRST, RECENT = 16, 16
"""Losses whose sizes are compared: those at the start and the newest."""

MILLIONFOLD, THOUSANDFOLD = 1e6, 1e3
"""Times its first size at which it is told, and from which it is dated: critics and returns move a loss by tens."""

KEPT = 8
"""Findings kept that are over."""


class Runaway(Detector):
    """A loss that is not meant to fall, of reinforcement learning or a contest of networks, grew a millionfold.

    Nothing less says anything of such a loss; this much no change of policy does. The median size of the last 16 losses
    is compared with that of the first 16, dated where the size last passed a thousandfold, and over when it is below
    that again. Errs on units that change.
    """

    def __init__(self) -> None:
        self._first: list[float] = []
        self._recent: deque[float] = deque(maxlen=RECENT)
        self._onset: int | None = None
        self._finding: Finding | None = None
        self._over: deque[Finding] = deque(maxlen=KEPT)

    def update(self, stretch: Stretch) -> None:
        """Looks only at runs that no other rule for the loss is for."""
        steps, values = stretch.loss.steps, stretch.loss.values
        start = min(FIRST - len(self._first), len(values))
        self._first.extend(map(abs, values[:start]))
        if start == len(values) or not stretch.course.silent:
            return
        greatest = max(-stretch.loss.low, stretch.loss.high)
        if self._onset is None and greatest <= THOUSANDFOLD * median(self._first):
            self._recent.extend(map(abs, values[start:]))
            return
        for step, loss in zip(steps[start:], values[start:], strict=True):
            self._recent.append(abs(loss))
            self._look(step)

    def _look(self, step: int) -> None:
        first = median(self._first)
        now = median(self._recent) if len(self._recent) == RECENT else 0.0
        if self._finding is not None:
            if len(self._recent) == RECENT and now <= THOUSANDFOLD * first:
                self._end(step)
            return
        if self._recent[-1] <= THOUSANDFOLD * first:
            self._onset = None
        elif self._onset is None:
            self._onset = step
        if self._onset is not None and now > MILLIONFOLD * first > 0.0:
            why = f"loss {short(first)} in the first {FIRST} records -> {short(now)} at {step}"
            self._finding = Finding("lr-too-high", "divergence", "failure", self._onset, step, True, why)

    def _end(self, step: int | None) -> None:
        if self._finding is not None:
            self._over.append(replace(self._finding, active=False, ended_step=step))
        self._finding = self._onset = None

    def rewind(self, step: int, course: Course) -> None:
        """What was told is over; the start stays what it was, unless the log goes back to it."""
        self._end(course.last_step)
        self._recent.clear()
        if course.first_step is None or step <= course.first_step:
            self._first = []

    @property
    def findings(self) -> Sequence[Finding]:
        """The growths that are over, and the one that goes on."""
        return (*self._over, self._finding) if self._finding is not None else tuple(self._over)
