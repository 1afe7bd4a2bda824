"""Runs in a folder."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import samples

from tuimon.sources import SourceError, open_source
from tuimon.sources.runs import Known, find_runs, newest_run

ROWS = samples.losses(4)
NOISE = {
    "config.json": b'{\n "lr": 0.1,\n "hidden": 64\n}\n',
    "data/train.jsonl": b'{"text": "the loss of a friend", "label": 1}\n' * 30,
    "data/train.csv": b"x,y,label\n1,2,0\n3,4,1\n",
    "notes.txt": b"# A network\n\nIt has a loss.\n",
    "README.md": b"# A network\n\nAfter 10 epochs the loss is 0.31, after 20 it is 0.29.\n",
    "docs/results.md": b"| step | loss |\n|---|---|\n| 10 | 0.31 |\n| 20 | 0.29 |\n",
    "docs/index.rst": b"step 10 loss 0.31\nstep 20 loss 0.29\n",
    "README": b"step 10 loss 0.31\nstep 20 loss 0.29\n",
    "Readme.txt": b"step 10 loss 0.31\nstep 20 loss 0.29\n",
    "Makefile": b"train:  # loss 0.3\n",
    "train.py": b"loss = 0.0\nfor step in range(10):\n    loss += 1.0\n",
    "run.sh": b"python train.py --loss-weight 0.3\n",
    "conf.yaml": b"loss: 0.3\nsteps: 100\n",
    "requirements.txt": b"torch==2.1\nnumpy\n",
    "model.pt": b"PK\x03\x04" + b"\0" * 99,
    "weights.bin": bytes(range(32)) * 99,
    "empty.jsonl": b"",
}
RUNS = {
    "a/run.jsonl": ("jsonl", samples.jsonl(ROWS)),
    "a/own.jsonl": ("tuimon", b'{"tuimon": 1}\n' + samples.jsonl(ROWS)),
    "b/lightning_logs/version_0/metrics.csv": ("csv", samples.csv(ROWS)),
    "c/checkpoint-30/trainer_state.json": ("json", samples.trainer_state(ROWS)),
    "c/checkpoint-20/trainer_state.json": ("json", samples.trainer_state(ROWS[:2])),
    "d/events.out.tfevents.1760000000.box": ("tfevents", samples.tfevents(ROWS)),
    "d/events.out.tfevents.1760000001.box": ("tfevents", samples.tfevents(ROWS)),
    "e/wandb/offline-run-1/run-1.wandb": ("wandb", samples.wandb_rows(ROWS)),
    "f/slurm-1.out": ("text", b"step 1 loss 2.5\nstep 2 loss 2.25\n"),
    "g/log": ("text", b"step 1 loss 2.5\nstep 2 loss 2.25\n"),
}


def fill(folder: Path, contents: dict[str, bytes]) -> None:
    for age, (name, content) in enumerate(contents.items()):
        path = samples.write(folder, name, content)
        os.utime(path, (1.7e9 - 3600 * age, 1.7e9 - 3600 * age))


def test_runs_are_found_by_what_is_in_them_newest_first(tmp_path: Path) -> None:
    fill(tmp_path, {name: content for name, (_, content) in RUNS.items()} | NOISE)
    found = find_runs(tmp_path)
    assert [(os.path.relpath(run.path, tmp_path), run.format) for run in found] == [
        ("a/run.jsonl", "jsonl"),
        ("a/own.jsonl", "tuimon"),
        ("b/lightning_logs/version_0/metrics.csv", "csv"),
        ("c", "json"),
        ("d", "tfevents"),
        ("e/wandb/offline-run-1/run-1.wandb", "wandb"),
        ("f/slurm-1.out", "text"),
        ("g/log", "text"),
    ]
    assert found[0].changed == 1.7e9 and found[0].size == len(RUNS["a/run.jsonl"][1])
    assert found[3].title == "JSON"


def test_the_metrics_beside_a_console_log_are_preferred(tmp_path: Path) -> None:
    fill(tmp_path, {"console.log": b"step 1 loss 2\n" * 4})
    path = samples.write(tmp_path, "metrics.jsonl", samples.jsonl(ROWS))
    os.utime(path, (1.7e9 - 60, 1.7e9 - 60))
    assert newest_run(tmp_path).format == "jsonl"
    os.utime(path, (1.7e9 - 6000, 1.7e9 - 6000))
    assert newest_run(tmp_path).format == "text"


def test_a_folder_of_other_things_has_no_run(tmp_path: Path) -> None:
    fill(tmp_path, NOISE)
    assert find_runs(tmp_path) == []
    with pytest.raises(SourceError, match="no file there is a log in a known format"):
        newest_run(tmp_path)


@pytest.mark.parametrize("name", ["run.txt", "run.log", "run.out", "run.err", "run", "run.1", "readme_run.log"])
def test_a_console_log_is_a_run_by_any_of_its_endings(name: str, tmp_path: Path) -> None:
    samples.write(tmp_path, name, b"step 1 loss 2.5\nstep 2 loss 2.25\n")
    assert [run.format for run in find_runs(tmp_path)] == ["text"]


@pytest.mark.parametrize("name", ["README.md", "train.py", "Makefile"])
def test_a_file_that_is_named_is_read_whatever_its_name(name: str, tmp_path: Path) -> None:
    path = samples.write(tmp_path, name, b"step 1 loss 2.5\nstep 2 loss 2.25\n")
    assert find_runs(tmp_path) == []
    source = open_source(path)
    assert (source.format, list(source.read().steps)) == ("text", [1, 2])


def test_a_missing_folder_raises(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        find_runs(tmp_path / "none")


def test_a_crowd_of_files_is_looked_at_in_part_and_newest_first(tmp_path: Path) -> None:
    for i in range(450):
        path = samples.write(tmp_path, f"{i}.jsonl", b'{"step": 1, "loss": 2}\n')
        os.utime(path, (1.6e9 + i, 1.6e9 + i))
    found = find_runs(tmp_path)
    assert len(found) == 400
    assert os.path.basename(found[0].path) == "449.jsonl"


def test_a_second_look_opens_only_what_changed(tmp_path: Path) -> None:
    path = samples.write(tmp_path, "a.jsonl", samples.jsonl(ROWS))
    known: Known = {}
    assert [run.format for run in find_runs(tmp_path, known)] == ["jsonl"]
    samples.write(tmp_path, "b.csv", samples.csv(ROWS))
    known[str(path)] = (*known[str(path)][:2], None)
    assert [run.format for run in find_runs(tmp_path, known)] == ["csv"], "an unchanged file was opened"
    path.write_bytes(samples.jsonl(ROWS) * 2)
    assert sorted(run.format for run in find_runs(tmp_path, known)) == ["csv", "jsonl"]


def test_links_in_a_circle_are_not_followed(tmp_path: Path) -> None:
    samples.write(tmp_path, "a/run.jsonl", samples.jsonl(ROWS))
    (tmp_path / "a" / "again").symlink_to(tmp_path)
    assert len(find_runs(tmp_path)) == 1
