"""The table as data: complete, consistent, and short enough to be read at night."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import get_args

import pytest

import tuimon
from tuimon.catalogue import BY_SIGNATURE, ROWS, Row
from tuimon.catalogue.divergence import DIVERGENCE
from tuimon.catalogue.fit import FIT
from tuimon.catalogue.nan import NAN
from tuimon.catalogue.now import NOW
from tuimon.catalogue.plateau import PLATEAU
from tuimon.signatures.finding import RANK, Family

KNOWN_FIELDS = {
    "loss", "val_loss", "grad_norm", "lr", "time", "loss_scale", "num_classes", "class_counts", "objective",
    "grad_norm/<layer>", "dead_fraction/<layer>", "saturation/<layer>",
}  # fmt: skip
each_row = pytest.mark.parametrize("row", ROWS, ids=lambda row: row.signature)


def test_every_row_of_the_three_failures_and_of_fit_and_data_is_there() -> None:
    assert [len(part) for part in (NAN, DIVERGENCE, PLATEAU, FIT)] == [9, 10, 11, 9]
    assert len(BY_SIGNATURE) == len(ROWS) == 39


@each_row
def test_references_resolve_and_no_row_names_itself(row: Row) -> None:
    named = {*row.confused_with, *row.outranks}
    assert named <= BY_SIGNATURE.keys() - {row.signature}
    assert row.family in get_args(Family)
    assert row.severity in RANK
    assert set(row.needs) <= KNOWN_FIELDS


@each_row
def test_texts_fit_a_narrow_terminal_and_an_open_row(row: Row) -> None:
    assert 0 < len(row.symptom) <= 56
    assert 0 < len(row.separator) <= 110
    assert row.causes
    assert all(0 < len(cause) <= 76 for cause in row.causes)
    assert len(row.fix) <= 220
    for check in row.checks:
        assert 0 < len(check.look) <= 110
        assert len(check.code.splitlines()) <= 8
        assert len(check.expect) <= 120


@each_row
def test_what_to_do_now_is_one_line_about_the_process_that_runs(row: Row) -> None:
    line = NOW[row.signature]
    assert 0 < len(line) <= 125
    decided = ("stop", "let it", "kill nothing", "is done", "nothing is wrong")
    assert any(word in line.lower() for word in decided)
    if row.severity == "failure":
        assert "nothing is wrong" not in line.lower()


def test_now_is_said_of_rows_alone() -> None:
    assert NOW.keys() == BY_SIGNATURE.keys()


@each_row
def test_a_fix_never_comes_without_a_check_before_it(row: Row) -> None:
    assert bool(row.fix) == bool(row.checks)


def test_precedence_has_no_circle() -> None:
    def below(signature: str, path: tuple[str, ...]) -> None:
        assert signature not in path, path
        for other in BY_SIGNATURE[signature].outranks:
            below(other, (*path, signature))

    for row in ROWS:
        below(row.signature, ())


def test_one_cause_lights_one_failure_row() -> None:
    assert "lr-too-low" in BY_SIGNATURE["zero-gradient"].outranks
    assert "lr-too-high" in BY_SIGNATURE["nan-after-growth"].outranks
    assert "loss-spike" in BY_SIGNATURE["unrecovered-spike"].outranks


def literals() -> tuple[set[str], set[tuple[str, str]]]:
    """All strings in the detectors' code, and the (signature, family) pairs of the findings they spell out."""
    words: set[str] = set()
    pairs: set[tuple[str, str]] = set()
    for path in (Path(tuimon.__file__).parent / "signatures").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                words.add(node.value)
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Finding":
                named = [arg.value for arg in node.args[:2] if isinstance(arg, ast.Constant)]
                if len(named) == 2:
                    pairs.add((str(named[0]), str(named[1])))
    return words, pairs


def test_every_row_has_its_detector() -> None:
    words, _ = literals()
    # "healthy" is the absence of all findings: nothing detects it.
    assert {row.signature for row in ROWS} - words <= {"healthy"}


def test_detectors_and_rows_agree_on_the_family() -> None:
    _, pairs = literals()
    assert len(pairs) > 10
    assert {(signature, BY_SIGNATURE[signature].family) for signature, _ in pairs} == pairs
