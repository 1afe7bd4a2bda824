"""What the evaluations say of a training loss that has risen: whether the network got worse, or its batches harder."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from operator import ne

ENOUGH = 2
"""Evaluations in a row that are believed."""

GROUND = 0.25
"""Share of what validation has gained that it may have lost while it counts as holding."""


REMEMBERED = 64
"""Improvements of validation kept: the oldest go first."""


class Evaluations:
    """The first, the best and the last evaluations of a run."""

    def __init__(self) -> None:
        self._first: tuple[int, float] | None = None
        self._gains: deque[tuple[int, float]] = deque(maxlen=REMEMBERED)
        self._last: deque[tuple[int, float]] = deque(maxlen=ENOUGH)

    def take(self, step: int, value: float) -> None:
        """Takes in an evaluation; a repeated value is an old one that the log carries along."""
        if self._first is None:
            self._first = (step, value)
        elif value < (self._gains[-1] if self._gains else self._first)[1]:
            self._gains.append((step, value))
        if not self._last or value != self._last[-1][1]:
            self._last.append((step, value))

    def extend(self, steps: Sequence[int], values: Sequence[float]) -> None:
        """Takes in several, faster than one by one."""
        newest = values[-ENOUGH - 1 :]
        news = len(newest) > ENOUGH and all(map(ne, newest, newest[1:]))
        if not news or self._first is None or min(values) < (self._gains[-1] if self._gains else self._first)[1]:
            for step, value in zip(steps, values, strict=True):
                self.take(step, value)
        else:
            self._last.extend(zip(steps[-ENOUGH:], values[-ENOUGH:], strict=True))

    def hold(self, since: int, progress: float) -> bool:
        """Whether the last two evaluations, both after step `since`, say that the network is well.

        Validation had gained ground up to that step, and they have lost none; or they are better than all up to then,
        by a quarter of the `progress` that the training loss had made: the batches before were easier than what is
        evaluated.
        """
        if self._first is None or len(self._last) < ENOUGH or self._last[0][0] <= since or self._first[0] > since:
            return False
        worse, first = max(value for _, value in self._last), self._first[1]
        best = min([value for step, value in self._gains if step <= since], default=first)
        if worse < best - GROUND * progress and progress > 0.0:
            return True
        if not self._gains or self._gains[0][0] > since:
            return False
        best = self._gains[-1][1]
        return worse < best + GROUND * (first - best)

    def rewind(self) -> None:
        """A resumed run evaluates anew."""
        self._last.clear()
