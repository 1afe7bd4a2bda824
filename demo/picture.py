"""Takes the README's picture of the screen again: `python -m demo.picture` writes demo/screen.svg.

The picture is the real screen at 120x36 on the demo run nan-forward, 88 steps after its loss has gone NaN.
"""

from __future__ import annotations

import asyncio
import re
import tempfile
from pathlib import Path

from tuimon.app.monitor_app import MonitorApp, Options
from tuimon.commands.diagnose import read_whole
from tuimon.demo import RUNS
from tuimon.demo.script import SECONDS_PER_STEP, STARTED, Script
from tuimon.follow import Status

NAME = "nan-forward"
RECORDS = 701
SIZE = (120, 36)
TARGET = Path(__file__).with_name("screen.svg")


async def picture() -> str:
    """The SVG."""
    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / f"{NAME}.jsonl"
        time = STARTED
        script = Script(RUNS[NAME], path, lambda: time)
        for number in range(RECORDS):
            time = STARTED + number * SECONDS_PER_STEP
            script.advance()
        script.close()
        monitor, _ = read_whole(str(path))
    app = MonitorApp(Options(name=f"{NAME}.jsonl"), describe=lambda: "tuimon log", clock=lambda: time)
    app.take_over(monitor, Status("live", "live"))
    async with app.run_test(size=SIZE) as pilot:
        await pilot.pause()
        drawn = app.export_screenshot(title=f"tuimon watch {NAME}.jsonl")
    # The toolkit's template fetches a font from elsewhere; any monospaced one will do.
    return re.sub(r"@font-face \{.*?\}", "", drawn, flags=re.DOTALL)


if __name__ == "__main__":
    TARGET.write_text(asyncio.run(picture()), encoding="utf-8")
