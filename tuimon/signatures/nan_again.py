"""A NaN that comes and goes: rare, it is one bad batch after another; often, it is a failure of the run."""

from __future__ import annotations

from collections import deque

from tuimon.signatures.finding import Finding

MANY = 8
"""Breaks of the loss that are no accident any more."""

WITHIN = 200
"""Records in which they must fall: one in 25. A loss scaler skips one step in two thousand, and the loss is finite."""


class Again:
    """Counts the breaks of the loss that were over at once, and says when they keep coming back."""

    def __init__(self) -> None:
        self._recent: deque[tuple[int, int]] = deque(maxlen=MANY)
        self._count = 0
        self._first: Finding | None = None
        self._onset = self._detected = 0
        self._over: int | None = None

    def take(self, record: int, finding: Finding) -> None:
        """Takes in a break that is over, which began at that record."""
        if self._recent and record - self._recent[-1][0] > WITHIN:
            self._recent.clear()
        self._recent.append((record, finding.onset_step))
        self._count += 1
        self._over = finding.ended_step
        if self._first is None and len(self._recent) == MANY and record - self._recent[0][0] <= WITHIN:
            self._first, self._count = finding, MANY
            self._onset, self._detected = self._recent[0][1], finding.detected_step

    def told(self, record: int) -> Finding | None:
        """The failure as of that record, None without one; it is over when none came for 200 records."""
        if self._first is None:
            return None
        last = self._recent[-1][1]
        active = record - self._recent[-1][0] <= WITHIN
        why = f"loss not finite {self._count} times in steps {self._onset}-{last}, finite in between"
        return Finding(
            self._first.signature, "nan", "failure", self._onset, self._detected, active, why,
            None if active else self._over, self._first.module, self._first.op, self._first.missing,
        )  # fmt: skip
