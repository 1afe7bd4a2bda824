"""One metric's picture: title with last and best value, axes, curve, marks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.geometry import Size
from textual.message import Message

from tuimon import braille
from tuimon.braille import FAILURE, NOTE, WARNING, Brush, Picture
from tuimon.monitor import Snapshot
from tuimon.numerals import step_text, value_text
from tuimon.panels.curve import Curve, Strokes, value_at
from tuimon.panels.frame import (
    BAD,
    DIM,
    NAME,
    VALUE,
    Layout,
    Marks,
    Title,
    blank_picture,
    body_picture,
    layout_of,
    titled,
)
from tuimon.panels.patched import Patched, changed_regions
from tuimon.panels.view import View
from tuimon.plain import plain_text
from tuimon.store import Column

_INKS = {
    braille.CURVE: "line",
    braille.FAINT: "faint",
    braille.POINT: "point",
    braille.NAN: "bad",
    braille.INF: "bad",
    braille.OUTLIER: "outlier",
    braille.NONPOSITIVE: "outlier",
    braille.CURSOR: "cursor",
    braille.UNDER_CURSOR: "crossed",
    FAILURE: "bad",
    WARNING: "warning",
    NOTE: "axis",
    NAME: "name",
    VALUE: "value",
    DIM: "axis",
    BAD: "bad",
}
_SEVERITY_INK = {"failure": FAILURE, "warning": WARNING, "note": NOTE}
_LOSSES = ("loss", "val_loss")
WAITING = "loss"
"""The panel that says for all of them that nothing has come yet."""
_SCHEDULES = ("lr",)
"""Metrics that are set and not measured: no best value, and no point of them is an outlier."""


class Told(NamedTuple):
    """What a panel is told to show.

    Attributes:
        column: the metric drawn; None while the log does not have it (the panel says so, under `label`).
        companion: the metric that `view.overlay` draws over the curve (val_loss over loss), or None.
        view: which steps, which scale, where the cursor is.
        label: name in the title, when it is not the column's own.
        plain: ASCII only: no braille, no box lines.
    """

    column: Column | None = None
    companion: Column | None = None
    view: View = View()
    label: str = ""
    plain: bool = False


class Drawing(NamedTuple):
    """What a panel's curve and axes are drawn from besides their strokes; equal ones are equal pictures."""

    layout: Layout
    marks: Marks
    cursor: int | None
    plain: bool


