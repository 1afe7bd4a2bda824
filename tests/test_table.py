"""`tuimon table` in its three forms."""

from __future__ import annotations

import json

import pytest

from tuimon.catalogue import ROWS
from tuimon.cli import main
from tuimon.commands.table import FAMILIES, markdown, text


def printed(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert main(["table", *words]) == 0
    return capsys.readouterr().out


def test_the_text_has_one_line_a_row_under_its_family_within_80_columns(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    lines = printed(capsys).splitlines()
    assert max(map(len, lines)) <= 80
    assert [line for line in lines if line in FAMILIES] == list(FAMILIES)
    assert all(sum(line.startswith(f"  {row.signature} ") for line in lines) == 1 for row in ROWS)


def test_one_family_alone(capsys: pytest.CaptureFixture[str]) -> None:
    rows = json.loads(printed(capsys, "--family", "nan", "--json"))
    assert {row["family"] for row in rows} == {"nan"}
    assert len(rows) == 9


def test_the_json_has_every_field_of_every_row(capsys: pytest.CaptureFixture[str]) -> None:
    rows = json.loads(printed(capsys, "--json"))
    assert [row["signature"] for row in rows] == [row.signature for row in ROWS]
    wanted = {"signature", "family", "symptom", "separator", "causes", "checks", "fix", "needs", "confused_with"}
    assert all(wanted <= row.keys() for row in rows)
    assert rows[0]["checks"][0].keys() == {"look", "code", "expect"}


def test_markdown_cells_cannot_break_the_table(capsys: pytest.CaptureFixture[str]) -> None:
    lines = printed(capsys, "--markdown").strip().splitlines()
    assert len(lines) == len(ROWS) + 2
    assert len({line.replace(r"\|", "").count("|") for line in lines}) == 1
    assert markdown(ROWS) == "\n".join(lines)


def test_an_unknown_family_is_a_usage_error() -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["table", "--family", "nun"])
    assert stopped.value.code == 2


@pytest.mark.parametrize("width", [20, 40, 59, 60, 80, 200])
def test_no_word_of_the_table_is_cut_and_no_line_too_long(width: int) -> None:
    told = text(ROWS, width)
    assert max(map(len, told.splitlines())) <= max(width, 30)
    words = " ".join(told.split())
    for row in ROWS:
        assert " ".join(row.symptom.split()) in words
