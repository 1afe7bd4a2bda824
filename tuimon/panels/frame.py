"""One panel as rows of cells: title, axes and curve. Pure: strings in, strings out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from tuimon.braille import ASCII, BRAILLE, CURSOR, FAILURE, NOTE, WARNING, Brush, Picture, draw
from tuimon.numerals import log_ticks, step_text, step_ticks, ticks, value_text
from tuimon.panels.canvas import Canvas
from tuimon.panels.curve import Strokes
from tuimon.scale import Grid, Scale

NAME, VALUE, DIM, BAD = "tvdB"
"""Inks beside those of the curve: the metric's name, its values, axes and labels, and words for what went wrong."""

_GUTTER = 7
"""Cells of a y label and its axis: six characters hold every label from -0.25 to 2.5e-4."""
_THIN_GUTTER = 26
_SEVERITY = {FAILURE: 3, WARNING: 2, NOTE: 1}


class Layout(NamedTuple):
    """Where the curve lies in a panel of `width` x `height`: at x, y, `columns` x `rows` cells."""

    width: int
    height: int
    x: int
    y: int
    columns: int
    rows: int
    labels: bool  # a y axis with labels
    axis: int  # lines under the curve: 0, 1 (steps) or 2 (axis and steps)

    @property
    def thin(self) -> bool:
        """Values stand at the left of the curve instead of above it."""
        return self.y == 0


