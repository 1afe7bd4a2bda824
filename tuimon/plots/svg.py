"""The picture as SVG, for reports, issues and chats: vectors and text only, on a light background."""

from __future__ import annotations

import html
from collections.abc import Sequence

from tuimon.numerals import log_ticks, step_text, step_ticks, ticks
from tuimon.plots.subject import Point, Subject

LEFT, RIGHT, TOP, BOTTOM = 64, 16, 44, 28
"""Pixels around a curve: y labels, air, title with one line of onset labels, x labels."""

HEAD = 30
"""Pixels for the title of the whole picture."""

LABEL_ROWS = 3
"""Lines for onset labels; onsets closer than their labels are wide take the next line."""

LETTER = 6.3
"""Width in pixels of a letter of a label, rounded up: SVG has no way to ask."""

FONT = 'font-family="system-ui, sans-serif" font-size="12"'
INKS = {"failure": "#c81e1e", "warning": "#b45309"}
CURVE, FAINT, GRID, TEXT, DIM = "#0b63a5", "#a9c8e2", "#e4e7eb", "#1f2933", "#616e7c"


def svg(subjects: Sequence[Subject], title: str, width: int = 900, height: int = 500) -> str:
    """All subjects under each other in `width` x `height` pixels, with `title` over them."""
    width, height = max(width, 240), max(height, HEAD + 130 * max(len(subjects), 1))
    room = (height - HEAD) / max(len(subjects), 1)
    box = f'width="{width}" height="{height}"'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {box} viewBox="0 0 {width} {height}" {FONT}>',
        f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
        _text(LEFT, 20, title, TEXT, 'font-size="14" font-weight="600"'),
    ]
    for number, each in enumerate(subjects):
        parts.extend(_Panel(each, width, HEAD + number * room, room).parts())
    return "\n".join([*parts, "</svg>"]) + "\n"


class _Panel:
    """One subject in its part of the picture."""

    def __init__(self, each: Subject, width: int, top: float, height: float) -> None:
        self._each = each
        rows = self._label_rows(each, width)
        self._rows = rows
        self._top = top
        self._x, self._width = LEFT, width - LEFT - RIGHT
        lines = max(rows.values(), default=0)
        self._y = top + TOP + 14 * max(lines - 1, 0)
        self._height = max(top + height - BOTTOM - self._y, 20)

    @staticmethod
    def _label_rows(each: Subject, width: int) -> dict[int, int]:
        """Number of an onset -> line of its label, 1 on top; labels without a free line are left out."""
        room = width - LEFT - RIGHT
        ends = [0.0] * LABEL_ROWS
        rows: dict[int, int] = {}
        for number, onset in sorted(enumerate(each.onsets), key=lambda pair: pair[1].step):
            wide = LETTER * len(_onset_text(onset.label, onset.step))
            start = min(each.across(onset.step) * room, room - wide)
            free = next((row for row, end in enumerate(ends) if end <= start), None)
            if free is not None:
                ends[free] = start + wide + LETTER
                rows[number] = free + 1
        return rows

    def _at(self, point: Point) -> tuple[float, float]:
        return self._x + point[0] * self._width, self._y + (1 - point[1]) * self._height

    def parts(self) -> list[str]:
        each = self._each
        out = [
            _text(self._x, self._top + 14, each.name, TEXT, 'font-weight="600"'),
            _text(self._x + self._width, self._top + 14, each.numbers, DIM, 'text-anchor="end"'),
            *self._axes(),
        ]
        means = each.mean_strokes()
        out.extend(self._line(stroke, FAINT if means else CURVE, 1.2) for stroke in each.strokes())
        out.extend(self._line(stroke, CURVE, 2.0) for stroke in means)
        out.extend(self._onsets())
        out.extend(self._marks())
        return out

    def _axes(self) -> list[str]:
        each = self._each
        out = []
        make = log_ticks if each.scale.log else ticks
        for value, label in make(each.scale.low, each.scale.high, max(2, int(self._height // 24))):
            y = self._at((0, each.up(value)))[1]
            out.append(_rule(self._x, y, self._x + self._width, y, GRID))
            out.append(_text(self._x - 6, y + 4, label, DIM, 'text-anchor="end"'))
        for step in step_ticks(each.first, each.last, max(2, self._width // 110)):
            x = self._at((each.across(step), 0))[0]
            out.append(_rule(x, self._y, x, self._y + self._height, GRID))
            out.append(_text(x, self._y + self._height + 16, step_text(step), DIM, 'text-anchor="middle"'))
        edge = f'fill="none" stroke="{DIM}" stroke-width="0.8"'
        out.append(f'<rect x="{self._x}" y="{self._y:.1f}" width="{self._width}" height="{self._height:.1f}" {edge}/>')
        return out

    def _line(self, stroke: Sequence[Point], ink: str, wide: float) -> str:
        places = [self._at(point) for point in stroke]
        if len(places) == 1:
            return f'<circle cx="{places[0][0]:.1f}" cy="{places[0][1]:.1f}" r="2" fill="{ink}"/>'
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
        return f'<polyline points="{path}" fill="none" stroke="{ink}" stroke-width="{wide}" stroke-linejoin="round"/>'

    def _onsets(self) -> list[str]:
        out = []
        for number, onset in enumerate(self._each.onsets):
            ink = INKS.get(onset.severity, DIM)
            x = self._at((self._each.across(onset.step), 0))[0]
            out.append(_rule(x, self._y, x, self._y + self._height, ink, 'stroke-dasharray="4 3"'))
            row = self._rows.get(number)
            if row is not None:
                text = _onset_text(onset.label, onset.step)
                start = min(x, self._x + self._width - LETTER * len(text))
                out.append(_text(start, self._top + TOP - 16 + 14 * row - 2, text, ink))
        return out

    def _marks(self) -> list[str]:
        """NaN as crosses at the bottom edge, infinities at the top edge, what lies beyond the axis as triangles."""
        red = INKS["failure"]
        out = []
        crosses = "".join(f"M{x - 3:.1f} {y - 9:.1f}l6 6m0 -6l-6 6" for x, y in map(self._at, self._bottom()))
        if crosses:
            out.append(f'<path d="{crosses}" stroke="{red}" stroke-width="1.4"><title>NaN</title></path>')
        for place in self._each.inf_places():
            x, y = self._at((place, 1))
            out.append(_text(x, y + 11, "∞", red, 'text-anchor="middle"'))
        for place, above, value in self._each.outliers():
            x, y = self._at((place, float(above)))
            start, by = (y + 1, 7) if above else (y - 1, -7)
            shape = f"M{x:.1f} {start:.1f}l4 {by}h-8z"
            out.append(f'<path d="{shape}" fill="{INKS["warning"]}"><title>{html.escape(value)}</title></path>')
        return out

    def _bottom(self) -> list[Point]:
        return [(place, 0.0) for place in self._each.nan_places()]


def _onset_text(label: str, step: int) -> str:
    return f"{label}, step {step:,}"


def _text(x: float, y: float, text: str, ink: str, more: str = "") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" fill="{ink}"{" " if more else ""}{more}>{html.escape(text)}</text>'


def _rule(x1: float, y1: float, x2: float, y2: float, ink: str, more: str = "") -> str:
    more = f" {more}" if more else ""
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{ink}"{more}/>'
