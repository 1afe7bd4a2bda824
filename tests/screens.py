"""Builders of scenes and screens, for the tests of panels and of the app."""

from __future__ import annotations

import math
import random
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

from textual.pilot import Pilot

from tuimon.app.messages import Arrived, StatusChanged
from tuimon.app.monitor_app import MonitorApp, Options
from tuimon.braille import Picture
from tuimon.follow import Status
from tuimon.monitor import Monitor
from tuimon.panels.desk import Desk
from tuimon.panels.ink import Line
from tuimon.panels.scene import Scene
from tuimon.panels.view import View
from tuimon.record import Batch, Mark

NAN, INF = math.nan, math.inf
START = 1.7e9
ONSET = 412
STEPS = 500
NOW = START + STEPS * 0.05 + 1
"""One second after the last record: nothing has stalled."""

Row = tuple[int, float | None, Mapping[str, float | None]]
LIVE = Status("live", "live")


def learning(steps: int = STEPS, extra: int = 0, first: int = 1) -> list[Row]:
    """A calm run of 20 steps a second with all four roles, validated every 50 steps, and `extra` more metrics."""
    noise = random.Random(1)
    rows: list[Row] = []
    for step in range(first, first + steps):
        loss = 2.3 * math.exp(-step / 200) + 0.2 + noise.gauss(0, 0.02)
        metrics: dict[str, float | None] = {"loss": loss, "grad_norm": abs(1 + noise.gauss(0, 0.1)), "lr": 3e-4}
        if step % 50 == 0:
            metrics["val_loss"] = loss + 0.1
        metrics.update({f"layer_{i}/norm": i + math.sin(step / 30 + i) for i in range(extra)})
        rows.append((step, START + step * 0.05, metrics))
    return rows


def broken(onset: int = ONSET, late_loss: int = 0, steps: int = STEPS) -> list[Row]:
    """The same run, whose gradient is NaN from `onset` on, and whose loss is `late_loss` steps later."""
    rows: list[Row] = []
    for step, time, metrics in learning(steps):
        bad = {"grad_norm": NAN} if step >= onset else {}
        bad |= {"loss": NAN} if step >= onset + late_loss else {}
        rows.append((step, time, {**metrics, **bad}))
    return rows


def growing(onset: int = 400) -> list[Row]:
    """A run whose loss and gradient grow from step to step."""
    rows: list[Row] = []
    for step, time, metrics in learning():
        by = 1.3 ** max(step - onset, 0)
        rows.append((step, time, {**metrics, **{n: (metrics[n] or 0) * by for n in ("loss", "grad_norm")}}))
    return rows


def flat(level: float = math.log(10)) -> list[Row]:
    """A run that says one tenth to each of ten classes, from first to last step."""
    noise = random.Random(3)
    return [
        (step, START + step * 0.05, {"loss": level + noise.gauss(0, 0.002), "grad_norm": 0.02 + noise.random() / 200})
        for step in range(1, STEPS + 1)
    ]


def batch(rows: Sequence[Row], name: str = "", **meta: object) -> Batch:
    """The rows as one read brings them, with a header where there is something to declare."""
    marks = (Mark(0, "header", {"run": name, "meta": meta}),) if name or meta else ()
    return Batch.from_rows(rows, marks=marks)


def scene_of(
    rows: Sequence[Row] = (), *, name: str = "", meta: Mapping[str, object] | None = None, **desk: Any
) -> Scene:
    """The scene after these records; keywords of the desk, and `ascii`, `status`, `age` and `behind` of the scene."""
    monitor = Monitor()
    if rows or name or meta:
        monitor.feed(batch(rows, name, **(meta or {})))
    own = {key: desk.pop(key) for key in ("ascii", "status", "age", "behind", "format") if key in desk}
    return Scene(
        snapshot=monitor.snapshot,
        columns=monitor.store.columns,
        desk=Desk(**desk),
        **{"status": LIVE, "name": "run.jsonl", **own},
    )


def view(**values: Any) -> View:
    return View(**values)


def text_of(line: Line) -> str:
    return "".join(span.text for span in line)


def texts(lines: Iterable[Line]) -> str:
    """Lines of a text panel as one string."""
    return "\n".join(text_of(line) for line in lines)


def picture_text(picture: Picture) -> str:
    return "\n".join(picture.rows)


class Screen:
    """A running app under test.

    Attributes:
        app: the app itself.
        pilot: presses its keys.
    """

    def __init__(self, app: MonitorApp, pilot: Pilot[None]) -> None:
        self.app = app
        self.pilot = pilot

    async def settle(self) -> None:
        """Waits until everything posted was handled, and draws what came of it."""
        await self.pilot.pause()
        self.app.show()
        await self.pilot.pause()

    async def bring(self, rows: Sequence[Row], name: str = "", **meta: object) -> None:
        """Records arrive, as the follower posts them."""
        self.app.post_message(Arrived(batch(rows, name, **meta)))
        await self.settle()

    async def tell(self, status: Status) -> None:
        self.app.post_message(StatusChanged(status))
        await self.settle()

    async def press(self, *keys: str) -> None:
        await self.pilot.press(*keys)
        await self.settle()

    async def click(self, x: int, y: int, times: int = 1) -> None:
        await self.pilot.click(offset=(x, y), times=times)
        await self.settle()

    async def resize(self, width: int, height: int) -> None:
        await self.pilot.resize_terminal(width, height)
        await self.settle()

    @property
    def lines(self) -> list[str]:
        """What stands on the terminal, line by line."""
        return [strip.text for strip in self.app.screen._compositor.render_strips()]

    @property
    def text(self) -> str:
        return "\n".join(self.lines)

    @property
    def header(self) -> str:
        return self.lines[0]

    @property
    def desk(self) -> Desk:
        return self.app.desk


@asynccontextmanager
async def screen(
    rows: Sequence[Row] = (), size: tuple[int, int] = (120, 40), *, now: float = NOW, **options: Any
) -> AsyncIterator[Screen]:
    """The app on a terminal of this size, after these records, with the clock standing at `now`."""
    app = MonitorApp(Options(**{"name": "run.jsonl", **options}), describe=lambda: "tuimon log", clock=lambda: now)
    async with app.run_test(size=size) as pilot:
        shown = Screen(app, pilot)
        if rows:
            # In this order, as a follower posts them: what was there before is not what comes.
            await shown.bring(rows)
            await shown.tell(LIVE)
        await shown.settle()
        yield shown
