"""The last line: the keys that fit, the most needed ones first."""

from __future__ import annotations

from rich.cells import cell_len

from tuimon.panels.desk import Desk
from tuimon.panels.ink import Line, Span, width_of
from tuimon.panels.scene import Scene
from tuimon.panels.sheet import Sheet

ENTER = {"large": "close", "autopsy": "explain"}
"""What Enter does while something is open; else its own word stands."""

TYPING = "Enter keep this filter  Esc no filter"
"""The keys while a filter is typed: all others are letters of it."""


class Footer(Sheet):
    """Caps and words of the table of keys."""

    def state(self, scene: Scene, width: int) -> object:
        return scene.desk.mode, scene.desk.typing, is_open(scene.desk)

    def picture(self, scene: Scene, width: int, height: int) -> list[Line]:
        return [footer_line(scene, width)]


def is_open(desk: Desk) -> bool:
    """Something is open that Esc closes."""
    return desk.mode != "run" or bool(desk.pattern) or desk.page > 0


def footer_line(scene: Scene, width: int) -> Line:
    """As many keys as fit into `width` cells, by one of their names; with something open, Esc stands first."""
    if scene.desk.typing:
        return (Span(f" {hints(TYPING, width - 1)}", "key"),)
    opened = is_open(scene.desk)
    keys = sorted((key for key in scene.keys if key.word), key=lambda key: key.rank)
    if opened:
        keys.sort(key=lambda key: "escape" not in key.keys)
    line: list[Span] = []
    for key in keys:
        if "escape" in key.keys and not opened:
            continue
        word = ENTER.get(scene.desk.mode, key.word) if key.name == "open" else key.word
        spans = (Span(" " if not line else "  "), Span(key.cap.partition(" ")[0], "key"), Span(f" {word}", "dim"))
        if width_of(line) + width_of(spans) <= width:
            line.extend(spans)
    return tuple(line)


def hints(keys: str, width: int) -> str:
    """Of "a this  b that  q back" the pieces that fit into `width` cells; the last one, which leads out, always."""
    *first, last = keys.split("  ")
    kept: list[str] = []
    for piece in first:
        if cell_len("  ".join([*kept, piece, last])) > width:
            break
        kept.append(piece)
    return "  ".join([*kept, last])
