"""What keys and mouse do: each maps the user's desk to the next one, or opens a screen over it."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

from textual import events
from textual.binding import BindingType
from textual.timer import Timer
from textual.widgets import Input

from tuimon.app.bound import keymap, of_monitor
from tuimon.app.drawing import DrawingApp
from tuimon.app.following import SAID, Place
from tuimon.app.help import HelpScreen
from tuimon.monitor import Monitor
from tuimon.panels import moves, rows
from tuimon.panels.desk import Desk
from tuimon.panels.grid import PanelGrid
from tuimon.panels.keys import Keys
from tuimon.panels.metric import MetricPanel
from tuimon.panels.records import RecordsView
from tuimon.panels.table import SymptomTable
from tuimon.panels.timeline import Timeline


class FilterLine(Input):
    """Where the word to look for is typed."""


class ActingApp(DrawingApp):
    """See the module.

    Args:
        place, fps: as DrawingApp takes them.
        keys: all of them, as the user wants them.
    """

    BINDINGS: ClassVar[list[BindingType]] = of_monitor()

    def __init__(self, place: Place | None, fps: float, keys: Keys) -> None:
        super().__init__(place, fps)
        self.monitor = Monitor()
        self.desk = Desk()
        self.keys = keys
        self._hushing: Timer | None = None
        self.set_keymap(keymap(keys))

    def lay(self, desk: Desk) -> None:
        """The user's side of the screen is `desk` from now on; what it says stands there for a few seconds."""
        self.desk = desk
        if self._hushing is not None:
            self._hushing.stop()
        self._hushing = self.set_timer(SAID, self._hush) if desk.said else None
        self.request_frame()

    def _hush(self) -> None:
        self.lay(replace(self.desk, said=""))

    def say(self, text: str) -> None:
        self.desk = replace(self.desk, said="")
        super().say(text)

    def action_move(self, name: str) -> None:
        if name == "back" and self.desk.typing:
            self._close_filter()
            self.lay(moves.filtered(self.current(), ""))
            return
        self.lay(moves.move(name, self.current()))

    def action_enter(self) -> None:
        panel = self.focused
        if self.desk.mode == "large":
            self.action_move("back")
        elif isinstance(panel, MetricPanel):
            metric = self.query_one(PanelGrid).metric_of(panel)
            if metric in self.monitor.store.columns:
                self.lay(replace(self.desk, mode="large", metric=metric, under=0))
            else:
                self.say("nothing to enlarge here yet")
        elif self.desk.mode == "autopsy":
            self.action_explain()
        else:
            self.action_move("toggle")

    def action_help(self) -> None:
        self.push_screen(HelpScreen(self.keys))

    def action_explain(self) -> None:
        scene = self.current()
        row = next((entry.row for entry in rows.entries(scene) if entry.chosen), None)
        if row is None:
            # The filter left no row; the table says how to clear it.
            return
        # Imported when it is opened: with the lab and the checklists behind it, it is a tenth of all that is loaded.
        from tuimon.app.explain import ExplainScreen

        store, file = self.monitor.store, self.taken.path
        self.push_screen(ExplainScreen(row, scene.snapshot, store, file=file, ascii_only=scene.ascii, keys=self.keys))

    def action_filter(self) -> None:
        self.screen.add_class("-filter")
        line = self.query_one(FilterLine)
        with line.prevent(Input.Changed):
            line.value = self.desk.pattern
        line.focus()
        self.lay(replace(self.desk, typing=True))

    def _close_filter(self) -> None:
        self._hide_filter()
        self.query_one(RecordsView if self.desk.mode == "autopsy" else SymptomTable).focus()

    def _hide_filter(self) -> None:
        self.screen_stack[0].remove_class("-filter")
        self.lay(replace(self.desk, typing=False))

    def on_descendant_blur(self, event: events.DescendantBlur) -> None:
        if isinstance(event.widget, FilterLine) and self.desk.typing and self.app_focus:
            self._hide_filter()

    def on_input_changed(self, event: Input.Changed) -> None:
        self.lay(moves.filtered(self.current(), event.value))

    def on_input_submitted(self) -> None:
        self._close_filter()

    def on_metric_panel_step_chosen(self, message: MetricPanel.StepChosen) -> None:
        self.lay(moves.at(self.current(), message.step))

    def on_timeline_step_chosen(self, message: Timeline.StepChosen) -> None:
        self.lay(moves.at(self.current(), message.step))

    def on_symptom_table_row_chosen(self, message: SymptomTable.RowChosen) -> None:
        self.desk = replace(self.desk, row=message.signature)
        self.lay(moves.toggled(self.current()) if message.opened else self.desk)

    def on_panel_grid_wheeled(self, message: PanelGrid.Wheeled) -> None:
        self.lay(moves.zoom(self.current(), message.factor, message.step))
