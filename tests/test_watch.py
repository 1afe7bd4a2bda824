"""`tuimon watch` from end to end: a real file, a real terminal."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

import pytest
from screens import broken, learning
from terminals import WATCH, Terminal

from tuimon.cli import main
from tuimon.record import plain

# Processes, threads and terminals of a busy machine: a second look before it counts.
pytestmark = pytest.mark.flaky(reruns=2)


def lines(rows: Iterable[tuple[int, float | None, Mapping[str, float | None]]]) -> str:
    return "".join(
        json.dumps({"step": step, "time": time, **{name: plain(value or 0.0) for name, value in metrics.items()}})
        + "\n"
        for step, time, metrics in rows
    )


def append(path: Path, text: str) -> None:
    with path.open("a") as file:
        file.write(text)


def test_a_nan_that_is_appended_lights_its_row_and_n_shows_where_it_began(tmp_path: Path) -> None:
    run = tmp_path / "run.jsonl"
    rows = broken()
    run.write_text(lines(rows[:400]))
    with Terminal([*WATCH, str(run)]) as terminal:
        terminal.until("HEALTHY")
        terminal.until("step 400")
        append(run, lines(rows[400:411]))
        terminal.until("step 411")
        assert "HEALTHY" in terminal.lines[0]
        append(run, lines(rows[411:]))
        terminal.until("since step 412")
        terminal.until("began at step 412")
        terminal.press("n")
        terminal.until("born in the forward pass")
        terminal.until(
            lambda: any("› " in line and "412" in line and line.count("nan") == 2 for line in terminal.lines), "onset"
        )
        terminal.press("\x1b")
        terminal.until("began at step 412")
        terminal.press("q")
        assert terminal.wait() == 0
        assert terminal.restored


def test_a_file_that_is_not_there_yet_is_waited_for(tmp_path: Path) -> None:
    run = tmp_path / "later.jsonl"
    with Terminal([*WATCH, str(run)]) as terminal:
        terminal.until("NO DATA")
        terminal.until("waiting")
        run.write_text(lines(learning(60)))
        terminal.until("step 60")
        terminal.until("HEALTHY")
        terminal.press("q")
        assert terminal.wait() == 0


def test_half_a_line_is_not_yet_a_record(tmp_path: Path) -> None:
    run = tmp_path / "run.jsonl"
    run.write_text(lines(learning(50)))
    with Terminal([*WATCH, str(run)]) as terminal:
        terminal.until("step 50")
        append(run, '{"step": 51, "loss": 0.')
        append(run, '5}\n{"step": 52, "loss": 0.4}\n')
        terminal.until("step 52")
        assert "bad line" not in terminal.text
        terminal.press("\x03")
        assert terminal.wait() == 0
        assert terminal.restored


def test_what_is_no_log_is_told_in_one_line(tmp_path: Path) -> None:
    picture = tmp_path / "picture.png"
    picture.write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 40)
    with Terminal([*WATCH, str(picture)]) as terminal:
        assert terminal.wait() == 2
        told = terminal.seen.decode(errors="replace")
        assert "tuimon: " in told
        assert "picture.png" in told
        assert "Traceback" not in told
        assert terminal.restored


def without_terminal(*words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "tuimon.cli", *words],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env={**os.environ, **environment},
    )


def test_without_a_terminal_watch_prints_what_diagnose_prints(tmp_path: Path) -> None:
    run = tmp_path / "run.jsonl"
    run.write_text(lines(broken()))
    watched, diagnosed = without_terminal("watch", str(run)), without_terminal("diagnose", str(run))
    assert watched.stdout == diagnosed.stdout
    assert watched.returncode == diagnosed.returncode == 1
    assert "nan-forward" in watched.stdout


def test_once_prints_one_picture_without_escape_sequences(tmp_path: Path) -> None:
    run = tmp_path / "run.jsonl"
    run.write_text(lines(broken()))
    once = without_terminal("watch", str(run), "--once", COLUMNS="100", LINES="30")
    assert once.returncode == 0
    assert "since step 412" in once.stdout.splitlines()[0]
    assert "\x1b" not in once.stdout
    assert len(once.stdout.splitlines()) == 29


@pytest.mark.parametrize("fps", ["0", "61", "nan", "many"])
def test_a_frame_rate_that_makes_no_sense_is_refused(fps: str) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["watch", "run.jsonl", "--fps", fps])
    assert ended.value.code == 2


def test_the_view_of_a_file_is_kept_until_it_is_reset_and_keys_are_those_of_the_user(tmp_path: Path) -> None:
    run = tmp_path / "run.jsonl"
    run.write_text(lines(learning(60)))
    (tmp_path / "tuimon").mkdir()
    (tmp_path / "tuimon" / "config.ini").write_text("[keys]\nlog = g\nfly = f\n")
    other = tmp_path / "temporary"
    other.mkdir()
    own = {"XDG_STATE_HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path), "TMPDIR": str(other)}

    def watched(*arguments: str, keys: str) -> str:
        with Terminal([*WATCH, str(run), *arguments], (200, 40), environment=own) as terminal:
            terminal.until("step 60")
            terminal.until("no action is called fly")
            for key in keys:
                terminal.press(key)
                terminal.until(lambda: "g log" in terminal.lines[-1], "a footer with the user's key")
            terminal.until("live" if "R" not in keys else "everything as usual again")
            header = terminal.lines[0]
            terminal.press("q")
            assert terminal.wait() == 0
        return header

    watched(keys="g")
    (kept,) = (tmp_path / "tuimon" / "views").iterdir()
    assert "  log  " in watched(keys="")
    assert "  log  " not in watched("--reset-view", keys="")
    assert not kept.exists()
    watched(keys="g")
    assert kept.exists()
    watched(keys="R")
    assert not kept.exists()
