"""How to learn that a file has grown: from file events while little comes, by looking while much does."""

from __future__ import annotations

import os
import stat

FRAME = 1 / 30
"""Seconds between reads while data comes all the time: nobody sees a curve move more often than this."""

GLANCE = 0.015
"""Seconds between glances when the next record is due: half of it is what a record waits for one."""

HOT = 5
"""So many reads with data within BUSY seconds, and the file is looked at without file events."""

SOON, LATEST = 0.9, 0.045
"""When the next record is looked for after the last: a part of the usual time between two, and seconds at most."""

BUSY = 0.3
"""Seconds: thirteen appends a second. An event goes through three threads of watchdog before it wakes the one that
reads, which costs 0.4 ms of CPU; a glance costs 0.1 ms."""

BUSY_UNSEEN = 0.08
"""Seconds, where only a read tells whether there is something (a folder, a pipe): sixty appends a second."""

QUIET = 0.5
"""Seconds without data after which file events are asked for again."""


class Pace:
    """How often data came lately, and what the file looked like from outside when it was last read.

    Attributes:
        hot: data comes so often that events only cost.
        pause: seconds until the next look then.

    Args:
        path: of the input, None for a pipe.
        trust: seconds for which a file that looks the same is believed to be the same.
    """

    def __init__(self, path: str | None, trust: float) -> None:
        self.hot = False
        self.pause = FRAME
        self._path = path
        self._trust = trust
        self._reads: list[float] = []
        self._looks: os.stat_result | None = None
        self._seen: os.stat_result | None = None
        self._read_at = 0.0

    def may_bring(self, now: float) -> bool:
        """Whether a read may bring something: False for a file that looks as it did before the last read."""
        self._looks = self._glance()
        return self._looks is None or self._looks != self._seen or now - self._read_at >= self._trust

    def took(self, brought: int, more: bool, now: float, may_heat: bool) -> None:
        """A read brought so many records, and `more` are there; the pace may become hot if `may_heat`."""
        self._seen, self._read_at = None if more else self._looks, now
        if brought:
            self._reads = [*self._reads[-(HOT - 1) :], now]
            busy = BUSY_UNSEEN if self._looks is None else BUSY
            if may_heat and len(self._reads) == HOT and now - self._reads[0] < busy:
                self.hot = True
        self._cool(now)
        self.pause = self._expected() if brought else FRAME if self._looks is None else GLANCE

    def rest(self, now: float) -> None:
        """Nothing was read."""
        self._cool(now)
        self.pause = GLANCE

    def _expected(self) -> float:
        """Seconds from a read with data to the next look: most looks then find the next record just written."""
        usual = (self._reads[-1] - self._reads[0]) / max(len(self._reads) - 1, 1)
        return max(FRAME, min(SOON * usual, LATEST)) if self._looks is not None else FRAME

    def _cool(self, now: float) -> None:
        self.hot = self.hot and now - self._reads[-1] < QUIET

    def _glance(self) -> os.stat_result | None:
        """The file from outside, None where that says nothing."""
        if self._path is None:
            return None
        try:
            looks = os.stat(self._path)
        except OSError:
            return None
        return looks if stat.S_ISREG(looks.st_mode) else None
