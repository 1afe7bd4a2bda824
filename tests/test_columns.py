"""Columns to batches: roles, times, bounds."""

from __future__ import annotations

import math

import pytest

from tuimon.record import Mark
from tuimon.sources.columns import Columns
from tuimon.sources.names import MOST_METRICS
from tuimon.sources.values import floats, unix_time

NAN = math.nan


def test_roles_appear_under_their_own_names_and_the_rest_as_they_are() -> None:
    batch = Columns().batch({"iter": [1, 2], "train/loss": [3.0, 2.0], "train/acc": [0.1, 0.2]}, 2)
    assert (list(batch.steps), dict(batch.columns)) == ([1, 2], {"loss": [3.0, 2.0], "train/acc": [0.1, 0.2]})


def test_the_head_decides_and_later_names_only_fill_what_is_open() -> None:
    found = Columns()
    found.learn({"step": [1], "loss": [2.0]}, 1)
    batch = found.batch({"step": [2, 3], "train_loss": [9.0, None], "eval_loss": [None, 4.0]}, 2)
    assert found.roles == {"loss": "loss", "val_loss": "eval_loss"}
    assert dict(batch.columns) == {"train_loss": [9.0, None], "val_loss": [None, 4.0]}


def test_of_names_that_come_together_the_surest_takes_the_role() -> None:
    found = Columns()
    found.batch({"step": [1], "aux_loss": [1.0], "total_loss": [2.0]}, 1)
    assert found.roles == {"loss": "total_loss"}


def test_the_users_choice_stands_and_the_metric_it_displaces_is_kept() -> None:
    found = Columns({"loss": "train/ce"})
    batch = found.batch({"step": [1], "loss": [7.0], "train/ce": [2.0]}, 1)
    assert dict(batch.columns) == {"loss (in the file)": [7.0], "loss": [2.0]}


def test_a_squared_norm_becomes_the_norm() -> None:
    batch = Columns().batch({"step": [1, 2, 3, 4], "grad_norm_square": [9.0, NAN, None, math.inf]}, 4)
    assert repr(list(batch.columns["grad_norm"])) == "[3.0, nan, None, inf]"


def test_the_lr_of_a_configuration_record_is_not_that_of_the_run() -> None:
    found = Columns()
    columns = {"lr": [1e-3, None, None], "step": [None, 1, 2], "loss": [None, 3.0, 2.0], "train/lr": [None, 1e-4, 2e-4]}
    found.learn(columns, 3)
    batch = found.batch(columns, 3)
    assert found.roles["lr"] == "train/lr"
    assert list(batch.steps) == [1, 2]
    assert batch.columns["lr"] == [1e-4, 2e-4]


def test_marks_stay_before_their_record_when_rows_that_are_none_are_dropped() -> None:
    found = Columns()
    found.learn({"step": [1], "loss": [3.0]}, 1)
    columns = {"seed": [7, None, None], "step": [None, 1, 2], "loss": [None, 3.0, 2.0]}
    batch = found.batch(columns, 3, marks=[Mark(0, "header", {}), Mark(2, "note", {}), Mark(3, "note", {})])
    assert [mark.row for mark in batch.marks] == [0, 1, 2]


def test_times_are_unix_seconds_and_durations_are_not_times() -> None:
    batch = Columns().batch({"step": [1], "loss": [1.0], "time": [0.31]}, 1)
    assert list(batch.times) == [None] and batch.columns["time"] == [0.31]
    batch = Columns().batch({"step": [1], "loss": [1.0], "timestamp": ["2025-11-30T12:00:00Z"]}, 1)
    assert list(batch.times) == [1764504000.0] and "timestamp" not in batch.columns


@pytest.mark.parametrize(
    ("value", "seconds"),
    [(1.76e9, 1.76e9), (1.76e12, 1.76e9), (1.76e18, 1.76e9), (12.5, None), (NAN, None), (None, None)],
)
def test_the_unit_of_a_time_follows_from_its_size(value: float | None, seconds: float | None) -> None:
    assert unix_time(value) == (pytest.approx(seconds) if seconds else None)


def test_words_are_missing_and_every_spelling_of_nan_is_nan() -> None:
    cells = [1, "2.5", "NaN", "-inf", None, "n/a", "eight", True, [1], {"a": 1}, 10**400]
    numbers = [None if value is None else float(value) for value in floats("loss", cells)]
    assert repr(numbers) == "[1.0, 2.5, nan, -inf, None, None, None, None, None, None, inf]"


def test_metrics_are_floats_even_where_the_log_has_integers() -> None:
    batch = Columns().batch({"step": [1, 2], "loss": [3, 2]}, 2)
    assert {type(value) for value in batch.columns["loss"]} == {float}
    assert {type(step) for step in batch.steps} == {int}


def test_only_so_many_metrics_are_kept_and_the_rest_are_counted() -> None:
    found = Columns()
    batch = found.batch({"step": [1], "loss": [2.0]} | {f"m{i}": [1.0] for i in range(MOST_METRICS + 9)}, 1)
    assert len(batch.columns) == MOST_METRICS
    assert found.left_out == 10
    assert found.ignores(f"m{MOST_METRICS + 3}") and not found.ignores("loss")


def test_names_that_clean_to_the_same_are_not_mixed() -> None:
    found = Columns()
    batch = found.batch({"step": [1], "acc": [0.5], "a\x1b[0mcc": [0.9]}, 1)
    assert dict(batch.columns) == {"acc": [0.5]}
    assert found.left_out == 1


def test_every_candidate_can_be_listed_for_the_user_to_switch() -> None:
    found = Columns()
    found.batch({"step": [1], "loss_cls": [1.0], "loss_box": [2.0], "acc": [3.0]}, 1)
    assert found.candidates == {"loss": ["loss_cls", "loss_box"]}


def test_no_records_are_an_empty_batch() -> None:
    batch = Columns().batch({"step": [], "loss": []}, 0)
    assert len(batch) == 0 and not batch.columns
