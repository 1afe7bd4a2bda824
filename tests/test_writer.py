"""The writer keeps its promises under real faults: each test causes the fault and reads the file afterwards."""

from __future__ import annotations

import errno
import json
import math
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

import tuimon
from tuimon.writer import append, logfile, mounts

ROOT = Path(__file__).parents[1]
PACKAGE = Path(tuimon.__file__).parent


def all_lines(path: Path) -> list[dict[str, Any]]:
    """The lines of a file, each strict JSON; blank lines are nothing."""

    def refuse(token: str) -> float:
        raise AssertionError(f"bare {token} is no JSON")

    return [json.loads(line, parse_constant=refuse) for line in path.read_text().splitlines() if line]


def lines(path: Path) -> list[dict[str, Any]]:
    """The same without the notes of how a log ended."""
    return [line for line in all_lines(path) if line.get("note") not in ("end", "aborted")]


def steps(path: Path) -> list[int]:
    return [line["step"] for line in lines(path) if "step" in line]


def readable_steps(path: Path) -> list[int]:
    """Steps of the lines that are whole, in a file where some line may be torn."""
    found = []
    for line in path.read_bytes().split(b"\n")[:-1]:
        try:
            fields = json.loads(line)
        except ValueError:
            continue
        if isinstance(fields, dict) and "step" in fields and "note" not in fields:
            found.append(fields["step"])
    return found


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "run.jsonl"


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 64 KB; needs the right to mount."""
    place = tmp_path / "small"
    place.mkdir()
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=64k", "none", str(place)], capture_output=True, check=False
    )
    if done.returncode:
        pytest.skip("may not mount a small file system here")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=False)


def child(code: str, *args: object, **options: Any) -> subprocess.CompletedProcess[str]:
    words = [sys.executable, "-c", code, *map(str, args)]
    return subprocess.run(words, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False, **options)


# What is in a line


def test_a_record_is_one_line_of_strict_json_with_a_header_before_it(file: Path) -> None:
    with tuimon.RunWriter(file, run="first", meta={"num_classes": 10}, clock=lambda: 1.5e9) as run:
        run.log(412, loss=2.3012, grad_norm=1.02, lr=3e-4, accuracy=0.5)
    header, record = lines(file)
    assert header == {"tuimon": 1, "run": "first", "started": "2017-07-14T02:40:00Z", "meta": {"num_classes": 10}}
    assert record == {"step": 412, "time": 1.5e9, "loss": 2.3012, "grad_norm": 1.02, "lr": 3e-4, "accuracy": 0.5}


def test_non_finite_values_are_words_and_none_is_left_out(file: Path) -> None:
    with tuimon.RunWriter(file) as run:
        run.log(1, loss=math.nan, val_loss=None, grad_norm=math.inf, lr=-math.inf)
    record = lines(file)[1]
    assert {name: value for name, value in record.items() if name != "time"} == {
        "step": 1, "loss": "NaN", "grad_norm": "Infinity", "lr": "-Infinity",
    }  # fmt: skip


def test_numbers_of_every_kind_become_numbers(file: Path) -> None:
    np = pytest.importorskip("numpy")
    torch = pytest.importorskip("torch")
    with tuimon.RunWriter(file) as run:
        run.log(np.int64(7), loss=np.float32(0.5), a=np.float64(0.25), b=np.bool_(True), c=Decimal("1.5"), d=3, e=True)
        run.log(
            torch.tensor(8), loss=torch.tensor(0.5, requires_grad=True), a=torch.tensor([2], dtype=torch.int8),
            b=torch.tensor(math.nan, dtype=torch.bfloat16), c=np.float64("inf"), d=10**400, e=-(10**30),
        )  # fmt: skip
        run.log(9.0, loss=1)  # type: ignore[arg-type]
    first, second, third = lines(file)[1:]
    assert (first["step"], first["loss"], first["a"], first["b"], first["c"]) == (7, 0.5, 0.25, True, 1.5)
    assert (first["d"], first["e"]) == (3, 1)
    assert (second["step"], second["loss"], second["a"], second["b"]) == (8, 0.5, 2, "NaN")
    assert (second["c"], second["d"], second["e"]) == ("Infinity", "Infinity", -1e30)
    assert third["step"] == 9
    assert run.skipped == 0


def test_what_is_no_number_is_skipped_counted_and_told_once(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    class Rude:
        def item(self) -> float:
            raise RuntimeError("on fire")

    with tuimon.RunWriter(file) as run:
        for step in range(3):
            run.log(
                step,
                loss=1.0,
                a="12",
                b=[1],
                c=Rude(),
                d={},
                e=b"x" * 10_000_000,
                f="y" * 10_000_000,
                **{"n" * 300: 1.0},
            )
        run.log("soon", loss=1.0)  # type: ignore[arg-type]
        run.log(None, loss=1.0)  # type: ignore[arg-type]
        run.log(2**70, loss=1.0)
    assert [sorted(line) for line in lines(file)[1:]] == [["loss", "step", "time"]] * 3
    assert (run.skipped, run.dropped) == (21, 3)
    assert file.stat().st_size < 1000
    said = capsys.readouterr().err.splitlines()
    assert len([line for line in said if "left out" in line]) == 1
    assert len(said) <= 3


def test_weird_names_stay_one_line_and_cannot_pose_as_the_formats_own(file: Path) -> None:
    names = ["", "a\nb", 'q"uote\\', "\x1b[31m", "\ud800", "loss/\u202e", "step_", "time", "note", "tuimon"]
    with tuimon.RunWriter(file) as run:
        run.log(5, **{name: float(i) for i, name in enumerate(names)})
    record = lines(file)[1]
    assert record["step"] == 5
    assert record["time"] > 1e9
    assert {"metric/time": 7.0, "metric/note": 8.0, "metric/tuimon": 9.0}.items() <= record.items()
    assert len(record) == 2 + len(names)
    assert b"\x1b" not in file.read_bytes()


def test_names_without_end_do_not_grow_memory(file: Path) -> None:
    with tuimon.RunWriter(file) as run:
        for step in range(6000):
            run.log(step, **{f"metric {step}": 1.0})
        assert len(run._keys) == 4096
    assert len(lines(file)) == 6001


def test_a_line_too_long_is_dropped_and_counted(file: Path) -> None:
    with tuimon.RunWriter(file) as run:
        run.log(1, **{f"{'m' * 190}{i}": 1.0 for i in range(5000)})
        run.log(2, loss=1.0)
    assert steps(file) == [2]
    assert run.dropped == 1


def test_notes_and_meta_take_what_json_cannot(file: Path) -> None:
    deep: Any = [1]
    for _ in range(100):
        deep = [deep]
    with tuimon.RunWriter(file, meta={"path": Path("x"), 3: math.inf, "deep": deep, "text": "z" * 10_000}) as run:
        run.note(412, "nan_origin", module="blocks.3", scale=math.nan, shape=(2, 3), thing=object(), name="\n")
        run.note(None, "bye", blob=["x" * 2000] * 1000)
    header, note, cut = lines(file)
    assert header["meta"]["path"] == "x"
    assert header["meta"]["3"] == "Infinity"
    assert len(header["meta"]["text"]) == 2000
    assert (note["step"], note["note"], note["scale"], note["shape"]) == (412, "nan_origin", "NaN", [2, 3])
    assert cut == {"step": None, "note": "bye", "cut": True}


def test_a_description_that_cannot_be_written_does_not_stop_the_training(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    class Rude:
        def __str__(self) -> str:
            raise RuntimeError("on fire")

    odd: list[Any] = [{"a": Rude()}, [1, 2], 7, {Rude(): 1}, dict.fromkeys(range(300), "x" * 2000)]
    for meta in odd:
        with tuimon.RunWriter(file, run=12, meta=meta) as run:  # type: ignore[arg-type]
            run.log(1, loss=1.0)
    headers = [line for line in lines(file) if "tuimon" in line]
    assert [(header["tuimon"], header["run"]) for header in headers] == [(1, "12")] * 5
    assert steps(file) == [1] * 5
    assert capsys.readouterr().err.count("the header is written without meta") == 5


# Resuming and sharing a file


def test_a_resumed_run_appends_and_marks_the_boundary(file: Path) -> None:
    for start in (0, 3):
        with tuimon.RunWriter(file) as run:
            for step in range(start, start + 5):
                run.log(step, loss=1.0)
    assert steps(file) == [0, 1, 2, 3, 4, 3, 4, 5, 6, 7]
    assert [i for i, line in enumerate(lines(file)) if "tuimon" in line] == [0, 6]


def test_a_line_torn_by_an_earlier_crash_is_closed_before_the_header(file: Path) -> None:
    file.write_text('{"step": 1, "loss": 2}\n{"step": 2, "lo')
    with tuimon.RunWriter(file) as run:
        run.log(3, loss=1.0)
    rows = file.read_text().splitlines()
    assert rows[1] == '{"step": 2, "lo'
    assert [json.loads(row).get("step") for row in (rows[0], *rows[2:])] == [1, None, 3, 3]


def test_directories_are_made_and_the_umask_holds(tmp_path: Path) -> None:
    old = os.umask(0o027)
    try:
        with tuimon.RunWriter(tmp_path / "a" / "b" / "run.jsonl") as run:
            run.log(1, loss=1.0)
    finally:
        os.umask(old)
    assert steps(tmp_path / "a" / "b" / "run.jsonl") == [1]
    assert (tmp_path / "a" / "b" / "run.jsonl").stat().st_mode & 0o777 == 0o640


def test_a_link_that_somebody_else_planted_in_a_shared_folder_is_not_followed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if os.geteuid():
        pytest.skip("needs another user's link")
    victim, shared = tmp_path / "victim", tmp_path / "shared"
    victim.write_text("precious\n")
    shared.mkdir()
    shared.chmod(0o1777)
    planted, own = shared / "run.jsonl", shared / "own.jsonl"
    for link, owner in ((planted, 65534), (own, 0)):
        link.symlink_to(victim if link is planted else tmp_path / "elsewhere.jsonl")
        os.chown(link, owner, owner, follow_symlinks=False)
    with tuimon.RunWriter(planted, retry=0.0) as run:
        run.log(1, loss=1.0)
        assert victim.read_text() == "precious\n"
        planted.unlink()  # when the link is gone, it goes on
    assert steps(planted) == [1]
    assert "a link that another user placed in a shared folder" in capsys.readouterr().err
    with tuimon.RunWriter(own) as run:
        run.log(1, loss=1.0)
    assert steps(tmp_path / "elsewhere.jsonl") == [1]


def test_the_file_is_found_again_after_the_training_changes_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    run = tuimon.RunWriter("run.jsonl")
    (tmp_path / "other").mkdir()
    monkeypatch.chdir(tmp_path / "other")
    run._lines._file.let_go()
    run.log(1, loss=1.0)
    run.close()
    assert steps(tmp_path / "run.jsonl") == [1]


def test_eight_processes_append_to_one_file_without_a_torn_line(file: Path) -> None:
    code = """
