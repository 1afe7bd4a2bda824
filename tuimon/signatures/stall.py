"""How fast a run goes, and when it has stopped."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from statistics import median

from tuimon.record import ABORTED, END, Mark
from tuimon.signatures.finding import Finding

GAPS = 64
"""Records over which the pace is taken."""

PATIENCE = 10.0
"""Times its own median gap that a run may be silent: evaluations and checkpoints take a few."""

SHOWN_AFTER = 30.0
"""Seconds of silence below which nothing is said, however fast the run is."""

OVER_AFTER = 7 * 86_400.0
"""Seconds of silence after which a log is an old one, and nobody waits for its next record."""


class Pace:
    """Seconds per record and per step over the last 64 records.

    Attributes:
        last_time: Unix time of the last record that has one.
    """

    def __init__(self) -> None:
        self.last_time: float | None = None
        self._due = False
        self._times: deque[float] = deque(maxlen=GAPS + 1)
        self._last_step = 0
        self._rates: deque[float | None] = deque(maxlen=GAPS)

    def update(self, steps: Sequence[int], times: Sequence[float | None]) -> None:
        """Takes in records in order."""
        self._due = True
        recent = [(s, t) for s, t in zip(steps[-GAPS - 1 :], times[-GAPS - 1 :], strict=True) if t is not None]
        if len(recent) <= GAPS < len(steps):
            recent = [(s, t) for s, t in zip(steps, times, strict=True) if t is not None]
        for step, time in recent[-GAPS - 1 :]:
            if self.last_time is not None:
                forward = step > self._last_step and time >= self.last_time
                self._rates.append((time - self.last_time) / (step - self._last_step) if forward else None)
            self._times.append(time)
            self._last_step, self.last_time = step, time

    def mark(self, mark: Mark) -> None:
        """After an end no record is due; nor between the start of a process and its first one, which may take long."""
        if mark.kind != "note" or mark.fields.get("note") in (END, ABORTED):
            self._due = False

    @property
    def gap(self) -> float | None:
        """Median seconds between records, None while unknown."""
        times = list(self._times)
        gaps = [b - a for a, b in zip(times, times[1:], strict=False) if b > a]
        return median(gaps) if len(gaps) >= 3 else None

    @property
    def seconds_per_step(self) -> float | None:
        """Median seconds per step, None while unknown."""
        rates = [rate for rate in self._rates if rate is not None]
        return median(rates) if len(rates) >= 3 else None

    def stall(self, now: float | None, step: int | None, total: object = None) -> list[Finding]:
        """The finding that no record has come for far longer than this run's own gap, at Unix time `now`.

        A run whose log says that it ended is done, and so is one that was declared to have `total` steps and has
        reached its last one (counted from 0 or 1), and one that has been silent for a week. Errs on a resumed run that
        hangs before its first record.
        """
        if now is None or step is None or self.last_time is None or not self._due:
            return []
        gap = self.gap
        if gap is None:
            return []
        if isinstance(total, (int, float)) and 0 < total - 1 <= step:
            return []
        silent = now - self.last_time
        if not max(PATIENCE * gap, SHOWN_AFTER) < silent < OVER_AFTER:
            return []
        why = f"no record for {silent:.0f} s, its own gap is {gap:.2g} s"
        return [Finding("stalled-run", "data", "warning", step, step, True, why)]
