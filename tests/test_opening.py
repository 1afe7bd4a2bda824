"""Opening what the user named."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import samples

from tuimon.sources import SourceError, open_source

ROWS = samples.losses(5)


def test_a_file_that_is_not_there_yet_is_waited_for(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    source = open_source(path)
    assert source.describe() == "nothing there yet, waiting for the first line"
    with pytest.raises(FileNotFoundError):
        source.read()
    path.write_bytes(b"")
    assert len(source.read()) == 0
    path.write_bytes(b'{"step": 1, "lo')
    assert len(source.read()) == 0 and source.format == ""
    path.write_bytes(samples.jsonl(ROWS))
    assert len(source.read()) == 5
    assert (source.format, source.roles["loss"]) == ("jsonl", "loss")


@pytest.mark.parametrize("content", [samples.tfevents(ROWS), samples.wandb_rows(ROWS), samples.trainer_state(ROWS)])
def test_a_format_that_is_read_as_a_file_is_waited_for_too(tmp_path: Path, content: bytes) -> None:
    path = samples.write(tmp_path, "log", b"")
    source = open_source(path)
    assert len(source.read()) == 0
    path.write_bytes(content)
    assert len(samples.column(samples.read_all(source), "loss")) == 5


def test_the_users_choice_of_format_roles_and_step_is_followed(tmp_path: Path) -> None:
    path = samples.write(tmp_path, "log.txt", b"tokens,train/ce,loss\n100,2.5,9\n200,2.25,9\n")
    source = open_source(path, format="csv", roles={"loss": "train/ce"}, step="tokens")
    assert samples.column(samples.read_all(source), "loss") == [(100, 2.5), (200, 2.25)]
    assert "step <- tokens; loss <- train/ce" in source.describe()


def test_a_role_that_nothing_plays_yet_is_said(tmp_path: Path) -> None:
    source = open_source(samples.write(tmp_path, "a.jsonl", samples.jsonl(ROWS)), roles={"val_loss": "eval/ce"})
    source.read()
    assert "val_loss <- eval/ce (not seen yet)" in source.describe()


def test_a_step_that_is_not_there_is_refused_with_what_is(tmp_path: Path) -> None:
    path = samples.write(tmp_path, "a.jsonl", samples.jsonl(ROWS))
    with pytest.raises(SourceError, match="no field is called tokens; there are step, loss, grad_norm, lr"):
        open_source(path, step="tokens")


def test_the_names_that_could_play_a_role_are_listed(tmp_path: Path) -> None:
    rows: list[dict[str, object]] = [{"step": 1, "loss_cls": 1.0, "loss_box": 2.0, "total_loss": 3.0}]
    source = open_source(samples.write(tmp_path, "a.jsonl", samples.jsonl(rows)))
    source.read()
    assert source.candidates == {"loss": ["total_loss", "loss_cls", "loss_box"]}


def test_an_unknown_role_or_format_is_refused(tmp_path: Path) -> None:
    path = samples.write(tmp_path, "a.jsonl", samples.jsonl(ROWS))
    with pytest.raises(SourceError, match="no role is called momentum; there are loss, val_loss, grad_norm, lr"):
        open_source(path, roles={"momentum": "m"})
    with pytest.raises(SourceError, match="no format is called x"):
        open_source(path, format="x")


def test_binary_noise_is_refused_with_a_message(tmp_path: Path) -> None:
    path = samples.write(tmp_path, "model.bin", bytes(range(32)) * 200)
    with pytest.raises(SourceError, match=r"model\.bin is binary and in no known format"):
        open_source(path)


def test_a_folder_opens_the_run_written_last(tmp_path: Path) -> None:
    for age, name in enumerate(["new/run.jsonl", "old/run.jsonl"]):
        path = samples.write(tmp_path, name, samples.jsonl([{"step": age, "loss": 2.0}]))
        os.utime(path, (1.7e9 - 5000 * age, 1.7e9 - 5000 * age))
    assert samples.column(samples.read_all(open_source(tmp_path)), "loss") == [(0, 2.0)]


def test_a_folder_opens_the_newest_run_of_the_format_that_is_asked_for(tmp_path: Path) -> None:
    samples.write(tmp_path, "run.jsonl", samples.jsonl(ROWS))
    samples.write(tmp_path, "metrics.csv", samples.csv(ROWS))
    assert [open_source(tmp_path, format=key).format for key in ("csv", "jsonl")] == ["csv", "jsonl"]
    with pytest.raises(SourceError, match="no file there is a log as wandb"):
        open_source(tmp_path, format="wandb")


def test_a_folder_that_is_not_there_yet_is_waited_for(tmp_path: Path) -> None:
    source = open_source(tmp_path / "out")
    with pytest.raises(FileNotFoundError):
        source.read()
    (tmp_path / "out").mkdir()
    assert len(source.read()) == 0
    samples.write(tmp_path, "out/checkpoint-5/trainer_state.json", samples.trainer_state(ROWS))
    assert len(source.read()) == 5
    assert source.format == "json"


def test_an_empty_folder_is_waited_in_and_is_no_run_in_the_end(tmp_path: Path) -> None:
    source = open_source(tmp_path)
    assert len(source.read()) == 0
    with pytest.raises(SourceError, match="no run in "):
        source.finish()
    path = samples.write(tmp_path, "deep/run.csv", samples.csv(ROWS))
    assert samples.column(samples.read_all(source), "loss")[-1][0] == 5
    assert (source.format, source.path) == ("csv", str(path))  # type: ignore[attr-defined]


def test_a_data_set_is_no_log_and_the_message_lists_its_fields(tmp_path: Path) -> None:
    rows: list[dict[str, object]] = [{"text": "the loss of a friend", "label": "sad"}] * 200
    with pytest.raises(SourceError, match="no metric in 200 records; their fields are text, label"):
        open_source(samples.write(tmp_path, "train.jsonl", samples.jsonl(rows)))


def test_a_folder_without_a_run_says_so(tmp_path: Path) -> None:
    samples.write(tmp_path, "notes.txt", b"# notes\n")
    with pytest.raises(SourceError, match="no run in "):
        open_source(tmp_path)


READER = """
import select, sys
from tuimon.sources import open_source
source = open_source("-", **eval(sys.argv[1]))
steps = []
while not source.ended:
    select.select([source.fileno()], [], [])
    batch = source.read()
    steps += batch.steps
    while batch.more:
        batch = source.read()
        steps += batch.steps
