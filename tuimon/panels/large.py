"""One metric over the whole screen, and more of them under it on the same steps."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.containers import Container
from textual.reactive import var

from tuimon.panels.grid import LABELS
from tuimon.panels.metric import MetricPanel
from tuimon.panels.moves import MOST_UNDER
from tuimon.panels.scene import Scene


class LargePanel(Container):
    """The enlarged metric of the desk, with those under it.

    Several metrics are stacked and not laid over each other: a loss near 2 and a learning rate near 1e-4 have no axis
    in common, while the steps, the cursor and the onsets line up from panel to panel.
    """

    scene: var[Scene] = var(Scene)

    def compose(self) -> ComposeResult:
        for _ in range(1 + MOST_UNDER):
            yield MetricPanel()

    def watch_scene(self, scene: Scene) -> None:
        names = scene.enlarged if scene.desk.mode == "large" else ()
        for place, panel in enumerate(self.query(MetricPanel)):
            panel.display = place < len(names)
            if not panel.display:
                continue
            name = names[place]
            panel.plain_marks = scene.ascii
            panel.label = LABELS.get(name, name)
            panel.column = scene.columns.get(name)
            panel.companion = scene.columns.get("val_loss") if name == "loss" else None
            panel.view = scene.view
            panel.snapshot = scene.snapshot