import sys, tuimon
with tuimon.RunWriter(sys.argv[1]) as run:
    for step in range(500):
        run.log(step, loss=1.0, writer=int(sys.argv[2]), **{f"metric {i}": 0.1234567 for i in range(step % 40)})
"""
    writers = [subprocess.Popen([sys.executable, "-c", code, str(file), str(i)], cwd=ROOT) for i in range(8)]
    assert [writer.wait(60) for writer in writers] == [0] * 8
    seen = [(line["writer"], line["step"]) for line in lines(file) if "step" in line]
    assert sorted(seen) == [(i, step) for i in range(8) for step in range(500)]
    assert [at for at in seen if at[0] == 3] == [(3, step) for step in range(500)]


def test_threads_log_whole_lines(file: Path) -> None:
    with tuimon.RunWriter(file) as run:
        threads = [
            threading.Thread(target=lambda i=i: [run.log(step, loss=1.0, thread=i) for step in range(300)])
            for i in range(8)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(lines(file)) == 2401
    assert run.written == 2402


@pytest.mark.parametrize("background", [False, True])
def test_both_sides_of_a_fork_log_and_neither_writes_the_others_lines(file: Path, background: bool) -> None:
    code = """
import os, sys, tuimon
run = tuimon.RunWriter(sys.argv[1], background=sys.argv[2] == "True")
for step in range(100):
    run.log(step, side=0)
