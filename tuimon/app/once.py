"""One picture of the screen, without a terminal to draw on."""

from __future__ import annotations

import shutil

from rich.console import Console

from tuimon.app.monitor_app import MonitorApp, Options
from tuimon.follow import Status
from tuimon.monitor import Monitor
from tuimon.panels.wire import lean


async def picture(options: Options, monitor: Monitor, described: str, *, color: bool) -> str:
    """The screen of a run that has been read, as lines of text, with colours if `color`."""
    size = shutil.get_terminal_size((120, 40))
    app = MonitorApp(options, describe=lambda: described)
    app.take_over(monitor, Status("stopped", "read to the end"))
    async with app.run_test(size=(size.columns, size.lines - 1)) as pilot:
        await pilot.pause()
        strips = app.screen._compositor.render_strips()  # noqa: SLF001 - the toolkit has no public way to its lines
    if not color:
        return "".join(f"{strip.text.rstrip()}\n" for strip in strips)
    console = Console(force_terminal=True, color_system="256")
    return "".join(f"{lean(strip.render(console))}\n" for strip in strips)
