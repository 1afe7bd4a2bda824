"""Fewer bytes on the wire, and less work for them: changed cells go straight to the terminal.

The one place that leans on private parts of the toolkit; the byte budget in the tests guards it, and so does the
comparison of what partial updates leave with what a full redraw would.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Sequence
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

from rich.color import ColorSystem
from rich.control import Control
from rich.style import Style
from textual.errors import NoWidget
from textual.strip import Strip

if TYPE_CHECKING:
    from rich.console import Console
    from rich.segment import Segment
    from textual.app import App
    from textual.filter import LineFilter
    from textual.geometry import Region
    from textual.screen import Screen

    from tuimon.panels.patched import Patched

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


Piece = tuple[int, int, "list[Segment]"]
"""Cells with the place of the first on the terminal: x, y, from 0."""


class Wire:
    """The cells that change in one frame, sent as one piece when it ends: `with wire: ...`.

    The toolkit would take two messages per widget, a timer and a walk over the whole layout to come to the same cells;
    that is more work than all the rest of a frame.

    Args:
        app: whose terminal it is.
    """

    def __init__(self, app: App[Any]) -> None:
        self._app = app
        self._screen: Screen[Any] | None = None
        self._filters: Sequence[LineFilter] = ()
        self._pieces: list[Piece] = []

    def __enter__(self) -> None:
        self._screen = self._app.screen
        self._filters = self._app.get_line_filters()

    def __exit__(self, *_: object) -> None:
        screen, self._screen = self._screen, None
        if self._pieces and screen is not None:
            pieces, self._pieces = self._pieces, []
            self._app._display(screen, _patch_class()(pieces))  # noqa: SLF001

    def take(self, widget: Patched, regions: Sequence[Region]) -> bool:
        """Sends these cells of the widget with the frame; False if the toolkit has to do it."""
        if self._screen is None:
            return False
        try:
            place = self._screen.find_widget(widget)
        except NoWidget:
            # Under another screen the toolkit would send all of that one again; this one is drawn when it comes back.
            covered = widget.is_attached and widget.screen is not self._screen
            if covered:
                widget._styles_cache.set_dirty(*regions)  # noqa: SLF001
            return covered
        # Borders and padding would need the toolkit's own rendering; a part out of sight, its clipping.
        if place.region.size != widget.fits or place.visible_region != place.region:
            return False
        for x, y, width, _ in regions:
            segments = widget.piece(y, x, x + width)
            for each in self._filters:
                segments = each.apply(segments, widget.background_colors[1])
            self._pieces.append((place.region.x + x, place.region.y + y, segments))
        # What the toolkit keeps of these lines is no longer what stands there.
        widget._styles_cache.set_dirty(*regions)  # noqa: SLF001
        return True


@cache
def _patch_class() -> type:
    from textual._compositor import CompositorUpdate

    class Patch(CompositorUpdate):
        """Pieces, as the toolkit takes them."""

        def __init__(self, pieces: list[Piece]) -> None:
            self.pieces = pieces

        def render_segments(self, console: Console) -> str:
            colors = console._color_system or ColorSystem.TRUECOLOR  # noqa: SLF001
            out: list[str] = []
            for x, y, segments in self.pieces:
                out.append(f"\x1b[{y + 1};{x + 1}H")
                for text, style, _ in segments:
                    before, after = around(style, colors) if style else ("", "")
                    out.append(f"{before}{text}{after}")
            return "".join(out)

    return Patch


@lru_cache(maxsize=256)
def around(style: Style, colors: ColorSystem) -> tuple[str, str]:
    """What stands before and behind a text of this style; every frame uses the same few."""
    before, _, after = lean(Strip.render_style(style, "x", colors)).rpartition("x")
    return before, after
