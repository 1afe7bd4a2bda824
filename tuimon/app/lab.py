"""`tuimon lab`: the threshold figure on a screen of its own, or over the monitor's."""

from __future__ import annotations

from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import ModalScreen

from tuimon.app.alone import AloneApp
from tuimon.panels.ink import Line
from tuimon.panels.lab.bench import Bench, pressed
from tuimon.panels.lab.figure import figure
from tuimon.panels.scene import Scene
from tuimon.panels.sheet import Sheet


class LabSheet(Sheet, can_focus=True):
    """The figure for the bench as it stands.

    Args:
        bench: the values to begin with.
        ascii_only: no character beyond ASCII.
    """

    def __init__(self, bench: Bench, ascii_only: bool) -> None:
        super().__init__()
        self.bench = self._first = bench
        self._ascii = ascii_only

    def picture(self, scene: Scene, width: int, height: int) -> list[Line]:
        return figure(self.bench, width, height, self._ascii)

    def on_key(self, event: events.Key) -> None:
        bench = self._first if event.key == "0" else pressed(self.bench, event.key)
        if bench is not self.bench:
            self.bench = bench
            event.stop()
            event.prevent_default()
            self.draw()


class LabScreen(ModalScreen[None]):
    """The figure as a screen; q and Esc go back to where it was opened from."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+c", "app.quit", show=False),
        Binding("q,escape", "leave", "back", show=False),
        Binding("tab,shift+tab", "ignore", show=False),
    ]
    DEFAULT_CSS = "LabSheet { height: 1fr; }"

    def __init__(self, bench: Bench, ascii_only: bool = False) -> None:
        super().__init__()
        self._sheet = LabSheet(bench, ascii_only)

    def compose(self) -> ComposeResult:
        yield self._sheet

    def on_mount(self) -> None:
        self._sheet.focus()

    def action_leave(self) -> None:
        self.dismiss()


class LabApp(AloneApp):
    """The figure alone."""

    def __init__(self, bench: Bench, theme: str = "dark", ascii_only: bool = False) -> None:
        super().__init__(LabScreen(bench, ascii_only), theme)
