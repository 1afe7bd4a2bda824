"""The widget under every panel: it knows its lines, and only the cells that changed are sent again."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import compress, count
from operator import ne

from rich.segment import Segment
from textual.geometry import Region, Size
from textual.strip import Strip
from textual.widget import Widget

from tuimon.braille import Picture


class Patched(Widget):
    """Draws `piece`s of a picture that `retake` takes.

    The toolkit resends a whole widget at every refresh, which is what makes a monitor expensive over ssh; a patched one
    compares its picture with the one that is on the screen, and sends the differing cells.

    Attributes:
        fits: the size that the picture was taken for, None before the first one.
    """

    fits: Size | None = None

    def retake(self, size: Size) -> None:
        """Takes the picture for this size."""
        raise NotImplementedError

    def piece(self, y: int, left: int, right: int) -> list[Segment]:
        """The cells from `left` up to `right` of a line of the picture."""
        raise NotImplementedError

    def send(self, regions: Sequence[Region]) -> None:
        """Has these cells sent again: with the frame that is being drawn, else as the toolkit does it."""
        if regions:
            wire = getattr(self.app, "wire", None)
            if wire is None or not wire.take(self, regions):
                self.refresh(*regions)

    def on_resize(self) -> None:
        if self._fit():
            self.refresh()

    def render_line(self, y: int) -> Strip:
        self._fit()
        return Strip(self.piece(y, 0, self.size.width))

    def _fit(self) -> bool:
        """Takes the picture for a new size: the toolkit paints a resized widget before it tells it of its new size."""
        size = self.size
        if self.fits == size:
            return False
        self.fits = size
        self.retake(size)
        return True


def changed_regions(before: Picture, after: Picture) -> list[Region] | None:
    """The pieces in which two pictures differ, or None when their sizes do.

    Pieces at most two cells apart are one: a cursor movement costs about as many bytes as two braille cells.
    """
    if len(before.rows) != len(after.rows) or (after.rows and len(before.rows[0]) != len(after.rows[0])):
        return None
    regions = []
    for y, (old, new, old_ink, new_ink) in enumerate(
        zip(before.rows, after.rows, before.inks, after.inks, strict=True)
    ):
        if old == new and old_ink == new_ink:
            continue
        cells = set(compress(count(), map(ne, old, new)))
        if old_ink != new_ink:
            cells.update(compress(count(), map(ne, old_ink, new_ink)))
        start = stop = -1
        for x in sorted(cells):
            if start >= 0 and x - stop > 2:
                regions.append(Region(start, y, stop - start, 1))
                start = -1
            start, stop = (x if start < 0 else start), x + 1
        regions.append(Region(start, y, stop - start, 1))
    return regions
