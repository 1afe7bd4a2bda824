"""The dots of a curve: one bit mask per dot column (stdlib only, floats in, integers out)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import compress, count
from operator import is_not
from typing import Protocol

from tuimon.scale import Scale


class Slice(Protocol):
    """One horizontal slice of the curve (`tuimon.store.Bin`); low and high are None without a finite point."""

    @property
    def low(self) -> float | None:
        """Least finite value."""
        ...

    @property
    def high(self) -> float | None:
        """Greatest finite value."""
        ...

    @property
    def last(self) -> float | None:
        """Last finite value."""
        ...

    @property
    def nan(self) -> int:
        """How many NaN."""
        ...

    @property
    def inf(self) -> int:
        """How many infinities."""
        ...


class Dots:
    """The strokes of a curve that is drawn again and again: left of the first slice that changed they are kept.

    Attributes:
        masks: per dot column, bit 0 lowest.
    """

    def __init__(self) -> None:
        self.masks: list[int] = []
        self._slices: Sequence[Slice] = ()
        self._form: tuple[Scale, int, int, int] | None = None

    def take(self, slices: Sequence[Slice], scale: Scale, dots: int, stride: int, width: int) -> int:
        """Draws these slices, each dot column the stroke from low to high, joined to its neighbours.

        A slice without points is bridged; a slice with nothing but non-finite points interrupts the line.

        Args:
            slices: slice k stands at dot column k * stride. Those that are the same objects as last time are equal.
            scale: the y axis, of `dots` dots.
            stride: dot columns from one slice to the next.
            width: dot columns.

        Returns:
            The number of dot columns that are as they were after the previous call, from the left.
        """
        before, form = self._slices, (scale, dots, stride, width)
        first = 0
        if form == self._form and len(slices) == len(before):
            first = next(compress(count(), map(is_not, slices, before)), len(slices))
        self._slices, self._form = slices, form
        if first and first == len(slices):
            return width
        # The line goes on from the last slice before that has a point, and from there on may run differently.
        start = next((k for k in range(first - 1, -1, -1) if _is_drawn(slices[k], scale)), -1)
        kept = start * stride + 1 if 0 <= start * stride < width else 0
        self.masks = [*self.masks[:kept], *[0] * (width - kept)]
        _draw(self.masks, slices, scale, dots, stride, max(start, 0))
        return kept


def strokes(slices: Sequence[Slice], scale: Scale, dots: int, stride: int, width: int) -> list[int]:
    """The masks of one curve that is drawn once; see `Dots.take`."""
    drawn = Dots()
    drawn.take(slices, scale, dots, stride, width)
    return drawn.masks


def _is_drawn(piece: Slice, scale: Scale) -> bool:
    return piece.high is not None and scale.shows(piece.high)


def _draw(masks: list[int], slices: Sequence[Slice], scale: Scale, dots: int, stride: int, start: int) -> None:
    """Draws from slice `start` on, which is there already unless it is the first."""
    level = scale.level
    before = -1  # the dot column of the previous slice with a finite point; -1 after a gap
    bottom = top = 0
    for k in range(start, len(slices)):
        piece = slices[k]
        low, high = piece.low, piece.high
        if low is None or high is None or not scale.shows(high):
            if piece.nan or piece.inf or high is not None:
                before = -1
            continue
        x = k * stride
        if x >= len(masks):
            break
        down, up = level(low, dots), level(high, dots)
        if before >= 0:
            if x - before > 1:
                left = min(max(down, bottom), top)
                right = min(max(left, down), up)
                bottom, top = _bridge(masks, before, left, x, right)
            # Reach towards the neighbour, so that a steep curve is a line and not loose dots.
            stretched_down, stretched_up = min(down, top + 1), max(up, bottom - 1)
        else:
            stretched_down, stretched_up = down, up
        masks[x] |= (2 << stretched_up) - (1 << stretched_down)
        before, bottom, top = x, down, up


def _bridge(masks: list[int], left: int, start: int, right: int, end: int) -> tuple[int, int]:
    """Draws the straight line between two dot columns (both excluded); returns the levels of its last column."""
    last = start
    for x in range(left + 1, right):
        y = start + round((end - start) * (x - left) / (right - left))
        low, high = (min(last + 1, y), y) if y >= last else (y, max(last - 1, y))
        masks[x] |= (2 << high) - (1 << low)
        last = y
    return last, last
