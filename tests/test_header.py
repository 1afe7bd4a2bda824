"""The first line."""

from __future__ import annotations

from dataclasses import replace

import pytest
from screens import LIVE, ONSET, broken, learning, scene_of, text_of, view

from tuimon.app.taken import Taken
from tuimon.follow import Status
from tuimon.monitor import Monitor
from tuimon.panels.header import header_line
from tuimon.panels.scene import Scene
from tuimon.record import BadLine, Batch, Mark


def line(scene: Scene, width: int = 160) -> str:
    return text_of(header_line(scene, width))


def test_the_verdict_and_its_step_come_first() -> None:
    assert line(scene_of(broken())).startswith(f" ✗ NaN   since step {ONSET}")
    assert line(scene_of(learning())).startswith(" ✓ HEALTHY ")
    assert line(scene_of()).startswith(" ↺ NO DATA ")


def test_what_the_run_declared_is_told() -> None:
    told = line(scene_of(learning(), name="llama", meta={"total_steps": 12_000}))
    assert "llama" in told
    assert "step 500 of 12k" in told
    assert "20 steps/s" in told


@pytest.mark.parametrize("total", ["many", -1, None, True, float("nan")])
def test_a_total_that_is_no_number_of_steps_is_left_out(total: object) -> None:
    assert "step 500  " in line(scene_of(learning(), meta={"total_steps": total}))


def test_what_matters_least_goes_first_where_the_width_is_short() -> None:
    scene = scene_of(broken(), format="tuimon log", age="12 min")
    for width in range(10, 160):
        told = line(scene, width)
        assert len(told) <= max(width, len(" ✗ NaN "))
        assert "✗ NaN" in told
    assert f"since step {ONSET}" in line(scene, 30)
    assert "tuimon log" not in line(scene, 60)
    assert "idle 12 min" in line(scene, 80)


def test_what_is_taken_for_the_loss_stays_in_shorter_words() -> None:
    choice = Taken(loss="train/loss", losses=("train/loss", "a", "b")).choice("c")
    scene = replace(scene_of(broken(), format="CSV"), choice=choice, name="lightning_logs/version_3/metrics.csv")
    assert "loss <- train/loss, 2 others (c)" in line(scene, 160)
    assert "loss <- train/loss (c)" in line(scene, 80)
    assert "since step 412" in line(scene, 80)
    assert "live" in line(scene, 80)


def test_a_long_hint_keeps_its_beginning_and_leaves_the_verdict_and_the_step() -> None:
    hint = "no loss among accuracy, perplexity, tokens_per_second and 6 more (--map loss=NAME)"
    scene = replace(scene_of(broken(), name="a-run"), hint=hint)
    assert hint in line(scene, 200)
    told = line(scene, 80)
    assert f"since step {ONSET}" in told
    assert "no loss among accuracy" in told


ENDED = Mark(0, "note", {"step": 500, "note": "end"})
ABORTED = Mark(0, "note", {"step": 500, "note": "aborted", "error": "OutOfMemoryError"})


def finished(mark: Mark, age: str = "") -> Scene:
    monitor = Monitor()
    monitor.feed(Batch.from_rows(learning()))
    monitor.feed(Batch(marks=(mark,)))
    return Scene(monitor.snapshot, monitor.store.columns, status=LIVE, age=age)


@pytest.mark.parametrize(
    ("scene", "told"),
    [
        (scene_of(learning()), "  live"),
        (scene_of(learning(), age="3 min"), "  idle 3 min"),
        (scene_of(learning(), age="365 days"), "  last record 365 days ago"),
        (scene_of(learning(), age="3 years"), "  last record 3 years ago"),
        (finished(ENDED), "  ended"),
        (finished(ENDED, "2 h"), "  ended 2 h ago"),
        (finished(ABORTED), "  aborted: OutOfMemoryError"),
        (scene_of(learning(), status=Status("stopped", "stopped: end of input"), age="2 h"), "stopped: end of input"),
        (scene_of(learning(), status=Status("gone", "file gone, waiting"), age="2 h"), "file gone, waiting"),
        (scene_of(learning(), status=Status("reading", "reading 34 %"), age="365 days"), "reading 34 %"),
    ],
)
def test_one_state_is_told_and_it_is_live_only_while_records_come(scene: Scene, told: str) -> None:
    header = line(scene)
    assert told in header
    states = ("live", "idle", "last record", "ended", "aborted", "stopped", "gone", "reading")
    assert sum(state in header for state in states) == 1


def test_a_run_that_goes_on_after_its_end_has_not_ended() -> None:
    monitor = Monitor()
    monitor.feed(Batch.from_rows(learning()))
    monitor.feed(Batch(marks=(ENDED,)))
    monitor.feed(Batch.from_rows(learning(5, first=501)))
    assert "ended" not in line(Scene(monitor.snapshot, monitor.store.columns, status=LIVE))


def test_what_was_changed_about_the_picture_is_said() -> None:
    changed = view(cursor=412, low=400, high=431, log=True, smooth=2, overlay=True)
    told = line(scene_of(broken(), view=changed))
    assert "cursor 412, steps 400 to 431, log, smooth 2, val on loss" in told
    assert "steps 301 to 500" in line(scene_of(learning(), view=view(tail=200)))
    assert "steps 1" not in line(scene_of(learning()))


def test_a_log_axis_is_said_even_where_there_is_little_room() -> None:
    changed = view(cursor=412, log=True, smooth=2, overlay=True)
    told = line(scene_of(broken(), view=changed, meta={"total_steps": 900}, status=Status("live", "ended")), 80)
    assert "log, smooth 2, val on loss" in told
    assert "cursor" not in told
    assert "since step 412" in told


def test_a_pause_says_how_far_behind_it_is() -> None:
    assert "paused, 1,214 behind" in line(scene_of(learning(), held=view(), behind=1214))


def test_bad_lines_are_counted_with_the_number_of_the_first() -> None:
    monitor = Monitor()
    monitor.feed(Batch.from_rows(learning(30), bad_lines=(BadLine(17, "no number"),), bad_count=1))
    assert "1 bad line, no. 17" in line(Scene(monitor.snapshot, monitor.store.columns))
    monitor.feed(Batch(bad_lines=(BadLine(18, "x"), BadLine(19, "y")), bad_count=2))
    assert "3 bad lines, no. 17" in line(Scene(monitor.snapshot, monitor.store.columns))


def test_a_state_of_trouble_is_not_dim() -> None:
    for state, ink in (("live", "dim"), ("gone", "warning"), ("trouble", "warning"), ("polling", "dim")):
        spans = header_line(scene_of(learning(), status=Status(state, "words of it")), 160)
        assert next(span.ink for span in spans if span.text == "words of it") == ink


def test_names_and_states_are_cleaned() -> None:
    told = line(scene_of(learning(40), name="\x1b[31mred\u202e", status=Status("trouble", "a\nb\x07")))
    assert told.isprintable()
    assert "red?" in told
