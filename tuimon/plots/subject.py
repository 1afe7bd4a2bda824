"""What a static picture shows of one metric, reduced to as many slices as the picture can tell apart."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from tuimon.numerals import value_text
from tuimon.plain import plain_text
from tuimon.scale import Grid, Scale, limits
from tuimon.store import Bin, Column

_NOTHING = Bin(None, None, None, 0, 0)

Point = tuple[float, float]
"""Place in the picture: 0 to 1 from left to right, 0 to 1 from the bottom up."""


class Onset(NamedTuple):
    """A step to mark, with what begins there and how grave it is ("failure", "warning")."""

    step: int
    label: str
    severity: str


@dataclass(frozen=True, slots=True)
class Subject:
    """One metric of a picture. Everything in it is finite and printable, whatever the log held.

    Attributes:
        name: for the title.
        numbers: last and least value, how many are not finite, in words.
        first, last: steps at the left and the right edge.
        scale: the y axis.
        slices: least and greatest value per slice from left to right; the newest pass wins where a run was rewound.
        smooth: a running mean per slice, None where there is none; empty without smoothing.
        onsets: to mark.
    """

    name: str
    numbers: str
    first: int
    last: int
    scale: Scale
    slices: Sequence[Bin]
    smooth: Sequence[float | None]
    onsets: tuple[Onset, ...]

    def across(self, step: float) -> float:
        """Place of a step, 0 to 1."""
        return min(max((step - self.first) / max(self.last - self.first, 1), 0.0), 1.0)

    def up(self, value: float) -> float:
        """Place of a finite value that the axis can show, 0 to 1; what lies outside is at the edge."""
        scale = self.scale
        if scale.log:
            # Differences of logarithms: a quotient of 1e58 and 1e-300 is no number any more.
            bottom = math.log(scale.low)
            place = (math.log(value) - bottom) / (math.log(scale.high) - bottom) if value > 0 else 0.0
        else:
            # Halves, because the range of an axis may be larger than the largest number.
            place = (value / 2 - scale.low / 2) / (scale.high / 2 - scale.low / 2)
        return min(max(place, 0.0), 1.0)

    def center(self, number: int) -> float:
        """Place of a slice, 0 to 1."""
        return number / max(len(self.slices) - 1, 1)

    def strokes(self) -> list[list[Point]]:
        """The curve in pieces: values not finite, or not positive on a log axis interrupt it, missing ones do not."""
        pieces: list[list[Point]] = [[]]
        level = None
        for number, piece in enumerate(self.slices):
            low, high = piece.low, piece.high
            if low is None or high is None or not self.scale.shows(high):
                if piece.nan or piece.inf or high is not None:
                    pieces.append([])
                    level = None
                continue
            ends = [self.up(value) for value in (low, high)]
            if level is not None and abs(level - ends[1]) < abs(level - ends[0]):
                ends.reverse()
            pieces[-1].extend((self.center(number), end) for end in dict.fromkeys(ends))
            level = ends[-1]
        return [piece for piece in pieces if piece]

    def mean_strokes(self) -> list[list[Point]]:
        """The running mean, in pieces like the curve."""
        pieces: list[list[Point]] = [[]]
        for number, value in enumerate(self.smooth):
            if value is None:
                continue
            if self.scale.shows(value):
                pieces[-1].append((self.center(number), self.up(value)))
            else:
                pieces.append([])
        return [piece for piece in pieces if piece]

    def nan_places(self) -> list[float]:
        """Where NaN stands, 0 to 1."""
        return [self.center(number) for number, piece in enumerate(self.slices) if piece.nan]

    def inf_places(self) -> list[float]:
        """Where an infinity stands, 0 to 1."""
        return [self.center(number) for number, piece in enumerate(self.slices) if piece.inf]

    def outliers(self) -> list[tuple[float, bool, str]]:
        """What lies beyond the axis: (place, above, value); on a log axis what is not positive lies below."""
        found = []
        for number, piece in enumerate(self.slices):
            if piece.high is not None and piece.high > self.scale.high:
                found.append((self.center(number), True, value_text(piece.high, 3)))
            if piece.low is not None and piece.low < self.scale.low:
                found.append((self.center(number), False, value_text(piece.low, 3)))
        return found


def subject(
    column: Column, onsets: Iterable[Onset], extent: tuple[int, int], count: int, *, log: bool = False, smooth: int = 0
) -> Subject:
    """A metric in at most `count` slices.

    Args:
        column: its points.
        onsets: steps to mark; those outside of `extent` are left out.
        extent: first and last step of the picture.
        count: slices that the picture can tell apart; one of them keeps its least and greatest value.
        log: a logarithmic y axis.
        smooth: points that the running mean remembers, 0 for none.
    """
    first, last = extent
    # One slice per step at most: finer ones would be empty.
    count = max(min(count, last - first + 1), 1)
    slices = [_NOTHING] * count
    for number in range(len(column.passes) - 1, -1, -1):
        newer = slices
        older = column.bins(first, last, count, number)
        slices = [ours if _holds(ours) else theirs for ours, theirs in zip(newer, older, strict=True)]
    numbers = [f"last {value_text(column.last)}"]
    if column.best is not None:
        numbers.append(f"lowest {value_text(column.best)} at {column.best_step:,}")
    if column.non_finite:
        numbers.append(f"{column.non_finite:,} non-finite")
    marked = tuple(
        Onset(onset.step, plain_text(onset.label, 40), onset.severity)
        for onset in onsets
        if first <= onset.step <= last
    )
    return Subject(
        plain_text(column.name, 60),
        ", ".join(numbers),
        first,
        last,
        limits([slices], log=log),
        slices,
        _means(column, Grid(first, last, count, 1), smooth) if smooth > 1 else (),
        marked,
    )


def _holds(piece: Bin) -> bool:
    return piece.low is not None or piece.nan > 0 or piece.inf > 0


def _means(column: Column, grid: Grid, memory: int) -> list[float | None]:
    """The exponential running mean of the current pass at the end of each slice; non-finite values have no say."""
    weight = 2 / (memory + 1)
    steps, values = column.window(grid.low, grid.high)
    means: list[float | None] = [None] * grid.slices
    mean = None
    for step, value in zip(steps, values, strict=True):
        if math.isfinite(value):
            # Weighted terms, not the difference: that overflows between two values of 1e308 and opposite sign.
            mean = value if mean is None else (1 - weight) * mean + weight * value
            means[grid.slice_of(step)] = mean
    return means
