"""The list of runs, over the monitor's screen."""

from __future__ import annotations

from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.message import Message
from textual.screen import ModalScreen

from tuimon.app.bound import of_screen
from tuimon.panels.ink import Line
from tuimon.panels.runs import FIRST_ROW, Shelf, runs_lines, window
from tuimon.panels.scene import Scene
from tuimon.panels.sheet import Sheet

PAGE, FAR = 10, 10**6
"""Runs that a page goes over, and that lead to an end of any list."""


class RunsSheet(Sheet, can_focus=True):
    """The list; the chosen run stays chosen while others come and go.

    Args:
        shelf: what to show.
        ascii_only: no character beyond ASCII.
    """

    class Taken(Message):
        """The chosen run is to be watched."""

    def __init__(self, shelf: Shelf, ascii_only: bool) -> None:
        super().__init__()
        self.shelf = shelf
        self.chosen = shelf.shown
        self._ascii = ascii_only

    def picture(self, scene: Scene, width: int, height: int) -> list[Line]:
        return runs_lines(self.shelf, self.chosen, width, height, self._ascii)

    def put(self, shelf: Shelf) -> None:
        """Shows another shelf."""
        self.shelf = shelf
        if self.chosen not in shelf.paths and shelf.paths:
            self.chosen = shelf.shown if shelf.shown in shelf.paths else shelf.paths[0]
        self.draw()

    def move(self, by: int) -> None:
        """Chooses the run so many lines further down, as far as there are any."""
        paths = self.shelf.paths
        if paths:
            place = paths.index(self.chosen) if self.chosen in paths else 0
            self.chosen = paths[max(0, min(place + by, len(paths) - 1))]
            self.draw()

    def on_click(self, event: events.Click) -> None:
        places = window(self.shelf, self.chosen, self.size.width, self.size.height)
        if 0 <= event.y - FIRST_ROW < len(places):
            self.chosen = self.shelf.paths[places[event.y - FIRST_ROW]]
            self.draw()
            if event.chain > 1:
                self.post_message(self.Taken())


class RunsScreen(ModalScreen[str]):
    """The list as a screen. It gives back the path of the run to watch, empty to stay with the present one.

    Args:
        shelf: what to show first.
        ascii_only: no character beyond ASCII.
    """

    BINDINGS: ClassVar[list[BindingType]] = of_screen("list of runs")
    DEFAULT_CSS = "RunsSheet { height: 1fr; }"

    def __init__(self, shelf: Shelf, ascii_only: bool = False) -> None:
        super().__init__()
        self._sheet = RunsSheet(shelf, ascii_only)

    def compose(self) -> ComposeResult:
        yield self._sheet

    def on_mount(self) -> None:
        self._sheet.focus()

    def put(self, shelf: Shelf) -> None:
        """Shows another shelf."""
        self._sheet.put(shelf)

    def action_leave(self) -> None:
        self.dismiss("")

    def action_move(self, by: int) -> None:
        self._sheet.move(by)

    def action_page(self, pages: int) -> None:
        self._sheet.move(pages * PAGE)

    def action_go(self, end: int) -> None:
        self._sheet.move(end * FAR)

    def action_take(self) -> None:
        chosen = self._sheet.chosen
        self.dismiss(chosen if chosen != self._sheet.shelf.shown else "")

    def on_runs_sheet_taken(self) -> None:
        self.action_take()
