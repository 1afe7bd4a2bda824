"""What a frame costs on the wire, and that fewer bytes make the same picture."""

from __future__ import annotations

import io
import re
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager

import pyte
import pytest
from rich.console import Console
from textual._compositor import ChopsUpdate

from tests.screens import Screen, learning, screen
from tuimon.panels import wire


@pytest.fixture(autouse=True)
def trimmed() -> Iterator[None]:
    """The toolkit as `tuimon watch` runs it, and as it was afterwards."""
    before = ChopsUpdate.render_segments
    assert wire.trim_updates()
    yield
    ChopsUpdate.render_segments = before


def terminal(color: str = "256") -> Console:
    return Console(file=io.StringIO(), force_terminal=True, color_system=color, width=500, legacy_windows=False)


class Wire:
    """The sequences that the app would have written, frame by frame."""

    def __init__(self) -> None:
        self.frames: list[str] = []

    @property
    def bytes(self) -> int:
        return sum(len(frame.encode()) for frame in self.frames)


@asynccontextmanager
async def tapped(size: tuple[int, int], steps: int) -> AsyncIterator[tuple[Screen, Wire]]:
    """A learning run on the screen, from then on every update rendered for a terminal of 256 colours."""
    console, sent = terminal(), Wire()
    async with screen(learning(steps), size) as shown:
        display = shown.app._display

        def tap(of: object, update: object) -> None:
            if update is not None and hasattr(update, "render_segments") and not shown.app._batch_count:
                sent.frames.append(update.render_segments(console))
            display(of, update)

        shown.app._display = tap
        yield shown, sent


@pytest.mark.parametrize(("size", "budget"), [((120, 40), 75), ((200, 60), 150)])
async def test_an_appended_record_costs_no_more_than_its_budget(size: tuple[int, int], budget: int) -> None:
    """At 20 steps a second, 75 bytes are 1.5 KB/s."""
    appended = 100
    rows = learning(2000 + appended)
    async with tapped(size, 2000) as (shown, sent):
        for row in rows[2000:]:
            await shown.bring([row])
        assert sent.bytes / appended <= budget
        assert len(sent.frames) >= appended / 2, "the tap has missed the updates"


async def test_nothing_is_sent_while_nothing_changes() -> None:
    async with tapped((120, 40), 300) as (shown, sent):
        for _ in range(5):
            shown.app.glance()
            await shown.settle()
        assert sent.bytes == 0


async def test_a_key_without_effect_sends_nothing() -> None:
    async with tapped((120, 40), 300) as (shown, sent):
        await shown.press("end", "up")
        assert sent.bytes == 0


def shown_by(sequences: str, size: tuple[int, int]) -> list[list[tuple[object, ...]]]:
    """Every cell of a terminal that got these sequences."""
    emulator = pyte.Screen(*size)
    pyte.Stream(emulator).feed(sequences)
    return [[tuple(emulator.buffer[y][x]) for x in range(size[0])] for y in range(size[1])]


@pytest.mark.parametrize("color", ["256", "standard", "truecolor"])
async def test_lean_sequences_draw_the_same_picture(color: str, monkeypatch: pytest.MonkeyPatch) -> None:
    size, console = (120, 40), terminal(color)
    async with screen(learning(), size) as shown:
        compositor = shown.app.screen._compositor
        lines = list(range(size[1]))
        chops = compositor._render_chops(compositor.size.region, lambda _: True)
        ends = [cuts[1:] for cuts in compositor.cuts]
        whole = ChopsUpdate(chops, [(y, 0, size[0]) for y in lines], ends)
        lean = whole.render_segments(console)
        monkeypatch.setattr(wire, "lean", lambda sequences: sequences)
        plain = whole.render_segments(console)
    assert len(lean) < len(plain)
    assert shown_by(lean, size) == shown_by(plain, size)


async def test_a_span_sends_its_cells_and_no_others() -> None:
    async with screen(learning(), (120, 40)) as shown:
        compositor = shown.app.screen._compositor
        chops = compositor._render_chops(compositor.size.region, lambda _: True)
        ends = [cuts[1:] for cuts in compositor.cuts]
        console, size = terminal(), (120, 40)
        whole = shown_by(ChopsUpdate(chops, [(3, 0, 120)], ends).render_segments(console), size)
        piece = shown_by(ChopsUpdate(chops, [(3, 5, 70)], ends).render_segments(console), size)
    blank = shown_by("", size)
    assert piece[3][5:70] == whole[3][5:70]
    assert piece[3][:5] == blank[3][:5] and piece[3][70:] == blank[3][70:]


def test_another_toolkit_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    def other(self: ChopsUpdate, chops: object, spans: object) -> None: ...

    untouched = object()
    monkeypatch.setattr(ChopsUpdate, "__init__", other)
    monkeypatch.setattr(ChopsUpdate, "render_segments", untouched)
    assert not wire.trim_updates()
    assert ChopsUpdate.render_segments is untouched


async def test_a_frame_of_a_live_run_is_one_piece_that_the_toolkit_had_no_part_in() -> None:
    async with tapped((120, 40), 300) as (shown, sent):
        whole: list[object] = []
        render = shown.app.screen._compositor.render_update
        shown.app.screen._compositor.render_update = lambda **how: whole.append(how) or render(**how)
        await shown.bring(learning(1, first=301))
        assert len(sent.frames) == 1
        assert not whole


async def test_under_another_screen_no_cell_is_sent() -> None:
    async with tapped((120, 40), 300) as (shown, sent):
        await shown.press("question_mark")
        sent.frames.clear()
        await shown.bring(learning(1, first=301))
        assert sent.bytes == 0
        await shown.press("escape")
        assert "step 301" in shown.header


async def test_without_colours_the_changed_cells_have_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    async with tapped((120, 40), 300) as (shown, sent):
        await shown.bring(learning(20, first=301))
        assert sent.frames
        assert not re.search(r"\x1b\[[0-9;]*(?:3[0-7]|4[0-7]|9[0-7]|38|48)[;m]", "".join(sent.frames))
