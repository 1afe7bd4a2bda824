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

    def __init__(self) -> None:
        super().__init__()
        self._panels = [MetricPanel(label) for label in LABELS.values()]
        self._told: list[object] = [None] * len(self._panels)

    def compose(self) -> ComposeResult:
        yield from self._panels

    def watch_scene(self, scene: Scene) -> None:
        if scene.desk.mode == "large":
            return
        shown = scene.shown
        for place, panel in enumerate(self._panels):
            name = shown[place] if place < len(shown) else ""
            column = scene.columns.get(name)
            companion = scene.columns.get("val_loss") if name == "loss" else None
            told = name, column, companion, scene.view, scene.ascii
            # A record changes none of these: setting each of them in every frame costs more than drawing the panel.
            if told != self._told[place]:
                self._told[place] = told
                panel.plain_marks = scene.ascii
                panel.label = LABELS.get(name, name)
                panel.column = column
                panel.companion = companion
                panel.view = scene.view
            panel.snapshot = scene.snapshot

    def metric_of(self, panel: MetricPanel) -> str:
        """Name of the metric that a panel of this grid shows, empty for a blank one."""
        shown = self.scene.shown
        place = self._panels.index(panel)
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
