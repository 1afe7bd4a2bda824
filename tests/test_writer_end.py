"""How a run ended stands in its log, and a run that ended is not called stalled."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import tuimon
from tests.samples import read_all
from tuimon.monitor import Monitor
from tuimon.sources import open_source

ROOT = Path(__file__).parents[1]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "run.jsonl"


def ends(file: Path) -> list[tuple[Any, ...]]:
    """Every note of an end: step, name, what else it says, and whether it is the last line."""
    rows = [json.loads(line) for line in file.read_text().splitlines()]
    return [
        (row["step"], row["note"], row.get("error"), i == len(rows) - 1)
        for i, row in enumerate(rows)
        if row.get("note") in ("end", "aborted")
    ]


def child(code: str, *args: object) -> subprocess.CompletedProcess[str]:
    begin = (
        "import os, sys, tuimon\nrun = tuimon.RunWriter(sys.argv[1])\nfor step in range(5): run.log(step, loss=1.0)\n"
    )
    words = [sys.executable, "-c", begin + code, *map(str, args)]
    return subprocess.run(words, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)


def test_a_block_that_is_left_in_the_usual_way_ends_the_run_once(file: Path) -> None:
    with tuimon.RunWriter(file, clock=lambda: 1.5e9) as run:
        run.log(7, loss=1.0)
        run.close()
    run.close()
    assert ends(file) == [(7, "end", None, True)]
    assert json.loads(file.read_text().splitlines()[-1]) == {"step": 7, "note": "end", "time": 1.5e9}


def test_an_exception_that_leaves_the_block_is_named_by_its_class_only(file: Path) -> None:
    def train() -> None:
        with tuimon.RunWriter(file) as run:
            run.log(3, loss=1.0)
            raise ValueError("secret")

    with pytest.raises(ValueError, match="secret"):
        train()
    assert ends(file) == [(3, "aborted", "ValueError", True)]
    assert "secret" not in file.read_text()


@pytest.mark.parametrize(("code", "note"), [(None, "end"), (0, "end"), (3, "aborted"), ("bad", "aborted")])
def test_leaving_the_block_by_an_exit_is_an_end_if_it_says_success(file: Path, code: Any, note: str) -> None:
    with pytest.raises(SystemExit), tuimon.RunWriter(file):
        sys.exit(code)
    assert [end[:2] for end in ends(file)] == [(None, note)]


@pytest.mark.parametrize(
    ("end", "expected"),
    [
        ("", [(4, "end", None, True)]),
        ("sys.exit(0)", [(4, "end", None, True)]),
        ("del run", [(4, "end", None, True)]),
        ("1 / 0", [(4, "aborted", "ZeroDivisionError", True)]),
        ("raise KeyboardInterrupt", [(4, "aborted", "KeyboardInterrupt", True)]),
        ("try: 1 / 0\nexcept ZeroDivisionError: pass", [(4, "end", None, True)]),
        ("import threading; threading.Thread(target=lambda: 1 / 0).start()", [(4, "end", None, True)]),
        ("os._exit(0)", []),
        ("os.kill(os.getpid(), 15)", []),
        ("os.kill(os.getpid(), 9)", []),
    ],
)
def test_the_end_of_the_process_is_the_end_of_the_run(file: Path, end: str, expected: list[tuple[Any, ...]]) -> None:
    child(end, file)
    assert ends(file) == expected


@pytest.mark.parametrize("leave", ["sys.exit()", "raise ValueError", "run.close(); sys.exit()", "del run; sys.exit()"])
def test_a_forked_child_that_ends_does_not_end_the_run_of_its_parent(file: Path, leave: str) -> None:
    done = child(f"if os.fork() == 0:\n    {leave}\nos.wait()\nrun.log(5, loss=1.0)", file)
    assert done.returncode == 0
    assert ends(file) == [(5, "end", None, True)]


def test_the_end_comes_after_everything_that_waited_in_the_queue(file: Path) -> None:
    with tuimon.RunWriter(file, background=True) as run:
        for step in range(3000):
            run.log(step, loss=1.0)
    assert ends(file) == [(2999, "end", None, True)]
    assert len(file.read_text().splitlines()) == 3002


def test_a_step_that_could_not_be_written_is_not_where_the_run_ended(file: Path) -> None:
    with tuimon.RunWriter(file) as run:
        run.log(1, loss=1.0)
        run.log(2**70, loss=1.0)
    assert ends(file) == [(1, "end", None, True)]


def followed(file: Path) -> Monitor:
    monitor = Monitor()
    source = open_source(file)
    monitor.feed(source.read())
    source.close()
    return monitor


def write(file: Path, first: int, last: int, begun: float, *, ended: bool) -> float:
    """A run with a record each second; returns the time of the last one."""
    ticks = iter(range(10**6))
    run = tuimon.RunWriter(file, clock=lambda: begun + next(ticks))
    for step in range(first, last):
        run.log(step, loss=1.0 + step % 3)
    if ended:
        run.close()
    else:
        run.close(ended=False)  # as if killed
    return begun + last - first


def test_a_run_that_says_that_it_ended_is_never_called_stalled(file: Path) -> None:
    last = write(file, 0, 200, 1.5e9, ended=False)
    assert "stalled-run" in followed(file).look_at(last + 86400).lit
    ended = file.with_name("ended.jsonl")
    last = write(ended, 0, 200, 1.5e9, ended=True)
    assert "stalled-run" not in followed(ended).look_at(last + 86400).lit
    notes = followed(ended).snapshot.notes
    assert [(note.step, note.name) for note in notes] == [(199, "end")]
    assert followed(ended).snapshot.records == 200


@pytest.mark.parametrize("ended", [False, True])
def test_a_resumed_run_is_watched_for_stalls_again_from_its_first_record_on(file: Path, ended: bool) -> None:
    write(file, 0, 200, 1.5e9, ended=True)
    again = 1.5e9 + 7 * 86400
    tuimon.RunWriter(file).close(ended=False)  # has begun, and not logged anything yet
    assert "stalled-run" not in followed(file).look_at(again).lit
    last = write(file, 150, 160, again, ended=ended)
    assert ("stalled-run" in followed(file).look_at(last + 3600).lit) is not ended
    assert [mark.name for mark in followed(file).snapshot.notes] == ["end"] * (1 + ended)
    assert os.path.getsize(file)


WRITING = """
import itertools, sys, tuimon
run = tuimon.RunWriter(sys.argv[1])
wide = {f"metric {i}": 0.123456789 for i in range(150)}
for step in itertools.count():
    run.log(step, loss=1.0, writer=int(sys.argv[2]), **wide)
    sys.stdout.write("\\n%d" % step); sys.stdout.flush()
