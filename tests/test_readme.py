"""What the README promises is what the program does."""

from __future__ import annotations

import math
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import tuimon
from tuimon.app.config import config
from tuimon.catalogue import ROWS
from tuimon.cli import COMMANDS
from tuimon.commands.table import markdown
from tuimon.panels.keys import ALL
from tuimon.record import BadLine
from tuimon.sources.sniff import FORMATS
from tuimon.sources.tail import Tail

README = Path(__file__).parent.parent / "README.md"
TABLE = re.compile(r"<!-- table: tuimon table --markdown -->\n(.*?)\n?<!-- end of table -->", re.DOTALL)


def test_the_table_is_the_catalogue() -> None:
    shown = TABLE.search(README.read_text(encoding="utf-8"))
    assert shown is not None
    assert shown[1] == markdown(ROWS), "paste the output of `tuimon table --markdown` between the two comments"


def test_the_picture_is_in_the_repository() -> None:
    pictures = re.findall(r"!\[[^]]+\]\(([^)]+)\)", README.read_text(encoding="utf-8"))
    assert pictures
    assert all((README.parent / picture).is_file() for picture in pictures)


def test_two_commands_do_all_the_set_up() -> None:
    lines = [line for line in README.read_text(encoding="utf-8").splitlines() if line.startswith("python3 -m venv")]
    assert [line.rpartition("/")[2] for line in lines] == ["tuimon demo", "pytest"]


def test_five_lines_log_a_run(tmp_path: Path) -> None:
    block = re.search(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    assert block is not None
    assert len([line for line in block[1].splitlines() if line.strip()]) == 5
    before = (
        "loader = [(1, 2)] * 3\n"
        "def train_step(x, y): return 0.5, 1.0\n"
        "class schedule:\n    get_last_lr = staticmethod(lambda: [0.1])\n"
    )
    paths = {**os.environ, "PYTHONPATH": str(Path(tuimon.__file__).parent.parent)}
    subprocess.run([sys.executable, "-c", before + block[1]], cwd=tmp_path, env=paths, check=True, timeout=60)
    assert (tmp_path / "run.jsonl").read_text().count('"grad_norm"') == 3


def test_the_example_of_a_format_reads_its_lines(tmp_path: Path) -> None:
    blocks = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    example = next(block for block in blocks if "LineSource" in block)
    assert len([line for line in example.splitlines() if line.strip()]) <= 20
    names: dict[str, Any] = {}
    exec(compile(example, "README.md", "exec"), names)
    (tmp_path / "log").write_text("@1 loss 2.5 norm 1.5\nhello\n@2 loss nan norm 1.25\n")
    batch = names["AtLines"](Tail(tmp_path / "log")).read()
    assert (list(batch.steps), list(batch.columns["loss"])) == ([1, 2], [2.5, pytest.approx(math.nan, nan_ok=True)])
    assert batch.bad_lines == (BadLine(2, "no @step"),)


def test_every_format_is_mentioned() -> None:
    text = README.read_text(encoding="utf-8")
    assert all(f"`{entry.key}`" in text for entry in FORMATS)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_is_mentioned_and_has_help(command: str) -> None:
    assert f"tuimon {command}" in README.read_text(encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "tuimon.cli", command, "--help"], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    assert f"tuimon {command}" in done.stdout


def test_the_table_of_keys_names_every_key_and_everything_that_can_have_another() -> None:
    text = README.read_text(encoding="utf-8")
    table = text.partition("| key | | name |")[2].partition("\n\n")[0]
    rows = re.findall(r"^\| ([^|]*) \|[^|]*\|([^|]*)\|$", table, re.MULTILINE)
    named = [name for _, names in rows for name in re.findall(r"`([^`]+)`", names)]
    assert sorted(named) == sorted(key.name for key in ALL if key.name)
    told = {cap for caps, _ in rows for cap in re.findall(r"`([^`]+)`", caps)}
    caps = {cap for key in ALL for cap in key.cap.split()} - set("←→↑↓") - {"S-Tab"}
    assert told == caps


def test_the_example_of_keys_is_understood(tmp_path: Path) -> None:
    block = re.search(r"```ini\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    assert block is not None
    (tmp_path / "config.ini").write_text(block[1])
    found = config(str(tmp_path / "config.ini"))
    assert not found.wrong
    assert found.keys != ALL
