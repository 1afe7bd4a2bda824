"""What happens to a log while it is watched on a real terminal, and what the person there is told."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.samples import grow, jsonl, losses, replace_atomically, write
from tests.terminals import WATCH, Terminal

# Processes, threads and terminals of a busy machine: a second look before it counts.
pytestmark = pytest.mark.flaky(reruns=2)


class Run:
    """A log that somebody writes, and the screen on which it is watched."""

    def __init__(self, folder: Path, prefix: tuple[str, ...] = ()) -> None:
        self.log = write(folder, "runs/run.jsonl", jsonl(losses(300)))
        self.step = 300
        self.screen = Terminal([*prefix, *WATCH, str(self.log)])

    def more(self, count: int = 5) -> bytes:
        """The next lines."""
        self.step += count
        return jsonl(losses(count, first=self.step - count + 1))

    def told(self, words: str) -> None:
        """Until the first line of the screen says so."""
        self.screen.until(lambda: words in self.screen.lines[0], words)

    def goes_on(self, *, appended: bool = True) -> None:
        """The writer is well again: a few lines more, and they are on the screen."""
        if appended:
            grow(self.log, self.more())
        self.told(f"step {self.step}")
        assert "HEALTHY" in self.screen.lines[0], "an accident of the file is no failure of the run"


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Run]:
    run = Run(tmp_path)
    with run.screen:
        run.told("step 300")
        run.told("live")
        yield run
        run.screen.press("q")
        assert run.screen.wait() == 0
        assert run.screen.restored


RESTARTED = "file cut short or replaced, keeping the old curve"
OCCUPIED = "cannot read: a pipe or device now, trying again"


def truncated(run: Run) -> None:
    os.truncate(run.log, 0)
    grow(run.log, run.more())


def rotated(run: Run) -> None:
    grow(run.log, run.more())
    run.log.rename(run.log.with_suffix(".1"))
    run.log.write_bytes(run.more())


def in_the_way(make: Callable[[Path], object]) -> Callable[[Run], None]:
    def cause(run: Run) -> None:
        run.log.unlink()
        make(run.log)

    return cause


ACCIDENTS: list[tuple[str, Callable[[Run], None], str]] = [
    ("truncated", truncated, RESTARTED),
    ("replaced", lambda run: replace_atomically(run.log, run.more(60)), RESTARTED),
    ("rotated", rotated, RESTARTED),
    ("deleted", lambda run: run.log.unlink(), "file gone, waiting"),
    ("folder removed", lambda run: shutil.rmtree(run.log.parent), "file gone, waiting"),
    ("a folder", in_the_way(Path.mkdir), "a folder stands where the file was, waiting"),
    ("a pipe", in_the_way(os.mkfifo), OCCUPIED),
    ("a device", in_the_way(lambda path: path.symlink_to("/dev/zero")), OCCUPIED),
    ("input/output error", in_the_way(lambda path: path.symlink_to("/proc/self/mem")), "cannot read: Input/output"),
    ("a loop of links", in_the_way(lambda path: path.symlink_to(path)), "cannot read: Too many levels"),
]  # fmt: skip


CASES = [pytest.param(cause, words, id=name) for name, cause, words in ACCIDENTS]


@pytest.mark.parametrize(("cause", "words"), CASES)
def test_an_accident_is_told_and_when_it_is_over_it_goes_on(run: Run, cause: Callable[[Run], None], words: str) -> None:
    cause(run)
    run.told(words)
    if words != RESTARTED:
        if run.log.is_dir():
            run.log.rmdir()
        run.log.unlink(missing_ok=True)
        run.log.parent.mkdir(exist_ok=True)
    run.goes_on()


def test_what_is_no_line_is_counted_and_what_follows_is_read(run: Run) -> None:
    for junk in (b'{"step": 1, "loss": "\xff\xfe\n', b"\xc3\x28\x1b]0;owned\x07\n", b"x" * 3_000_000 + b"\n"):
        grow(run.log, junk)
        run.goes_on()
    run.told("3 bad lines, no. 301")
    grow(run.log, b"\0" * 5000 + run.more().replace(b"\n", b"\r\n"))
    run.goes_on(appended=False)
    os.truncate(run.log, run.log.stat().st_size + (64 << 20))  # a hole, as after `> run.jsonl` under an open file
    grow(run.log, b"\n")
    run.goes_on()
    run.told("4 bad lines")
    assert b"owned" not in run.screen.seen


def test_a_file_that_grows_faster_than_it_is_read_answers_keys_meanwhile(tmp_path: Path) -> None:
    log = write(tmp_path, "run.jsonl", jsonl(losses(300)))
    code = f"""
