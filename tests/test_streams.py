"""Standard streams that are closed, full or read by nobody: one line and an honest exit code, never a traceback."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.samples import jsonl, losses, write
from tuimon.cli import main


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return write(tmp_path, "run.jsonl", jsonl(losses(100)))


def shell(line: str) -> subprocess.CompletedProcess[str]:
    line = line.replace("tuimon ", f"{sys.executable} -m tuimon.cli ")
    return subprocess.run(["bash", "-c", line], capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.parametrize("command", ["diagnose {}", "diagnose {} --json", "watch {}", "plot {}", "table"])
def test_a_full_disk_under_the_output_is_told_and_is_not_a_finding(log: Path, command: str) -> None:
    done = shell(f"tuimon {command.format(log)} > /dev/full")
    assert (done.returncode, done.stderr) == (2, "tuimon: no space left on device\n")


@pytest.mark.parametrize("command", ["diagnose {}", "watch {}", "watch {} --once", "plot {}", "table"])
def test_closed_output_changes_nothing_else(log: Path, command: str) -> None:
    done = shell(f"tuimon {command.format(log)} >&-")
    assert (done.returncode, done.stderr) == (0, "")


def test_closed_standard_error_does_not_send_messages_among_the_output(tmp_path: Path) -> None:
    done = shell(f"tuimon diagnose {tmp_path / 'absent'} --json 2>&-")
    assert done.returncode == 2
    assert json.loads(done.stdout)["verdict"] == "no_data"


@pytest.mark.parametrize("command", ["diagnose {}", "plot {}", "table"])
def test_a_reader_that_went_away_is_no_error(log: Path, command: str) -> None:
    done = shell(f"tuimon {command.format(log)} | true")
    assert (done.returncode, done.stderr) == (0, "")


def test_an_interrupt_ends_it_without_a_word(tmp_path: Path) -> None:
    long = write(tmp_path, "long.jsonl", jsonl(losses(300_000)))
    code = "import signal; signal.signal(signal.SIGALRM, signal.default_int_handler)\nsignal.setitimer(0, 0.4)\n"
    code += f"from tuimon.cli import main; raise SystemExit(main(['diagnose', {str(long)!r}]))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (130, "")


def test_a_fault_of_its_own_is_one_line_and_never_says_that_a_run_has_failed(
    log: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fault(batch: object) -> None:
        raise ZeroDivisionError("a\x1b[31mfault")

    monkeypatch.setattr("tuimon.monitor.Monitor.feed", lambda self, batch: fault(batch))
    assert main(["diagnose", str(log)]) == 2
    said = capsys.readouterr().err
    assert said.startswith("tuimon: a fault of its own: ZeroDivisionError: afault (")
    assert said.count("\n") == 1