child = os.fork()
for step in range(100, 300):
    run.log(step, side=1 if child else 2)
run.close()
if child:
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
"""
    done = child(code, file, background)
    assert (done.returncode, done.stderr) == (0, "")
    seen = sorted((line["side"], line["step"]) for line in lines(file) if "step" in line)
    expected = [(0, s) for s in range(100)] + [(side, s) for side in (1, 2) for s in range(100, 300)]
    assert seen == expected
    # Where a thread writes, the child may find the file still empty, and then begins it too.
    assert sum("tuimon" in line for line in lines(file)) in ((1, 2) if background else (1,))


# Faults of the file


def test_a_full_disk_loses_nothing_once_there_is_room(small_disk: Path, capsys: pytest.CaptureFixture[str]) -> None:
    blocker = small_disk / "blocker"
    blocker.write_bytes(b"x" * 40_000)
    run = tuimon.RunWriter(small_disk / "run.jsonl", retry=0.0)
    for step in range(1000):
        run.log(step, loss=1.0, grad_norm=2.0, lr=0.1)
    assert run.failed > 0
    assert run.written < 500
    blocker.unlink()
    run._lines._retry_at = 0.0
    for step in range(1000, 1010):
        run.log(step, loss=1.0)
    run.close()
    # 60 KB hold about 750 of these lines: the rest had no room, and is counted.
    seen = readable_steps(small_disk / "run.jsonl")
    assert seen == list(range(len(seen)))
    assert run.written - 1 == len(seen)
    assert run.dropped == 1011 - len(seen), "the end is a line too"
    said = capsys.readouterr().err
    assert said.count("No space left on device") == 1
    assert f"{run.dropped} lines were lost" in said


def test_a_full_disk_that_gets_room_again_holds_every_line(small_disk: Path) -> None:
    (small_disk / "blocker").write_bytes(b"x" * 60_000)
    with tuimon.RunWriter(small_disk / "run.jsonl", retry=0.0) as run:
        for step in range(300):
            run.log(step, loss=1.0)
            if step == 150:
                assert run.failed > 0
                (small_disk / "blocker").unlink()
    assert readable_steps(small_disk / "run.jsonl") == list(range(300))
    assert run.dropped == 0


def test_a_device_that_is_always_full_costs_the_training_nothing_but_lines(capsys: pytest.CaptureFixture[str]) -> None:
    run = tuimon.RunWriter("/dev/full")
    for step in range(60_000):
        run.log(step, loss=1.0, grad_norm=2.0, lr=0.1)
    run.close()
    assert run.written == 0
    assert 60_002 <= run.dropped <= 60_010  # a header dropped with the oldest lines is made anew
    assert 2 <= run.failed <= 60
    assert run._lines._kept_bytes <= append.BUFFER_BYTES + append.CHUNK_BYTES
    assert len(capsys.readouterr().err.splitlines()) == 2


def test_a_file_size_limit_is_a_failure_like_any_other(file: Path) -> None:
    code = """
