"""The widget under every text panel: lines in, and only the cells that changed are sent again."""

from __future__ import annotations

from typing import ClassVar

from rich.segment import Segment
from textual import events
from textual.geometry import Region, Size
from textual.strip import Strip
from textual.widget import Widget

from tuimon.panels.ink import INKS, Line, changed, fit, shown
from tuimon.panels.scene import Scene
from tuimon.panels.wire import redraw


class Sheet(Widget):
    """Shows `picture(...)` of the current scene.

    The toolkit resends a whole widget at every refresh, which is what makes a monitor expensive over ssh; a sheet
    compares its lines with those already on the screen and refreshes the differing cells.
    """

    COMPONENT_CLASSES: ClassVar[set[str]] = {f"ink--{ink}" for ink in INKS}

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self.scene = Scene()
        self._lines: list[Line] = []
        self._state: object = None
        self._fits: Size | None = None

    def picture(self, scene: Scene, width: int, height: int) -> list[Line]:
        """The lines to show in `width` x `height` cells; fewer lines leave the rest blank, more are not shown."""
        raise NotImplementedError

    def state(self, scene: Scene, width: int) -> object:
        """What of the scene the picture depends on: equal states are equal pictures. By default, all of it."""
        return scene

    def tell(self, scene: Scene) -> None:
        """Shows this scene."""
        self.scene = scene
        if self._fits is None:
            # Not painted yet; that takes the picture.
            return
        state = self.state(scene, self._fits.width)
        if state != self._state:
            self._state = state
            self.draw()

    def on_resize(self, event: events.Resize) -> None:
        if self._fit():
            self.refresh()

    def _fit(self) -> bool:
        """Takes the picture for a new size: the toolkit paints a resized widget before it tells it of its new size."""
        if self._fits == self.size:
            return False
        self._state = self.state(self.scene, self.size.width)
        self._lines = self._picture()
        return True

    def draw(self) -> None:
        """Takes the picture again and sends what differs."""
        before, self._lines = self._lines, self._picture()
        if not self.is_attached or not self._lines:
            return
        if len(before) != len(self._lines):
            self.refresh()
            return
        regions = [
            Region(x, y, width, 1)
            for y, (old, new) in enumerate(zip(before, self._lines, strict=True))
            for x, width in changed(old, new)
        ]
        if regions:
            redraw(self, regions)

    def render_line(self, y: int) -> Strip:
        self._fit()
        if not 0 <= y < len(self._lines):
            return Strip.blank(self.size.width, self.rich_style)
        style = self.get_component_rich_style
        return Strip([Segment(shown(span.text), style(f"ink--{span.ink}")) for span in self._lines[y]], self.size.width)

    def _picture(self) -> list[Line]:
        self._fits = self.size
        width, height = self.size
        if not width or not height:
            return []
        lines = self.picture(self.scene, width, height)[:height]
        lines.extend([()] * (height - len(lines)))
        return [fit(line, width) for line in lines]
