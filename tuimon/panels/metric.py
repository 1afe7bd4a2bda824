"""One metric's picture: title with last and best value, axes, curve, marks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from textual import events
from textual.message import Message
from textual.reactive import reactive
from textual.strip import Strip
from textual.widget import Widget

from tuimon.monitor import Snapshot
from tuimon.panels.view import View
from tuimon.store import Column


class MetricPanel(Widget, can_focus=True):
    """A live curve that sends only the cells that changed.

    What is shown follows from the size: a full picture with axes from 20x6 up, two to four lines high a thin curve with its
    values at the left (all thin curves have the same gutter, so their steps line up), one line high name, value and curve.

    All state comes in by these attributes; setting one redraws what it changes, and nothing else does.

    Attributes:
        column: the metric drawn; None while the log does not have it (the panel says so, under `label`).
        companion: the metric that `view.overlay` draws over the curve (val_loss over loss), or None.
        view: which steps, which scale, where the cursor is.
        snapshot: records, first and last step of the run, findings and rewinds. A new snapshot says that `column` has grown.
        label: name in the title, when it is not the column's own.
        plain_marks: ASCII only: no braille, no box lines.
    """

    DEFAULT_CSS = "MetricPanel { height: 1fr; width: 1fr; }"

    column: reactive[Column | None] = reactive(None, repaint=False)
    companion: reactive[Column | None] = reactive(None, repaint=False)
    view: reactive[View] = reactive(View(), repaint=False)
    snapshot: reactive[Snapshot] = reactive(Snapshot(), repaint=False)
    label: reactive[str] = reactive("", repaint=False)
    plain_marks: reactive[bool] = reactive(False, repaint=False)

    COLOURS: ClassVar[dict[str, str]] = {"loss": "cyan", "val_loss": "magenta", "grad_norm": "green", "lr": "bright_blue"}

    @dataclass
    class StepChosen(Message):
        """The user pointed at a step (mouse click in the curve)."""

        panel: MetricPanel
        step: int

        @property
        def control(self) -> MetricPanel:
            return self.panel

    def __init__(self, label: str = "", *, plain_marks: bool = False, id: str | None = None, classes: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id, classes=classes)
        self.set_reactive(MetricPanel.label, label)
        self.set_reactive(MetricPanel.plain_marks, plain_marks)

    def step_at(self, x: int) -> int | None:
        """The step drawn in column `x` of the widget, None outside the curve."""
        return None

    def render_line(self, y: int) -> Strip:
        return Strip.blank(self.size.width)

    def on_click(self, event: events.Click) -> None:
        step = self.step_at(event.x)
        if step is not None:
            self.post_message(self.StepChosen(self, step))
