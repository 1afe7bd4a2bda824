"""The app: what arrives is shown, and every key does what the help says."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from screens import INF, NAN, NOW, ONSET, STEPS, Row, Screen, broken, learning, screen
from textual import events

from tuimon.app.acting import FilterLine
from tuimon.app.help import HelpScreen
from tuimon.app.messages import Arrived
from tuimon.app.taken import Taken
from tuimon.catalogue import BY_SIGNATURE
from tuimon.follow import Follower, Status
from tuimon.panels.keys import KEYS
from tuimon.panels.metric import MetricPanel
from tuimon.record import Batch
from tuimon.sources.jsonl import JsonLines
from tuimon.sources.tail import Tail

# Processes, threads and terminals of a busy machine: a second look before it counts.
pytestmark = pytest.mark.flaky(reruns=2)

# What arrives.


async def test_before_the_file_is_there_the_screen_says_what_it_waits_for() -> None:
    async with screen() as shown:
        await shown.tell(Status("waiting", "waiting for run.jsonl"))
        assert "NO DATA" in shown.header
        assert "waiting for run.jsonl" in shown.header
        assert "waiting for the first record" in shown.text


async def test_a_calm_run_lights_nothing() -> None:
    async with screen(learning()) as shown:
        assert "HEALTHY" in shown.header
        assert f"step {STEPS}" in shown.header
        assert shown.app.scene.snapshot.lit in {(), ("healthy",)}


async def test_a_nan_lights_its_row_first_and_open_with_its_step() -> None:
    async with screen(broken()) as shown:
        assert "NaN" in shown.header
        assert f"since step {ONSET}" in shown.header
        row = next(line for line in shown.lines if "nan-forward  " in line and "began" in line)
        assert row.startswith("›✗")
        assert f"began at step {ONSET}, {STEPS - ONSET} steps ago" in row
        assert BY_SIGNATURE["nan-forward"].checks[0].code.split()[0] in shown.text


async def test_the_verdict_follows_the_records_and_not_the_reads() -> None:
    rows = broken()
    async with screen() as shown:
        await shown.tell(Status("reading", "reading 34 %"))
        await shown.bring(rows[:300])
        assert "HEALTHY" in shown.header
        assert "reading 34 %" in shown.header
        for start in range(300, len(rows), 20):
            await shown.bring(rows[start : start + 20])
        assert f"since step {ONSET}" in shown.header


async def test_a_run_that_falls_silent_is_seen_by_the_clock_alone() -> None:
    async with screen(learning(), now=NOW + 3600) as shown:
        shown.app.glance()
        await shown.settle()
        assert "stalled-run" in shown.text
        assert "idle 60 min" in shown.header


async def test_a_status_that_needs_a_look_stands_in_the_header() -> None:
    async with screen(learning()) as shown:
        await shown.tell(Status("restarted", "file was truncated, earlier curve kept"))
        assert "file was truncated, earlier curve kept" in shown.header


async def test_ctrl_c_quits_from_inside_the_filter() -> None:
    async with screen(learning()) as shown:
        await shown.press("slash", "a")
        await shown.pilot.press("ctrl+c")
        await shown.pilot.pause()
        assert shown.app._exit


# Keys in combination.


async def test_leaving_lets_go_of_the_input_first_and_takes_in_nothing_more(tmp_path: Path) -> None:
    async with screen(learning()) as shown:
        follower = Follower(JsonLines(Tail(tmp_path / "none.jsonl")), lambda _: None)
        stopped: list[float] = []
        follower.stop = stopped.append  # type: ignore[method-assign,assignment]
        shown.app._follower = follower
        before = shown.app.generation
        shown.app.exit()
        assert stopped == [0.0]
        assert not shown.app.acknowledge(Arrived(Batch(), before))
        shown.app._follower = None


async def test_without_a_nan_n_says_so() -> None:
    async with screen(learning()) as shown:
        await shown.press("n")
        assert "No NaN in this run" in shown.text
        await shown.press("escape")
        assert "No NaN in this run" not in shown.text


async def test_a_gradient_that_breaks_first_is_told_as_the_backward_pass() -> None:
    async with screen(broken(late_loss=1)) as shown:
        await shown.press("n")
        assert "Gradient first, loss one step later: born in the backward pass." in shown.text


async def test_a_pause_holds_the_records_too() -> None:
    async with screen(learning()) as shown:
        await shown.press("n", "space")
        before = shown.lines[1:-1]
        await shown.bring([(STEPS + i, NOW + i, {"loss": 0.3, "grad_norm": 1.0}) for i in range(1, 9)])
        assert shown.lines[1:-1] == before


async def test_letters_typed_into_the_filter_are_no_commands() -> None:
    async with screen(learning(extra=12)) as shown:
        await shown.press("slash", *"layer_1")
        assert shown.desk.pattern == "layer_1"
        assert not shown.app._exit
        assert "layer_1/norm" in shown.text
        assert "layer_10/norm" in shown.text
        assert "layer_2/norm" not in shown.text
        await shown.press("enter", "escape")
        assert "grad norm" in shown.text
        assert not shown.app.query_one(FilterLine).display


async def test_a_filter_that_no_row_contains_says_how_to_clear_it() -> None:
    async with screen(learning()) as shown:
        await shown.press("slash", *"zzz")
        assert "no row contains zzz; Esc clears the filter" in shown.text


async def test_esc_while_typing_leaves_the_line_and_the_next_one_clears_the_filter() -> None:
    async with screen(learning()) as shown:
        await shown.press("slash", *"nan", "escape")
        assert not shown.app.query_one(FilterLine).display
        await shown.press("escape")
        assert not shown.desk.pattern


async def test_under_an_enlarged_metric_m_stacks_up_to_three_more() -> None:
    async with screen(learning(extra=2)) as shown:
        shown.app.query(MetricPanel).first().focus()
        await shown.press("enter")
        for names in (["loss", "val loss"], ["loss", "val loss", "grad norm"], ["loss", "val loss", "grad norm", "lr"]):
            await shown.press("m")
            for name in names:
                assert any(line.startswith(f"{name}  ") for line in shown.lines), name
        await shown.press("m")
        assert "grad norm" not in shown.text
        await shown.press("m", "left")
        assert shown.text.count("@4") >= 2, "the cursor stands in both"


@pytest.mark.parametrize("size", [(40, 10), (80, 24), (160, 50)])
async def test_an_enlarged_metric_fills_the_screen_at_every_size(size: tuple[int, int]) -> None:
    async with screen(learning(), size) as shown:
        shown.app.query(MetricPanel).first().focus()
        await shown.press("enter")
        panel = next(panel for panel in shown.app.query("LargePanel MetricPanel") if panel.display)
        assert panel.size.width == size[0]
        assert panel.size.height >= size[1] - 4


async def test_the_help_needs_no_cut_text_at_80_columns_and_turns_pages_on_a_tiny_screen() -> None:
    async with screen(learning(), (80, 24)) as shown:
        await shown.press("question_mark")
        assert "…" not in shown.text
        assert "closes" in shown.text
        await shown.press("space")
        await shown.resize(40, 10)
        await shown.press("question_mark")
        seen = shown.text
        for _ in range(20):
            if not isinstance(shown.app.screen, HelpScreen):
                break
            seen += shown.text
            await shown.press("space")
        assert not isinstance(shown.app.screen, HelpScreen)
        assert all(key.text.split()[-1] in seen for key in KEYS)


# The mouse.


def span(shown: Screen) -> int:
    low, high = shown.app.scene.window
    return high - low + 1


async def test_a_click_into_a_curve_puts_the_cursor_there_and_the_wheel_zooms_around_it() -> None:
    async with screen(learning()) as shown:
        panel = shown.app.query(MetricPanel).first()
        await shown.click(panel.region.x + 20, panel.region.y + 4)
        step = shown.desk.view.cursor
        assert step is not None
        assert step == panel.step_at(20)
        before = span(shown)
        there = (panel.region.x + 20, panel.region.y + 4)
        await shown.pilot._post_mouse_events([events.MouseScrollUp], offset=there, button=0)
        await shown.settle()
        assert span(shown) < before
        low, high = shown.app.scene.window
        assert low <= step <= high


async def test_a_click_chooses_a_row_and_a_second_one_opens_it() -> None:
    async with screen(learning()) as shown:
        y = next(y for y, line in enumerate(shown.lines) if "loss-spike  " in line)
        await shown.click(5, y)
        assert shown.desk.row == "loss-spike"
        y = next(y for y, line in enumerate(shown.lines) if "loss-spike  " in line)
        await shown.click(5, y, times=2)
        assert "loss-spike" in shown.desk.opened


async def test_a_click_on_the_strip_jumps_to_that_part_of_the_run() -> None:
    async with screen(learning()) as shown:
        y = next(
            y for y, line in enumerate(shown.lines) if line.count("─") > 80 and "┬" not in line and "└" not in line
        )
        await shown.click(60, y)
        assert 200 < (shown.desk.view.cursor or 0) < 300


# Sizes.


@pytest.mark.parametrize("size", [(40, 10), (80, 24), (120, 40), (200, 60)])
async def test_at_every_size_the_verdict_the_loss_and_the_way_out_are_seen(size: tuple[int, int]) -> None:
    async with screen(broken(), size) as shown:
        assert "NaN" in shown.header
        assert f"step {ONSET}" in shown.header
        assert "loss" in shown.lines[1]
        assert "nan-forward" in shown.text
        assert "q quit" in shown.lines[-1]
        assert [len(line) for line in shown.lines] == [size[0]] * size[1]


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (200, 60)])
async def test_where_there_is_room_all_four_panels_stand_on_the_same_steps(size: tuple[int, int]) -> None:
    async with screen(learning(), size) as shown:
        panels = list(shown.app.query(MetricPanel))[:4]
        assert all(panel.size.height >= 2 for panel in panels)
        await shown.press("home", *["right"] * 10)
        step = shown.desk.view.cursor
        assert shown.text.count(f"@{step}") >= 3


async def test_a_storm_of_sizes_down_to_one_cell_leaves_a_whole_picture() -> None:
    async with screen(broken()) as shown:
        before = shown.lines
        for mode in ("", "n"):
            if mode:
                await shown.press(mode)
            for size in ((1, 1), (40, 10), (2, 60), (200, 2), (80, 24), (17, 5), (200, 60), (120, 40)):
                await shown.resize(*size)
        await shown.press("escape")
        assert shown.lines == before


# What a log says is only ever text.

VICIOUS = "\x1b]0;owned\x07\x1b[31mred\x9b2J[bold]b[/bold]\u202etxt\r\n\x00\ud800"


async def test_names_from_the_log_cannot_move_the_cursor_or_colour_the_screen() -> None:
    rows = [(step, NOW + step, {"loss": 1.0 / step, VICIOUS: 1.0, f"{VICIOUS}2": NAN}) for step in range(1, 60)]
    async with screen(name=VICIOUS) as shown:
        await shown.tell(Status("trouble", VICIOUS))
        await shown.bring(rows, VICIOUS, total_steps=VICIOUS, optimizer=VICIOUS)
        for keys in ((), ("m",), ("n",), ("escape", "x"), ("q", "question_mark")):
            await shown.press(*keys)
            assert shown.text.replace("\n", "").isprintable()
            assert "\u202e" not in shown.text
            styles = {str(s.style) for strip in shown.app.screen._compositor.render_strips() for s in strip if s.style}
            assert not any("link" in style for style in styles)


async def test_markup_in_a_name_is_shown_as_it_is_written() -> None:
    async with screen() as shown:
        await shown.bring(learning(60), "[bold]b[/bold]")
        assert "[bold]b[/bold]" in shown.header


async def test_infinities_and_missing_values_are_drawn_and_nothing_falls() -> None:
    rows = [
        (1, None, {"loss": INF, "grad_norm": -INF, "lr": 0.0}),
        (2, None, {"loss": None, "val_loss": NAN}),
        (3, None, {"loss": -1e308, "lr": 1e308}),
        (3, None, {"loss": 1e308, "grad_norm": 0.0}),
        (1, None, {"loss": 5e-324}),
    ]
    async with screen(rows) as shown:
        for keys in ("y", "s", "v", "n", "left", "escape", "plus", "plus", "e", "r", "m", "tab", "enter", "m", "q"):
            await shown.press(keys)


async def test_ascii_draws_nothing_else() -> None:
    async with screen(broken(), ascii=True) as shown:
        for keys in ((), ("v", "s"), ("n",), ("escape",)):
            await shown.press(*keys)
            assert [c for c in "".join(shown.lines[:-1]) if not c.isascii() and c != "…"] == []


# Silence.


@pytest.mark.parametrize(
    ("now", "told"), [(NOW, "live"), (NOW + 200, "idle 3 min"), (NOW + 365 * 86400, "last record 365 days ago")]
)
async def test_at_once_and_not_at_the_next_look_at_the_clock_an_old_log_is_not_called_live(
    now: float, told: str
) -> None:
    async with screen(learning(), now=now) as shown:
        assert told in shown.header
        assert ("live" in shown.header) == (told == "live")


async def test_records_that_come_before_our_eyes_are_live_whatever_their_clock_says() -> None:
    async with screen(learning(), now=NOW + 7 * 3600) as shown:
        await shown.bring(learning(5, first=STEPS + 1))
        shown.app.glance()
        await shown.settle()
        assert "live" in shown.header
        assert "idle" not in shown.header
        assert "stalled-run" not in shown.app.scene.snapshot.lit


async def test_without_times_in_the_log_silence_counts_from_the_last_record_that_came() -> None:
    now = NOW
    untimed = [(step, None, metrics) for step, _, metrics in learning()]
    async with screen(untimed[:-1]) as shown:
        await shown.bring(untimed[-1:])
        shown.app._clock = lambda: now
        assert "live" in shown.header
        for _ in range(24):
            now += 10
            shown.app.glance()
        await shown.settle()
        assert "idle 3 min" in shown.header


async def test_after_a_suspended_machine_nothing_is_called_stalled_before_the_log_was_read() -> None:
    now = NOW
    async with screen(learning()) as shown:
        shown.app._clock = lambda: now
        shown.app.glance()
        now += 8 * 3600
        shown.app.glance()
        await shown.settle()
        assert "stalled-run" not in shown.app.scene.snapshot.lit
        assert "live" in shown.header
        now += 2
        shown.app.glance()
        await shown.settle()
        assert "stalled-run" in shown.app.scene.snapshot.lit, "nothing was written while we slept either"


async def test_leaving_waits_for_no_read_that_takes_long() -> None:
    waited: list[float] = []

    class Slow:
        def stop(self, timeout: float = 2.0) -> None:
            waited.append(timeout)

    async with screen(learning()) as shown:
        shown.app._follower = Slow()
    assert waited == [0.0]


@pytest.mark.parametrize("size", [(120, 40), (80, 24), (60, 16), (40, 10), (24, 6)])
async def test_an_ascii_screen_has_no_other_character(size: tuple[int, int]) -> None:
    async with screen(broken(), size, ascii=True) as shown:
        for key in ("n", "escape", "x", "j", "q", "o", "q", "question_mark", "escape", "y", "s", "v", "e", "m"):
            await shown.press(key)
            assert shown.text.isascii(), key


async def test_the_filter_line_shows_the_filter_that_is_there_and_a_click_elsewhere_closes_it() -> None:
    async with screen(learning()) as shown:
        await shown.press("slash", *"spike", "enter", "escape", "slash")
        assert "rows and metrics that contain" in shown.lines[-2]
        await shown.press(*"nan")
        panel = shown.app.query(MetricPanel).first()
        await shown.click(panel.region.x + 20, panel.region.y + 4)
        assert not shown.desk.typing
        assert shown.desk.pattern == "nan"
        assert "lr-too-high" not in shown.text
        assert shown.lines[-1].startswith(" Esc back  q quit")
        await shown.press("slash")
        assert shown.lines[-2].strip() == "nan"


async def test_two_answers_never_stand_side_by_side_and_none_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tuimon.app.acting.SAID", 0.05)
    async with screen(learning()) as shown:
        await shown.press("r", "c")
        assert "never went back" not in shown.header
        assert "no other loss" in shown.header
        await shown.press("r")
        for _ in range(100):
            if "never went back" not in shown.header:
                break
            await shown.pilot.pause(0.02)
            await shown.settle()
        assert "never went back" not in shown.header


async def test_a_log_without_times_is_as_old_as_its_file(tmp_path: Path) -> None:
    untimed: list[Row] = [(step, None, metrics) for step, _, metrics in learning()]
    (tmp_path / "run.csv").touch()
    os.utime(tmp_path / "run.csv", (NOW - 5 * 86400, NOW - 5 * 86400))
    async with screen() as shown:
        shown.app.taken = Taken(path=str(tmp_path / "run.csv"))
        await shown.bring(untimed)
        await shown.tell(Status("live", "live"))
        assert "last record 5 days ago" in shown.header
        shown.app.begin(other=False)
        await shown.bring(untimed)
        await shown.tell(Status("live", "live"))
        assert "last record 5 days ago" in shown.header
        await shown.bring(untimed[-1:])
        assert "  live" in shown.header
