"""A small picture with its greatest and least value at the left: what the lab and `explain` draw."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from tuimon.braille import ASCII, BRAILLE, draw
from tuimon.numerals import value_text
from tuimon.scale import Scale
from tuimon.store import Bin

GUTTER = 8
"""Cells for a value at the left."""


def bins_of(values: Iterable[float | None]) -> list[Bin]:
    """One slice per value; None is a slice without points."""
    return [_bin(value) for value in values]


def _bin(value: float | None) -> Bin:
    if value is None:
        return Bin(None, None, None, 0, 0)
    if math.isfinite(value):
        return Bin(value, value, value, 0, 0)
    return Bin(None, None, None, int(value != value), int(value == value))


def plotted(
    curve: Sequence[Bin],
    scale: Scale,
    width: int,
    rows: int,
    ascii_only: bool = False,
    *,
    behind: Sequence[Bin] = (),
    points: Sequence[Bin] = (),
    lines: Mapping[int, str] | None = None,
) -> list[str]:
    """`rows` lines of `width` cells: the curve over the whole width, the ends of its axis at the left.

    More slices than dots are joined, so that none is left out.

    Args:
        curve, scale, behind, points: as `draw` takes them.
        width, rows: cells of the whole picture.
        ascii_only: no character beyond ASCII.
        lines: index into `curve` -> ink of a vertical line there.
    """
    if rows < 1 or width <= GUTTER:
        return [""] * max(rows, 0)
    room = width - GUTTER
    longest = max(len(curve), len(behind), 1)
    group = math.ceil(longest / (2 * room))
    stride = max(1, 2 * room // math.ceil(longest / group))
    picture = draw(
        joined(curve, group),
        scale,
        room,
        rows,
        stride=stride,
        behind=(joined(behind, group),) if behind else (),
        points=points,
        lines={index // group * stride // 2: ink for index, ink in (lines or {}).items()},
        glyphs=ASCII if ascii_only else BRAILLE,
    )
    labels = [value_text(scale.high, 3), *[""] * (rows - 2), value_text(scale.low, 3)][:rows]
    return [f"{label:>{GUTTER - 1}} {line}" for label, line in zip(labels, picture.rows, strict=True)]


def joined(slices: Sequence[Bin], group: int) -> list[Bin]:
    """Each `group` neighbouring slices as one."""
    if group == 1:
        return list(slices)
    result = []
    for start in range(0, len(slices), group):
        part = slices[start : start + group]
        lows = [piece.low for piece in part if piece.low is not None]
        highs = [piece.high for piece in part if piece.high is not None]
        result.append(
            Bin(
                min(lows, default=None),
                max(highs, default=None),
                next((piece.last for piece in reversed(part) if piece.last is not None), None),
                sum(piece.nan for piece in part),
                sum(piece.inf for piece in part),
            )
        )
    return result
