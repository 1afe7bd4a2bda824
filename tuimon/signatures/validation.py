"""What the validation loss shows by itself: one evaluation far off."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence

from tuimon.signatures.course import BLOCK, LR_RISE, Course
from tuimon.signatures.finding import Finding
from tuimon.signatures.growth import short
from tuimon.signatures.stretch import Detector, Stretch
from tuimon.stats import level_of, median

VAL_WINDOW = 16
"""Evaluations in the baseline of the validation loss."""

VAL_ARMED = 12
"""Evaluations before one may be called far off."""

VAL_FAR = 10.0
"""Sigmas above their level: evaluations see the same data each time, so that one far off is no matter of the batch."""

VAL_SHARE = 0.5
"""Share of what validation has gained that this one evaluation must have lost."""

KEPT = 8
"""Such evaluations that are told."""


class ValidationSpike(Detector):
    """One evaluation far off, and the next ones back: the weights of that moment were.

    Above ten sigma of the last 16 evaluations, and half of the gain lost. The first two after a rise of the learning
    rate may be: a restart of the schedule does that. Errs on evaluations of a few random samples.
    """

    def __init__(self) -> None:
        self._recent: deque[float] = deque(maxlen=VAL_WINDOW)
        self._first: float | None = None
        self._least = math.inf
        self._last_step: int | None = None
        self._open: tuple[int, float, float] | None = None
        self._lr: float | None = None
        self._lrs: deque[float] = deque(maxlen=2)
        self._findings: list[Finding] = []

    def update(self, stretch: Stretch) -> None:
        """Exits at once on stretches without an evaluation."""
        if not stretch.val.values:
            self._lr = stretch.lr.values[-1] if stretch.lr.values else self._lr
            return
        if stretch.dense and not self._may_be_far(stretch):
            self._pass_over(stretch)
            return
        if len(stretch) > BLOCK:
            for part in stretch.cut(BLOCK):
                self.update(part)
            return
        for step, (value, lr) in stretch.rows("val_loss", "lr"):
            self._lr = lr if lr is not None else self._lr
            if value is None:
                continue
            if step != self._last_step and not stretch.course.silent:
                self._evaluate(step, value)
                self._lrs.extend(() if self._lr is None else (self._lr,))
            self._last_step = step

    def _may_be_far(self, stretch: Stretch) -> bool:
        """Whether some evaluation of a dense stretch may be far off, or end one that is, or is not to be taken in."""
        val, lrs = stretch.val, stretch.lr.values
        if self._first is None or self._open is not None or len(self._recent) < VAL_ARMED or stretch.course.silent:
            return True
        if self._last_step is None or stretch.steps[0] <= self._last_step:
            return True
        least = min(val.low, *self._recent)
        return val.high - least > VAL_SHARE * (self._first - self._least) or len(lrs) not in (0, len(stretch))

    def _pass_over(self, stretch: Stretch) -> None:
        """Takes in evaluations of which none is far off."""
        lrs = stretch.lr.values
        self._recent.extend(stretch.val.values)
        self._least = min(self._least, stretch.val.low)
        self._last_step = stretch.steps[-1]
        if lrs:
            self._lrs.extend(lrs[-2:])
            self._lr = lrs[-1]
        elif self._lr is not None:
            self._lrs.extend((self._lr, self._lr) if len(stretch) > 1 else (self._lr,))

    def _evaluate(self, step: int, value: float) -> None:
        self._first = value if self._first is None else self._first
        if len(self._recent) >= VAL_ARMED:
            middle = median(self._recent)
            far = value - middle > VAL_SHARE * (self._first - self._least)
            far = far and level_of(self._recent).z(value) > VAL_FAR
            if self._open is not None and not far:
                if len(self._findings) < KEPT:
                    self._findings.append(self._told(step))
                self._open = None
            if far and self._lr is not None and self._lr > LR_RISE * min(self._lrs, default=math.inf):
                return
            if far:
                self._open = (step, middle, value) if self._open is None else self._open
                return
        self._recent.append(value)
        self._least = min(self._least, value)

    def _told(self, ended: int | None) -> Finding:
        step, level, value = self._open if self._open is not None else (0, 0.0, 0.0)
        why = f"val_loss {short(level)} -> {short(value)} at {step}" + (
            f", back at {ended}" if ended is not None else ""
        )
        return Finding("loss-spike", "spike", "warning", step, step, ended is None, why, ended)

    def rewind(self, step: int, course: Course) -> None:
        """A resumed run finds its level anew."""
        self._open = None
        self._recent.clear()
        self._lrs.clear()

    @property
    def findings(self) -> Sequence[Finding]:
        """Only those that came back: an evaluation that stays off is told by the other rows."""
        return self._findings
