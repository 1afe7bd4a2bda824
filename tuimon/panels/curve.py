"""From a column of the store to the slices of one picture, keeping what an appended point does not change."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from tuimon.panels.view import View
from tuimon.scale import Grid, Scale, fixed_grid, limits, live_grid, tail_grid
from tuimon.store import Bin, Column

_SMOOTHING = (1.0, 0.25, 0.08, 0.025)
"""Weight of a new column in the running mean, per smoothing level: about 1, 7, 24 and 80 columns of memory."""
_EARLIER = 4
"""Passes before the current one that are drawn; a run that was rewound more often would be all shadow."""


class Strokes(NamedTuple):
    """What one picture draws."""

    grid: Grid
    scale: Scale
    curve: Sequence[Bin]
    behind: tuple[Sequence[Bin], ...]
    points: Sequence[Bin]


class _Seen(NamedTuple):
    """How far a column had come at the previous picture."""

    walks: int
    last: int
    values: int
    non_finite: int


class Curve:
    """The slices and axes of one panel from one picture to the next.

    Both axes are sticky and the slices of the current pass are kept, so that a picture after an appended point costs
    the last slices only, and differs from the one before in few cells.
    """

    def __init__(self, *, robust: bool = True) -> None:
        self._robust = robust
        self._scale: Scale | None = None
        self._column: Column | None = None
        self._grid: Grid | None = None
        self._bins: list[Bin] = []
        self._seen: _Seen | None = None
        self._earlier: list[list[Bin]] = []
        self._form: tuple[Grid, bool, bool] | None = None
        self._drawn: list[Sequence[Bin]] = []
        self._strokes: Strokes | None = None
        self._asked: tuple[object, ...] = ()
        self._known_grid: tuple[tuple[View, int, int], int, Grid] | None = None

    def strokes(
        self, column: Column, view: View, extent: tuple[int, int], dots: int, companion: Column | None = None
    ) -> Strokes:
        """The slices to draw over the steps `extent` of the run in `dots` dot columns.

        The same object as before where nothing of it would be drawn differently.
        """
        grid = self._grid_of(view, extent, dots)
        # A record of a run seldom has a value of every metric.
        asked = column, *_state(column), companion, *_state(companion), grid, view
        if self._strokes is not None and asked == self._asked:
            return self._strokes
        self._asked = asked
        self._take(column, grid)
        curve, overtaken = self._merged(column, grid)
        points = companion.bins(grid.low, grid.high, grid.slices) if companion and (view.overlay or view.share) else []
        behind = overtaken
        if view.smooth:
            behind = [curve, *overtaken]
            curve = smoothed(curve, view.smooth)
        drawn = [*behind, curve, points]
        form = grid, view.log, view.overlay
        if self._strokes is not None and form == self._form and _same(drawn, self._drawn):
            return self._strokes
        self._scale = limits(drawn, self._scale, log=view.log, robust=self._robust)
        self._form, self._drawn = form, drawn
        self._strokes = Strokes(grid, self._scale, curve, tuple(behind), points if view.overlay else [])
        return self._strokes

    def _grid_of(self, view: View, extent: tuple[int, int], dots: int) -> Grid:
        """See `grid_of`: of a run that grows to the right the grid is the same until it is full."""
        asked, last = (view, extent[0], dots), extent[1]
        known = self._known_grid
        if known is not None and known[0] == asked and known[1] <= last <= known[2].high:
            return known[2]
        grid = grid_of(view, extent, dots)
        self._known_grid = (asked, last, grid) if view.live and view.tail is None else None
        return grid

    def _take(self, column: Column, grid: Grid) -> None:
        """Brings the slices of all passes up to date."""
        walks, last, seen = len(column.passes), column.last_step, self._seen
        fresh = column is not self._column or grid != self._grid or seen is None or seen.walks != walks
        if fresh:
            if column is not self._column:
                self._scale = None
            self._column, self._grid, self._strokes = column, grid, None
            self._bins = column.bins(grid.low, grid.high, grid.slices)
            first = max(0, walks - 1 - _EARLIER)
            self._earlier = [column.bins(grid.low, grid.high, grid.slices, walk) for walk in range(first, walks - 1)]
        elif last is not None and seen is not None and not self._add(column, grid, seen):
            self._extend(column, grid, seen.last, last)
        self._seen = _Seen(walks, last, column.count, column.non_finite) if last is not None else None

    def _add(self, column: Column, grid: Grid, seen: _Seen) -> bool:
        """Adds the one value that came since, as on a live run; False if it was not just one."""
        step, value = column.last_step, column.last
        finite = value is not None and math.isfinite(value)
        if step is None or value is None or step <= seen.last or not grid.low <= step <= grid.high:
            return False
        if (column.count, column.non_finite) != (seen.values + 1, seen.non_finite + (not finite)):
            return False
        width, rest = divmod(grid.high - grid.low + 1, grid.slices)
        if rest:
            return False
        k = (step - grid.low) // width
        before = self._bins[k]
        if finite:
            low = value if before.low is None else min(before.low, value)
            high = value if before.high is None else max(before.high, value)
            after = Bin(low, high, value, before.nan, before.inf)
        else:
            after = replace(before, nan=before.nan + (value != value), inf=before.inf + (value == value))
        self._put(k, [after])
        return True

    def _extend(self, column: Column, grid: Grid, known: int, last: int) -> None:
        """Takes the slices from the one that holds the step `known` to the one that holds `last` again."""
        start, stop = max(known, grid.low), min(last, grid.high)
        if start > stop:
            return
        width, rest = divmod(grid.high - grid.low + 1, grid.slices)
        if rest:
            self._bins = column.bins(grid.low, grid.high, grid.slices)
            return
        i, j = (start - grid.low) // width, (stop - grid.low) // width + 1
        bins = column.bins(grid.low + i * width, grid.low + j * width - 1, j - i)
        self._put(i, bins)

    def _put(self, i: int, bins: list[Bin]) -> None:
        """Replaces slices from the i-th on."""
        j = i + len(bins)
        if any(map(_differ, bins, self._bins[i:j])):
            # The list that is drawn stays as it is, so that a comparison with the next one sees the difference.
            self._bins = [*self._bins[:i], *bins, *self._bins[j:]]
        else:
            self._bins[i:j] = bins

    def _merged(self, column: Column, grid: Grid) -> tuple[Sequence[Bin], list[Sequence[Bin]]]:
        """The curve as it stands (each pass up to where a later one took over), and what was overtaken."""
        if not self._earlier:
            return self._bins, []
        curve = list(self._bins)
        overtaken: list[Sequence[Bin]] = []
        walks = column.passes
        takeover = walks[-1].steps[0] if len(walks[-1].steps) else grid.high + 1
        for bins, walk in zip(reversed(self._earlier), reversed(walks[:-1]), strict=False):
            cut = 0 if takeover < grid.low else grid.slice_of(takeover) if takeover <= grid.high else grid.slices
            for k in range(cut):
                if bins[k].low is not None or bins[k].nan or bins[k].inf:
                    curve[k] = bins[k]
            overtaken.append([*[_EMPTY] * cut, *bins[cut:]])
            takeover = min(takeover, walk.steps[0]) if len(walk.steps) else takeover
        return curve, overtaken


def _state(column: Column | None) -> tuple[int, int, float | None]:
    """What changes in a column with every value that comes, or that takes the place of another."""
    return (column.count, column.non_finite, column.last) if column is not None else (0, 0, None)


_EMPTY = Bin(None, None, None, 0, 0)


def _differ(a: Bin, b: Bin) -> bool:
    """Whether two slices of a curve are drawn differently; their last values are not drawn."""
    return (a.low, a.high, a.nan, a.inf) != (b.low, b.high, b.nan, b.inf)


def _same(some: Sequence[Sequence[Bin]], others: Sequence[Sequence[Bin]]) -> bool:
    return len(some) == len(others) and all(a is b or a == b for a, b in zip(some, others, strict=True))


def grid_of(view: View, extent: tuple[int, int], dots: int) -> Grid:
    """The x axis of a view of a run that has the steps `extent`."""
    low, high = view.window(*extent)
    if not view.live:
        return fixed_grid(low, high, dots)
    if low > extent[0] and view.low is None:
        return tail_grid(low, high, dots)
    return live_grid(low, high, dots)


def smoothed(curve: Sequence[Bin], level: int) -> list[Bin]:
    """The running mean of the last value of each slice, in one walk from left to right; non-finite points have no say.

    The mean is corrected for its start as in Kingma and Ba (2015), so that the first values are themselves.
    """
    weight = _SMOOTHING[min(level, len(_SMOOTHING) - 1)]
    mean, mass = 0.0, 0.0
    result = []
    for piece in curve:
        if piece.last is None:
            result.append(piece)
            continue
        # Weighted terms, not the difference: that overflows between two values of 1e308 and opposite sign.
        mean = (1 - weight) * mean + weight * piece.last
        mass = (1 - weight) * mass + weight
        value = min(max(mean / mass, -1.7e308), 1.7e308)
        # What is constant stays so to the last digit: on its axis of any height, rounding would be drawn as waves.
        value = piece.last if abs(value - piece.last) <= 1e-9 * abs(piece.last) else value
        result.append(Bin(value, value, value, piece.nan, piece.inf))
    return result


def value_at(column: Column, step: int) -> tuple[int, float] | None:
    """Step and value of the newest point at or before `step`, in the pass that stands there; None before the first."""
    for walk in range(len(column.passes) - 1, -1, -1):
        steps = column.passes[walk].steps
        if len(steps) and steps[0] <= step:
            found, values = column.window(steps[0], step, walk)
            return found[-1], values[-1]
    return None
