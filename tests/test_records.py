"""The autopsy view: what broke first, and the records around it."""

from __future__ import annotations

import re

import pytest
from screens import INF, NAN, ONSET, Row, broken, growing, learning, scene_of, text_of, texts, view

from tuimon.monitor import Monitor
from tuimon.panels.autopsy import (
    exactly,
    first_bad_step,
    first_bad_steps,
    growth,
    last_good_step,
    records,
    story,
)
from tuimon.panels.records import autopsy_lines, columns_of, scene_onset
from tuimon.panels.scene import Scene
from tuimon.record import Batch, Mark


def told(rows: list[Row]) -> str:
    scene = scene_of(rows)
    onset = scene_onset(scene)
    return story(records(scene.columns, onset or 0, 8, 4))


def run(**changes: dict[int, float | None]) -> list[Row]:
    """Twenty calm records, in which `changes` says metric -> step -> value."""
    rows: list[Row] = []
    for step in range(1, 21):
        metrics: dict[str, float | None] = {"loss": 1.0 + step / 100, "grad_norm": 1.0, "lr": 1e-3}
        for name, values in changes.items():
            if step in values:
                metrics[name] = values[step]
        rows.append((step, None, metrics))
    return rows


@pytest.mark.parametrize(
    ("rows", "sentence"),
    [
        (run(), "No NaN in this run"),
        (run(loss={10: NAN}, grad_norm={10: NAN}), "Loss and gradient in the same record: born in the forward pass"),
        (run(loss={10: NAN}, grad_norm={11: NAN}), "Loss first, gradient one step later: born in the forward pass"),
        (run(loss={13: NAN}, grad_norm={10: NAN}), "Gradient first, loss 3 steps later: born in the backward pass"),
        (run(grad_norm={10: INF}), "Only grad_norm: the loss stays finite"),
        (run(val_loss={5: 1.0, 10: NAN}), "Only val_loss: the training is fine, look at the evaluation code"),
        (run(lr={10: NAN}, loss={11: NAN}), "The learning rate itself is not finite"),
        (
            run(loss={7: 2.0, 8: 8.0, 9: 90.0, 10: INF}),
            "loss x88 over the records before it: a divergence that overflowed",
        ),
    ],
)
def test_the_sentence_follows_from_the_order(rows: list[Row], sentence: str) -> None:
    assert told(rows).startswith(sentence)


def test_without_a_gradient_in_the_log_it_says_what_to_log() -> None:
    rows = [(step, None, {"loss": NAN if step > 9 else 1.0}) for step in range(1, 20)]
    assert told(rows) == "The loss broke; log grad_norm to tell forward from backward."


def test_another_metric_that_is_nan_is_no_onset() -> None:
    rows = [(step, None, {"loss": 1.0, "tokens_per_s": NAN}) for step in range(1, 20)]
    scene = scene_of(rows)
    assert first_bad_step(scene.columns) is None


def test_first_steps_are_those_of_the_log_in_order() -> None:
    scene = scene_of(broken(late_loss=2))
    assert first_bad_steps(scene.columns) == {"loss": ONSET + 2, "grad_norm": ONSET}
    assert first_bad_step(scene.columns) == ONSET
    assert last_good_step(scene.columns, ONSET) == ONSET - 1
    assert last_good_step(scene.columns, 1) is None


def test_a_record_of_a_rewound_run_shows_the_non_finite_value() -> None:
    rows = [*run(loss={10: NAN}), *((step, None, {"loss": 1.0}) for step in range(8, 15))]
    columns = scene_of(rows).columns
    assert exactly(columns["loss"], 10) != exactly(columns["loss"], 10)
    assert exactly(columns["loss"], 9) == 1.0
    assert exactly(columns["loss"], 999) is None


def test_growth_counts_finite_magnitudes_up_to_the_first_bad_one() -> None:
    assert growth([1.0, None, -4.0, NAN, 9.0]) == 4.0
    assert growth([NAN, 1.0]) is None
    assert growth([0.0, 3.0]) is None
    assert growth([2.0]) is None


def test_the_first_bad_cell_of_each_metric_is_marked_and_growth_is_told() -> None:
    text = texts(autopsy_lines(scene_of(broken(late_loss=1), view=view(cursor=ONSET)), 100, 20))
    first = next(line for line in text.splitlines() if re.search(rf"^ › +{ONSET} ", line))
    assert first.count("✗ first") == 1
    later = next(line for line in text.splitlines() if re.search(rf"^ +{ONSET + 1} ", line))
    assert later.count("✗ first") == 1
    grown = texts(autopsy_lines(scene_of(run(loss={8: 2.5, 9: 12.5, 10: NAN})), 100, 30))
    assert "x2.3" in grown
    assert "x5.0" in grown


