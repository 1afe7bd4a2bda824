"""What stands on a terminal after any sequence of partial updates is what a full redraw would put there."""

from __future__ import annotations

import io
import random
from collections.abc import Iterator

import pyte
import pytest
from rich.console import Console
from textual._compositor import ChopsUpdate

from tests.screens import LIVE, Row, Screen, broken, growing, learning, screen
from tuimon.follow import Status
from tuimon.panels import wire
from tuimon.panels.keys import KEYS

# Processes, threads and terminals of a busy machine: a second look before it counts.
pytestmark = pytest.mark.flaky(reruns=2)

LEAVING = {"q", "ctrl+c", "ctrl+q", "escape"}
"""Not pressed at random: they end the program; Esc is pressed on purpose."""

RUNS = {"learning": learning, "broken": broken, "growing": growing}


@pytest.fixture(autouse=True)
def trimmed() -> Iterator[None]:
    before = ChopsUpdate.render_segments
    assert wire.trim_updates()
    yield
    ChopsUpdate.render_segments = before


class Shadow:
    """A terminal emulator that gets every update of an app, and compares itself with a full redraw."""

    def __init__(self, shown: Screen) -> None:
        self._shown = shown
        self._console = Console(file=io.StringIO(), force_terminal=True, color_system="256", width=500)
        self._emulator = pyte.Screen(*shown.app.size)
        self._stream = pyte.Stream(self._emulator)
        display = shown.app._display

        def tap(of: object, update: object) -> None:
            if update is not None and not shown.app._batch_count:
                self._stream.feed(update.render_segments(self._console))  # type: ignore[attr-defined]
            display(of, update)

        shown.app._display = tap
        shown.app.screen.refresh()

    def resize(self, width: int, height: int) -> None:
        self._emulator.resize(height, width)

    def compare(self, after: str) -> None:
        truth = pyte.Screen(self._emulator.columns, self._emulator.lines)
        stack = self._shown.app.screen
        full = stack._compositor.render_full_update().render_segments(self._console)
        pyte.Stream(truth).feed(full)
        for y in range(truth.lines):
            there = [self._emulator.buffer[y][x] for x in range(truth.columns)]
            wanted = [truth.buffer[y][x] for x in range(truth.columns)]
            assert there == wanted, (
                f"line {y} after {after}:\n{''.join(c.data for c in there)}\n{''.join(c.data for c in wanted)}"
            )


async def wander(shown: Screen, rows: list[Row], steps: int, seed: int, every: int) -> None:
    """Random keys, records and sizes, compared with the truth after every few of them."""
    chance = random.Random(seed)
    keys = [name for key in KEYS for name in key.keys if name not in LEAVING and name != "slash"]
    shadow = Shadow(shown)
    await shown.settle()
    done: list[str] = []
    for number in range(steps):
        what = chance.random()
        if what < 0.25 and rows:
            count = chance.randint(1, 20)
            done.append(f"{count} records")
            await shown.bring([rows.pop(0) for _ in range(min(count, len(rows)))])
        elif what < 0.30:
            size = chance.choice([(120, 40), (80, 24), (200, 60), (40, 10), (101, 31), (60, 16)])
            done.append(f"size {size}")
            shadow.resize(*size)
            await shown.resize(*size)
        elif what < 0.34:
            done.append("status")
            await shown.tell(chance.choice([LIVE, Status("polling", "polling (nfs)"), Status("gone", "file gone")]))
        elif what < 0.42:
            done.append("escape")
            await shown.press("escape")
        else:
            done.append(chance.choice(keys))
            await shown.press(done[-1])
        if number % every == 0:
            shadow.compare(f"seed {seed}: {', '.join(done[-12:])}")


@pytest.mark.parametrize("name", RUNS)
async def test_partial_updates_leave_what_a_full_redraw_would(name: str) -> None:
    rows = RUNS[name]()
    async with screen(rows[:250]) as shown:
        await wander(shown, rows[250:], 30, seed=len(name), every=1)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(10))
async def test_ten_thousand_random_keys_leave_what_a_full_redraw_would(seed: int) -> None:
    rows = RUNS[list(RUNS)[seed % len(RUNS)]]()
    async with screen(rows[:50]) as shown:
        # Two thirds of the steps are keys.
        await wander(shown, rows[50:], 1600, seed, every=5)


@pytest.mark.parametrize(
    "keys",
    [
        ("question_mark",),
        ("x",),
        ("x", "t"),
        ("x", "b"),
        ("n",),
        ("o",),
        ("j", "enter"),
        ("tab", "enter", "m"),
        ("slash", "a"),
    ],
    ids="+".join,
)
async def test_nothing_stale_is_left_when_sizes_change_under_what_is_open(keys: tuple[str, ...]) -> None:
    async with screen(broken()) as shown:
        shadow = Shadow(shown)
        await shown.settle()
        await shown.press(*keys)
        for size in ((80, 24), (200, 60), (1, 1), (120, 40)):
            shadow.resize(*size)
            await shown.resize(*size)
            shadow.compare(f"{'+'.join(keys)} at {size}")
            await shown.press("j" if keys[0] != "slash" else "n")
            shadow.compare(f"{'+'.join(keys)} and j at {size}")