steps += source.finish().steps
print(source.format, steps, source.roles)
"""


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (samples.jsonl(ROWS), "jsonl [1, 2, 3, 4, 5]"),
        (samples.csv(ROWS)[:-1], "csv [1, 2, 3, 4, 5]"),
        (b"step 1 loss 2.5\nstep 2 loss 2.25\nstep 3 loss 2.0\n", "text [1, 2, 3]"),
        (b"", " []"),
    ],
)
def test_a_pipe_is_read_as_it_comes(content: bytes, expected: str) -> None:
    process = subprocess.Popen([sys.executable, "-c", READER, "{}"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdin is not None
    for start in range(0, len(content), 17):
        process.stdin.write(content[start : start + 17])
        process.stdin.flush()
    out, _ = process.communicate(timeout=60)
    assert out.decode().startswith(expected)


def test_a_pipe_cannot_carry_a_format_that_needs_a_file() -> None:
    done = subprocess.run(
        [sys.executable, "-c", READER, "{}"], input=samples.tfevents(ROWS), capture_output=True, timeout=60, check=False
    )
    assert b"TensorBoard events cannot be read from a pipe: name the file" in done.stderr


def test_a_named_pipe_is_read_like_one(tmp_path: Path) -> None:
    path = tmp_path / "fifo"
    os.mkfifo(path)
    source = open_source(path)
    writer = os.open(path, os.O_WRONLY)
    os.write(writer, samples.jsonl(ROWS))
    assert len(source.read()) == 5
    assert not source.ended
    os.close(writer)
    source.read()
    assert source.ended
    source.close()
