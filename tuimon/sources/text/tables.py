"""Tables with a header line and aligned or barred columns: spaCy, skorch, fastai, ultralytics.

Such as::

    E    #       LOSS NER  SCORE          epoch | train_loss | val_loss
    ---  ------  --------  ------         ------+------------+---------
      0     200   2163.45    0.83             1 |     0.6931 |   0.7011
"""

from __future__ import annotations

import re

from tuimon.record import number
from tuimon.sources.names import match
from tuimon.sources.text.naming import is_epoch, is_step, is_time

_RULE = re.compile(r"^[\s|+:]*(?:[-=\u2500]{1,200}[\s|+:]+){1,200}[-=\u2500]*\s*$")
_RUN = re.compile(r"[-=\u2500]+")
_BLANKS = re.compile(r"[ \t]{2,}|\t")
_CELLS = re.compile(r" {0,2}\| {0,2}| {2}")

LONGEST = 2000
"""Characters of a line that is looked at as a row."""


class Tables:
    """Recognises a table by its header and reads its rows: a fold over the lines."""

    def __init__(self) -> None:
        self.open = False
        self._names: list[str] = []
        self._header = ""
        self._step: int | None = None
        self._epoch: int | None = None

    def line(self, line: str) -> None:
        """Takes in a line without numbers: a header, a rule below one, or the end of a table."""
        line = line.rstrip()
        if len(line) > LONGEST:
            return
        if _RULE.match(line) and len(_RUN.findall(line)) > 1:
            if self._header:
                self._start(_by_spans(self._header, line) or _cells(self._header))
            return
        self.open = False
        self._header = line
        names = _cells(line) if "  " in line or "|" in line or "\t" in line else []
        if len(names) >= 3 and "=" not in line and ":" not in line:
            self._start(names)

    def _start(self, names: list[str]) -> None:
        if len(names) < 2 or len(set(names)) < len(names):
            return
        self._names = names
        self._step = next((i for i, name in enumerate(names) if name == "#" or is_step(name)), None)
        self._epoch = next((i for i, name in enumerate(names) if name == "E" or is_epoch(name)), None)
        counts = self._step is not None or self._epoch is not None
        self.open = counts and (len(names) > 3 or any(match(name) is not None for name in names))

    def row(self, line: str) -> tuple[int | None, int | None, tuple[str, ...], list[float | None]] | None:
        """Step, epoch, names and values of a row; None for a line that is none, which ends nothing."""
        if len(line) > LONGEST:
            return None
        line, bar, _ = line.partition("%|")
        if bar:
            # A bar at the end of the row; only when it is full are the numbers those of the epoch.
            line, _, share = line.rpartition(" ")
            line = line.rstrip(": ")
            if share != "100":
                return None
        cells = _cells(line)
        if len(cells) != len(self._names):
            return None
        numbers = [_number(cell) for cell in cells]
        counter = self._step if self._step is not None else self._epoch
        if counter is None or numbers[counter] is None:
            return None
        left = (self._step, self._epoch)
        kept = [
            i for i in range(len(cells)) if i not in left and numbers[i] is not None and not is_time(self._names[i])
        ]
        if not kept:
            return None
        names = tuple(self._names[i] for i in kept)
        return self._whole(numbers, self._step), self._whole(numbers, self._epoch), names, [numbers[i] for i in kept]

    @staticmethod
    def _whole(numbers: list[float | None], place: int | None) -> int | None:
        value = numbers[place] if place is not None else None
        return int(value) if value is not None and abs(value) < 2**53 else None


def _cells(line: str) -> list[str]:
    even = _BLANKS.sub("  ", line.strip().strip("|").strip())
    return [cell for cell in _CELLS.split(even) if cell]


def _by_spans(header: str, rule: str) -> list[str]:
    """The names above each run of dashes: names with single blanks between stay whole."""
    spans = [found.span() for found in _RUN.finditer(rule)]
    starts = [start for start, _ in spans]
    ends = [*starts[1:], None]
    names = [header[start:end].strip(" |") for start, end in zip(starts, ends, strict=True)]
    return names if all(names) else []


def _number(cell: str) -> float | None:
    """The number in a cell, also of "3/100"; None for anything else."""
    try:
        return number(cell.partition("/")[0].strip())
    except ValueError:
        return None
