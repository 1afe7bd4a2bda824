"""The live curve: columns in, cells out (stdlib only, pure functions).

A picture is `width` x `height` terminal cells; each holds 2 x 4 braille dots. Every dot column is the vertical stroke
from the least to the greatest value of its slice of steps, so a spike of one step survives any reduction. Non-finite
values are cells of their own: NaN at the bottom edge, the infinities at the top edge, in their columns.

Each cell has an ink, a letter that the caller gives a colour; whatever an ink says, the character says as well.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from tuimon.dots import Dots, Slice, strokes
from tuimon.scale import Scale

BLANK, CURVE, FAINT, POINT, NAN, INF, OUTLIER, NONPOSITIVE = " cfpnioz"
"""Inks: nothing, the curve, a curve behind it, companion points, and the four marks."""
CURSOR, UNDER_CURSOR, FAILURE, WARNING, NOTE = "xXFWN"
"""Inks of vertical lines: the cursor, the curve where the cursor crosses it, and onsets by severity."""


class Glyphs(NamedTuple):
    """The characters of a picture; `cells[left + 16 * right]` has the dots of both halves, bit 0 lowest."""

    cells: tuple[str, ...]
    faint: tuple[str, ...]
    nan: str
    inf: str
    above: str
    below: str
    nonpositive: str
    point: str
    lines: Mapping[str, str]


def _braille(left: int, right: int) -> str:
    """U+2800 plus the dots: bits 6, 2, 1, 0 are the left column from the bottom up, 7, 5, 4, 3 the right one."""
    code = sum(1 << bit for level, bit in enumerate((6, 2, 1, 0)) if left >> level & 1)
    code += sum(1 << bit for level, bit in enumerate((7, 5, 4, 3)) if right >> level & 1)
    return chr(0x2800 + code) if code else " "


# Which ASCII character a vertical pattern of four dots (bit 0 lowest) looks like.
_ASCII = " _-_-|--'|-|'|||"

BRAILLE = Glyphs(
    cells=tuple(_braille(key & 15, key >> 4) for key in range(256)),
    # Stippled, so that a curve behind another is told from it without any colour.
    faint=tuple(_braille(key & 0b0101, key >> 4 & 0b1010) for key in range(256)),
    nan="\N{MULTIPLICATION SIGN}",
    inf="\N{INFINITY}",
    above="\N{BLACK UP-POINTING TRIANGLE}",
    below="\N{BLACK DOWN-POINTING TRIANGLE}",
    nonpositive="\N{WHITE DOWN-POINTING TRIANGLE}",
    point="\N{BULLET}",
    lines={
        CURSOR: "\N{BOX DRAWINGS LIGHT VERTICAL}",
        **dict.fromkeys((FAILURE, WARNING, NOTE), "\N{BOX DRAWINGS LIGHT QUADRUPLE DASH VERTICAL}"),
    },
)
ASCII = Glyphs(
    cells=tuple(_ASCII[(key | key >> 4) & 15] for key in range(256)),
    faint=tuple("." if key else " " for key in range(256)),
    nan="x",
    inf="i",
    above="^",
    below="v",
    nonpositive="0",
    point="o",
    lines={CURSOR: "|", **dict.fromkeys((FAILURE, WARNING, NOTE), ":")},
)


class Picture(NamedTuple):
    """`height` rows of text, each `width` cells, and the ink of every cell."""

    rows: tuple[str, ...]
    inks: tuple[str, ...]


class Brush:
    """What is kept of a curve from one picture to the next: an appended point changes its last columns."""

    def __init__(self) -> None:
        self._dots = Dots()
        self._form: tuple[object, ...] = ()
        self._picture = Picture((), ())
        self._marked = False

    def draw(
        self,
        curve: Sequence[Slice],
        scale: Scale,
        width: int,
        height: int,
        stride: int,
        back: list[int],
        lines: Mapping[int, str],
        glyphs: Glyphs,
    ) -> tuple[Picture, bool]:
        """The curve over the dots `back` without its marks, and whether it has any; see the function of this name."""
        kept = self._dots.take(curve, scale, 4 * height, stride, 2 * width)
        form = back, lines, glyphs
        start = kept // 2 if form == self._form else 0
        front, plain = self._dots.masks, glyphs is ASCII
        fresh = [
            _cells(front[x], front[x + 1], back[x], back[x + 1], height, lines.get(x // 2, BLANK), plain)
            for x in range(2 * start, 2 * width, 2)
        ]
        if fresh:
            known = self._picture if start else Picture(("",) * height, ("",) * height)
            rows = zip(*(text for text, _ in fresh), strict=True)
            inks = zip(*(ink for _, ink in fresh), strict=True)
            self._picture = Picture(
                tuple(old[:start] + "".join(new) for old, new in zip(known.rows, rows, strict=True)),
                tuple(old[:start] + "".join(new) for old, new in zip(known.inks, inks, strict=True)),
            )
        # What was marked may be so no longer, which all slices show; what was not is so only where it changed.
        self._marked = _is_marked(curve if self._marked else curve[kept // stride :], scale)
        self._form = form
        return self._picture, self._marked


def draw(
    curve: Sequence[Slice],
    scale: Scale,
    width: int,
    height: int,
    *,
    stride: int = 1,
    behind: Sequence[Sequence[Slice]] = (),
    points: Sequence[Slice] = (),
    lines: Mapping[int, str] | None = None,
    glyphs: Glyphs = BRAILLE,
    label: Callable[[float], str] | None = None,
    brush: Brush | None = None,
) -> Picture:
    """The curve in `width` x `height` cells.

    Args:
        curve: slices from left to right; slice k stands at dot column k * stride. What does not fit is not drawn.
        scale: the y axis; values outside it are marked at the edge.
        stride: dot columns from one slice to the next; above 1 the points are joined by straight lines.
        behind: curves drawn faint where `curve` leaves room (earlier passes, or the raw curve behind a smoothed one).
        points: slices of a sparse companion, drawn as points over the curve.
        lines: cell column -> ink (CURSOR, FAILURE, WARNING, NOTE) of a vertical line there, drawn where cells are free.
        glyphs: BRAILLE or ASCII.
        label: writes the value of the outermost outlier beside its mark; without it, marks only.
        brush: the one that drew this curve before, to be quicker.
    """
    if width <= 0 or height <= 0:
        return Picture((), ())
    room = -(-2 * width // stride)
    back = [0] * (2 * width)
    for other in behind:
        for x, mask in enumerate(strokes(other[:room], scale, 4 * height, stride, 2 * width)):
            back[x] |= mask
    curve = curve[:room]
    picture, marked = (brush or Brush()).draw(curve, scale, width, height, stride, back, lines or {}, glyphs)
    if not marked and not points:
        return picture
    rows, inks = [list(row) for row in picture.rows], [list(row) for row in picture.inks]
    _put_points(points[:room], scale, stride, rows, inks, glyphs)
    _put_marks(curve, scale, stride, rows, inks, glyphs, label)
    return Picture(tuple(map("".join, rows)), tuple(map("".join, inks)))


def _is_marked(curve: Sequence[Slice], scale: Scale) -> bool:
    """Whether a slice holds what the axis cannot."""
    top, bottom = scale.high, scale.low
    return any(
        piece.nan or piece.inf or (piece.high is not None and (piece.high > top or (piece.low or 0.0) < bottom))
        for piece in curve
    )


# Appending a point changes one or two of these columns; the others are found here again instead of being composed.
@lru_cache(maxsize=8192)
def _cells(
    left: int, right: int, back_left: int, back_right: int, height: int, line: str, plain: bool
) -> tuple[str, str]:
    """One column of cells from top to bottom, and its inks."""
    glyphs = ASCII if plain else BRAILLE
    text, ink = [], []
    for row in range(height - 1, -1, -1):
        shift = 4 * row
        key = (left >> shift & 15) | (right >> shift & 15) << 4
        if key:
            text.append(glyphs.cells[key])
            ink.append(UNDER_CURSOR if line == CURSOR else CURVE)
            continue
        key = (back_left >> shift & 15) | (back_right >> shift & 15) << 4
        faint = glyphs.faint[key]
        if faint != " ":
            text.append(faint)
            ink.append(FAINT)
        else:
            text.append(glyphs.lines.get(line, " "))
            ink.append(line)
    return "".join(text), "".join(ink)


def _put_points(
    points: Sequence[Slice], scale: Scale, stride: int, rows: list[list[str]], inks: list[list[str]], glyphs: Glyphs
) -> None:
    """Companion points over the curve, one character each; non-finite ones at their edges."""
    height = len(rows)
    for k, piece in enumerate(points):
        column = k * stride // 2
        if piece.nan:
            rows[-1][column], inks[-1][column] = glyphs.nan, POINT
        if piece.inf:
            rows[0][column], inks[0][column] = glyphs.inf, POINT
        if piece.last is not None and scale.shows(piece.last):
            row = height - 1 - scale.level(piece.last, 4 * height) // 4
            rows[row][column], inks[row][column] = glyphs.point, POINT


def _put_marks(
    curve: Sequence[Slice],
    scale: Scale,
    stride: int,
    rows: list[list[str]],
    inks: list[list[str]],
    glyphs: Glyphs,
    label: Callable[[float], str] | None,
) -> None:
    """What the axis cannot hold, at the edges: outliers, values <= 0 on a log axis, infinities, NaN."""
    top = bottom = None
    for k, piece in enumerate(curve):
        column = k * stride // 2
        if piece.high is not None and piece.high > scale.high:
            rows[0][column], inks[0][column] = glyphs.above, OUTLIER
            if top is None or piece.high > top[0]:
                top = (piece.high, column)
        if piece.low is not None and piece.low < scale.low:
            hidden = not scale.shows(piece.low)
            rows[-1][column], inks[-1][column] = (
                (glyphs.nonpositive, NONPOSITIVE) if hidden else (glyphs.below, OUTLIER)
            )
            if not hidden and (bottom is None or piece.low < bottom[0]):
                bottom = (piece.low, column)
    _put_non_finite(curve, stride, rows, inks, glyphs)
    if label is not None:
        for outlier, row in ((top, 0), (bottom, -1)):
            if outlier is not None:
                _put_label(label(outlier[0]), outlier[1], rows[row], inks[row])


def _put_non_finite(
    curve: Sequence[Slice], stride: int, rows: list[list[str]], inks: list[list[str]], glyphs: Glyphs
) -> None:
    """Infinities at the top edge, NaN at the bottom edge."""
    for k, piece in enumerate(curve):
        if piece.inf:
            rows[0][k * stride // 2], inks[0][k * stride // 2] = glyphs.inf, INF
    # After all infinities: where a picture is one line high, they share the edge, and a NaN is never covered.
    for k, piece in enumerate(curve):
        if piece.nan:
            rows[-1][k * stride // 2], inks[-1][k * stride // 2] = glyphs.nan, NAN


def _put_label(text: str, column: int, row: list[str], ink: list[str]) -> None:
    """Writes the value beside its mark and the marks next to it, left or else right, where cells are free."""
    free = {BLANK, FAILURE, WARNING, NOTE, CURSOR}
    left = next((x for x in range(column, 0, -1) if ink[x - 1] != OUTLIER), 0)
    right = next((x for x in range(column + 1, len(row)) if ink[x] != OUTLIER), len(row))
    for start in (left - len(text), right):
        stop = start + len(text)
        if start >= 0 and stop <= len(row) and free.issuperset(ink[start:stop]):
            row[start:stop], ink[start:stop] = text, OUTLIER * len(text)
            return
