"""The widget under every text panel: lines of spans."""

from __future__ import annotations

from typing import ClassVar

from rich.segment import Segment
from textual.geometry import Region, Size

from tuimon.panels.ink import CUT, CUT_IN_ASCII, INKS, Line, Span, cells_of, changed, fit, shown
from tuimon.panels.patched import Patched
from tuimon.panels.scene import Scene


class Sheet(Patched):
    """Shows `picture(...)` of the current scene."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {f"ink--{ink}" for ink in INKS}

    _ascii = False
    """Nothing beyond ASCII is drawn, whatever the scene says: a sheet over the screen has none."""

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self.scene = Scene()
        self._lines: list[Line] = []
        self._state: object = None

    def picture(self, scene: Scene, width: int, height: int) -> list[Line]:
        """The lines to show in `width` x `height` cells; fewer lines leave the rest blank, more are not shown."""
        raise NotImplementedError

    def state(self, scene: Scene, width: int) -> object:
        """What of the scene the picture depends on: equal states are equal pictures. By default, all of it."""
        return scene

    def tell(self, scene: Scene) -> None:
        """Shows this scene."""
        self.scene = scene
        if self.fits is None:
            # Not painted yet; that takes the picture.
            return
        state = self.state(scene, self.fits.width)
        if state != self._state:
            self._state = state
            self.draw()

    def retake(self, size: Size) -> None:
        """See `Patched.retake`."""
        self._state = self.state(self.scene, size.width)
        self._lines = self._picture(size)

    def draw(self) -> None:
        """Takes the picture again and sends what differs."""
        if self.fits is None:
            return
        before, self._lines = self._lines, self._picture(self.fits)
        if len(before) != len(self._lines):
            self.refresh()
            return
        self.send(
            [
                Region(x, y, width, 1)
                for y, (old, new) in enumerate(zip(before, self._lines, strict=True))
                for x, width in changed(old, new)
            ]
        )

    def piece(self, y: int, left: int, right: int) -> list[Segment]:
        """See `Patched.piece`."""
        if not 0 <= y < len(self._lines):
            return [Segment(" " * (right - left), self.rich_style)]
        style = self.get_component_rich_style
        segments = []
        start = 0
        for text, ink in self._lines[y]:
            stop = start + cells_of(text)
            if stop > left and start < right:
                segment = Segment(shown(text), style(f"ink--{ink}"))
                if stop > right:
                    segment, _ = segment.split_cells(right - start)
                if start < left:
                    _, segment = segment.split_cells(left - start)
                segments.append(segment)
            start = stop
        return segments

    def _picture(self, size: Size) -> list[Line]:
        width, height = size
        if not width or not height:
            return []
        lines = self.picture(self.scene, width, height)[:height]
        lines.extend([()] * (height - len(lines)))
        fitted = [fit(line, width) for line in lines]
        if self._ascii or self.scene.ascii:
            return [tuple(Span(span.text.replace(CUT, CUT_IN_ASCII), span.ink) for span in line) for line in fitted]
        return fitted
