"""What the evaluations say of a training loss that has risen: whether the network got worse, or its batches harder."""

from __future__ import annotations

from collections import deque

ENOUGH = 2
"""Evaluations in a row that are believed."""

GROUND = 0.25
"""Share of what validation has gained that it may have lost while it counts as holding."""


REMEMBERED = 64
"""Improvements of validation kept: the oldest go first."""


class Evaluations:
    """The first, the best and the last evaluations of a run."""

    def __init__(self) -> None:
        self._first: float | None = None
        self._gains: deque[tuple[int, float]] = deque(maxlen=REMEMBERED)
        self._last: deque[tuple[int, float]] = deque(maxlen=ENOUGH)

    def take(self, step: int, value: float) -> None:
        """Takes in an evaluation; a repeated value is an old one that the log carries along."""
        if self._first is None:
            self._first = value
        elif value < (self._gains[-1][1] if self._gains else self._first):
            self._gains.append((step, value))
        if not self._last or value != self._last[-1][1]:
            self._last.append((step, value))

    def hold(self, since: int) -> bool:
        """Validation had gained ground up to that step, and the last two after it have lost none."""
        if self._first is None or len(self._last) < ENOUGH or self._last[0][0] <= since:
            return False
        if not self._gains or self._gains[0][0] > since:
            return False
        best = self._gains[-1][1]
        return all(value < best + GROUND * (self._first - best) for _, value in self._last)

    def rewind(self) -> None:
        """A resumed run evaluates anew."""
        self._last.clear()
