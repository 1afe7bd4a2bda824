"""A long history that another process decodes is the history that is read here."""

from __future__ import annotations

import math
import os
import pickle
import select
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tuimon.record import Batch
from tuimon.sources import apart as module
from tuimon.sources.apart import Apart, apart, packed, unpacked
from tuimon.sources.base import Source
from tuimon.sources.opening import open_source

LINES = 6000


@pytest.fixture(autouse=True)
def _every_log_is_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LEAST", 1)
    monkeypatch.setattr(module, "_cores", lambda: 2)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    file = tmp_path / "run.jsonl"
    with file.open("w") as out:
        out.write('{"tuimon": 1, "run": "long", "meta": {"num_classes": 10}}\n')
        for step in range(LINES):
            loss = '"NaN"' if step == 5000 else f"{1 + 1 / (1 + step)!r}"
            more = ', "val_loss": 1.5' if step % 50 == 0 else ""
            out.write(f'{{"step": {step}, "time": {1.7e9 + step}, "loss": {loss}, "note{step % 3}": 7.5{more}}}\n')
            if step == 3000:
                out.write("broken\n")
    return file


def batches(source: Source) -> Iterator[Batch]:
    while True:
        batch = source.read(module.READ)
        yield batch
        if not batch.more:
            return


def append(file: Path, step: int) -> None:
    with file.open("a") as out:
        out.write(f'{{"step": {step}, "time": 1.8e9, "loss": 1.0}}\n')


def repeated(source: Source) -> list[str]:
    return [repr(plain(batch)) for batch in batches(source)]


def plain(batch: Batch) -> Batch:
    """`batch` in lists."""
    columns = {name: list(column) for name, column in batch.columns.items()}
    return replace(batch, steps=list(batch.steps), times=list(batch.times), columns=columns)


def test_the_same_batches_come_from_the_process_as_from_here(log: Path) -> None:
    there = apart(open_source(log))
    assert isinstance(there, Apart)
    assert repeated(there) == repeated(open_source(log))
    there.close()


def test_what_the_source_has_learned_comes_back_with_it(log: Path) -> None:
    there, here = apart(open_source(log)), open_source(log)
    assert repeated(there) == repeated(here)
    append(log, LINES)
    assert there.read() == here.read()
    assert (there.roles, there.candidates, there.describe()) == (here.roles, here.candidates, here.describe())
    there.close()


def test_a_process_that_is_killed_loses_and_repeats_nothing(log: Path) -> None:
    there = apart(open_source(log))
    assert isinstance(there, Apart)
    steps = list(there.read().steps)
    assert there._process is not None
    os.kill(there._process.pid, signal.SIGKILL)
    for batch in batches(there):
        steps += batch.steps
    assert steps == list(range(LINES))
    append(log, LINES)
    assert there.read().steps == [LINES]
    there.close()


def killed(there: Source) -> None:
    assert isinstance(there, Apart)
    assert there._process is not None
    there._process.kill()
    there._process.wait()


def drained(there: Source) -> list[Batch]:
    """All that is left in the pipe of a process that has ended."""
    assert isinstance(there, Apart)
    assert there._process is not None
    came = []
    while (message := there._receive(there._process)) is not None:
        came.append(message.batch)
        there._state = message.source
    return came


def test_a_log_replaced_after_the_process_was_killed_is_read_to_its_end_and_from_its_start(log: Path) -> None:
    there = apart(open_source(log))
    steps = list(there.read().steps)
    killed(there)
    steps += [step for batch in drained(there) for step in batch.steps]
    new = log.with_name("new")
    new.write_text("".join(f'{{"step": {step}, "loss": 2.0}}\n' for step in range(9)))
    new.replace(log)
    came = list(batches(there))
    assert [mark.kind for batch in came for mark in batch.marks] == ["restart"]
    assert steps + [step for batch in came for step in batch.steps] == [*range(LINES), *range(9)]
    there.close()


def test_a_log_moved_away_while_the_process_reads_is_read_to_its_end(
    log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "PIPE", 4096)  # the process cannot be done with it before
    there = apart(open_source(log))
    steps = list(there.read().steps)
    log.rename(log.with_name("away"))
    steps += [step for batch in drained(there) for step in batch.steps]
    with pytest.raises(FileNotFoundError):
        there.read()
    log.write_text('{"step": 1, "loss": 2.0}\n')
    came = list(batches(there))
    assert steps + [step for batch in came for step in batch.steps] == [*range(LINES), 1]
    assert [mark.kind for mark in came[-1].marks] == ["restart"]
    there.close()


