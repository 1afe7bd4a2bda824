"""Output that cannot write every character."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from screens import broken, learning
from test_watch import lines

from tuimon.commands.characters import SPELLED, spelled

# Processes, threads and terminals of a busy machine: a second look before it counts.
pytestmark = pytest.mark.flaky(reruns=2)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "run.jsonl"
    path.write_text(lines(broken()).replace('"lr"', '"größe"') + lines(learning(5, first=501)))
    return path


def said(*words: str, **environment: str) -> subprocess.CompletedProcess[bytes]:
    own = {key: value for key, value in os.environ.items() if key not in ("LC_ALL", "LANG", "PYTHONUTF8")}
    return subprocess.run(
        [sys.executable, "-m", "tuimon.cli", *words],
        env={**own, "COLUMNS": "80", **environment},
        capture_output=True,
        timeout=120,
        check=False,
    )


@pytest.mark.parametrize(
    "words",
    ["plot {}", "plot {} --metric größe", "explain nan-forward", "table", "diagnose {}", "lab", "watch --once {}"],
)
def test_an_output_of_ascii_gets_ascii(words: str, log: Path) -> None:
    done = said(*words.format(log).split(), PYTHONIOENCODING="ascii")
    assert done.returncode in (0, 1)
    assert done.stderr == b""
    text = done.stdout.decode("ascii")
    assert sum(line.count("?") for line in text.splitlines() if "gr??e" not in line) <= 3, text


def test_a_c_locale_without_help_from_python_gets_ascii(log: Path) -> None:
    done = said("plot", str(log), LC_ALL="C", PYTHONUTF8="0", PYTHONCOERCECLOCALE="0")
    assert done.stderr == b""
    assert b"*" in done.stdout
    done.stdout.decode("ascii")


def test_plain_characters_can_be_asked_for(log: Path) -> None:
    assert said("plot", str(log), "--metric", "loss", "--ascii", PYTHONIOENCODING="utf-8").stdout.isascii()
    assert not said("plot", str(log), "--metric", "loss", PYTHONIOENCODING="utf-8").stdout.isascii()


def test_characters_of_ours_have_a_spelling_and_others_a_question_mark() -> None:
    assert all(text.isascii() for text in SPELLED.values())
    assert spelled("a… ─│ ж") == "a... -| ?"
