"""One metric over the whole screen."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.containers import Container
from textual.reactive import var

from tuimon.panels.grid import LABELS
from tuimon.panels.metric import MetricPanel
from tuimon.panels.scene import Scene


class LargePanel(Container):
    """The enlarged metric of the desk."""

    scene: var[Scene] = var(Scene)

    def compose(self) -> ComposeResult:
        yield MetricPanel()

    def watch_scene(self, scene: Scene) -> None:
        if scene.desk.mode != "large":
            return
        for panel in self.query(MetricPanel):
            name = scene.desk.metric
            panel.plain_marks = scene.ascii
            panel.label = LABELS.get(name, name)
            panel.column = scene.columns.get(name)
            panel.companion = scene.columns.get("val_loss") if name == "loss" else None
            panel.view = scene.view
            panel.snapshot = scene.snapshot
