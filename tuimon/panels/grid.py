"""The four panels in one place, each told its metric."""

from __future__ import annotations

from dataclasses import dataclass

from textual import events
from textual.app import ComposeResult
from textual.containers import Container
from textual.message import Message
from textual.reactive import var

from tuimon.panels.metric import MetricPanel
from tuimon.panels.scene import Scene

LABELS = {"loss": "loss", "val_loss": "val loss", "grad_norm": "grad norm", "lr": "lr"}


class PanelGrid(Container):
    """Loss, val loss, grad norm and lr in this order; the stylesheet places them by the size of the screen."""

    scene: var[Scene] = var(Scene)

    @dataclass
    class Wheeled(Message):
        """The user turned the wheel: `factor` times as many steps across, around `step` if he pointed at one."""

        factor: float
        step: int | None

    def compose(self) -> ComposeResult:
        for label in LABELS.values():
            yield MetricPanel(label)

    def watch_scene(self, scene: Scene) -> None:
        shown = scene.shown
        for place, panel in enumerate(self.query(MetricPanel)):
            name = shown[place] if place < len(shown) else None
            panel.plain_marks = scene.ascii
            panel.label = LABELS.get(name, name) if name else ""
            panel.column = scene.columns.get(name) if name else None
            panel.companion = scene.columns.get("val_loss") if name == "loss" else None
            panel.view = scene.view
            panel.snapshot = scene.snapshot

    def metric_of(self, panel: MetricPanel) -> str:
        """Name of the metric that a panel of this grid shows, empty for a blank one."""
        shown = self.scene.shown
        place = list(self.query(MetricPanel)).index(panel)
        return shown[place] if place < len(shown) else ""

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        self._wheel(event, 0.5)

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        self._wheel(event, 2.0)

    def _wheel(self, event: events.MouseEvent, factor: float) -> None:
        event.stop()
        panel = event.widget
        step = panel.step_at(event.screen_x - panel.region.x) if isinstance(panel, MetricPanel) else None
        self.post_message(self.Wheeled(factor, step))
