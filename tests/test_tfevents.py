"""TensorBoard event files."""

from __future__ import annotations

import math
import struct
from pathlib import Path

import pytest
import samples

from tuimon.sources import open_source
from tuimon.sources.event import LARGEST
from tuimon.sources.tfrecord import framed

NAME = "events.out.tfevents.1760000000.box.7.0"
ROWS = [{"step": i, "train/loss": 2.5 - 0.125 * i, "lr": 0.25} for i in range(8)]


def test_scalars_become_records_with_step_time_and_role(tmp_path: Path) -> None:
    source = open_source(samples.write(tmp_path, NAME, samples.tfevents(ROWS)))
    batches = samples.read_all(source)
    assert source.format == "tfevents"
    assert samples.column(batches, "loss") == [(i, 2.5 - 0.125 * i) for i in range(8)]
    assert samples.column(batches, "lr") == [(i, 0.25) for i in range(8)]
    assert {time for batch in batches for time in batch.times} == {1.76e9}
    assert source.describe() == "TensorBoard events, 16 records; loss <- train/loss, lr <- lr; no validation"


def test_events_of_tensorflow_2_are_read_the_same(tmp_path: Path) -> None:
    source = open_source(samples.write(tmp_path, NAME, samples.tfevents(ROWS, samples.tensor)))
    assert samples.column(samples.read_all(source), "loss") == [(i, 2.5 - 0.125 * i) for i in range(8)]


def test_the_name_of_the_file_does_not_matter(tmp_path: Path) -> None:
    assert open_source(samples.write(tmp_path, "whatever.bin", samples.tfevents(ROWS))).format == "tfevents"


def test_a_lone_nan_is_kept(tmp_path: Path) -> None:
    rows = [*ROWS, {"step": 8, "train/loss": math.nan}, {"step": 9, "train/loss": 1.0}]
    batches = samples.read_all(open_source(samples.write(tmp_path, NAME, samples.tfevents(rows))))
    assert repr(samples.column(batches, "loss")[8]) == "(8, nan)"


def test_a_half_written_event_is_not_yet(tmp_path: Path) -> None:
    content = samples.tfevents(ROWS)
    path = samples.write(tmp_path, NAME, content[:-9])
    source = open_source(path)
    assert len(samples.column(samples.read_all(source), "lr")) == 7
    path.write_bytes(content)
    assert samples.column(samples.read_all(source), "lr") == [(7, 0.25)]


def test_an_event_with_a_wrong_checksum_is_bad_and_the_others_are_read(tmp_path: Path) -> None:
    content = bytearray(samples.tfevents(ROWS))
    place = content.index(struct.pack("<f", 2.25))
    content[place] ^= 1
    batches = samples.read_all(open_source(samples.write(tmp_path, NAME, bytes(content))))
    assert [line for batch in batches for line in batch.bad_lines] == [(6, "wrong checksum")]
    assert len(samples.column(batches, "loss")) == 7


def test_a_damaged_length_ends_the_reading_with_one_message(tmp_path: Path) -> None:
    content = samples.tfevents(ROWS) + b"\x05" + b"\0" * 40
    source = open_source(samples.write(tmp_path, NAME, content))
    batches = samples.read_all(source) + samples.read_all(source)
    assert [line.reason for batch in batches for line in batch.bad_lines] == [
        "damaged: the rest of the file cannot be read"
    ]
    assert len(samples.column(batches, "loss")) == 8


def test_a_picture_is_stepped_over(tmp_path: Path) -> None:
    picture = framed(samples.sized(5, samples.sized(1, samples.sized(4, b"x" * (3 * LARGEST)))))
    path = samples.write(tmp_path, NAME, samples.tfevents(ROWS[:4]) + picture + samples.tfevents(ROWS[4:]))
    assert len(samples.column(samples.read_all(open_source(path)), "loss")) == 8


def test_a_file_that_a_restart_opens_goes_on_the_same_run(tmp_path: Path) -> None:
    path = samples.write(tmp_path, NAME, samples.tfevents(ROWS))
    source = open_source(path)
    samples.read_all(source)
    samples.write(
        tmp_path, "events.out.tfevents.1760000900.box.8.0", samples.tfevents([{"step": 5, "train/loss": 4.0}])
    )
    samples.write(
        tmp_path, "events.out.tfevents.1750000000.box.6.0", samples.tfevents([{"step": 1, "train/loss": 9.0}])
    )
    assert samples.column(samples.read_all(source), "loss") == [(5, 4.0)]
    assert source.describe().startswith("TensorBoard events (2 files), 17 records")


def test_a_folder_is_one_run_with_its_training_and_validation(tmp_path: Path) -> None:
    samples.write(tmp_path, f"logs/train/{NAME}", samples.tfevents([{"step": 1, "epoch_loss": 2.5}]))
    samples.write(tmp_path, f"logs/validation/{NAME}", samples.tfevents([{"step": 1, "epoch_loss": 3.5}]))
    source = open_source(tmp_path / "logs", format="tfevents")
    batches = samples.read_all(source)
    assert samples.column(batches, "loss") == [(1, 2.5)]
    assert samples.column(batches, "val_loss") == [(1, 3.5)]


def test_a_replaced_file_starts_again_with_a_mark(tmp_path: Path) -> None:
    path = samples.write(tmp_path, NAME, samples.tfevents(ROWS))
    source = open_source(path)
    samples.read_all(source)
    path.write_bytes(samples.tfevents([{"step": 1, "loss": 9.0}]))
    batches = samples.read_all(source)
    assert [mark.kind for batch in batches for mark in batch.marks] == ["restart"]
    assert samples.column(batches, "loss") == [(1, 9.0)]


def test_a_missing_file_raises(tmp_path: Path) -> None:
    path = samples.write(tmp_path, NAME, samples.tfevents(ROWS))
    source = open_source(path)
    path.unlink()
    with pytest.raises(FileNotFoundError):
        source.read()
