"""Spikes before there is a baseline, which only a record far outside everything so far can be."""

from __future__ import annotations

from collections.abc import Sequence

from tuimon.signatures.course import ARMED, Course
from tuimon.signatures.finding import Finding
from tuimon.signatures.growth import short
from tuimon.signatures.stretch import Detector, Stretch

OUTSIDE = 10.0
"""Times the range of all values so far that a value must lie above it."""

FOURFOLD = 3.0
"""Times the greatest value so far that it must exceed it by: the hump of a start without warm-up stays below."""

BEFORE = 4
"""Values that make a range."""

PAST_START = 10
"""Steps from the start within which a jump is the first large update, and harmless when it comes back."""

BESIDE = 1.5
"""Times its neighbours that a value must reach which is back at once."""


class YoungSpike(Detector):
    """A loss-spike among the first 32 records.

    Either a value ten ranges above all before it and four times their greatest, from the fifth record on; or, past the
    first ten steps, one 1.5 times both neighbours that is below the one before it within the next eight. Needs losses
    above zero; silent on logs of the first steps. Errs on logs of few records with a heavy tail.
    """

    def __init__(self) -> None:
        self._points: list[tuple[int, float]] = []
        self._done = False
        self._found: tuple[Finding, ...] = ()

    def update(self, stretch: Stretch) -> None:
        """Exits at once after 32 losses."""
        if self._done:
            return
        self._points.extend(zip(stretch.loss.steps, stretch.loss.values, strict=True))
        del self._points[ARMED:]
        self._done = len(self._points) == ARMED or stretch.course.silent
        self._found = self._judged()

    def rewind(self, step: int, course: Course) -> None:
        """Among the first records, a rewind starts anew."""
        if not self._done:
            self._points, self._found = [], ()

    @property
    def findings(self) -> Sequence[Finding]:
        """At most the first one."""
        return self._found

    def _judged(self) -> tuple[Finding, ...]:
        values = [value for _, value in self._points]
        if not values or min(values) <= 0.0:
            return ()
        for i in range(1, len(values)):
            before = values[:i]
            top = max(before)
            alone = i >= BEFORE and values[i] - top > max(OUTSIDE * (top - min(before)), FOURFOLD * top)
            if alone or self._beside(values, i):
                back = next((at for at, value in self._points[i + 1 :] if value <= top), None)
                step = self._points[i][0]
                why = f"loss {short(values[i - 1])} -> {short(values[i])} at {step}"
                why += f", back at {back}" if back is not None else ""
                return (Finding("loss-spike", "spike", "warning", step, step, back is None, why, back),)
        return ()

    def _beside(self, values: Sequence[float], i: int) -> bool:
        late = self._points[i][0] >= self._points[0][0] + PAST_START and self._points[0][0] >= PAST_START
        after = values[i + 1 : i + 9]
        if not late or len(after) < 2 or min(after) >= values[i - 1]:
            return False
        return values[i] > BESIDE * max(values[i - 1], after[0]) and values[i] > BESIDE * max(values[:i])
