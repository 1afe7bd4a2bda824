"""Fewer bytes on the wire: Textual's partial update, cropped on both sides.

The one place that leans on private parts of the toolkit; the byte budget in the tests guards it.
"""

from __future__ import annotations

import inspect
import re
from typing import TYPE_CHECKING, Any

from rich.control import Control

if TYPE_CHECKING:
    from rich.console import Console

_DEFAULT = re.compile("\x1b\\[(?:39;)?49m([^\x1b]*)\x1b\\[0m")
_DEFAULT_BACKGROUND = re.compile("(\x1b\\[[0-9;]*);49m")
_EXPECTED = ["self", "chops", "spans", "chop_ends"]


def trim_updates() -> bool:
    """Makes Textual send only the changed cells of a line, with as few colour changes as they need.

    Call it once, before the app runs. Textual's own update crops a changed span on the right only, so a changed last
    cell resends its whole line.

    Returns:
        True if it took hold; False, and nothing is changed, if this Textual is not built as expected.
    """
    try:
        from textual._compositor import ChopsUpdate
    except ImportError:
        return False
    if list(inspect.signature(ChopsUpdate.__init__).parameters) != _EXPECTED or not hasattr(
        ChopsUpdate, "render_segments"
    ):
        return False
    ChopsUpdate.render_segments = _render_segments  # type: ignore[method-assign,assignment]
    return True


def lean(sequences: str) -> str:
    """The same picture with fewer colour changes: pieces end in a reset, so the default colours need no saying."""
    return _DEFAULT_BACKGROUND.sub(r"\1m", _DEFAULT.sub(r"\1", sequences))


def _render_segments(update: Any, console: Console) -> str:
    """The escape sequences and text of a partial update: a cursor movement per changed span, then its cells."""
    out: list[str] = []
    for y, start, stop in update.spans:
        place: tuple[int, int] | None = None
        for end, (x, strip) in zip(update.chop_ends[y], update.chops[y].items(), strict=False):
            left, right = max(start, x), min(stop, end)
            if strip is None or left >= right:
                continue
            if place != (left, y):
                out.append(Control.move_to(left, y).segment.text)
            out.append(strip.crop(left - x, right - x).render(console))
            place = (right, y)
    return lean("".join(out))