def test_what_another_log_is_taken_for_is_told_at_once(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = log.read_text().splitlines()
    log.write_text("".join(line.replace('"time"', '"train_loss": 1.5, "time"') + "\n" for line in lines))
    new = log.with_name("new")
    new.write_text("".join(f'{{"step": {step}, "train_loss": 2.0}}\n' for step in range(3 * LINES)))
    monkeypatch.setattr(module, "PIPE", 4096)  # the process cannot be done with it before
    there = apart(open_source(log))
    assert isinstance(there, Apart)
    there.read()
    assert there.roles["loss"] == "loss"
    new.replace(log)
    while not any(mark.kind == "restart" for mark in there.read().marks):
        pass
    assert there._process is not None
    assert there.roles["loss"] == "train_loss"
    there.close()


def test_closing_lets_go_of_the_file(log: Path) -> None:
    before = os.listdir("/dev/fd")
    there = apart(open_source(log))
    there.read()
    there.close()
    there = apart(open_source(log))
    list(batches(there))
    there.close()
    assert len(os.listdir("/dev/fd")) == len(before)


def test_a_log_out_of_sight_after_the_process_was_killed_is_not_repeated(log: Path) -> None:
    there = apart(open_source(log))
    steps = list(there.read().steps)
    killed(there)
    steps += [step for batch in drained(there) for step in batch.steps]
    away = log.rename(log.with_name("away"))
    with pytest.raises(FileNotFoundError):
        there.read()
    away.rename(log)
    steps += [step for batch in batches(there) for step in batch.steps]
    assert steps == list(range(LINES))
    there.close()


def test_what_a_stopped_and_continued_process_writes_is_whole(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONUNBUFFERED", "1")
    monkeypatch.setattr(module, "PIPE", 4096)
    there = apart(open_source(log))
    assert isinstance(there, Apart)
    for _ in range(3):
        assert there._process is not None
        batch = there.read()
        assert batch.more
        # Four kilobytes do not hold what it writes next: once they have begun to come, it is stopped within a write.
        select.select([there._process.stdout.fileno()], [], [])  # type: ignore[union-attr]
        os.kill(there._process.pid, signal.SIGSTOP)
        os.waitid(os.P_PID, there._process.pid, os.WSTOPPED)
        os.kill(there._process.pid, signal.SIGCONT)
    assert there._process is not None
    assert there._receive(there._process) is not None
    there.close()


def test_a_start_up_file_that_prints_costs_the_process_only(
    log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "sitecustomize.py").write_text("print('N.hello')\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    there = apart(open_source(log))
    assert repeated(there) == repeated(open_source(log))
    there.close()


def test_a_pipe_that_may_not_be_widened_is_a_pipe_all_the_same(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError

    monkeypatch.setattr("fcntl.fcntl", refuse)
    there = apart(open_source(log))
    assert isinstance(there, Apart)
    there.close()


def test_a_process_that_never_started_is_done_without(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_START", "raise SystemExit(1)")
    there = apart(open_source(log))
    assert isinstance(there, Apart)
    assert repeated(there) == repeated(open_source(log))
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    assert not isinstance(apart(open_source(log)), Apart)


def test_what_is_gone_before_it_was_read_is_said_by_the_read(log: Path) -> None:
    there = apart(open_source(log))
    log.unlink()
    with pytest.raises(FileNotFoundError):
        list(batches(there))
    there.close()


def test_closing_ends_the_process(log: Path) -> None:
    there = apart(open_source(log))
    assert isinstance(there, Apart)
    process = there._process
    assert process is not None
    there.read()
    there.close()
    assert process.returncode is not None


def test_the_end_of_the_program_ends_a_process_that_is_stopped(log: Path) -> None:
    words = f"""
import os, signal
from tuimon.sources import apart as module
from tuimon.sources.opening import open_source
module.LEAST, module._cores = 1, lambda: 2
there = module.apart(open_source({str(log)!r}))
print(there._process.pid, flush=True)
os.kill(there._process.pid, signal.SIGSTOP)
"""
    ended = subprocess.run([sys.executable, "-c", words], capture_output=True, text=True, check=True, timeout=60)
    assert not ended.stderr
    process = int(ended.stdout)
    try:
        assert any(has_ended(process) for _ in range(10_000))
    finally:
        if not has_ended(process):
            os.kill(process, signal.SIGKILL)


def has_ended(process: int) -> bool:
    """Also where nobody has asked for its exit code yet."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] in ("Z", "X")
    except (FileNotFoundError, ProcessLookupError):
        return True


def test_the_process_finds_its_modules_where_this_one_did(
    log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "msgspec.py").write_text("raise SystemExit(1)\n")
    (tmp_path / "pickle.py").write_text("raise SystemExit(1)\n")
    monkeypatch.chdir(tmp_path)
    there = apart(open_source(log))
    assert isinstance(there, Apart)
    there.read()
    assert there._told is not None
    there.close()


def test_a_short_log_and_a_single_processor_need_no_process(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_cores", lambda: 1)
    assert not isinstance(apart(open_source(log)), Apart)
    monkeypatch.setattr(module, "_cores", lambda: 2)
    monkeypatch.setattr(module, "LEAST", log.stat().st_size + 1)
    assert not isinstance(apart(open_source(log)), Apart)


def test_missing_and_non_finite_values_travel() -> None:
    batch = Batch([1, 2], [None, 2.0], {"a": [1.0, None], "b": [math.inf, -math.inf]}, more=True, offset=5, size=9)
    assert unpacked(pickle.loads(pickle.dumps(packed(batch), 5))) == batch


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("log.csv", "step,loss\n" + "".join(f"{step},{1 / (1 + step)}\n" for step in range(50))),
        ("log.txt", "".join(f"step {step} loss {1 / (1 + step):.4f} lr 1e-3\n" for step in range(50))),
        ("log.jsonl", "".join(f'{{"epoch": {step / 10}, "loss": {1 / (1 + step)}}}\n' for step in range(50))),
    ],
)
def test_sources_of_lines_can_travel_half_way(tmp_path: Path, name: str, text: str) -> None:
    file = tmp_path / name
    file.write_text(text)
    source = open_source(file)
    first = source.read(400)
    assert first.more
    source.close()
    moved = pickle.loads(pickle.dumps(source))
    assert repeated(moved) == repeated(source)
