"""Offline runs of Weights & Biases."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
import samples

from tuimon.sources import open_source

ROWS = [{"_step": i, "iter": 250 * i, "train/loss": 2.5 - 0.125 * i, "_timestamp": 1.76e9 + i} for i in range(12)]
CONSOLE = b"\x08\x01" + samples.sized(13, samples.sized(2, b"step 1: loss 9.0\n" * 400))


def test_history_becomes_records_in_the_steps_of_the_training(tmp_path: Path) -> None:
    source = open_source(samples.write(tmp_path, "run-a1.wandb", samples.wandb_rows(ROWS)))
    batches = samples.read_all(source)
    assert samples.column(batches, "loss") == [(250 * i, 2.5 - 0.125 * i) for i in range(12)]
    assert batches[0].times[3] == 1.76e9 + 3
    assert source.describe() == (
        "W&B offline run, 12 records every 250 steps; step <- iter; loss <- train/loss; no validation"
    )


def test_records_in_fragments_are_put_together_and_console_text_is_no_record(tmp_path: Path) -> None:
    records = []
    for i, row in enumerate(ROWS):
        records += [CONSOLE * 2, samples.wandb_record(row, i), CONSOLE * 3]
    content = samples.wandb(records)
    assert len(content) > 5 * 32768
    batches = samples.read_all(open_source(samples.write(tmp_path, "run-a1.wandb", content)), 4096)
    assert len(samples.column(batches, "loss")) == 12
    assert not sum(batch.bad_count for batch in batches)


def test_a_partial_last_record_is_not_yet(tmp_path: Path) -> None:
    content = samples.wandb_rows(ROWS)
    path = samples.write(tmp_path, "run-a1.wandb", content[:-20])
    source = open_source(path)
    assert len(samples.column(samples.read_all(source), "loss")) == 11
    path.write_bytes(content)
    assert samples.column(samples.read_all(source), "loss") == [(2750, 1.125)]


@pytest.mark.parametrize("value", [math.nan, math.inf, "NaN", "Infinity"])
def test_what_is_not_finite_is_a_value(tmp_path: Path, value: object) -> None:
    rows = [*ROWS, {"_step": 12, "iter": 3000, "train/loss": value}]
    batches = samples.read_all(open_source(samples.write(tmp_path, "run-a1.wandb", samples.wandb_rows(rows))))
    assert not math.isfinite(samples.column(batches, "loss")[-1][1])


def test_histograms_and_words_are_no_metrics(tmp_path: Path) -> None:
    rows = [{**row, "hist": {"_type": "histogram", "values": [1] * 50}, "phase": "warm"} for row in ROWS]
    batches = samples.read_all(open_source(samples.write(tmp_path, "run-a1.wandb", samples.wandb_rows(rows))))
    assert {name for batch in batches for name in batch.columns} == {"loss", "_step"}


def test_a_wrong_checksum_costs_one_record(tmp_path: Path) -> None:
    content = bytearray(samples.wandb_rows(ROWS))
    content[content.index(b"1.75")] ^= 1
    batches = samples.read_all(open_source(samples.write(tmp_path, "run-a1.wandb", bytes(content))))
    assert [line.reason for batch in batches for line in batch.bad_lines] == ["wrong checksum"]
    assert len(samples.column(batches, "loss")) == 11


def test_a_damaged_block_is_left_at_the_next_one(tmp_path: Path) -> None:
    records = [record for i, row in enumerate(ROWS) for record in (CONSOLE * 2, samples.wandb_record(row, i))]
    content = bytearray(samples.wandb(records))
    content[32768 + 4 : 32768 + 7] = b"\xff\xff\x09"
    batches = samples.read_all(open_source(samples.write(tmp_path, "run-a1.wandb", bytes(content))))
    assert len(samples.column(batches, "loss")) >= 6
    assert [line.reason for batch in batches for line in batch.bad_lines][:1] == ["damaged"]


def test_a_replaced_file_starts_again_with_a_mark(tmp_path: Path) -> None:
    path = samples.write(tmp_path, "run-a1.wandb", samples.wandb_rows(ROWS))
    source = open_source(path)
    samples.read_all(source)
    path.write_bytes(samples.wandb_rows([{"_step": 4, "loss": 9.0}]))
    batches = samples.read_all(source)
    assert [mark.kind for batch in batches for mark in batch.marks] == ["restart"]
    assert samples.column(batches, "loss") == [(4, 9.0)]
