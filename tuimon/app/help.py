"""The help: every key of the table of keys, over the screen."""

from __future__ import annotations

from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.screen import ModalScreen

from tuimon.panels.ink import Line, Span, fit, width_of, wrap
from tuimon.panels.keys import ALL, Keys
from tuimon.panels.scene import Scene
from tuimon.panels.sheet import Sheet

CAP = 6
"""Cells for a cap, "Space " and "S-Tab "; more where a key of the user's own is called something longer."""

LEGEND = "mouse: click a curve, the strip or a row; the wheel zooms"

TWO_COLUMNS = 76
"""Cells from which keys stand in two columns: under that, texts would wrap into more lines than they save."""


def help_pages(width: int, height: int, keys: Keys = ALL) -> list[list[Line]]:
    """The keys of the monitor's screen: in one column or two, where they fit, else on several pages; no text is cut."""
    room = max(height - 2, 1)
    keys = tuple(key for key in keys if key.action)
    single = [line for block in _blocks(keys, width) for line in block]
    rows = single
    if len(single) > room - 2 and width >= TWO_COLUMNS:
        rows = _two_columns(width, keys)
    if len(rows) + 2 <= room:
        rows = [*rows, (), (Span(f" {LEGEND}", "dim"),)]
    pages = [rows[start : start + room] for start in range(0, len(rows), room)]
    return [[_title(number, len(pages), width), (), *page] for number, page in enumerate(pages, 1)]


def _title(number: int, count: int, width: int) -> Line:
    more = "any key: next page" if number < count else "any key closes this"
    line = Span(" keys", "strong"), Span(f" {number} of {count}" if count > 1 else ""), Span(f"   {more}", "dim")
    return line if width_of(line) <= width else line[:2]


def _two_columns(width: int, keys: Keys) -> list[Line]:
    half = width // 2
    blocks = _blocks(keys, half)
    total = sum(map(len, blocks))
    left: list[Line] = []
    while blocks and 2 * len(left) < total:
        left.extend(blocks.pop(0))
    right = [line for block in blocks for line in block]
    return [
        (*fit(left[row], half), *(right[row] if row < len(right) else ())) for row in range(max(len(left), len(right)))
    ]


def _blocks(keys: Keys, width: int) -> list[list[Line]]:
    """The lines of each key."""
    room = max(CAP, *(len(key.cap) for key in keys))
    return [
        [
            (Span(f" {key.cap if number == 0 else '':<{room}} ", "key"), Span(piece))
            for number, piece in enumerate(wrap(key.text, max(width - room - 3, 8)))
        ]
        for key in keys
    ]


class HelpSheet(Sheet):
    """The keys, a page at a time."""

    def __init__(self, keys: Keys) -> None:
        super().__init__()
        self.page = 0
        self._keys = keys

    def picture(self, scene: Scene, width: int, height: int) -> list[Line]:
        pages = help_pages(width, height, self._keys)
        return pages[min(self.page, len(pages) - 1)]

    def turn(self) -> bool:
        """Shows the next page; False when there is none."""
        if self.page + 1 >= len(help_pages(*self.size, self._keys)):
            return False
        self.page += 1
        self.draw()
        return True


class HelpScreen(ModalScreen[None]):
    """Closes at any key once all pages were shown; Esc and what leaves the program close it at once."""

    BINDINGS: ClassVar[list[BindingType]] = []

    def __init__(self, keys: Keys = ALL) -> None:
        super().__init__()
        self._keys = keys
        self._leaving = {"escape", *(name for key in keys if key.name == "quit" for name in key.keys)}

    def compose(self) -> ComposeResult:
        yield HelpSheet(self._keys)

    def on_key(self, event: events.Key) -> None:
        event.stop()
        if not self.is_current:
            # Of keys typed at once the first has closed this; the others were meant for what lies under it.
            self.app.post_message(event)
        elif event.key in self._leaving or not self.query_one(HelpSheet).turn():
            self.dismiss()

    def on_click(self) -> None:
        self.dismiss()