def test_the_last_good_step_and_checkpoints_are_told() -> None:
    monitor = Monitor()
    notes = tuple(
        Mark(20, "note", {"note": "checkpoint", "step": step, "path": f"ckpt-{step}.pt"}) for step in (5, 9, 15)
    )
    monitor.feed(Batch.from_rows(run(loss={10: NAN}, grad_norm={10: NAN}), marks=notes))
    scene = Scene(monitor.snapshot, monitor.store.columns)
    text = texts(autopsy_lines(scene, 100, 30))
    assert re.search(r"last good step +9\b", text)
    assert "step 9 is the newest that is still good" in text
    assert "from step 15 on they hold the NaN" in text


def test_a_run_that_was_bad_from_the_start_has_no_good_step() -> None:
    rows = [(step, None, {"loss": NAN}) for step in range(5)]
    assert "none: it was bad from the start" in texts(autopsy_lines(scene_of(rows), 100, 20))


def test_the_origin_named_by_the_training_process_is_told_and_cleaned() -> None:
    monitor = Monitor()
    origin = {
        "note": "nan_origin",
        "step": 10,
        "module": "blocks.3.\x1b[31mattn",
        "op": "softmax",
        "direction": "forward",
    }
    monitor.feed(Batch.from_rows(run(loss={10: NAN}), marks=(Mark(10, "note", origin),)))
    text = texts(autopsy_lines(Scene(monitor.snapshot, monitor.store.columns), 100, 30))
    assert "module blocks.3.attn, softmax, forward pass" in text


@pytest.mark.parametrize("width", [20, 40, 60, 78, 80, 86, 87, 120])
def test_every_line_fits_and_what_broke_stays_in_sight(width: int) -> None:
    lines = [text_of(line) for line in autopsy_lines(scene_of(broken(), view=view(cursor=ONSET)), width, 20)]
    if width >= 40:
        assert max(map(len, lines)) <= width
        assert any(line.count("nan") == 2 for line in lines)


def test_growth_in_the_last_column_is_never_cut() -> None:
    rows: list[Row] = [
        (step, None, {"loss": NAN, "val_loss": 1.0, "grad_norm": 1.0, "lr": 2.0**step}) for step in range(9)
    ]
    for width in range(70, 100):
        for line in autopsy_lines(scene_of(rows), width, 20):
            assert len(text_of(line)) <= width
    assert "x2.0" in texts(autopsy_lines(scene_of(rows), 100, 20))


@pytest.mark.parametrize("height", [3, 4, 5, 8, 12, 30])
def test_on_a_low_screen_the_first_bad_record_stays(height: int) -> None:
    lines = [text_of(line) for line in autopsy_lines(scene_of(broken(), view=view(cursor=ONSET)), 60, height)][:height]
    if height > 3:
        assert any(line.startswith(" ›") and "nan" in line for line in lines)


def test_all_columns_fit_where_there_is_room() -> None:
    shown = records(scene_of(broken()).columns, ONSET, 2, 2)
    assert columns_of(shown, 200)[1] == [0, 1, 2, 3]
    assert [shown.names[i] for i in columns_of(shown, 40)[1]] == ["loss", "grad_norm"]


def test_without_records_it_says_so() -> None:
    assert "no records yet" in texts(autopsy_lines(scene_of(), 80, 10))


def test_a_growing_run_without_nan_says_that_there_is_none() -> None:
    assert "No NaN in this run" in texts(autopsy_lines(scene_of(growing()), 80, 10))
    assert "No NaN in this run" in texts(autopsy_lines(scene_of(learning()), 80, 10))


@pytest.mark.parametrize("height", [6, 9, 20])
@pytest.mark.parametrize("cursor", [1, 200, ONSET - 1, ONSET + 30, 500])
def test_the_cursor_is_always_among_the_records_and_the_sentence_stays_about_the_onset(
    cursor: int, height: int
) -> None:
    scene = scene_of(broken(), view=view(cursor=cursor))
    text = texts(autopsy_lines(scene, 100, height))
    assert re.search(rf"^ › +{cursor} ", text, re.MULTILINE)
    assert "Loss and gradient in the same record" in text