import resource, sys, tuimon
resource.setrlimit(resource.RLIMIT_FSIZE, (5000, resource.RLIM_INFINITY))
run = tuimon.RunWriter(sys.argv[1], retry=0.0)
for step in range(200):
    run.log(step, loss=1.0)
assert run.failed > 0
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
run.close()
assert run.dropped == 0
"""
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[1] == resource.RLIM_INFINITY
    done = child(code, file)
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("File too large") == 1
    assert readable_steps(file) == list(range(200))


@pytest.mark.parametrize("number", [errno.EIO, errno.EROFS, errno.ESTALE, errno.EDQUOT, errno.ENXIO])
def test_errors_of_the_device_are_survived(file: Path, monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    write, failing, chance = os.write, [False], random.Random(number)

    def faulty(fd: int, text: bytes) -> int:
        if failing[0] and b"step" in text:
            if chance.random() < 0.5:
                return write(fd, text[:20])
            raise OSError(number, os.strerror(number))
        return write(fd, text)

    monkeypatch.setattr(logfile.os, "write", faulty)
    with tuimon.RunWriter(file, retry=0.0) as run:
        for step in range(60):
            failing[0] = 20 <= step < 40
            run.log(step, loss=1.0 / (step + 1))
    assert run.failed >= 1
    assert readable_steps(file) == list(range(60))
    assert run.dropped == 0


def test_a_removed_directory_that_comes_back_gets_the_lines_meanwhile(tmp_path: Path) -> None:
    place = tmp_path / "runs"
    with tuimon.RunWriter(place / "run.jsonl", retry=0.0) as run:
        for step in range(10):
            run.log(step, loss=1.0)
        shutil.rmtree(place)
        run._lines._file.look_soon()  # the next look at the path is due
        for step in range(10, 20):
            run.log(step, loss=1.0)
        assert not place.exists(), "removed on purpose: it is not for the writer to bring it back"
        assert run.failed > 0
        place.mkdir()
        for step in range(20, 30):
            run.log(step, loss=1.0)
    assert "tuimon" in lines(place / "run.jsonl")[0]
    assert steps(place / "run.jsonl") == list(range(30))
    assert run.dropped == 0


def test_a_deleted_file_is_written_anew_with_what_was_lost_in_it(file: Path) -> None:
    with tuimon.RunWriter(file) as run:
        run.log(1, loss=1.0)
        file.unlink()
        run.log(2, loss=1.0)
    assert steps(file) == [1, 2]
    assert run.written == len(all_lines(file))


def test_a_rotated_file_is_left_and_a_new_one_begun(file: Path) -> None:
    with tuimon.RunWriter(file) as run:
        run.log(1, loss=1.0)
        file.rename(file.with_suffix(".1"))
        run._lines._file.look_soon()
        run.log(2, loss=1.0)
    assert steps(file.with_suffix(".1")) == [1]
    assert steps(file) == [2]
    assert "tuimon" in lines(file)[0]


def test_a_file_system_that_is_read_only_for_a_while_costs_no_line(small_disk: Path) -> None:
    def remount(how: str) -> None:
        subprocess.run(["mount", "-o", f"remount,{how}", str(small_disk)], check=True)

    remount("ro")
    with tuimon.RunWriter(small_disk / "run.jsonl", retry=0.0) as run:
        for step in range(10):
            run.log(step, loss=1.0)
        assert run.failed > 0
        remount("rw")
        run.log(10, loss=1.0)
    assert steps(small_disk / "run.jsonl") == list(range(11))
    assert run.dropped == 0


def test_a_working_directory_that_is_gone_is_told_not_raised(tmp_path: Path) -> None:
    code = """
