"""A long log at a glance."""

from __future__ import annotations

import math
import subprocess
import sys
from pathlib import Path

import pytest

from tests.samples import csv, jsonl, losses, write
from tuimon.sources.samples import sampled

MANY = 60_000
"""Records that are far more than the ends and the places together hold."""


def test_a_short_log_is_read_whole(tmp_path: Path) -> None:
    batch = sampled(str(write(tmp_path, "run.jsonl", jsonl(losses(500)))))
    assert batch is not None
    assert list(batch.steps) == list(range(1, 501))


def test_a_long_log_gives_its_ends_whole_and_places_all_over_in_order(tmp_path: Path) -> None:
    batch = sampled(str(write(tmp_path, "run.jsonl", jsonl(losses(MANY)))))
    assert batch is not None
    steps = list(batch.steps)
    assert steps == sorted(set(steps))
    assert steps[:100] == list(range(1, 101))
    assert steps[-400:] == list(range(MANY - 399, MANY + 1))
    assert len(steps) < MANY / 10
    assert max(b - a for a, b in zip(steps, steps[1:], strict=False)) < MANY / 500


def test_every_sample_is_a_record_of_the_log(tmp_path: Path) -> None:
    rows = losses(MANY)
    batch = sampled(str(write(tmp_path, "run.jsonl", jsonl(rows))))
    assert batch is not None
    known = {row["step"]: row["loss"] for row in rows}
    assert all(known[step] == loss for step, loss in zip(batch.steps, batch.columns["loss"], strict=True))


def test_a_torn_last_line_is_left_out(tmp_path: Path) -> None:
    batch = sampled(str(write(tmp_path, "run.jsonl", jsonl(losses(50)) + b'{"step": 51, "lo')))
    assert batch is not None and batch.steps[-1] == 50


@pytest.mark.parametrize(
    "content", [b"", b'{"loss": 1.0}\n{"loss": 0.9}\n', csv(losses(20)), b"\x00\xff" * 500, b"hello\n", b"{}\n"]
)
def test_what_cannot_be_sampled_gives_nothing(tmp_path: Path, content: bytes) -> None:
    assert sampled(str(write(tmp_path, "run.jsonl", content))) is None


def test_a_folder_and_a_file_that_is_not_there_give_nothing(tmp_path: Path) -> None:
    assert sampled(str(tmp_path)) is None
    assert sampled(str(tmp_path / "none.jsonl")) is None


def test_lines_longer_than_a_sample_are_passed_over(tmp_path: Path) -> None:
    rows = [{**row, "note_to_self": "x" * 3000} for row in losses(2000)]
    batch = sampled(str(write(tmp_path, "run.jsonl", jsonl(rows))))
    assert batch is not None and batch.steps[-1] == 2000


def test_what_the_log_says_of_itself_and_what_is_no_json_is_no_sample(tmp_path: Path) -> None:
    said = b'{"tuimon": 1, "meta": {"num_classes": 10}}\n{"step": 3, "note": "checkpoint", "size": 5}\nEpoch 1 begins\n'
    noted = b'{"step": 51, "loss": 1.5, "note": "warm"}\n{"step": 52, "loss": NaN}\n'
    batch = sampled(str(write(tmp_path, "run.jsonl", said + jsonl(losses(50)) + noted)))
    assert batch is not None
    assert list(batch.steps) == list(range(1, 53))
    assert set(batch.columns) == set(losses(1)[0]) - {"step", "time"}
    assert batch.columns["loss"][-2] == 1.5
    assert math.isnan(batch.columns["loss"][-1] or 0.0)


def test_the_first_picture_waits_for_no_package_but_the_standard_library(tmp_path: Path) -> None:
    path = write(tmp_path, "run.jsonl", jsonl(losses(MANY)))
    program = (
        "import sys; before = set(sys.modules)\n"
        "import tuimon.cli, tuimon.commands.watch, tuimon.commands.early, tuimon.panels.preview\n"
        "from tuimon.sources.samples import sampled\n"
        "assert sampled(sys.argv[1]) is not None\n"
        "print(*sorted({name.partition('.')[0] for name in set(sys.modules) - before} - sys.stdlib_module_names))"
    )
    told = subprocess.run([sys.executable, "-c", program, str(path)], capture_output=True, text=True, check=True)
    assert told.stdout.split() == ["tuimon"]
