"""tuimon opens no connection and runs nothing out of a log: seen from inside the interpreter, and by the kernel."""

from __future__ import annotations

import os
import pickle
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.samples import jsonl, losses, tfevents, trainer_state, wandb_rows, write
from tests.terminals import Terminal

# Processes, threads and terminals of a busy machine: a second look before it counts.
pytestmark = pytest.mark.flaky(reruns=2)

WATCHED = """
import sys
events = []
WATCHED = ("socket.", "subprocess.", "os.system", "os.exec", "os.posix_spawn", "os.fork", "pickle.", "urllib.", "http.",
           "smtplib.", "ftplib.", "webbrowser.")
def hook(event, args):
    # A pair of unix sockets is how a thread is woken.
    if event.startswith(WATCHED) and not (event == "socket.__new__" and args[1] in (-1, 1)):
        events.append(f"{event} {args!r}"[:200])
sys.addaudithook(hook)
from tuimon.cli import main
try:
    code = main(sys.argv[2:])
except SystemExit as ended:
    code = ended.code
with open(sys.argv[1], "w") as told:
    told.write("\\n".join(events))
sys.exit(code)
"""


def seen(told: Path) -> list[str]:
    return told.read_text().splitlines()


@pytest.fixture
def logs(tmp_path: Path) -> list[Path]:
    return [
        write(tmp_path, "run.jsonl", b'{"tuimon": 1, "run": "http://owned.example/"}\n' + jsonl(losses(100))),
        write(tmp_path, "trainer_state.json", trainer_state(losses(50))),
        write(tmp_path, "events.out.tfevents.1.box", tfevents(losses(50))),
        write(tmp_path, "run-1.wandb", wandb_rows(losses(50))),
    ]


@pytest.mark.parametrize("command", ["diagnose", "plot", "watch --once", "triage"])
def test_no_command_connects_starts_or_unpickles_anything(logs: list[Path], tmp_path: Path, command: str) -> None:
    for log in logs:
        words = [sys.executable, "-c", WATCHED, str(tmp_path / "told"), *command.split(), str(log)]
        done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == 0, done.stderr
        assert seen(tmp_path / "told") == []


def test_the_screen_connects_starts_and_unpickles_nothing(logs: list[Path], tmp_path: Path) -> None:
    with Terminal([sys.executable, "-c", WATCHED, str(tmp_path / "told"), "watch", str(logs[0])]) as terminal:
        terminal.until("step 100")
        for key in ("o", "\x1b", "?", "\x1b", "t", "\x1b"):
            terminal.press(key)
            terminal.take(0.3)
        terminal.press("\x03")
        terminal.wait()
    assert seen(tmp_path / "told") == []


def test_a_long_log_starts_one_reader_of_our_own_and_its_answers_name_nothing_else(tmp_path: Path) -> None:
    log = write(tmp_path, "run.jsonl", jsonl(losses(1000)) + jsonl([{"note": "x" * 1000}]) * 9000)
    with Terminal([sys.executable, "-c", WATCHED, str(tmp_path / "told"), "watch", str(log)]) as terminal:
        terminal.until("step 1,000")
        terminal.press("\x03")
        terminal.wait()
    started = [line for line in seen(tmp_path / "told") if not line.startswith("pickle.")]
    assert len(started) == 1 and started[0].startswith(f"subprocess.Popen ({sys.executable!r}, ["), started
    named = {line.split("'")[1] for line in seen(tmp_path / "told") if line.startswith("pickle.")}
    assert all(module.partition(".")[0] in ("tuimon", "array", "collections", "builtins") for module in named), named


def test_the_writer_connects_and_starts_nothing(tmp_path: Path) -> None:
    code = WATCHED.replace("from tuimon.cli import main", "import tuimon").replace(
        "code = main(sys.argv[2:])",
        "run = tuimon.RunWriter(sys.argv[2], background=True); run.log(1, loss=1.0); run.close(); code = 0",
    )
    words = [sys.executable, "-c", code, str(tmp_path / "told"), str(tmp_path / "run.jsonl")]
    subprocess.run(words, check=True, timeout=60)
    assert seen(tmp_path / "told") == []


def test_the_hook_of_these_tests_sees_a_connection(tmp_path: Path) -> None:
    code = WATCHED.replace("code = main(sys.argv[2:])", "import socket; socket.create_connection(('127.0.0.1', 1))")
    subprocess.run([sys.executable, "-c", code, str(tmp_path / "told")], check=False, timeout=60, capture_output=True)
    assert not (tmp_path / "told").exists()
    code = code.replace("except SystemExit as ended:", "except OSError:\n    code = 0\nexcept SystemExit as ended:")
    subprocess.run([sys.executable, "-c", code, str(tmp_path / "told")], check=False, timeout=60, capture_output=True)
    assert any(line.startswith("socket.connect") for line in seen(tmp_path / "told"))


@pytest.mark.parametrize("command", ["diagnose", "watch --once"])
def test_the_kernel_sees_no_connection_either(logs: list[Path], tmp_path: Path, command: str) -> None:
    strace = shutil.which("strace")
    if (
        strace is None
        or subprocess.run([strace, "-o", os.devnull, "true"], check=False, capture_output=True).returncode
    ):
        pytest.skip("no strace here, or not permitted")
    trace = tmp_path / "trace"
    words = [strace, "-f", "-e", "trace=connect,bind,listen,sendto,execve", "-o", str(trace)]
    subprocess.run(
        [*words, sys.executable, "-m", "tuimon.cli", *command.split(), str(logs[0])],
        check=True, capture_output=True, timeout=120,
    )  # fmt: skip
    # A byte without an address goes to a thread of its own, through a pair of sockets.
    calls = [line for line in trace.read_text().splitlines() if "(" in line and "NULL, 0)" not in line]
    assert len(calls) == 1 and "execve" in calls[0], calls


class Trap:
    """What runs a command when it is unpickled."""

    def __init__(self, place: Path) -> None:
        self.place = place

    def __reduce__(self) -> object:
        return os.system, (f"touch {self.place}",)


def test_a_pickle_under_any_name_is_refused_and_not_opened(tmp_path: Path) -> None:
    trap = pickle.dumps(Trap(tmp_path / "owned"))
    for name in ("run.jsonl", "run.json", "run.csv", "x.wandb", "events.out.tfevents.1.box", "step-1.pt"):
        log = write(tmp_path, name, trap)
        autopsy = [["autopsy", str(log)]] if name.endswith(".pt") else []
        for command in (["diagnose", str(log)], ["diagnose", str(log), "--format", "jsonl"], *autopsy):
            words = [sys.executable, "-m", "tuimon.cli", *command]
            done = subprocess.run(words, capture_output=True, text=True, timeout=120, check=False)
            assert done.returncode == 2, (command, done)
            assert "Traceback" not in done.stderr
        log.unlink()
    assert not (tmp_path / "owned").exists()