import os, tuimon
os.mkdir("gone"); os.chdir("gone"); os.rmdir("../gone")
run = tuimon.RunWriter("run.jsonl")
run.log(1, loss=1.0)
run.close()
assert run.dropped == 2
"""
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        env={"PYTHONPATH": str(PACKAGE.parent)},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "cannot write 'run.jsonl'" in done.stderr


def test_a_file_not_permitted_is_told_and_forgotten(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "run.jsonl").mkdir()
    with tuimon.RunWriter(tmp_path / "run.jsonl") as run:
        run.log(1, loss=1.0)
    assert run.dropped == 2
    assert "Is a directory" in capsys.readouterr().err


def test_a_descriptor_closed_and_reused_by_somebody_else_is_never_written_to(file: Path) -> None:
    checkpoint = file.with_name("checkpoint.bin")
    with tuimon.RunWriter(file) as run:
        run.log(1, loss=1.0)
        os.close(run._lines._file._fd)
        with open(checkpoint, "wb") as taken:
            assert taken.fileno() == run._lines._file._fd
            run.log(2, loss=1.0)
            taken.write(b"weights")
        run.log(3, loss=1.0)
    assert checkpoint.read_bytes() == b"weights"
    assert steps(file) == [1, 2, 3]


def test_a_fifo_nobody_reads_does_not_stop_the_training(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    run = tuimon.RunWriter(tmp_path / "pipe", retry=0.0)
    run.log(1, loss=1.0)
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    for step in range(2, 5000):
        run.log(step, loss=1.0)
    text = b""
    for step in range(5000, 5100):
        text += os.read(reader, 1 << 20)
        run.log(step, loss=1.0)
    text += os.read(reader, 1 << 20)
    run.close()
    os.close(reader)
    found = [json.loads(row)["step"] for row in text.splitlines() if row.startswith(b'{"step') and row.endswith(b"}")]
    assert found == list(range(1, 5100))


# Time and threads


def test_a_write_that_hangs_never_delays_log_and_what_is_kept_is_bounded(
    file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write, gate, inside = os.write, threading.Event(), threading.Event()

    def hanging(fd: int, text: bytes) -> int:
        inside.set()
        gate.wait(60)
        return write(fd, text)

    monkeypatch.setattr(logfile.os, "write", hanging)
    monkeypatch.setattr(append, "CLOSE_SECONDS", 0.01)
    run = tuimon.RunWriter(file, background=True)
    assert inside.wait(60)
    for step in range(100_000):
        run.log(step, loss=1.0, grad_norm=1.0)
    assert run.dropped > 0
    assert run._lines._kept_bytes <= append.BUFFER_BYTES + append.CHUNK_BYTES
    assert run.written == 0
    worker = run._lines._worker
    run.close()
    gate.set()
    assert worker is not None
    worker.join(60)
    assert run.dropped == 100_001
    assert "100001 lines were lost" in capsys.readouterr().err


def test_a_slow_write_sends_the_rest_through_the_queue(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [0.0]
    write = os.write

    def slow(fd: int, text: bytes) -> int:
        clock[0] += 1.0
        return write(fd, text)

    monkeypatch.setattr(append.time, "monotonic", lambda: clock[0])
    with tuimon.RunWriter(file) as run:
        monkeypatch.setattr(logfile.os, "write", slow)
        run.log(1, loss=1.0)
        assert run._lines._background
        run.log(2, loss=1.0)
        assert run._lines._worker is not None
    assert steps(file) == [1, 2]


def test_the_queue_loses_nothing_at_close_or_exit(file: Path) -> None:
    code = """
