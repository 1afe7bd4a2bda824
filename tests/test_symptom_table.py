"""The symptom table."""

from __future__ import annotations

import pytest
from screens import ONSET, STEPS, broken, learning, scene_of, text_of, texts

from tuimon.catalogue import ROWS
from tuimon.monitor import Monitor
from tuimon.panels.marks import marks
from tuimon.panels.rows import Entry, entries
from tuimon.panels.scene import Scene
from tuimon.panels.table import began, block, scrolled
from tuimon.record import Batch

ALPHABET = marks(False)


def entry(scene: Scene, signature: str) -> Entry:
    return next(each for each in entries(scene) if each.row.signature == signature)


def shown(scene: Scene, signature: str, width: int = 100) -> str:
    return texts(block(entry(scene, signature), scene, width, ALPHABET))


def spiked() -> list[tuple[int, float, dict[str, float | None]]]:
    rows = [(step, time or 0.0, dict(metrics)) for step, time, metrics in learning()]
    for step in range(300, 304):
        rows[step][2]["loss"] = 40.0
    return rows


def test_every_row_of_the_catalogue_is_there_once() -> None:
    assert sorted(each.row.signature for each in entries(scene_of(broken()))) == sorted(row.signature for row in ROWS)


def test_lit_rows_come_first_and_failures_are_open() -> None:
    first = entries(scene_of(broken()))[0]
    assert (first.row.signature, first.state, first.open, first.chosen) == ("nan-forward", "lit", True, True)


def test_an_open_row_says_what_was_seen_then_the_check_then_the_fix() -> None:
    text = shown(scene_of(broken()), "nan-forward")
    places = [text.index(f" {word} ") for word in ("seen", "now", "likely", "check", "then fix", "told by", "or is it")]
    assert places == sorted(places)
    assert str(ONSET) in text
    assert f"began at step {ONSET}, {STEPS - ONSET} steps ago" in text


def test_one_step_ago_is_no_plural() -> None:
    scene = scene_of(broken(onset=STEPS - 1))
    assert began(entries(scene)[0], scene).endswith(", 1 step ago")
    last = scene_of(broken(onset=STEPS))
    assert began(entries(last)[0], last).endswith(", now")


def test_a_row_that_was_lit_and_is_over_says_when() -> None:
    scene = scene_of(spiked())
    each = entry(scene, "loss-spike")
    assert each.state == "recovered"
    assert began(each, scene).startswith("was lit at step 30")
    assert "over at" in began(each, scene)
    assert shown(scene, "loss-spike").startswith(" ↺") or "↺" in shown(scene, "loss-spike")


def test_what_a_row_needs_and_the_log_lacks_is_said() -> None:
    rows = [(step, None, {"loss": 1 / step}) for step in range(1, 30)]
    scene = scene_of(rows, opened=frozenset(("exploding-gradient", "stalled-run")))
    assert "grad_norm, which this log does not have" in shown(scene, "exploding-gradient")
    assert "time, which this log does not have" in shown(scene, "stalled-run")
    timed = scene_of(learning(), opened=frozenset(("exploding-gradient", "stalled-run")))
    assert "which this log does not have" not in shown(timed, "exploding-gradient")
    assert "which this log does not have" not in shown(timed, "stalled-run")


@pytest.mark.parametrize("width", [20, 40, 59, 60, 80, 120, 200])
def test_no_line_is_wider_than_the_room_and_the_onset_never_falls_off(width: int) -> None:
    scene = scene_of(broken())
    for each in entries(scene):
        lines = block(each, scene, width, ALPHABET)
        for line in lines[1:]:
            assert len(text_of(line)) <= width, text_of(line)
        if width >= 40:
            assert len(text_of(lines[0])) <= width
    if width >= 40:
        assert f"step {ONSET}" in text_of(block(entries(scene)[0], scene, width, ALPHABET)[0])


def test_a_symptom_is_cut_after_a_word() -> None:
    scene = scene_of(broken())
    whole = entries(scene)[0].row.symptom.split()
    for width in range(60, 110):
        told = text_of(block(entries(scene)[0], scene, width, ALPHABET)[0])
        words = told.partition("nan-forward")[2].partition("began")[0].split()
        assert all(got.rstrip("…") == word.rstrip(",") or got == word for got, word in zip(words, whole, strict=False))


def test_a_filter_keeps_rows_by_name_family_and_symptom() -> None:
    scene = scene_of(learning(), pattern="SPIKE")
    kept = {each.row.signature for each in entries(scene)}
    assert "loss-spike" in kept
    assert "nan-forward" not in kept


def test_the_chosen_row_scrolls_into_sight_by_as_little_as_possible() -> None:
    assert scrolled(0, 0, 1, 50, 10) == 0
    assert scrolled(0, 12, 13, 50, 10) == 3
    assert scrolled(20, 12, 13, 50, 10) == 12
    assert scrolled(0, 5, 40, 50, 10) == 5
    assert scrolled(45, 48, 49, 50, 10) == 40
    assert scrolled(3, 0, 1, 4, 10) == 0


def test_evidence_and_places_from_the_log_are_cleaned() -> None:
    monitor = Monitor()
    monitor.feed(Batch.from_rows(broken()))
    scene = Scene(monitor.snapshot, monitor.store.columns)
    finding = scene.snapshot.findings[0].__class__(
        "nan-forward", "nan", "failure", 3, 3, True, "\x1b[31mevil\x07", module="a\u202eb", op="x\ny"
    )
    row = entry(scene, "nan-forward")
    text = texts(block(Entry(row.row, (finding,), "lit", True, True), scene, 80, ALPHABET))
    assert text.replace("\n", "").isprintable()
    assert "evil" in text


def test_a_note_is_not_opened_by_itself() -> None:
    rows = [(step, time, {"loss": metrics["loss"]}) for step, time, metrics in learning()]
    scene = scene_of(rows)
    each = entry(scene, "no-grad-norm")
    assert (each.state, each.open) == ("lit", False)
    assert began(each, scene).startswith("at step ")
