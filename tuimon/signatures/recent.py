"""The newest values of a role, from which its baseline is taken."""

from __future__ import annotations

import math

from tuimon.signatures.piece import Points
from tuimon.stats import TAIL_POINTS, Sample, sample_of

EXCLUDED = 16
"""Excursions that are kept out of the baselines at a time: more of them within 64 points are the norm."""


class Recent:
    """The last `size` finite values of a role, the ones since the last renewal, and the excursions among them."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._steps: list[int] = []
        self._values: list[float] = []
        self._new = 0
        self._ordered: list[float] = []
        self._newest: list[float] = []
        self._older: list[float] = []
        self._excursions: dict[tuple[int, str], float] = {}

    @property
    def values(self) -> list[float]:
        """The last values."""
        return self._values[-self._size :]

    @property
    def steps(self) -> list[int]:
        """Where they were."""
        return self._steps[-self._size :]

    @property
    def low(self) -> float:
        """The least value since the last renewal, infinite without any."""
        return self._ordered[0] if self._ordered else math.inf

    def extend(self, points: Points) -> None:
        """Takes in the next values."""
        self._steps.extend(points.steps)
        self._values.extend(points.values)
        self._ordered = sorted(self._ordered + points.ordered) if self._new else points.ordered
        self._new += len(points.values)

    def renew(self) -> Points:
        """The values since the last renewal, which are no longer new; what is older than the last `size` goes."""
        start = len(self._values) - self._new
        fresh = Points(self._steps[start:], self._values[start:], self._ordered)
        self._older, self._newest, self._ordered = self._newest, self._ordered, []
        del self._steps[: -self._size], self._values[: -self._size]
        self._new = 0
        return fresh

    def clear(self) -> None:
        """A new phase of the run has its own values."""
        self._steps.clear()
        self._values.clear()
        self._excursions.clear()
        self._older, self._newest, self._ordered, self._new = [], [], [], 0

    def exclude(self, first: int, last: int | None, of: str) -> None:
        """Steps `first` to `last` (None: until further notice) are an excursion of a role, and no norm."""
        self._excursions[first, of] = math.inf if last is None else last

    def calm(self) -> list[float]:
        """As of the last renewal: the last values without those of excursions."""
        if not self._excursions or not self._steps:
            return self._values
        # Two roles may have opened theirs in any order; the newest ones count.
        there = sorted((key, last) for key, last in self._excursions.items() if last >= self._steps[0])[-EXCLUDED:]
        self._excursions = dict(there)
        return [
            value
            for value, step in zip(self._values, self._steps, strict=True)
            if not any(first <= step <= last for (first, _), last in there)
        ]

    def sample(self) -> Sample:
        """The same, sorted. Two renewals of a run that logs every step are sorted already, each by itself."""
        values = self.calm()
        if len(self._newest) == TAIL_POINTS and len(self._older) + TAIL_POINTS == len(values) == len(self._values):
            return Sample(sorted(self._older + self._newest), self._newest)
        return sample_of(values)
