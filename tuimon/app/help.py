"""The help: every key of the table of keys, over the screen."""

from __future__ import annotations

from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.screen import ModalScreen

from tuimon.panels.ink import Line, Span, wrap
from tuimon.panels.keys import KEYS
from tuimon.panels.scene import Scene
from tuimon.panels.sheet import Sheet

CAP = 8
"""Cells for the longest cap."""

COLUMN = 58
"""Cells from which a second column of keys fits: the longest text is not cut there."""


def help_lines(width: int, height: int) -> list[Line]:
    """All keys in one column where they fit, else in two."""
    title: Line = (Span(" tuimon", "strong"), Span("  keys; any key closes this", "dim"))
    lines: list[Line] = [title, ()]
    texts = [(key.cap, key.text) for key in KEYS]
    legend = ("click: cursor, row or place of the strip    wheel: zoom",)
    if len(texts) + 4 <= height or width < 2 * 40:
        lines.extend(_entry(cap, text, width) for cap, text in texts)
    else:
        half = -(-len(texts) // 2)
        room = width // 2
        for place in range(half):
            right = texts[place + half : place + half + 1]
            lines.append((*_entry(*texts[place], room), *(_entry(*right[0], width - room) if right else ())))
    lines.extend([(), *((Span(f" {text}", "dim"),) for text in legend)])
    return lines


def _entry(cap: str, text: str, width: int) -> Line:
    room = max(width - CAP - 3, 1)
    first = wrap(text, room)[0]
    shown = text if len(text) <= room else first[: room - 1] + "…" if len(first) >= room else first + "…"
    return (Span(f" {cap:<{CAP}} ", "key"), Span(f"{shown:<{room}} "))


class HelpSheet(Sheet):
    """The keys."""

    def picture(self, scene: Scene, width: int, height: int) -> list[Line]:
        return help_lines(width, height)


class HelpScreen(ModalScreen[None]):
    """Closes at any key."""

    BINDINGS: ClassVar[list[BindingType]] = []

    def compose(self) -> ComposeResult:
        yield HelpSheet()

    def on_key(self, event: events.Key) -> None:
        event.stop()
        self.dismiss()

    def on_click(self) -> None:
        self.dismiss()