"""


def kill_among_others(file: Path, kills: int) -> int:
    """Writers of lines over several pages are killed while others write on; returns how many lines were torn."""
    chance = random.Random(kills)
    words = [sys.executable, "-c", WRITING, str(file)]
    others = [subprocess.Popen([*words, str(i)], cwd=ROOT, stdout=subprocess.PIPE) for i in (1, 2)]
    told = {}
    try:
        for kill in range(100, 100 + kills):
            victim = subprocess.Popen([*words, str(kill)], cwd=ROOT, stdout=subprocess.PIPE)
            assert victim.stdout is not None
            said = victim.stdout.read(2 + chance.randrange(200))
            victim.kill()
            told[kill] = said + victim.stdout.read()
            victim.wait()
    finally:
        for i, other in enumerate(others, 1):
            assert other.stdout is not None
            other.kill()
            told[i] = other.stdout.read()
            other.wait()
    source = open_source(file)
    batches = read_all(source, 1 << 20)
    source.close()
    writers = [value for batch in batches for value in batch.columns.get("writer", ())]
    seen = set(zip(writers, [step for batch in batches for step in batch.steps], strict=True))
    for writer, text in told.items():
        # The last number may be cut: it is not known which step it was.
        assert {(writer, int(word)) for word in text.split(b"\n")[1:-1]} <= seen, writer
    return sum(batch.bad_count for batch in batches)


def test_writers_that_are_killed_among_others_take_no_line_of_theirs_along(file: Path) -> None:
    kill_among_others(file, 3)


@pytest.mark.long
def test_hundreds_of_writers_that_are_killed_among_others_take_no_line_of_theirs_along(file: Path) -> None:
    print(kill_among_others(file, 200), "torn lines")