def layout_of(width: int, height: int) -> Layout:
    """The form that fits: full with axes, or thin with the values at the left."""
    if height >= 5 and width >= 18:
        axis = 2 if height >= 8 else 1
        # One free column keeps neighbours apart.
        return Layout(width, height, _GUTTER, 1, width - _GUTTER - 1, height - 1 - axis, True, axis)
    gutter = _THIN_GUTTER if width >= 48 else 18 if width >= 30 else min(9, width // 2)
    return Layout(
        width, height, gutter, 0, max(width - gutter - 1, 0), height, gutter == _THIN_GUTTER and height > 1, 0
    )


class Title(NamedTuple):
    """What a panel says in words; empty texts are left out."""

    name: str
    value: str
    extreme: str = ""  # "best 0.2201", or what else is worth knowing of the values
    extreme_step: str = ""
    trouble: str = ""  # "50 non-finite"
    notes: str = ""  # "log", "smooth 2"
    at: str = ""  # the step of the cursor


class Marks(NamedTuple):
    """Steps to mark on the x axis: onsets with their ink, and the boundaries where the log went back."""

    onsets: tuple[tuple[int, str], ...] = ()
    rewinds: tuple[int, ...] = ()


def body_picture(
    layout: Layout,
    strokes: Strokes,
    marks: Marks,
    cursor: int | None,
    *,
    plain: bool = False,
    brush: Brush | None = None,
) -> Picture:
    """The panel without its title: what most records leave as it was. A `brush` is quicker with what it drew before."""
    axes = _axes(layout, strokes.scale, strokes.grid, marks, plain)
    curve = draw(
        strokes.curve,
        strokes.scale,
        layout.columns,
        layout.rows,
        stride=strokes.grid.stride,
        behind=strokes.behind,
        points=strokes.points,
        lines=lines_of(strokes.grid, marks.onsets, cursor),
        glyphs=ASCII if plain else BRAILLE,
        label=lambda value: value_text(value, 3),
        brush=brush,
    )
    return Picture(_inlaid(axes.rows, curve.rows, layout), _inlaid(axes.inks, curve.inks, layout))


def _inlaid(around: Sequence[str], rows: Sequence[str], layout: Layout) -> tuple[str, ...]:
    """The rows of a curve in the place that the panel has for it."""
    left, right, bottom = layout.x, layout.x + layout.columns, layout.y + len(rows)
    inlaid = [
        outer[:left] + inner + outer[right:] for outer, inner in zip(around[layout.y : bottom], rows, strict=True)
    ]
    return (*around[: layout.y], *inlaid, *around[bottom:])


# Most records change a cell of the curve and nothing of its axes.
@lru_cache(maxsize=32)
def _axes(layout: Layout, scale: Scale, grid: Grid, marks: Marks, plain: bool) -> Picture:
    """The panel without title and curve."""
    canvas = Canvas(layout.width, layout.height)
    if layout.labels:
        _put_y_axis(canvas, layout, scale, plain)
    if layout.axis:
        _put_x_axis(canvas, layout, grid, marks, plain)
    return canvas.picture()


def titled(body: Picture, layout: Layout, title: Title) -> Picture:
    """The whole panel."""
    rows = layout.height if layout.thin else 1
    canvas = Canvas(layout.width, rows)
    if layout.thin:
        canvas.lay(0, 0, body)
    _put_title(canvas, layout, title)
    head = canvas.picture()
    return Picture(head.rows + body.rows[rows:], head.inks + body.inks[rows:])


def blank_picture(layout: Layout, title: Title, words: str) -> Picture:
    """A panel that has nothing to draw and says why."""
    canvas = Canvas(layout.width, layout.height)
    _put_title(canvas, layout, title)
    words = words[: max(layout.columns, 0)]
    canvas.put(layout.x + (layout.columns - len(words)) // 2, layout.y + (layout.rows - 1) // 2, words, DIM)
    return canvas.picture()


def lines_of(grid: Grid, onsets: Iterable[tuple[int, str]], cursor: int | None) -> dict[int, str]:
    """Cell column -> ink of its vertical line: the gravest onset there, and the cursor over all."""
    lines: dict[int, str] = {}
    for step, ink in onsets:
        column = grid.column(step)
        # A note is a mark on the axis and not a line: there may be many, and none of them is an alarm.
        if column is not None and ink != NOTE and _SEVERITY[ink] > _SEVERITY.get(lines.get(column, ""), 0):
            lines[column] = ink
    if cursor is not None and (column := grid.column(cursor)) is not None:
        lines[column] = CURSOR
    return lines


def _put_title(canvas: Canvas, layout: Layout, title: Title) -> None:
    if layout.thin:
        _put_thin_title(canvas, layout, title)
        return
    width = layout.width - 1
    x = canvas.put(0, 0, title.name, NAME) + 2
    if title.at:
        x = canvas.put(x, 0, f"{title.at} ", DIM)
    x = canvas.put(x, 0, title.value, BAD if title.value in _BAD_WORDS else VALUE) + 2
    # What is not a number is worth more than the best one, and that more than how the curve is drawn.
    if title.trouble and x + len(title.trouble) <= width:
        x = canvas.put(x, 0, title.trouble, BAD) + 2
    right = title.extreme + (f" {title.extreme_step}" if title.extreme_step else "")
    if x + len(right) > width:
        right = title.extreme
    if right and x + len(right) <= width:
        canvas.put(width - len(right), 0, right, DIM)
        width -= len(right) + 2
    if title.notes and x + len(title.notes) <= width:
        canvas.put(x, 0, title.notes, DIM)


_BAD_WORDS = ("nan", "inf", "-inf")


def _put_thin_title(canvas: Canvas, layout: Layout, title: Title) -> None:
    room = layout.x - 1 - (7 if layout.labels else 0)
    ink = BAD if title.value in _BAD_WORDS else VALUE
    space = max(room - len(title.value) - 1, 4)
    name = title.name if len(title.name) <= space else f"{title.name[: space - 2]}.."
    canvas.put(0, 0, name, NAME)
    canvas.put(max(room - len(title.value), len(name) + 1), 0, title.value[: max(room - len(name) - 1, 0)], ink)
    below = [(text, ink) for text, ink in ((title.trouble, BAD), (title.at, DIM), (title.extreme, DIM)) if text]
    for y, (text, ink) in enumerate(below[: layout.height - 1], 1):
        canvas.put(max(room - len(text), 0), y, text[:room], ink)


def _put_y_axis(canvas: Canvas, layout: Layout, scale: Scale, plain: bool) -> None:
    tick, bar = ("+", "|") if plain else ("\N{BOX DRAWINGS LIGHT VERTICAL AND LEFT}", "\N{BOX DRAWINGS LIGHT VERTICAL}")
    x = layout.x - 1
    labels = y_labels(scale, layout.rows)
    for row in range(layout.rows):
        label = labels.get(row, "")
        canvas.put(x - len(label), layout.y + row, label, DIM)
        canvas.put(x, layout.y + row, tick if label else bar, DIM)


def y_labels(scale: Scale, rows: int) -> dict[int, str]:
    """Row (0 on top) -> label: at least two rows apart, and none that would be cut ("5.1e-" is another number)."""
    if rows < 3:
        return {0: short_label(scale.high), rows - 1: short_label(scale.low)} if rows > 1 else {}
    make = log_ticks if scale.log else ticks
    ends = {0: short_label(scale.high), rows - 1: short_label(scale.low)}
    for count in range(max(2, rows // 3 + 1, min(rows // 2 + 1, 4)), 0, -1):
        marks = [
            (rows - 1 - scale.level(value, 4 * rows) // 4, text) for value, text in make(scale.low, scale.high, count)
        ]
        chosen = sorted(row for row, _ in marks)
        fits = all(len(text) < _GUTTER for _, text in marks)
        if fits and marks and all(b - a >= 2 for a, b in zip(chosen, chosen[1:], strict=False)):
            # A single label says where the curve is and not how far it goes: the ends do.
            beside = {row: text for row, text in ends.items() if abs(row - chosen[0]) >= 2}
            return dict(marks) if len(marks) > 1 else {**beside, **dict(marks)} if beside else ends
    return ends


def short_label(value: float) -> str:
    """The value with as many digits as fit into six cells; empty where not even one does."""
    return next((text for digits in (2, 1) if len(text := value_text(value, digits)) < _GUTTER), "")


def _put_x_axis(canvas: Canvas, layout: Layout, grid: Grid, marks: Marks, plain: bool) -> None:
    line, tick, corner = "-++" if plain else "\u2500\u252c\u2514"  # horizontal, down and horizontal, up and right
    left, bottom = layout.x, layout.height - 1
    axis = bottom - 1 if layout.axis == 2 else None
    if axis is not None:
        canvas.put(left - 1, axis, corner + line * layout.columns, DIM)
    taken = [False] * (layout.columns + 1)
    for step, ink in sorted(marks.onsets, key=lambda onset: -_SEVERITY[onset[1]]):
        column = grid.column(step)
        if column is None:
            continue
        glyph = _ONSET[plain][ink]
        if axis is not None:
            canvas.put(left + column, axis, glyph, ink)
        if ink != NOTE:
            text = step_text(step) if axis is not None else f"{glyph}{step_text(step)}"
            _put_centred(canvas, layout, column, text, ink, taken)
    for step in marks.rewinds:
        if axis is not None and (column := grid.column(step)) is not None:
            canvas.put(left + column, axis, _REWIND[plain], DIM)
    for step in step_ticks(grid.low, grid.high, max(2, layout.columns // 12)):
        column = grid.column(step)
        if (
            column is not None
            and _put_centred(canvas, layout, column, step_text(step), DIM, taken)
            and axis is not None
        ):
            _put_tick(canvas, left + column, axis, tick, line)


_ONSET: Mapping[bool, Mapping[str, str]] = {
    False: {
        FAILURE: "\N{BLACK UP-POINTING TRIANGLE}",
        WARNING: "\N{WHITE UP-POINTING TRIANGLE}",
        NOTE: "\N{MIDDLE DOT}",
    },
    True: {FAILURE: "^", WARNING: "~", NOTE: "."},
}
_REWIND = {False: "\N{LEFT-POINTING DOUBLE ANGLE QUOTATION MARK}", True: "<"}


def _put_centred(canvas: Canvas, layout: Layout, column: int, text: str, ink: str, taken: list[bool]) -> bool:
    """Writes a label under a column if its place is free; labels keep one cell apart."""
    start = min(max(column - len(text) // 2, 0), layout.columns - len(text))
    if start < 0 or any(taken[max(start - 1, 0) : start + len(text) + 1]):
        return False
    taken[start : start + len(text)] = [True] * len(text)
    canvas.put(layout.x + start, layout.height - 1, text, ink)
    return True


def _put_tick(canvas: Canvas, x: int, y: int, tick: str, line: str) -> None:
    """A tick, unless something graver is marked there."""
    if canvas.at(x, y) == line:
        canvas.put(x, y, tick, DIM)