class MetricPanel(Patched, can_focus=True):
    """A live curve that sends only the cells that changed.

    What is shown follows from the size: a full picture with axes from 18x5 up, two to four lines high a thin curve
    with its values at the left (all thin curves have the same gutter, so their steps line up), one line high name,
    value and curve.

    All state comes in by `tell`; nothing else redraws.

    Args:
        label: name in the title until a metric is told.
    """

    COMPONENT_CLASSES: ClassVar[set[str]] = {f"curve--{ink}" for ink in _INKS.values()}
    DEFAULT_CSS = """
    MetricPanel {
        height: 1fr; width: 1fr;
        .curve--line { color: ansi_cyan; }
        .curve--crossed { color: ansi_cyan; text-style: reverse; }
        .curve--faint { color: ansi_bright_black; }
        .curve--axis { color: ansi_bright_black; }
        .curve--point { color: ansi_magenta; }
        .curve--bad { color: ansi_red; text-style: bold; }
        .curve--outlier { color: ansi_yellow; }
        .curve--warning { color: ansi_yellow; }
        .curve--cursor { color: ansi_default; }
        .curve--name { text-style: bold; }
        .curve--value { color: ansi_default; }
        &.-val_loss .curve--line, &.-val_loss .curve--crossed { color: ansi_magenta; }
        &.-grad_norm .curve--line, &.-grad_norm .curve--crossed { color: ansi_green; }
        &.-lr .curve--line, &.-lr .curve--crossed { color: ansi_bright_blue; }
        &:focus .curve--name { text-style: bold underline; }
    }
    """

    @dataclass
    class StepChosen(Message):
        """The user pointed at a step (mouse click in the curve)."""

        panel: MetricPanel
        step: int

        @property
        def control(self) -> MetricPanel:
            return self.panel

    def __init__(self, label: str = "") -> None:
        super().__init__()
        self._told = Told(label=label)
        self._snapshot = Snapshot()
        self._curve = Curve()
        self._brush = Brush()
        self._strokes: Strokes | None = None
        self._drawing: Drawing | None = None
        self._title: Title | None = None
        self._words: tuple[object, ...] = ()
        self._body = Picture((), ())
        self._picture = Picture((), ())
        self._inks: dict[str, Style] = {}

    def tell(self, told: Told, snapshot: Snapshot) -> None:
        """Shows this of a run that has come to `snapshot`; columns grow even while an old snapshot is held."""
        column = told.column
        same = column is self._told.column
        if same and snapshot is self._snapshot and told == self._told:
            return
        if not same:
            self._curve, self._title = Curve(robust=column is None or column.name not in _SCHEDULES), None
            if column is not None:
                self.set_class(column.name == "val_loss", "-val_loss")
                self.set_class(column.name == "grad_norm", "-grad_norm")
                self.set_class(column.name == "lr", "-lr")
        self._told, self._snapshot = told, snapshot
        self._show()

    def retake(self, size: Size) -> None:
        """See `Patched.retake`."""
        self._picture = self._drawn(size)

    def notify_style_update(self) -> None:
        self._inks.clear()
        super().notify_style_update()

    def step_at(self, x: int) -> int | None:
        """The step drawn in column `x` of the widget, None outside the curve."""
        layout = layout_of(*self.size)
        column = x - layout.x
        if self._strokes is None or not 0 <= column < layout.columns:
            return None
        return self._strokes.grid.step(column)

    def piece(self, y: int, left: int, right: int) -> list[Segment]:
        """See `Patched.piece`."""
        if not 0 <= y < len(self._picture.rows):
            return [Segment(" " * (right - left), self.rich_style)]
        text, inks = self._picture.rows[y], self._picture.inks[y]
        segments = []
        start, stop = left, min(right, len(text))
        for x in range(left + 1, stop + 1):
            if x == stop or inks[x] != inks[start]:
                segments.append(Segment(text[start:x], self._style(inks[start])))
                start = x
        return segments

    def on_click(self, event: events.Click) -> None:
        step = self.step_at(event.x)
        if step is not None:
            self.post_message(self.StepChosen(self, step))

    def _style(self, ink: str) -> Style:
        style = self._inks.get(ink)
        if style is None:
            name = _INKS.get(ink)
            style = self._inks[ink] = self.get_component_rich_style(f"curve--{name}") if name else self.rich_style
        return style

    def _show(self) -> None:
        """Makes the picture anew and refreshes the cells in which it differs from the one on the screen."""
        if self.fits is None:
            # Not painted yet; that takes the picture.
            return
        before, self._picture = self._picture, self._drawn(self.fits)
        if self._picture is before:
            return
        regions = changed_regions(before, self._picture)
        if regions is None:
            self.refresh()
        else:
            self.send(regions)

    def _drawn(self, size: Size) -> Picture:
        layout = layout_of(*size)
        (column, companion, view, label, plain), snapshot = self._told, self._snapshot
        name = plain_text(label or (column.name if column else ""), 24)
        if column is None or not column.count or snapshot.first_step is None or snapshot.last_step is None:
            self._strokes = self._title = None
            words = f"no {name} in this log yet" if snapshot.records and name else ""
            if not snapshot.records and label == WAITING:
                words = "waiting for the first record"
            return blank_picture(layout, Title(name, ""), words)
        # A rewound or unsorted log has columns that reach past the newest step.
        extent = _extent(column, snapshot)
        strokes = self._curve.strokes(column, view, extent, 2 * layout.columns, companion)
        marks = Marks(
            tuple((found.onset_step, _SEVERITY_INK[found.severity]) for found in snapshot.findings), snapshot.rewinds
        )
        title = self._title_of(name, column, view)
        drawing = Drawing(layout, marks, view.cursor, plain)
        if self._strokes is not strokes or drawing != self._drawing:
            self._strokes, self._drawing = strokes, drawing
            self._body = body_picture(layout, strokes, marks, view.cursor, plain=plain, brush=self._brush)
        elif title == self._title:
            return self._picture
        self._title = title
        return titled(self._body, layout, title)

    def _title_of(self, name: str, column: Column, view: View) -> Title:
        """See `title_of`; the one before where nothing of it has changed, as of a rate that stays."""
        words = name, column.last, column.best, column.best_step, column.non_finite, view
        if words != self._words or self._title is None or view.cursor is not None:
            self._words = words
            return title_of(name, column, view)
        return self._title


def _extent(column: Column, snapshot: Snapshot) -> tuple[int, int]:
    """First and last step that all panels of a run show."""
    first, last = snapshot.first_step or 0, snapshot.last_step or 0
    for walk in column.passes:
        if len(walk.steps):
            first, last = min(first, walk.steps[0]), max(last, walk.steps[-1])
    return first, last


def title_of(name: str, column: Column, view: View) -> Title:
    """The words of a panel: the value at the cursor or else the last one, the best, what is non-finite."""
    value, at = column.last, ""
    if view.cursor is not None:
        found = value_at(column, view.cursor)
        value, at = (found[1], f"@{step_text(found[0])}") if found else (None, f"@{step_text(view.cursor)}")
    extreme = extreme_step = ""
    if column.best is not None and column.best_step is not None and column.name not in (*_SCHEDULES, "grad_norm"):
        # Less is better of a loss alone: of an accuracy the least value is the worst one.
        word = "best" if column.name in _LOSSES else "min"
        extreme, extreme_step = f"{word} {value_text(column.best)}", f"@{step_text(column.best_step)}"
    trouble = f"{step_text(column.non_finite)} non-finite" if column.non_finite else ""
    notes = " ".join(
        word for word in ("log" if view.log else "", f"smooth {view.smooth}" if view.smooth else "") if word
    )
    return Title(name, value_text(value), extreme, extreme_step, trouble, notes, at)
