"""The isolation: questions, answers, what is left, and where it is kept."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import get_args

import pytest

import tuimon
from tuimon import demo
from tuimon.app.triage import TriageApp, TriageSheet
from tuimon.catalogue import BY_SIGNATURE
from tuimon.catalogue.procedure import PROCEDURE_OF, PROCEDURE_OF_ROW, PROCEDURES, procedure_of
from tuimon.cli import main
from tuimon.monitor import Note, Snapshot
from tuimon.panels.ink import width_of, wrap
from tuimon.panels.triage import triage_lines
from tuimon.signatures.finding import Family, Finding
from tuimon.triage import Triage, load, save, state_path, triage_of

NAN = Finding("nan-forward", "nan", "failure", 5, 5, True, "")
OVER = Finding("loss-spike", "spike", "warning", 2, 3, False, "")


def run_file(path: Path) -> Path:
    rows = [
        {"step": step, "loss": 2.0 / (1 + step) if step < 50 else "NaN", "grad_norm": "NaN" if step > 49 else 1.0}
        for step in range(60)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_every_family_has_a_procedure_and_questions_are_short_and_paste() -> None:
    assert set(PROCEDURE_OF) == set(get_args(Family))
    assert {*PROCEDURE_OF.values(), *PROCEDURE_OF_ROW.values()} == set(PROCEDURES)
    assert set(PROCEDURE_OF_ROW) <= set(BY_SIGNATURE)
    for questions in PROCEDURES.values():
        assert len({question.key for question in questions}) == len(questions)
        for question in questions:
            assert len(question.ask) <= 110
            assert question.ask.endswith("?")
            assert max(len(question.yes), len(question.no)) <= 110


def test_nan_is_isolated_in_its_own_order() -> None:
    keys = [question.key for question in PROCEDURES["nan"]]
    assert keys == ["reproduce", "order", "fp32", "batch", "rate", "operation", "clipping"]


def test_the_checks_of_preflight_are_known_by_their_names() -> None:
    source = Path(tuimon.__file__).parent / "torch" / "preflight.py"
    text = source.read_text(encoding="utf-8")
    names = {question.preflight for questions in PROCEDURES.values() for question in questions if question.preflight}
    assert names
    assert all(f'"{name}"' in text for name in names)


def test_the_gravest_active_finding_chooses_the_procedure() -> None:
    assert triage_of(Snapshot(findings=(OVER, NAN))).procedure == "nan"
    assert triage_of(Snapshot(findings=(OVER,))).lit == "loss-spike"
    assert triage_of(None).procedure == "plateau"
    assert triage_of(Snapshot(findings=(OVER, NAN)), "divergence").lit == "loss-spike"
    assert triage_of(Snapshot(findings=(NAN,)), "plateau").lit == ""


def test_a_stalled_run_is_isolated_as_one_and_notes_are_nothing_to_isolate() -> None:
    stalled = Finding("stalled-run", "data", "warning", 9, 9, True, "")
    noted = Finding("no-validation", "note", "note", 0, 9, True, "")
    assert triage_of(Snapshot(findings=(noted, stalled))).procedure == "stall"
    assert triage_of(Snapshot(findings=(noted,))).lit == ""
    assert procedure_of("initial-loss-off", "data") == "plateau"


def test_a_yes_clears_a_no_names_and_taking_back_restores() -> None:
    fresh = Triage("nan")
    assert "number range" in fresh.suspects
    assert "number range" not in fresh.answered("fp32", "yes").suspects
    named = fresh.answered("batch", "no")
    assert named.named == ("data and labels",)
    assert named.answered("batch", None) == fresh
    assert named.answered("fp32", "yes").next_open is fresh.questions[0]


def test_what_a_no_has_named_stays_suspect_whatever_a_yes_clears() -> None:
    triage = Triage("nan").answered("order", "no").answered("operation", "yes")
    assert "one operation" in triage.suspects


def test_preflight_notes_tick_by_themselves_and_a_hand_overrules_them() -> None:
    notes = tuple(
        Note(None, "preflight", {"check": check, "outcome": outcome})
        for check, outcome in (
            ("one batch can be overfitted", "pass"),
            ("gradients reach every layer", "fail"),
            ("loss at initialization", "skipped"),
            ("verdict", "fail"),
        )
    )
    triage = triage_of(Snapshot(notes=notes))
    assert [triage.answer(key) for key in ("overfit", "gradients", "initial-loss")] == ["yes", "no", None]
    assert triage.answered("gradients", "yes").answer("gradients") == "yes"
    assert "(preflight)" in "".join(span.text for line in triage_lines(triage, 0, 100, 60) for span in line)


def test_answers_are_kept_beside_the_run_for_each_procedure(tmp_path: Path) -> None:
    path = state_path(str(tmp_path / "run.jsonl"))
    save(path, Triage("nan").answered("fp32", "yes"))
    save(path, Triage("plateau").answered("pairs", "no"))
    assert load(path, Triage("nan")).answers == {"fp32": "yes"}
    assert load(path, Triage("plateau")).answers == {"pairs": "no"}
    assert [entry.name for entry in tmp_path.iterdir()] == ["run.jsonl.triage.json"]


@pytest.mark.parametrize(
    "kept", ["", "[]", "nul", '{"answers": 3}', '{"answers": {"nan": {"fp32": "maybe", "x": "yes"}}}', "[" * 9999]
)
def test_a_damaged_state_is_no_answer(tmp_path: Path, kept: str) -> None:
    (tmp_path / "state").write_text(kept)
    assert load(tmp_path / "state", Triage("nan")).answers == {}


@pytest.mark.parametrize(("width", "height"), [(80, 24), (120, 40), (40, 12), (48, 30)])
@pytest.mark.parametrize("procedure", PROCEDURES)
def test_the_chosen_question_is_in_view_and_nothing_is_cut(procedure: str, width: int, height: int) -> None:
    triage = Triage(procedure)
    for index in range(len(triage.questions)):
        lines = triage_lines(triage, index, width, height)
        assert len(lines) == height
        text = ["".join(span.text for span in line) for line in lines]
        assert any(f"{index + 1}. " in line for line in text)
        assert max(map(width_of, lines)) <= width
        assert text[-1].endswith("q back")


async def test_j_goes_through_a_question_that_is_longer_than_the_screen() -> None:
    app = TriageApp(Triage("nan"))
    async with app.run_test(size=(40, 12)) as pilot:
        sheet = app.screen.query_one(TriageSheet)
        seen = set()
        while sheet.chosen == 0:
            seen.update("".join(span.text for span in line).strip() for line in sheet._lines)
            await pilot.press("j")
        assert {line.strip() for line in wrap(f"no: {sheet.triage.questions[0].no}", 32)} <= seen
        await pilot.press("k")
        assert sheet.chosen == 0


async def test_keys_answer_and_the_next_open_question_is_chosen(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl.triage.json"
    app = TriageApp(Triage("nan"), path)
    async with app.run_test(size=(80, 24)) as pilot:
        sheet = app.screen.query_one(TriageSheet)
        await pilot.press("y", "n")
        assert (sheet.chosen, sheet.triage.answers) == (2, {"reproduce": "yes", "order": "no"})
        await pilot.press("up", "u")
        assert sheet.triage.answers == {"reproduce": "yes"}
        await pilot.press("tab")
        assert sheet.triage.procedure == "divergence"
        await pilot.press("escape")
        await pilot.pause()
    assert load(path, Triage("nan")).answers == {"reproduce": "yes"}


async def test_what_is_taken_back_from_an_open_question_is_the_answer_given_last() -> None:
    app = TriageApp(Triage("nan", noted={"batch": "yes"}))
    async with app.run_test(size=(80, 24)) as pilot:
        sheet = app.screen.query_one(TriageSheet)
        await pilot.press("y", "n", "u")
        assert (sheet.chosen, sheet.triage.answers) == (1, {"reproduce": "yes"})
        await pilot.press("u")
        assert (sheet.chosen, sheet.triage.answers) == (0, {})
        await pilot.press("u")
        assert (sheet.chosen, sheet.triage.answers) == (0, {})


async def test_a_place_that_cannot_be_written_is_said_and_ends_nothing(tmp_path: Path) -> None:
    app = TriageApp(Triage("nan"), tmp_path / "gone" / "state")
    async with app.run_test(size=(80, 24)) as pilot:
        sheet = app.screen.query_one(TriageSheet)
        await pilot.press("y")
        assert "not kept" in "".join(span.text for span in sheet.picture(sheet.scene, 80, 24)[-1])
        assert sheet.triage.answers == {"reproduce": "yes"}


def test_the_command_line_answers_prints_and_keeps(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = str(run_file(tmp_path / "run.jsonl"))
    assert main(["triage", file, "--yes", "3", "--no", "batch"]) == 0
    said = capsys.readouterr().out
    assert "triage nan for nan-forward  2 of 7 answered" in said
    assert "named: data and labels" in said
    assert "It is the data: clean or skip that batch." in said
    assert "since step 50: loss NaN and grad_norm non-finite together" in said
    assert main(["triage", file]) == 0
    assert "2 of 7 answered" in capsys.readouterr().out


def test_an_unknown_question_and_a_missing_file_are_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["triage", "--yes", "why"]) == 2
    assert "there are 1 overfit, 2 gradients" in capsys.readouterr().err
    assert main(["triage", "--yes", "8"]) == 2
    assert "no question '8'" in capsys.readouterr().err
    assert main(["triage", str(tmp_path / "none.jsonl")]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_a_run_that_hangs_is_triaged_by_the_clock(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "run.jsonl"
    demo.write(demo.RUNS["stalled-run"], path)
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    late = time.time() - 3600 - lines[-1]["time"]  # an hour ago it stopped
    path.write_text("".join(json.dumps(line | {"time": line.get("time", 0) + late}) + "\n" for line in lines))
    assert main(["triage", str(path), "--yes", "1", "--no", "loader"]) == 0
    said = capsys.readouterr().out
    assert "triage stall for stalled-run  2 of 5 answered" in said
    assert "named: the data loader" in said
    assert main(["explain", "stalled-run", str(path)]) == 0
    assert "IN THIS RUN" in capsys.readouterr().out