import sys
sys.path.insert(0, {str(Path(__file__).parents[1])!r})
from tests.samples import jsonl, losses
step = 301
while True:
    with open({str(log)!r}, "ab") as file:
        file.write(jsonl(losses(5000, first=step)))
    step += 5000
    if step > 2_000_000:
        break
"""
    with Terminal([*WATCH, str(log)]) as screen, subprocess.Popen([sys.executable, "-c", code]) as writer:
        try:
            screen.until("reading")
            screen.press("?")
            screen.until("any key closes this")
            screen.press("x")
            screen.until(lambda: "any key" not in screen.text)
        finally:
            writer.kill()
        screen.press("q")
        assert screen.wait() == 0


def user() -> tuple[str, ...]:
    """What to put before a command so that it is run by a user who may not read everything."""
    prefix = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")
    if os.geteuid() or shutil.which("setpriv") is None:
        pytest.skip("needs to become another user")
    if subprocess.run(
        [*prefix, sys.executable, "-c", "import tuimon.cli"], check=False, capture_output=True
    ).returncode:
        pytest.skip("another user may not run Python here")
    return (shutil.which("setpriv") or "", *prefix[1:])


def test_permission_that_is_lost_is_told_and_when_it_is_back_it_goes_on(tmp_path: Path) -> None:
    prefix = user()
    for folder in (tmp_path, *tmp_path.parents[:2]):
        folder.chmod(0o755)
    run = Run(tmp_path, prefix)
    with run.screen:
        run.told("live")
        run.log.chmod(0o600)
        run.told("permission denied, trying again")
        run.log.chmod(0o644)
        run.goes_on()


@pytest.fixture
def hidden(tmp_path: Path) -> Iterator[tuple[Path, Path]]:
    """A folder in which files change without events: the upper side of an overlay, and the overlay itself."""
    for name in ("lower", "upper", "work", "merged", "base"):
        (tmp_path / "base" / name).mkdir(parents=True, exist_ok=True)
    base = tmp_path / "base"
    if subprocess.run(["mount", "-t", "tmpfs", "none", str(base)], check=False, capture_output=True).returncode:
        pytest.skip("may not mount here")
    for name in ("lower", "upper", "work", "merged"):
        (base / name).mkdir()
    options = f"lowerdir={base}/lower,upperdir={base}/upper,workdir={base}/work"
    mounted = subprocess.run(
        ["mount", "-t", "overlay", "overlay", "-o", options, str(base / "merged")], check=False, capture_output=True
    )
    try:
        if mounted.returncode:
            pytest.skip("no overlay file system here")
        yield base / "upper", base / "merged"
    finally:
        subprocess.run(["umount", "-l", str(base / "merged")], check=False, capture_output=True)
        subprocess.run(["umount", "-l", str(base)], check=False, capture_output=True)


def test_a_file_system_that_tells_nothing_is_read_all_the_same(hidden: tuple[Path, Path]) -> None:
    written, watched = hidden
    log = write(written, "run.jsonl", jsonl(losses(300)))
    with Terminal([*WATCH, str(watched / "run.jsonl")]) as screen:
        screen.until("step 300")
        screen.until("live")
        grow(log, jsonl(losses(5, first=301)))
        screen.until("step 305")
        screen.press("q")
        assert screen.wait() == 0


@pytest.mark.parametrize("what", ["instance", "watch"])
def test_without_file_events_it_polls_and_says_so(tmp_path: Path, what: str) -> None:
    if subprocess.run(["unshare", "-Ur", "true"], check=False).returncode:
        pytest.skip("no user namespaces here")
    plural = "instances" if what == "instance" else "watches"
    limit = f'echo 0 > /proc/sys/user/max_inotify_{plural} && exec "$@"'
    run = Run(tmp_path, (shutil.which("unshare") or "", "-Ur", "sh", "-c", limit, "sh"))
    with run.screen:
        run.told(f"polling (no inotify {what} left)")
        run.goes_on()
        run.told("polling")


def test_a_run_whose_clock_jumps_and_a_watcher_that_slept_lose_nothing(run: Run) -> None:
    rows = losses(20, first=301)
    times = [1.7e9 + i for i in range(10)] + [1.6e9 + i for i in range(10)]
    lines = [json.dumps({**row, "time": time}) + "\n" for row, time in zip(rows, times, strict=True)]
    run.screen.signal(signal.SIGSTOP)
    grow(run.log, "".join(lines).encode())
    run.step = 320
    run.screen.signal(signal.SIGCONT)
    run.goes_on(appended=False)
