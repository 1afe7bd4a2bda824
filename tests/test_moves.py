"""Keys as functions from the scene to the next desk."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from screens import ONSET, STEPS, broken, learning, scene_of, text_of, view

from tuimon.panels.desk import Desk
from tuimon.panels.header import header_line
from tuimon.panels.moves import CLOSE_UP, MOVES, at, filtered, move, zoom
from tuimon.panels.scene import Scene
from tuimon.panels.view import View

BROKEN = scene_of(broken())
WIDE = scene_of(learning(extra=6))
EMPTY = scene_of()


def after(scene: Scene, *names: str) -> Scene:
    for name in names:
        scene = replace(scene, desk=move(name, scene))
    return scene


@settings(max_examples=150, deadline=None)
@given(st.lists(st.sampled_from(sorted(MOVES)), max_size=14), st.sampled_from([BROKEN, WIDE, EMPTY]))
def test_any_keys_in_any_order_leave_a_window_within_the_run_and_a_cursor_on_it(names: list[str], scene: Scene) -> None:
    scene = after(scene, *names)
    low, high = scene.window
    assert low <= high
    assert scene.view.cursor is None or scene.first <= scene.view.cursor <= scene.last
    assert 0 <= scene.desk.page < len(scene.pages)
    if scene.view.cursor is not None and names[-1] in {"left", "right", "home", "rewind"}:
        assert low <= scene.view.cursor <= high


@given(st.lists(st.sampled_from(sorted(MOVES)), max_size=10))
@settings(max_examples=100, deadline=None)
def test_esc_often_enough_leads_back_to_the_beginning(names: list[str]) -> None:
    scene = after(BROKEN, *names)
    if scene.desk.paused:
        scene = after(scene, "pause")
    scene = after(scene, *["back"] * 6)
    desk = scene.desk
    assert (desk.mode, desk.page, desk.pattern, desk.view.cursor) == ("run", 0, "", None)
    assert scene.window == (1, STEPS)


def test_a_step_outside_the_window_moves_the_window() -> None:
    scene = scene_of(learning(), view=view(low=300, high=400))
    desk = at(scene, 50)
    assert desk.view.cursor == 50
    assert desk.view.window(1, STEPS)[0] <= 50 <= desk.view.window(1, STEPS)[1]
    assert at(scene, 350).view.low == 300
    assert at(scene, 10**9).view.cursor == STEPS
    assert at(scene, -5).view.cursor == 1


def test_the_cursor_goes_a_cell_at_a_time_and_a_step_at_a_time_when_zoomed() -> None:
    assert after(WIDE, "home", "right").view.cursor == 1 + (STEPS - 1) // 60
    near = scene_of(learning(), view=view(low=100, high=130, cursor=110))
    assert after(near, "right").view.cursor == 111
    assert after(near, "left", "left").view.cursor == 108


def test_zooming_in_and_out_again_is_the_whole_run() -> None:
    assert after(WIDE, "zoom_in", "zoom_in", "zoom_out", "zoom_out").view == View()
    for _ in range(20):
        zoomed = after(WIDE, *["zoom_in"] * 20)
    low, high = zoomed.window
    assert high - low + 1 == 8


def test_zooming_around_a_step_keeps_it_in_sight_and_the_cursor_where_it_was() -> None:
    desk = zoom(WIDE, 0.25, 100)
    low, high = desk.view.window(1, STEPS)
    assert low <= 100 <= high
    assert desk.view.cursor is None


def test_n_shows_the_steps_around_the_first_bad_value_and_esc_the_view_before() -> None:
    zoomed = after(BROKEN, "zoom_in")
    scene = after(zoomed, "autopsy")
    assert scene.view.cursor == ONSET
    assert scene.window[1] - scene.window[0] == CLOSE_UP
    assert after(scene, "autopsy", "back").view == zoomed.view
    calm = after(WIDE, "autopsy")
    assert calm.desk.mode == "autopsy"
    assert calm.view == WIDE.view


def test_e_and_end_leave_the_autopsy_for_what_they_show() -> None:
    scene = after(after(BROKEN, "zoom_in"), "autopsy")
    finding = after(scene, "next_finding").desk
    assert (finding.mode, finding.before) == ("run", None)
    assert finding.row
    live = after(scene, "live").desk
    assert (live.mode, live.before) == ("run", None)
    assert live.view == after(BROKEN, "zoom_in").view


def test_in_the_autopsy_up_and_down_go_from_record_to_record() -> None:
    scene = after(BROKEN, "autopsy")
    assert after(after(scene, "row_up"), "row_up").view.cursor == ONSET - 2
    assert after(scene, "row_down").view.cursor == ONSET + 1
    assert after(scene, "live", "autopsy").desk.row.startswith("nan-")
    newest = after(scene, "home")
    assert after(newest, "row_up").view.cursor == 1


def test_enlarged_up_and_down_turn_to_another_metric() -> None:
    scene = replace(BROKEN, desk=replace(BROKEN.desk, mode="large", metric="loss"))
    assert after(scene, "row_down").desk.metric == "val_loss"
    assert after(scene, "row_up").desk.metric == "lr"


def test_the_only_finding_is_said_to_be_the_only_one() -> None:
    alone = replace(BROKEN, snapshot=replace(BROKEN.snapshot, findings=BROKEN.snapshot.findings[:1]))
    assert after(alone, "next_finding").desk.said == ""
    assert after(alone, "next_finding", "next_finding").desk.said == "the only finding"
    assert after(alone, "next_finding", "autopsy", "next_finding").desk.mode == "run"


def test_findings_go_round() -> None:
    found = sorted(f.onset_step for f in BROKEN.snapshot.findings)
    scene = BROKEN
    seen = []
    for _ in found:
        scene = after(scene, "next_finding")
        seen.append(scene.view.cursor)
    assert sorted(seen) == found
    assert after(scene, "next_finding").view.cursor == seen[0]
    assert after(BROKEN, "previous_finding").view.cursor == found[-1]


def test_a_key_that_can_do_nothing_says_why_until_the_next_one() -> None:
    for name, words in (
        ("next_finding", "no findings in this run"),
        ("rewind", "the log never went back"),
        ("page", "no other metrics in this log"),
    ):
        said = after(EMPTY, name)
        assert said.desk == replace(EMPTY.desk, said=words)
        assert words in text_of(header_line(said, 120))
        assert after(said, "row_down").desk.said == ""


def test_rewinds_go_round() -> None:
    rows = [*learning(100), *learning(60, first=51), *learning(20, first=81)]
    scene = scene_of(rows)
    first = after(scene, "rewind")
    second = after(first, "rewind")
    assert (first.view.cursor, second.view.cursor, after(second, "rewind").view.cursor) == (51, 81, 51)


def test_a_pause_keeps_the_window_and_comes_back_to_the_view_before() -> None:
    live = after(WIDE, "zoom_in")
    held = after(live, "pause")
    assert held.desk.paused
    assert not held.view.live
    assert held.window == live.window
    assert after(held, "pause").view == live.view
    assert after(held, "live").view.live
    assert not after(held, "left", "live").desk.paused


def test_rows_stop_at_both_ends_and_open_and_close() -> None:
    assert after(WIDE, "row_up").desk.row == after(WIDE, "row_up", "row_up").desk.row
    opened = after(WIDE, "row_down", "toggle")
    assert opened.desk.row in opened.desk.opened
    closed = after(opened, "toggle")
    assert closed.desk.row not in closed.desk.opened


def test_pages_go_round_and_a_filter_turns_to_the_metrics_it_names() -> None:
    assert [after(WIDE, *["page"] * count).desk.page for count in range(4)] == [0, 1, 2, 0]
    found = replace(WIDE, desk=filtered(WIDE, "layer_3"))
    assert found.shown == ("layer_3/norm",)
    assert filtered(WIDE, "grad_norm").page == 0
    assert filtered(found, "").page == 0


def test_under_an_enlarged_metric_m_adds_up_to_three_more_and_then_none() -> None:
    large = replace(WIDE, desk=Desk(mode="large", metric="grad_norm"))
    names = [after(large, *["page"] * count).enlarged for count in range(5)]
    assert names[0] == ("grad_norm",)
    assert names[1] == ("grad_norm", "lr")
    assert names[3] == ("grad_norm", "lr", "layer_0/norm", "layer_1/norm")
    assert names[4] == ("grad_norm",)
    few = scene_of([(1, None, {"loss": 1.0, "lr": 1.0})], mode="large", metric="lr")
    assert after(few, "page").enlarged == ("lr", "loss")
    assert after(few, "page", "page").enlarged == ("lr",)
    assert after(few, "back").desk == Desk()


def test_a_move_that_does_not_exist_is_an_error() -> None:
    with pytest.raises(KeyError):
        move("fly", WIDE)
