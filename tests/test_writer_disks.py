"""The writer on disks that hang, die or answer with an error: real ones, made for the test, and left again."""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import tuimon
from tuimon.writer import append

# File systems of their own and a kernel that takes its time: a second look before it counts.
pytestmark = pytest.mark.flaky(reruns=2)

PATIENCE = 30.0


def call(*words: object) -> bool:
    return subprocess.run([str(word) for word in words], capture_output=True, check=False).returncode == 0


class Disk:
    """A small ext4 file system in a file of `folder`."""

    def __init__(self, folder: Path) -> None:
        self.image, self.place = folder / "image", folder / "disk"
        self.place.mkdir()
        self.fresh()

    def fresh(self) -> None:
        """A new disk in the place of the old one."""
        call("umount", "-l", self.place)
        self.image.unlink(missing_ok=True)
        self.image.touch()
        os.truncate(self.image, 8 << 20)
        if not (call("mkfs.ext4", "-q", self.image) and call("mount", "-o", "loop", self.image, self.place)):
            pytest.skip("may not make and mount a file system here")

    def freeze(self) -> None:
        if not call("fsfreeze", "-f", self.place):
            pytest.skip("may not freeze a file system here")

    def thaw(self) -> None:
        call("fsfreeze", "-u", self.place)


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Disk]:
    disk = Disk(tmp_path)
    yield disk
    disk.thaw()
    call("umount", "-l", disk.place)


def steps(path: Path) -> list[int]:
    rows = [json.loads(line) for line in path.read_bytes().splitlines() if line]
    return [row["step"] for row in rows if "loss" in row]


def until(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_an_input_output_error_costs_no_line_once_it_is_over(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / "run.jsonl"
    log.symlink_to("/proc/self/mem")  # address 0 of a process is never there: EIO
    with tuimon.RunWriter(log, retry=0.0, background=False) as run:
        for step in range(50):
            run.log(step, loss=1.0)
        assert run.failed > 0 and run.written == 0
        log.unlink()
        for step in range(50, 60):
            run.log(step, loss=1.0)
    assert steps(log) == list(range(60))
    assert run.dropped == 0
    assert capsys.readouterr().err.count("Input/output error") == 1


def test_a_disk_that_hangs_never_holds_up_log_and_gets_the_newest_lines_when_it_answers(disk: Disk) -> None:
    log = disk.place / "run.jsonl"
    run = tuimon.RunWriter(log, background=True)
    run.log(0, loss=1.0)
    until(lambda: run.written == 2)
    disk.freeze()
    for step in range(1, 100_000):
        run.log(step, loss=1.0, grad_norm=1.0)  # would stop here for ever if it wrote
    assert run.written == 2
    assert run.dropped > 0
    assert run._lines._kept_bytes <= append.BUFFER_BYTES + append.CHUNK_BYTES
    disk.thaw()
    run.close()
    found = steps(log)
    # The oldest were dropped and counted; what stands there has no hole but that one.
    assert found[0] == 0 and found[-1] == 99_999
    assert found == sorted(found)
    assert len(found) + run.dropped == 100_000


def test_a_disk_that_hangs_at_the_end_is_waited_for_a_while_only(
    disk: Disk, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(append, "CLOSE_SECONDS", 0.05)
    run = tuimon.RunWriter(disk.place / "run.jsonl", background=True)
    until(lambda: run.written == 1)
    disk.freeze()
    for step in range(10_000):
        run.log(step, loss=1.0)
    run.close()
    underway, dropped = run._lines._underway, run.dropped
    assert underway > 0 and underway + dropped == 10_001
    said = capsys.readouterr().err
    assert f"{dropped} lines were lost" in said
    assert f"{underway} {'line was' if underway == 1 else 'lines were'} still being written, and may be lost" in said
    disk.thaw()
    until(lambda: run.written == 1 + underway)
    assert steps(disk.place / "run.jsonl") == list(range(underway))


def test_after_one_write_that_hung_a_local_disk_is_written_from_a_thread(disk: Disk) -> None:
    log = disk.place / "run.jsonl"
    run = tuimon.RunWriter(log)
    run.log(0, loss=1.0)
    assert run._lines._worker is None
    disk.freeze()
    thaw = subprocess.Popen(["sh", "-c", f"sleep 0.5; fsfreeze -u {disk.place}"])
    run.log(1, loss=1.0)  # waits for the kernel, this once
    run.log(2, loss=1.0)
    assert run._lines._worker is not None
    thaw.wait()
    run.close()
    assert steps(log) == [0, 1, 2]


def test_a_disk_that_dies_and_is_replaced_gets_every_line_that_the_old_one_refused(
    disk: Disk, capsys: pytest.CaptureFixture[str]
) -> None:
    log = disk.place / "run.jsonl"
    run = tuimon.RunWriter(log, retry=0.0)
    for step in range(100):
        run.log(step, loss=1.0)
    os.truncate(disk.image, 0)  # every block is gone
    last = 99
    while not run.failed:
        last += 1
        run.log(last, loss=1.0)
        call("sync", "-f", log)
        assert last < 10_000
    refused = last
    for step in range(last + 1, last + 11):
        run.log(step, loss=1.0)
    assert run.dropped == 0
    disk.fresh()
    run.log(last + 11, loss=1.0)
    run.close()
    assert steps(log)[-12:] == list(range(refused, last + 12))
    assert json.loads(log.read_text().splitlines()[0])["tuimon"] == 1
    assert capsys.readouterr().err.count("the training goes on") == 1
