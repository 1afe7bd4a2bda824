"""The four panels in one place, each told its metric."""

from __future__ import annotations

from dataclasses import dataclass

from textual import events
from textual.app import ComposeResult
from textual.containers import Container
from textual.message import Message

from tuimon.panels.metric import MetricPanel, Told
from tuimon.panels.scene import Scene

LABELS = {"loss": "loss", "val_loss": "val loss", "grad_norm": "grad norm", "lr": "lr"}


def told_of(scene: Scene, name: str) -> Told:
    """What the panel of the metric `name` is told."""
    companion = scene.columns.get("val_loss") if name == "loss" else None
    return Told(scene.columns.get(name), companion, scene.view, LABELS.get(name, name), scene.ascii)


class PanelGrid(Container):
    """Loss, val loss, grad norm and lr in this order; the stylesheet places them by the size of the screen."""

    @dataclass
    class Wheeled(Message):
        """The user turned the wheel: `factor` times as many steps across, around `step` if he pointed at one."""

        factor: float
        step: int | None

    def __init__(self) -> None:
        super().__init__()
        self._panels = [MetricPanel(label) for label in LABELS.values()]
        self._shown: tuple[str, ...] = ()

    def compose(self) -> ComposeResult:
        yield from self._panels

    def tell(self, scene: Scene) -> None:
        """Shows the metrics of this scene."""
        if scene.desk.mode == "large":
            return
        self._shown = scene.shown
        for panel in self._panels:
            name = self.metric_of(panel)
            panel.tell(told_of(scene, name), scene.snapshot)

    def metric_of(self, panel: MetricPanel) -> str:
        """Name of the metric that a panel of this grid shows, empty for a blank one."""
        place = self._panels.index(panel)
        return self._shown[place] if place < len(self._shown) else ""

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        self._wheel(event, 0.5)

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        self._wheel(event, 2.0)

    def _wheel(self, event: events.MouseEvent, factor: float) -> None:
        event.stop()
        panel = event.widget
        step = panel.step_at(event.screen_x - panel.region.x) if isinstance(panel, MetricPanel) else None
        self.post_message(self.Wheeled(factor, step))