import sys, tuimon
run = tuimon.RunWriter(sys.argv[1], background=True)
for step in range(5000):
    run.log(step, loss=1.0)
"""
    done = child(code, file)
    assert (done.returncode, done.stderr) == (0, "")
    assert steps(file) == list(range(5000))


def test_file_systems_that_may_hang_are_known_by_the_mount_table(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    table = tmp_path / "mountinfo"
    table.write_text(
        "1 0 8:1 / / rw - ext4 /dev/sda1 rw\n"
        "2 1 0:5 / /home/a\\040b rw shared:1 - nfs4 box:/x rw\n"
        "3 1 0:6 / /scratch rw - lustre l rw\n"
        "4 3 0:7 / /scratch/fast rw - xfs /dev/sdb rw\n"
    )
    real = open
    monkeypatch.setattr(
        "builtins.open", lambda path, *a, **k: real(table if path == "/proc/self/mountinfo" else path, *a, **k)
    )
    assert mounts.may_hang("/home/a b/run.jsonl")
    assert mounts.may_hang("/scratch/run.jsonl")
    assert not mounts.may_hang("/scratch/fast/run.jsonl")
    assert not mounts.may_hang("/scratchy/run.jsonl")


def test_a_clock_that_jumps_back_changes_times_only(file: Path) -> None:
    ticks = iter([100.0, 200.0, 50.0, 60.0])
    with tuimon.RunWriter(file, clock=lambda: next(ticks)) as run:
        for step in range(3):
            run.log(step, loss=1.0)
    assert [line["time"] for line in lines(file)[1:]] == [200.0, 50.0, 60.0]


# Ends of the process


def kill_at_random(file: Path, kills: int) -> None:
    code = """
import itertools, sys, tuimon
run = tuimon.RunWriter(sys.argv[1])
sys.stdout.write("on"); sys.stdout.flush()
for step in itertools.count(int(sys.argv[2]) * 10**6):
    run.log(step, loss=1.0, grad_norm=0.5, lr=0.1)
    sys.stdout.write("\\n%d" % step); sys.stdout.flush()
"""
    chance = random.Random(kills)
    for kill in range(kills):
        process = subprocess.Popen([sys.executable, "-c", code, str(file), str(kill)], cwd=ROOT, stdout=subprocess.PIPE)
        assert process.stdout is not None
        told = process.stdout.read(2 + chance.randrange(2000))
        process.send_signal(signal.SIGKILL)
        told += process.stdout.read()
        process.wait()
        process.stdout.close()
        told_steps = [int(word) for word in told.split(b"\n")[1:-1]]  # the last may be cut
        # The line in flight may be cut where the file crosses a page; nothing before it is.
        whole, _, _in_flight = file.read_bytes().rpartition(b"\n")
        seen = {json.loads(line).get("step") for line in whole.splitlines()}
        assert set(told_steps) <= seen
        file.unlink()


def test_a_killed_process_loses_no_line_that_log_returned_from(file: Path) -> None:
    kill_at_random(file, 5)


@pytest.mark.long
def test_a_thousand_kills_lose_no_line_that_log_returned_from(file: Path) -> None:
    kill_at_random(file, 1000)


@pytest.mark.parametrize("end", ["", "sys.exit(3)", "1 / 0", "os._exit(0)", "os.kill(os.getpid(), 15)"])
def test_however_the_process_ends_every_line_is_there(file: Path, end: str) -> None:
    child(
        f"import os, sys, tuimon\nrun = tuimon.RunWriter(sys.argv[1])\nfor s in range(50): run.log(s, loss=1.0)\n{end}",
        file,
    )
    assert steps(file) == list(range(50))


def test_a_signal_handler_may_log_while_log_runs(file: Path) -> None:
    code = """
