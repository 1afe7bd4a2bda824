"""Tables in text."""

from __future__ import annotations

from pathlib import Path

import pytest
import samples

from tuimon.record import Batch
from tuimon.sources import open_source


def read(folder: Path, text: str, name: str = "metrics.csv", **chosen: object) -> tuple[list[Batch], str]:
    source = open_source(samples.write(folder, name, text.encode()), **chosen)  # type: ignore[arg-type]
    assert source.format == "csv"
    return samples.read_all(source), source.describe()


def test_sparse_rows_of_lightning_keep_each_value_at_its_step(tmp_path: Path) -> None:
    batches, said = read(
        tmp_path,
        "epoch,step,train_loss_epoch,train_loss_step,val_loss\n"
        "0,49,,2.75,\n0,99,,2.50,\n0,99,,,2.625\n0,99,2.6875,,\n1,149,,2.25,\n1,199,,2.0,\n",
    )
    assert samples.column(batches, "loss") == [(49, 2.75), (99, 2.5), (149, 2.25), (199, 2.0)]
    assert samples.column(batches, "val_loss") == [(99, 2.625)]
    assert samples.column(batches, "train_loss_epoch") == [(99, 2.6875)]
    assert "loss <- train_loss_step, val_loss <- val_loss" in said


@pytest.mark.parametrize("mark", [",", ";", "\t"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_keras_tables_are_read_whatever_separates_them(tmp_path: Path, mark: str, end: str) -> None:
    rows = [["epoch", "accuracy", "loss", "val_loss"], ["0", "0.5", "0.75", "0.875"], ["1", "0.625", "0.5", "0.75"]]
    batches, said = read(tmp_path, end.join(mark.join(row) for row in rows) + end)
    assert samples.column(batches, "loss") == [(0, 0.75), (1, 0.5)]
    assert samples.column(batches, "val_loss") == [(0, 0.875), (1, 0.75)]
    assert "step <- epoch" in said
    title = said.partition(";")[0].partition(",")[0]
    assert title in ("CSV", "TSV", "CSV with semicolons")


def test_a_table_without_a_step_numbers_its_rows_and_says_so(tmp_path: Path) -> None:
    batches, said = read(tmp_path, "val_loss,loss\n1.5,1.25\n1.25,1.0\n")
    assert samples.column(batches, "loss") == [(0, 1.25), (1, 1.0)]
    assert "no step: records are numbered from 0" in said


def test_blanks_that_pad_names_and_cells_do_not_matter(tmp_path: Path) -> None:
    batches, said = read(
        tmp_path,
        "      epoch,  train/box_loss,    val/box_loss,   lr/pg0,   lr/pg1\n"
        "          0,            1.75,           1.875,    0.001,    0.002\n"
        "          1,            1.50,             nan,    0.002,    0.003\n",
    )
    assert samples.column(batches, "loss") == [(0, 1.75), (1, 1.5)]
    assert repr(samples.column(batches, "val_loss")) == "[(0, 1.875), (1, nan)]"
    assert samples.column(batches, "lr") == [(0, 0.001), (1, 0.002)]
    assert "lr <- lr/pg0" in said


def test_stable_baselines_count_in_time_steps(tmp_path: Path) -> None:
    batches, said = read(
        tmp_path,
        "time/iterations,time/fps,train/value_loss,train/policy_loss,time/total_timesteps,train/learning_rate\n"
        "1,900,,,512,\n2,880,7.5,-0.25,1024,0.0007\n",
    )
    assert samples.column(batches, "loss") == [(1024, 7.5)]
    assert samples.column(batches, "lr") == [(1024, 0.0007)]
    assert "step <- time/total_timesteps" in said


def test_an_exported_chart_has_its_metric_behind_the_name_of_the_run(tmp_path: Path) -> None:
    run = "01/02/2025_10:11:12_night - lm_loss"
    batches, said = read(
        tmp_path,
        f'"Step","{run}","{run}__MIN","{run}__MAX"\n"4","11.5","11.25","11.75"\n"52","9.5","9.25","9.75"\n',
    )
    assert samples.column(batches, "loss") == [(4, 11.5), (52, 9.5)]
    assert f"loss <- {run};" in said


def test_quoted_cells_may_hold_the_separator(tmp_path: Path) -> None:
    batches, _ = read(tmp_path, 'step,note,loss\n1,"calm, so far",2.5\n2,"a ""b""",2.25\n')
    assert samples.column(batches, "loss") == [(1, 2.5), (2, 2.25)]


def test_decimal_commas_are_understood(tmp_path: Path) -> None:
    batches, _ = read(tmp_path, "step;loss\n1;2,5\n2;2,25\n")
    assert samples.column(batches, "loss") == [(1, 2.5), (2, 2.25)]


def test_a_header_that_stands_again_begins_a_resumed_run(tmp_path: Path) -> None:
    batches, _ = read(tmp_path, "step,loss\n1,3\n2,2\nstep,loss,lr\n1,3,0.5\n2,2.5,0.25\n")
    assert samples.column(batches, "loss") == [(1, 3.0), (2, 2.0), (1, 3.0), (2, 2.5)]
    assert samples.column(batches, "lr") == [(1, 0.5), (2, 0.25)]


def test_a_cut_or_glued_row_is_bad_and_the_others_are_read(tmp_path: Path) -> None:
    batches, _ = read(tmp_path, "step,loss,lr\n1,3,0.5\n2,2.\n3,2.5,0.54,2.25,0.5\n5,2,0.5\n")
    assert samples.column(batches, "loss") == [(1, 3.0), (5, 2.0)]
    assert [(line.number, line.reason) for batch in batches for line in batch.bad_lines] == [
        (3, "2 cells where 3 belong"),
        (4, "5 cells where 3 belong"),
    ]


def test_a_trailing_separator_is_no_cell(tmp_path: Path) -> None:
    batches, _ = read(tmp_path, "step,loss\n1,3,\n2,2,\n")
    assert samples.column(batches, "loss") == [(1, 3.0), (2, 2.0)]


def test_comments_before_the_header_are_skipped(tmp_path: Path) -> None:
    batches, _ = read(tmp_path, '#{"t_start": 1.5}\nstep,loss\n1,3\n2,2\n', format="csv")
    assert samples.column(batches, "loss") == [(1, 3.0), (2, 2.0)]


def test_a_nameless_first_column_is_the_index(tmp_path: Path) -> None:
    batches, said = read(tmp_path, ",loss,loss\n10,3,4\n20,2,5\n")
    assert samples.column(batches, "loss") == [(10, 3.0), (20, 2.0)]
    assert samples.column(batches, "loss (2)") == [(10, 4.0), (20, 5.0)]
    assert "step <- index" in said


def test_every_spelling_of_nan_is_a_value_and_every_blank_is_missing(tmp_path: Path) -> None:
    batches, _ = read(tmp_path, "step,loss\n1,NaN\n2,-inf\n3,N/A\n4,  \n5,nanxxx\n6,tensor\n7,1\n")
    assert repr(samples.column(batches, "loss")) == "[(1, nan), (2, -inf), (5, nan), (7, 1.0)]"


def test_a_header_alone_is_waited_on(tmp_path: Path) -> None:
    path = samples.write(tmp_path, "metrics.csv", b"step,loss\n")
    source = open_source(path)
    assert len(source.read()) == 0
    samples.grow(path, b"1,3\n")
    assert samples.column([source.read()], "loss") == [(1, 3.0)]


def test_a_table_rewritten_with_another_header_is_read_again(tmp_path: Path) -> None:
    path = samples.write(tmp_path, "metrics.csv", b"step,loss\n1,3\n")
    source = open_source(path)
    source.read()
    samples.replace_atomically(path, b"step,loss,val_loss\n1,3,\n2,2,2.5\n")
    batch = source.read()
    assert [mark.kind for mark in batch.marks] == ["restart"]
    assert samples.column([batch], "val_loss") == [(2, 2.5)]
