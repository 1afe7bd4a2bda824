"""`tuimon lab`: the threshold figure on a screen of its own, or over the monitor's."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.screen import ModalScreen

from tuimon.app.alone import AloneApp
from tuimon.app.bound import of_screen
from tuimon.panels.ink import Line
from tuimon.panels.keys import ALL, Keys
from tuimon.panels.lab.bench import PAGES, Bench, turned
from tuimon.panels.lab.figure import figure
from tuimon.panels.scene import Scene
from tuimon.panels.sheet import Sheet


class LabSheet(Sheet, can_focus=True):
    """The figure for the bench as it stands.

    Args:
        bench: the values to begin with.
        ascii_only: no character beyond ASCII.
        keys: all of them, as the user wants them.
    """

    def __init__(self, bench: Bench, ascii_only: bool, keys: Keys = ALL) -> None:
        super().__init__()
        self.bench = bench
        self._ascii = ascii_only
        self._keys = keys

    def picture(self, scene: Scene, width: int, height: int) -> list[Line]:
        return figure(self.bench, width, height, self._ascii, self._keys)

    def put(self, bench: Bench) -> None:
        """Shows another bench."""
        if bench != self.bench:
            self.bench = bench
            self.draw()


class LabScreen(ModalScreen[None]):
    """The figure as a screen. Arguments as those of LabSheet."""

    BINDINGS: ClassVar[list[BindingType]] = of_screen("lab")
    DEFAULT_CSS = "LabSheet { height: 1fr; }"

    def __init__(self, bench: Bench, ascii_only: bool = False, keys: Keys = ALL) -> None:
        super().__init__()
        self._first = bench
        self._sheet = LabSheet(bench, ascii_only, keys)

    def compose(self) -> ComposeResult:
        yield self._sheet

    def on_mount(self) -> None:
        self._sheet.focus()

    def action_leave(self) -> None:
        self.dismiss()

    def action_turn(self, name: str) -> None:
        self._sheet.put(turned(self._sheet.bench, name))

    def action_page(self, number: int) -> None:
        self._sheet.put(replace(self._sheet.bench, page=number - 1))

    def action_other(self, by: int) -> None:
        self._sheet.put(replace(self._sheet.bench, page=(self._sheet.bench.page + by) % len(PAGES)))

    def action_start_again(self) -> None:
        self._sheet.put(self._first)


class LabApp(AloneApp):
    """The figure alone."""

    def __init__(self, bench: Bench, theme: str = "dark", ascii_only: bool = False, keys: Keys = ALL) -> None:
        super().__init__(LabScreen(bench, ascii_only, keys), theme, keys)
