"""The picture that stands on the terminal while the toolkit loads."""

from __future__ import annotations

import subprocess
import sys

import pyte
import pytest

from tests.screens import batch, learning, screen
from tuimon.panels.metric import MetricPanel
from tuimon.panels.preview import first_picture, places
from tuimon.store import Store

# Processes, threads and terminals of a busy machine: a second look before it counts.
pytestmark = pytest.mark.flaky(reruns=2)


def store(steps: int = 500) -> Store:
    made = Store()
    made.append(batch(learning(steps)))
    return made


def shown(sequences: str, width: int, height: int) -> list[str]:
    emulator = pyte.Screen(width, height)
    pyte.Stream(emulator).feed(sequences.replace("\x1b[?1049h", ""))
    return [line.rstrip() for line in emulator.display]


@pytest.mark.parametrize("size", [(120, 40), (160, 50), (80, 24), (40, 10), (100, 30), (121, 41), (143, 33)])
async def test_the_panels_stand_where_the_screen_will_put_them(size: tuple[int, int]) -> None:
    async with screen(learning(), size) as later:
        panels = [panel.region for panel in later.app.query(MetricPanel) if panel.region and panel.display]
        wanted = [(r.x, r.y, r.width, r.height) for r in panels]
    assert [tuple(place) for place in places(*size)] == wanted[: len(places(*size))]


async def test_samples_that_are_the_whole_run_give_the_panels_of_the_screen() -> None:
    async with screen(learning(), (120, 40)) as later:
        wanted = [line.rstrip() for line in later.lines]
    lines = shown(first_picture(store(), "run.jsonl", 120, 40), 120, 40)
    assert "step 500" in lines[0] and "reading" in lines[0]
    assert lines[1:19] == wanted[1:19]


def test_without_colour_there_is_none_and_in_ascii_nothing_else() -> None:
    plain = first_picture(store(), "run.jsonl", 100, 30, plain=True, colours=None)
    assert plain.isascii()
    assert "\x1b[36m" not in plain and "\x1b[0m" not in plain


@pytest.mark.parametrize("size", [(1, 1), (2, 60), (5, 3), (300, 100)])
def test_any_size_is_drawn_inside_the_terminal(size: tuple[int, int]) -> None:
    assert len(shown(first_picture(store(), "run.jsonl", *size), *size)) == size[1]


def test_it_needs_no_toolkit() -> None:
    code = (
        "import sys, tuimon.commands.watch, tuimon.panels.preview, tuimon.sources.samples;"
        "print([name for name in ('textual', 'rich', 'asyncio', 'plotext', 'numpy') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
