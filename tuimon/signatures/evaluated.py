"""What the evaluations say of a training loss that has risen: whether the network got worse, or its batches harder."""

from __future__ import annotations

import math
from collections import deque

ENOUGH = 2
"""Evaluations in a row that are believed."""

GROUND = 0.25
"""Share of what validation has gained that it may have lost while it counts as holding."""


class Evaluations:
    """The first, the best and the last evaluations of a run."""

    def __init__(self) -> None:
        self._first: float | None = None
        self._best = math.inf
        self._last: deque[tuple[int, float]] = deque(maxlen=ENOUGH)

    def take(self, step: int, value: float) -> None:
        """Takes in an evaluation; a repeated value is an old one that the log carries along."""
        self._first = value if self._first is None else self._first
        self._best = min(self._best, value)
        if not self._last or value != self._last[-1][1]:
            self._last.append((step, value))

    def hold(self, since: int) -> bool:
        """The last two, both after that step, have lost no ground."""
        if self._first is None or len(self._last) < ENOUGH or self._last[0][0] <= since:
            return False
        lost = self._best + GROUND * (self._first - self._best)
        return all(value < lost for _, value in self._last)

    def rewind(self) -> None:
        """A resumed run evaluates anew."""
        self._last.clear()
