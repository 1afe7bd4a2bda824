"""A Snapshot as text and JSON."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import pytest

from tuimon.catalogue import BY_SIGNATURE
from tuimon.monitor import Note, Series, Snapshot
from tuimon.record import BadLine
from tuimon.report import Report, gravest_first, number_text
from tuimon.signatures.finding import Finding

NAN = Finding(
    "nan-forward", "nan", "failure", 412, 413, True, "loss and grad_norm non-finite together after 411 calm steps",
    module="blocks.3.attn", op="softmax",
)  # fmt: skip
SPIKE = Finding("loss-spike", "spike", "warning", 90, 92, False, "loss 2.1 to 9.4", ended_step=97)
NOTE = Finding("no-validation", "note", "note", 0, 200, True, "200 records without val_loss", missing="log val_loss")
SNAPSHOT = Snapshot(
    records=500,
    bad_count=9,
    bad_lines=(BadLine(17, "not JSON"), BadLine(40, "no step")),
    first_step=1,
    last_step=500,
    verdict="nan",
    findings=(SPIKE, NOTE, NAN),
    lit=("nan-forward", "no-validation"),
    series={
        "acc": Series(5, 100, 500, 0.25, 0.1, 100, 0),
        "loss": Series(500, 1, 500, math.nan, 0.0312, 400, 89),
        "grad_norm": Series(500, 1, 500, math.inf, 0.5, 3, 89),
    },
)


def report(snapshot: Snapshot = SNAPSHOT, file: str = "run.jsonl") -> Report:
    return Report(file, "tuimon", "tuimon JSON Lines", snapshot)


def test_the_document_holds_what_the_design_names_and_is_strict_json() -> None:
    document = json.loads(json.dumps(report().document(), allow_nan=False))
    assert list(document) == ["file", "format", "records", "bad_lines", "verdict", "series", "findings"]
    assert (document["records"], document["bad_lines"], document["verdict"]) == (500, 9, "nan")
    assert document["series"]["loss"] == {
        "count": 500, "first_step": 1, "last_step": 500, "last": "NaN", "best": 0.0312, "best_step": 400,
        "non_finite": 89,
    }  # fmt: skip
    assert document["series"]["grad_norm"]["last"] == "Infinity"
    assert document["findings"][2] == {
        "signature": "nan-forward", "family": "nan", "severity": "failure", "onset_step": 412, "detected_step": 413,
        "active": True, "evidence": NAN.evidence, "row": "nan-forward",
    }  # fmt: skip


def test_a_metric_without_a_finite_value_has_no_best() -> None:
    snapshot = replace(SNAPSHOT, series={"loss": Series(1, 0, 0, math.nan, None, None, 1)})
    assert report(snapshot).document()["series"]["loss"]["best"] is None  # type: ignore[index]
    assert " - " in report(snapshot).text()


def test_the_gravest_active_finding_comes_first_and_notes_last() -> None:
    over = replace(NAN, active=False, ended_step=500)
    assert gravest_first(replace(SNAPSHOT, findings=(NOTE, over, SPIKE, NAN))) == [NAN, over, SPIKE, NOTE]


def test_the_text_gives_the_check_before_the_fix() -> None:
    text = report().text()
    row = BY_SIGNATURE["nan-forward"]
    look = row.checks[0].look.replace("the onset step", "step 412")
    assert text.index("step 412, known at step 413") < text.index(look) < text.index(row.fix[:30])
    assert text.index("evidence") < text.index("now       Stop the run") < text.index(look)
    assert "verdict: nan (nan-forward since step 412)" in text
    assert "module blocks.3.attn, softmax" in text
    assert "over at step 97" in text


def test_the_verdict_of_a_warning_says_that_it_is_no_failure() -> None:
    watch = replace(SNAPSHOT, verdict="watch", findings=(replace(SPIKE, active=True),))
    assert "verdict: watch, a warning and no failure (loss-spike since" in report(watch).text()


def test_bad_lines_are_named_by_file_and_line_and_the_rest_is_counted() -> None:
    text = report().text()
    assert "run.jsonl:17: not JSON" in text
    assert "and 7 more" in text


def test_what_is_not_logged_names_the_rows_that_stay_undecided() -> None:
    text = report().text()
    missing = text[text.index("not in this log") :]
    assert "overfitting" in missing
    assert "lr-too-low" in missing
    assert "\n  loss" not in missing
    assert "loss      needed for 2" in report(replace(SNAPSHOT, series={})).text()


def test_every_line_but_code_fits_the_width() -> None:
    checks = (check for row in BY_SIGNATURE.values() for check in row.checks)
    codes = {line.strip() for check in checks for line in check.code.splitlines()}
    for width in (60, 80, 100):
        for line in report().text(width).splitlines():
            assert len(line) <= max(width, 76) or line.strip() in codes


@pytest.mark.parametrize("signature", BY_SIGNATURE)
def test_every_row_can_be_reported(signature: str) -> None:
    row = BY_SIGNATURE[signature]
    finding = Finding(signature, row.family, row.severity, 5, 7, True, "loss 1 to 2")
    text = report(replace(SNAPSHOT, findings=(finding,))).text()
    assert row.symptom in text


def test_many_findings_of_one_row_are_told_once_with_their_steps() -> None:
    spikes = tuple(replace(SPIKE, onset_step=step) for step in range(100, 1500, 100))
    text = report(replace(SNAPSHOT, findings=spikes)).text()
    assert text.count("[warning] loss-spike") == 1
    assert "again     at step 200, 300, 400" in text
    assert "and 3 more" in " ".join(text.split())


def test_a_signature_without_a_row_is_still_reported() -> None:
    finding = Finding("unheard-of", "data", "warning", 5, 7, True, "loss 1 to 2")
    assert "[warning] unheard-of" in report(replace(SNAPSHOT, findings=(finding,))).text()


def test_nothing_from_the_log_can_steer_the_terminal() -> None:
    hostile = "\x1b[2J\x1b]0;owned\x07evil\nline"
    snapshot = replace(
        SNAPSHOT,
        bad_lines=(BadLine(1, hostile),),
        findings=(replace(NAN, evidence=hostile, module=hostile, op=hostile, missing=hostile),),
        series={hostile: Series(1, 1, 1, 1.0, 1.0, 1, 0)},
    )
    text = Report(hostile, hostile, hostile, snapshot).text()
    assert "\x1b" not in text
    assert all(character.isprintable() for line in text.split("\n") for character in line)


def test_an_empty_run_and_a_healthy_run_say_so() -> None:
    assert "nothing to judge yet" in report(Snapshot()).text()
    healthy = report(replace(SNAPSHOT, verdict="healthy", findings=())).text()
    assert "no failure signature in 500 records (which is not a proof)" in healthy


def test_numbers_are_short_and_missing_is_a_dash() -> None:
    assert [number_text(value) for value in (None, 0.0, 2.302585, 1e-9, math.nan, -math.inf)] == [
        "-", "0", "2.3026", "1e-09", "NaN", "-inf",
    ]  # fmt: skip


def test_a_run_with_thousands_of_metrics_shows_the_roles_and_counts_the_rest() -> None:
    series = {f"m{i}": Series(1, 1, 1, 1.0, 1.0, 1, 0) for i in range(5000)} | {"loss": SNAPSHOT.series["loss"]}
    text = report(replace(SNAPSHOT, series=series)).text()
    assert "\nloss " in text
    assert "and 4,989 more metrics" in text


def test_failed_checks_before_the_run_are_told_with_what_is_left_to_suspect() -> None:
    notes = (
        Note(None, "preflight", {"check": "gradients reach every layer", "outcome": "pass", "told": "4 tensors"}),
        Note(None, "preflight", {"check": "one batch can be overfitted", "outcome": "fail", "told": "1.6 -> 0.9"}),
        Note(None, "preflight", {"check": "verdict", "outcome": "fail", "told": "data and labels, loss call"}),
    )
    told = Report("run.jsonl", "tuimon", "tuimon log", Snapshot(records=1, notes=notes)).text()
    assert "preflight: 1 check passed; left to suspect: data and labels, loss call" in told
    assert "one batch can be overfitted: fail (1.6 -> 0.9)" in told
