"""One picture of the screen on standard output."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from pathlib import Path

from tests.samples import jsonl, losses, write

SIZE = {"COLUMNS": "120", "LINES": "41", "TERM": "xterm-256color"}
COMMAND = [sys.executable, "-m", "tuimon.cli", "watch", "--once"]


def calm() -> dict[str, str]:
    """The environment, without what it says about colours."""
    return {name: value for name, value in os.environ.items() if name != "NO_COLOR"} | SIZE


def printed_on_a_terminal(command: list[str], **environment: str) -> str:
    mine, its = pty.openpty()
    child = subprocess.Popen(command, stdout=its, stderr=its, env={**calm(), **environment})
    os.close(its)
    out = b""
    try:
        while got := os.read(mine, 1 << 16):
            out += got
    except OSError:
        pass  # The child is done.
    os.close(mine)
    assert child.wait() == 0
    return out.decode()


def test_a_pipe_gets_plain_lines_of_the_screen(tmp_path: Path) -> None:
    log = write(tmp_path, "run.jsonl", jsonl(losses(300)))
    done = subprocess.run([*COMMAND, str(log)], capture_output=True, text=True, check=True, env=calm())
    lines = done.stdout.splitlines()
    assert "HEALTHY" in lines[0] and "step 300" in lines[0]
    assert lines[1].startswith("loss  ") and "val loss" in lines[1]
    assert any("\u2800" <= cell < "\u2900" for line in lines for cell in line)
    assert "\x1b" not in done.stdout and "Segment" not in done.stdout
    assert not any(line.endswith(" ") for line in lines)


def test_a_terminal_gets_colours_unless_it_wants_none(tmp_path: Path) -> None:
    log = write(tmp_path, "run.jsonl", jsonl(losses(300)))
    coloured = printed_on_a_terminal([*COMMAND, str(log)])
    assert "\x1b[36m" in coloured and "HEALTHY" in coloured
    plain = printed_on_a_terminal([*COMMAND, str(log)], NO_COLOR="1")
    assert "\x1b" not in plain and "HEALTHY" in plain
