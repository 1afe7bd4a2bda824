"""`tuimon explain`: one row in full."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.test_snippets import free_names
from tuimon import demo
from tuimon.catalogue import BY_SIGNATURE, snippets
from tuimon.catalogue.lessons import LESSONS
from tuimon.catalogue.now import AFRESH, NOW
from tuimon.cli import main
from tuimon.commands.explain import nearest
from tuimon.explain import explanation
from tuimon.signatures.finding import Finding


@pytest.mark.parametrize("signature", BY_SIGNATURE)
@pytest.mark.parametrize("width", [40, 80])
def test_every_row_is_explained_within_the_width_and_code_can_be_pasted(signature: str, width: int) -> None:
    row, lesson = BY_SIGNATURE[signature], LESSONS[signature]
    lines = list(explanation(row, lesson, width))
    codes = {line.strip() for check in row.checks for line in check.code.splitlines()}
    whole = {lesson.formula, lines[0], *codes}
    for line in lines:
        assert len(line) <= width or line.strip() in whole or line.isupper(), line
    text = "\n".join(line[6:] if line.strip() in codes else line for line in lines)
    assert all(check.code in text for check in row.checks)


def test_checks_come_in_order_and_before_the_fix(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "nan-backward"]) == 0
    said = capsys.readouterr().out
    places = [
        said.index(mark)
        for mark in ("NOW", "WHAT IS SEEN", "WHY", "SEPARATES", "  1. ", "  2. ", "  3. ", "THEN", "PITFALLS")
    ]
    assert places == sorted(places)


def test_an_unknown_row_names_the_likely_ones(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "frozn"]) == 2
    assert capsys.readouterr().err == "tuimon: no row frozn; frozen-weights\n"
    assert main(["explain", "\x1b[2J"]) == 2
    assert "\x1b" not in capsys.readouterr().err


def test_the_nearest_rows_begin_alike_or_are_spelt_alike() -> None:
    assert nearest("zero") == ["zero-gradient"]
    assert nearest("overfiting") == ["overfitting"]
    assert nearest("q") == []


def test_the_numbers_of_a_run_come_first_and_are_sanitised() -> None:
    row = BY_SIGNATURE["nan-forward"]
    found = Finding("nan-forward", "nan", "failure", 412, 412, True, "loss \x1b[2Jnan", module="block.3", op="softmax")
    lines = list(explanation(row, LESSONS["nan-forward"], 80, findings=[found], remarks=["about 0.1"]))
    assert lines.index("IN THIS RUN") < lines.index("WHAT IS SEEN")
    assert "  - since step 412: loss nan, in block.3 softmax" in lines
    assert "  about 0.1" in lines


def test_a_run_puts_its_own_numbers_in(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "run.jsonl"
    demo.write(demo.RUNS["lr-too-high"], path)
    assert main(["explain", "lr-too-high", str(path)]) == 0
    said = capsys.readouterr().out
    assert said.index("IN THIS RUN") < said.index("- since step 70") < said.index("NOW")
    assert "The learning rate was 0.00300 there" in said
    assert "no such limit is known for adamw" in said
    assert main(["explain", "nan-forward", str(path)]) == 0
    assert capsys.readouterr().out.startswith(f"nan-forward is not lit in {path}.\n")
    assert main(["explain", "nan-forward", str(tmp_path / "none.jsonl")]) == 2
    assert capsys.readouterr().err.count("\n") == 1


@pytest.mark.parametrize("signature", BY_SIGNATURE)
def test_the_onset_is_a_step_in_a_run_and_a_word_that_is_explained_without_one(signature: str) -> None:
    row, lesson = BY_SIGNATURE[signature], LESSONS[signature]
    found = Finding(row.signature, row.family, row.severity, 76_980, 76_981, True, "seen")
    text = " ".join(" ".join(explanation(row, lesson, 400, findings=[found])).split())
    assert "the onset" not in text.lower()
    general = " ".join(" ".join(explanation(row, lesson, 400)).split())
    here = general.partition("PITFALLS")[0]
    assert ("The onset is the step at which it began." in here) == ("the onset" in here)
    if "before the onset" in here:
        assert "before step 76,980" in text


def test_what_is_over_needs_nothing_now() -> None:
    row = BY_SIGNATURE["nan-forward"]
    found = Finding("nan-forward", "nan", "warning", 412, 412, False, "loss NaN at 412, finite again at 413")
    text = "\n".join(explanation(row, LESSONS["nan-forward"], 200, findings=[found]))
    assert "It is over now. Should it come again: stop the run" in text
    again = Finding("nan-forward", "nan", "failure", 512, 512, True, "loss NaN at 512")
    assert "  Stop the run" in "\n".join(explanation(row, LESSONS["nan-forward"], 200, findings=[found, again]))


@pytest.mark.parametrize("signature", BY_SIGNATURE)
def test_where_the_run_is_stopped_first_it_is_said_how_code_still_has_its_names(signature: str) -> None:
    row = BY_SIGNATURE[signature]
    text = " ".join(" ".join(explanation(row, LESSONS[signature], 80)).split())
    live = {"model", "optimizer", "logits", "loss", "x", "batch"}
    wanted = any(live & free_names(check.code) for check in row.checks) and "stop" in NOW[signature].lower()
    assert (AFRESH in text) == wanted, signature
    if wanted:
        assert text.index("CHECK, IN THIS ORDER") < text.index(AFRESH) < text.index(row.checks[0].look)


@pytest.mark.parametrize("signature", ["inf-first", "nan-backward"])
def test_a_lone_inf_under_a_loss_scaler_is_said_to_be_normal_wherever_one_reads(signature: str) -> None:
    row = BY_SIGNATURE[signature]
    for text in (NOW[signature], " ".join(row.causes), row.fix, " ".join(LESSONS[signature].pitfalls)):
        assert "loss scaler" in text, text


def test_a_check_changes_nothing_in_the_run_itself() -> None:
    changing = {snippets.HALVE, snippets.TENTH, snippets.TENFOLD}
    for row in BY_SIGNATURE.values():
        for check in row.checks:
            if check.code in changing:
                assert check.look.startswith("In a second run"), row.signature
