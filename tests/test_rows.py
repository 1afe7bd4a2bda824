"""Rows to columns, and the frame of a source of rows."""

from __future__ import annotations

from pathlib import Path

import samples

from tuimon.record import BadLine
from tuimon.sources.base import MOST_BAD
from tuimon.sources.columns import Columns
from tuimon.sources.rows import AT_ONCE, Row, RowSource, flat, in_columns


class Given(RowSource[Row]):
    """Hands out what it is given."""

    format, title = "given", "given rows"

    def __init__(self, rows: list[Row], bad: int = 0) -> None:
        super().__init__("nowhere")
        self.given = rows
        self.wrong = bad

    def look(self, limit: int) -> bool:
        self.waiting, self.given = self.given, []
        self.bad = [BadLine(i + 1, "wrong") for i in range(self.wrong)]
        return False


def test_rows_become_columns_in_order_of_appearance() -> None:
    assert in_columns([{"a": 1}, {"b": 2, "a": 3}]) == {"a": [1, 3], "b": [None, 2]}
    assert in_columns([]) == {}


def test_names_that_are_left_out_make_no_column() -> None:
    found = Columns()
    found.batch({"step": [1]} | {f"m{i}": [1.0] for i in range(600)}, 1)
    assert "m599" not in in_columns([{"m1": 1, "m599": 2}], found)


def test_one_level_is_flattened_and_plain_rows_stay_what_they_are() -> None:
    row = {"a": 1, "b": None}
    assert flat(row) is row
    assert flat({"a": {"b": 1, "c": {"d": 2}, "e": [3]}, "f": [4], "g": 5}) == {"a/b": 1, "g": 5}


def test_many_rows_come_in_pieces_and_lose_nothing(tmp_path: Path) -> None:
    source = Given(list(samples.losses(2 * AT_ONCE + 1)))
    batches = samples.read_all(source)
    assert [len(batch) for batch in batches] == [AT_ONCE, AT_ONCE, 1, 0]
    assert [batch.more for batch in batches] == [True, True, False, False]


def test_only_some_bad_rows_are_described_but_all_are_counted() -> None:
    batch = Given(list(samples.losses(1)), bad=70).read()
    assert (len(batch.bad_lines), batch.bad_count) == (MOST_BAD, 70)


def test_a_restart_is_said_once_and_forgets_the_roles() -> None:
    source = Given([{"step": 1, "train_loss": 2.0}])
    source.read()
    source.restarted = True
    source.given = [{"step": 1, "lm_loss": 3.0}]
    first, second = source.read(), source.read()
    assert ([mark.kind for mark in first.marks], [mark.kind for mark in second.marks]) == (["restart"], [])
    assert source.roles == {"loss": "lm_loss"}