import itertools, signal, sys, tuimon
run = tuimon.RunWriter(sys.argv[1])
seen = itertools.count()
signal.signal(signal.SIGALRM, lambda *_: run.log(10**6 + next(seen), loss=0.0))
signal.setitimer(signal.ITIMER_REAL, 0.0005, 0.0005)
for step in range(20000):
    run.log(step, loss=1.0)
signal.setitimer(signal.ITIMER_REAL, 0)
print(next(seen))
"""
    done = child(code, file)
    assert (done.returncode, done.stderr) == (0, "")
    found = steps(file)
    assert [step for step in found if step < 10**6] == list(range(20000))
    alarms = sorted(step for step in found if step >= 10**6)
    assert alarms == [10**6 + i for i in range(int(done.stdout))]
    assert alarms


def test_logging_after_close_is_counted_not_raised(file: Path) -> None:
    run = tuimon.RunWriter(file)
    run.close()
    run.log(1, loss=1.0)
    run.note(1, "late")
    run.close()
    assert run.dropped == 2
    assert steps(file) == []


def test_a_writer_let_go_of_closes_its_file(file: Path) -> None:
    for _ in range(50):
        tuimon.RunWriter(file).log(1, loss=1.0)
    held = [fd for fd in os.listdir("/proc/self/fd") if os.path.realpath(f"/proc/self/fd/{fd}") == str(file)]
    assert held == []


def test_without_stderr_nothing_is_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", None)
    with tuimon.RunWriter("/dev/full") as run:
        run.log(1, loss="x")
    assert run.dropped == 3


# The training


def test_the_trainings_result_is_bit_identical_with_and_without_the_writer(file: Path) -> None:
    torch = pytest.importorskip("torch")

    def train(run: tuimon.RunWriter | None) -> Any:
        torch.manual_seed(0)
        net = torch.nn.Sequential(
            torch.nn.Linear(8, 16), torch.nn.Tanh(), torch.nn.Dropout(0.2), torch.nn.Linear(16, 1)
        )
        optimizer = torch.optim.Adam(net.parameters())
        for step in range(50):
            loss = net(torch.randn(32, 8)).square().mean()
            optimizer.zero_grad()
            loss.backward()
            norm = torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
            optimizer.step()
            if run is not None:
                run.log(step, loss=loss, grad_norm=norm, lr=1e-3, odd=object())
        return torch.cat([weight.flatten() for weight in net.parameters()])

    without = train(None)
    with tuimon.RunWriter(file) as run:
        assert torch.equal(train(run), without)
    with tuimon.RunWriter("/dev/full") as run:
        assert torch.equal(train(run), without)
    assert len(steps(file)) == 50


def test_importing_tuimon_loads_the_standard_library_only_and_little_of_it() -> None:
    done = child("import sys; before = set(sys.modules); import tuimon; print(*sorted(set(sys.modules) - before))")
    loaded = {name.partition(".")[0] for name in done.stdout.split()} - {"tuimon"}
    assert loaded <= set(sys.stdlib_module_names)
    heavy = {
        "asyncio",
        "logging",
        "socket",
        "ssl",
        "subprocess",
        "multiprocessing",
        "ctypes",
        "pathlib",
        "tempfile",
        "email",
    }
    assert loaded & heavy == set()


@pytest.mark.parametrize("place", ["", "inner"])
def test_the_writer_works_copied_out_of_the_package(tmp_path: Path, place: str) -> None:
    target = tmp_path / place
    target.mkdir(exist_ok=True)
    shutil.copytree(PACKAGE / "writer", target / "writer", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(PACKAGE / "record.py", target)
    module = f"{place}.writer" if place else "writer"
    code = f"import {module} as w\nwith w.RunWriter('run.jsonl') as run: run.log(1, loss=float('nan'))"
    subprocess.run(
        [sys.executable, "-I", "-c", f"import sys; sys.path.insert(0, '.')\n{code}"], cwd=tmp_path, check=True
    )
    assert lines(tmp_path / "run.jsonl")[1]["loss"] == "NaN"
