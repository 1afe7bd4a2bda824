"""One metric over the whole screen, and more of them under it on the same steps."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.containers import Container

from tuimon.panels.grid import told_of
from tuimon.panels.metric import MetricPanel
from tuimon.panels.moves import MOST_UNDER
from tuimon.panels.scene import Scene


class LargePanel(Container):
    """The enlarged metric of the desk, with those under it.

    Several metrics are stacked and not laid over each other: a loss near 2 and a learning rate near 1e-4 have no axis
    in common, while the steps, the cursor and the onsets line up from panel to panel.
    """

    def __init__(self) -> None:
        super().__init__()
        self._panels = [MetricPanel() for _ in range(1 + MOST_UNDER)]

    def compose(self) -> ComposeResult:
        yield from self._panels

    def tell(self, scene: Scene) -> None:
        """Shows the enlarged metrics of this scene; nothing where none is."""
        if scene.desk.mode != "large":
            return
        names = scene.enlarged
        for place, panel in enumerate(self._panels):
            panel.display = place < len(names)
            if panel.display:
                panel.tell(told_of(scene, names[place]), scene.snapshot)
