"""The Follower against real files, links, folders, pipes and limits."""

from __future__ import annotations

import errno
import os
import statistics
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, ClassVar

import pytest

from tuimon.follow import Follower, Status
from tuimon.follow.hints import Hints, chain, is_pipe, network_type
from tuimon.record import Batch, Mark
from tuimon.sources.base import SourceError
from tuimon.sources.pipe import Pipe
from tuimon.sources.tail import Tail

# Processes, threads and terminals of a busy machine: a second look before it counts.
pytestmark = pytest.mark.flaky(reruns=2)

PATIENCE = 10.0
"""Seconds after which a condition that did not come true fails the test; none waits that long when all is well."""


class Lines:
    """A small source: every whole line is a record, whose number is the loss."""

    format = "lines"
    roles: ClassVar = {"loss": "loss"}
    ended = False

    def __init__(self, path: Path, chunk: int = 1 << 16) -> None:
        self.path = str(path)
        self.tail: Tail | Pipe = Tail(path)
        self.chunk = chunk
        self.closed = threading.Event()
        self.reads = 0
        self.error: Exception | None = None

    def read(self, limit: int = 0) -> Batch:
        self.reads += 1
        if self.error is not None:
            raise self.error
        chunk = self.tail.read(self.chunk)
        return Batch.from_rows(
            [(number, None, {"loss": float(line)}) for number, line in chunk.lines()],
            marks=(Mark(0, "restart", {}),) if chunk.restarted else (),
            more=chunk.more,
            offset=chunk.offset,
            size=chunk.size,
        )

    def finish(self) -> Batch:
        """Nothing is held back."""
        return Batch()

    def describe(self) -> str:
        return "lines"

    def close(self) -> None:
        self.closed.set()
        self.tail.close()


class Piped(Lines):
    """The same from a descriptor."""

    def __init__(self, descriptor: int) -> None:
        super().__init__(Path("-"))
        self.tail: Tail | Pipe = Pipe(descriptor)

    def fileno(self) -> int:
        return self.tail.fileno()

    @property
    def ended(self) -> bool:  # type: ignore[override]
        return self.tail.ended

    def finish(self) -> Batch:
        """One more record, as a source gives that waited for what follows."""
        return Batch.from_rows([(99, None, {"loss": 99.0})])


class Desk:
    """What was posted; `wait` returns once a condition on it holds."""

    def __init__(self) -> None:
        self.changed = threading.Condition()
        self.batches: list[Batch] = []
        self.states: list[Status] = []
        self.follower: Follower | None = None
        self.acknowledging = True
        self.when: list[float] = []

    def post(self, what: Batch | Status) -> None:
        with self.changed:
            if isinstance(what, Batch):
                self.batches.append(what)
                self.when.append(time.perf_counter())
            else:
                self.states.append(what)
            self.changed.notify_all()
        if isinstance(what, Batch) and self.acknowledging and self.follower is not None:
            self.follower.acknowledge()

    def wait(self, condition: Callable[[], Any]) -> None:
        patience = time.monotonic() + PATIENCE
        with self.changed:
            # Some conditions lie in the follower, which notifies nobody.
            while not self.changed.wait_for(condition, 0.01):
                assert time.monotonic() < patience, (self.values, self.states)

    def say(self, text: str) -> None:
        """Waits until the latest status is `text`."""
        self.wait(lambda: self.states and self.states[-1].text == text)

    @property
    def values(self) -> list[float | None]:
        return [value for batch in self.batches for value in batch.columns.get("loss", ())]


@pytest.fixture
def desk() -> Iterator[Desk]:
    desk = Desk()
    yield desk
    if desk.follower is not None:
        desk.follower.stop()


def follow(desk: Desk, source: Any, **options: Any) -> Follower:
    """A started follower whose heartbeat is so slow that only hints can explain what is seen in time."""
    options.setdefault("heartbeat", 60.0)
    desk.follower = Follower(source, desk.post, **options)
    desk.follower.start()
    return desk.follower


def append(path: Path, *values: float) -> None:
    with path.open("a") as file:
        file.writelines(f"{value}\n" for value in values)


def test_what_is_there_is_posted_and_then_the_status_is_live(desk: Desk, tmp_path: Path) -> None:
    append(tmp_path / "run", 1, 2, 3)
    follow(desk, Lines(tmp_path / "run"))
    desk.say("live")
    assert desk.values == [1, 2, 3]
    assert (desk.states[-1].offset, desk.states[-1].size) == (6, 6)


def test_an_append_is_posted_within_milliseconds_of_a_hint(
    desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tuimon.follow.pace.HOT", 1000)
    path = tmp_path / "run"
    append(path, 0)
    follow(desk, Lines(path))
    desk.say("live")
    delays = []
    for k in range(1, 25):
        begun = time.perf_counter()
        append(path, k)
        desk.wait(lambda k=k: len(desk.values) == k + 1)
        delays.append(desk.when[-1] - begun)
    # Measured 0.7 ms; without hints it is half of the heartbeat's second.
    assert statistics.median(delays) < 0.25


def test_a_file_that_is_not_there_yet_is_waited_for_and_found_by_a_hint(desk: Desk, tmp_path: Path) -> None:
    follow(desk, Lines(tmp_path / "run"))
    desk.say("waiting for file")
    append(tmp_path / "run", 7)
    desk.say("live")
    assert desk.values == [7]


def test_a_folder_that_is_not_there_yet_is_found_by_the_heartbeat(desk: Desk, tmp_path: Path) -> None:
    path = tmp_path / "later" / "run"
    follow(desk, Lines(path), heartbeat=0.02)
    desk.say("waiting for file")
    path.parent.mkdir()
    append(path, 7)
    desk.say("live")
    assert desk.values == [7]


def test_a_truncated_file_is_said_and_read_again(desk: Desk, tmp_path: Path) -> None:
    path = tmp_path / "run"
    append(path, 1, 2, 3)
    follow(desk, Lines(path))
    desk.say("live")
    os.truncate(path, 0)
    append(path, 9)
    desk.say("file cut short or replaced, keeping the old curve")
    desk.wait(lambda: 9 in desk.values)  # the cut may be seen before the new line is there
    assert desk.values == [1, 2, 3, 9]
    assert [mark.kind for batch in desk.batches for mark in batch.marks] == ["restart"]


def test_an_atomically_replaced_file_is_seen_by_a_hint(desk: Desk, tmp_path: Path) -> None:
    path, other = tmp_path / "run", tmp_path / "run.new"
    append(path, 1, 2)
    follow(desk, Lines(path))
    desk.say("live")
    append(other, 5, 6)
    other.replace(path)
    desk.say("file cut short or replaced, keeping the old curve")
    desk.wait(lambda: 6 in desk.values)
    assert desk.values == [1, 2, 5, 6]


def test_a_deleted_file_is_said_and_the_next_one_is_followed(desk: Desk, tmp_path: Path) -> None:
    path = tmp_path / "run"
    append(path, 1)
    follow(desk, Lines(path))
    desk.say("live")
    path.unlink()
    desk.say("file gone, waiting")
    append(path, 2)
    desk.wait(lambda: desk.values == [1, 2])


def test_a_link_that_is_switched_leads_to_the_other_file(desk: Desk, tmp_path: Path) -> None:
    for name, value in (("a", 1), ("b", 2)):
        (tmp_path / name).mkdir()
        append(tmp_path / name / "run", value)
    link, spare = tmp_path / "latest", tmp_path / "latest.new"
    link.symlink_to("a/run")
    follow(desk, Lines(link))
    desk.say("live")
    spare.symlink_to("b/run")
    spare.replace(link)
    desk.wait(lambda: desk.values == [1, 2])
    append(tmp_path / "b" / "run", 3)
    desk.wait(lambda: desk.values == [1, 2, 3])


def test_a_folder_that_is_removed_and_made_again_is_watched_again(desk: Desk, tmp_path: Path) -> None:
    path = tmp_path / "runs" / "run"
    path.parent.mkdir()
    append(path, 1)
    follow(desk, Lines(path), heartbeat=0.05)
    desk.say("live")
    path.unlink()
    path.parent.rmdir()
    desk.say("file gone, waiting")
    path.parent.mkdir()
    append(path, 2)
    desk.wait(lambda: desk.values == [1, 2])
    assert desk.follower is not None and desk.follower._hints is not None
    desk.wait(lambda: desk.follower._hints.armed)


def test_a_folder_in_the_place_of_the_file_is_said_and_survived(desk: Desk, tmp_path: Path) -> None:
    path = tmp_path / "run"
    append(path, 1)
    follow(desk, Lines(path), heartbeat=0.05)
    desk.say("live")
    path.unlink()
    path.mkdir()
    desk.say("a folder stands where the file was, waiting")
    path.rmdir()
    append(path, 2)
    desk.wait(lambda: desk.values == [1, 2])


def test_permission_that_is_lost_and_regained_is_said_and_survived(desk: Desk, tmp_path: Path) -> None:
    path = tmp_path / "run"
    append(path, 1)
    source = Lines(path)
    follow(desk, source, heartbeat=0.02)
    desk.say("live")
    if os.geteuid() == 0:  # the superuser may read everything, so that only the error itself can be caused
        source.error = PermissionError(errno.EACCES, "Permission denied")
    else:
        path.chmod(0)
    desk.say("permission denied, trying again")
    source.error = None
    path.chmod(0o600)
    append(path, 2)
    desk.wait(lambda: desk.values == [1, 2])
    desk.say("live")


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (OSError(errno.EIO, "Input/output error"), "cannot read: Input/output error, trying again"),
        (OSError(errno.ESTALE, "Stale file handle"), "cannot read: Stale file handle, trying again"),
        (ZeroDivisionError("in a source"), "ZeroDivisionError: in a source, trying again"),
        (SourceError("this is an image"), "stopped: this is an image"),
    ],
)
def test_whatever_a_source_raises_is_shown_and_passes(desk: Desk, tmp_path: Path, error: Exception, text: str) -> None:
    source = Lines(tmp_path / "run")
    append(tmp_path / "run", 1)
    source.error = error
    follow(desk, source, heartbeat=0.02)
    desk.say(text)
    source.error = None
    desk.say("live")
    assert desk.values == [1]


def test_a_consumer_that_does_not_acknowledge_gets_a_few_batches_and_no_more(desk: Desk, tmp_path: Path) -> None:
    append(tmp_path / "run", *range(1000))
    desk.acknowledging = False
    source = Lines(tmp_path / "run", chunk=64)
    follower = follow(desk, source, ahead=3, heartbeat=0.01)
    desk.wait(lambda: len(desk.batches) == 3)
    desk.wait(lambda: follower._starved)
    assert len(desk.batches) == 3
    assert source.reads == 3
    for _ in range(2):
        follower.acknowledge()
    desk.wait(lambda: len(desk.batches) == 5)
    desk.acknowledging = True
    for _ in range(3):
        follower.acknowledge()
    desk.say("live")
    assert desk.values == [float(k) for k in range(1000)]


def test_a_long_history_shows_how_much_of_it_was_read(desk: Desk, tmp_path: Path) -> None:
    append(tmp_path / "run", *range(1000))
    follow(desk, Lines(tmp_path / "run", chunk=1024))
    desk.say("live")
    shares = [status.text for status in desk.states if status.state == "reading"]
    assert len(shares) > 2
    assert shares[0] == f"reading {100 * 1022 // (tmp_path / 'run').stat().st_size} %"


def test_a_post_that_fails_once_loses_no_batch(desk: Desk, tmp_path: Path) -> None:
    append(tmp_path / "run", 1, 2)
    failures = iter([RuntimeError("no event loop")])

    def post(what: Batch | Status) -> None:
        if isinstance(what, Batch) and (error := next(failures, None)):
            raise error
        desk.post(what)

    desk.follower = Follower(Lines(tmp_path / "run"), post, heartbeat=0.01)
    desk.follower.start()
    desk.say("live")
    assert desk.values == [1, 2]


def test_stopping_is_prompt_and_lets_go_of_the_file(desk: Desk, tmp_path: Path) -> None:
    source = Lines(tmp_path / "run")
    follower = follow(desk, source)
    desk.say("waiting for file")
    follower.stop()
    assert source.closed.is_set()
    assert not follower._thread.is_alive()
    follower.wake()
    follower.acknowledge()


def test_a_follower_that_was_never_started_can_be_stopped(tmp_path: Path) -> None:
    Follower(Lines(tmp_path / "run"), lambda what: None).stop()


def test_a_file_that_changes_all_the_time_is_read_at_frame_rate_without_events(desk: Desk, tmp_path: Path) -> None:
    path = tmp_path / "run"
    append(path, 0)
    source = Lines(path)
    follower = follow(desk, source)
    desk.say("live")
    begun = time.perf_counter()
    count = 0
    while not follower._pace.hot or count < 400:
        count += 1
        append(path, count)
        assert time.perf_counter() - begun < PATIENCE
    seconds = time.perf_counter() - begun
    assert source.reads < 20 + 40 * seconds
    desk.wait(lambda: len(desk.values) == count + 1)
    desk.wait(lambda: not follower._pace.hot)
    append(path, -1)
    desk.wait(lambda: desk.values[-1] == -1)


def test_a_file_that_grows_twenty_times_a_second_is_read_about_once_for_each_record(desk: Desk, tmp_path: Path) -> None:
    path = tmp_path / "run"
    append(path, 0)
    source = Lines(path)
    follower = follow(desk, source)
    desk.say("live")
    count = 0

    def bring() -> None:
        nonlocal count
        count += 1
        append(path, count)
        desk.wait(lambda: len(desk.values) == count + 1)
        time.sleep(0.03)

    while not follower._pace.hot:
        bring()
        assert count < 200
    assert not follower._hints.armed
    before = source.reads
    for _ in range(20):
        bring()
    assert source.reads - before <= 24, "a glance from outside says that there is nothing to read"


def test_a_busy_neighbour_in_the_folder_causes_no_reads(desk: Desk, tmp_path: Path) -> None:
    append(tmp_path / "run", 0)
    source = Lines(tmp_path / "run")
    follow(desk, source)
    desk.say("live")
    before = source.reads
    for k in range(50):
        append(tmp_path / "other", k)
    append(tmp_path / "run", 1)
    desk.wait(lambda: len(desk.values) == 2)
    assert source.reads - before <= 3


def test_a_pipe_is_read_when_it_has_data_and_its_end_is_said(desk: Desk) -> None:
    out, into = os.pipe()
    os.set_blocking(out, False)
    source = Piped(out)
    follow(desk, source)
    desk.say("waiting for the first line")
    for k in range(3):
        os.write(into, f"{k}\n".encode())
        desk.wait(lambda k=k: len(desk.values) == k + 1)
    assert source.reads < 12
    os.close(into)
    desk.say("stopped: end of input")
    assert desk.values == [0, 1, 2, 99]
    assert desk.follower is not None
    desk.follower._thread.join(PATIENCE)
    assert not desk.follower._thread.is_alive()
    os.close(out)


def test_a_fifo_whose_writer_left_does_not_spin(desk: Desk, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    assert is_pipe(str(tmp_path / "fifo"))
    out = os.open(tmp_path / "fifo", os.O_RDONLY | os.O_NONBLOCK)
    into = os.open(tmp_path / "fifo", os.O_WRONLY)

    class Patient(Piped):
        ended = False

        def read(self, limit: int = 0) -> Batch:
            self.tail.ended = False
            return super().read(limit)

    source = Patient(out)
    follow(desk, source, heartbeat=0.2)
    os.write(into, b"1\n")
    desk.wait(lambda: desk.values == [1])
    os.close(into)
    seen, begun = source.reads, time.perf_counter()
    into = os.open(tmp_path / "fifo", os.O_WRONLY)
    os.write(into, b"2\n")
    desk.wait(lambda: desk.values == [1, 2])
    assert source.reads - seen < 10 + 10 * (time.perf_counter() - begun)
    os.close(into)
    os.close(out)


def test_a_pipe_that_is_closed_is_shown(desk: Desk) -> None:
    follow(desk, Piped(1009), heartbeat=0.05)
    desk.say("cannot read: Bad file descriptor, trying again")


CHILD = """
    import sys, threading
    sys.path.insert(0, {root!r})
    from tests.test_follow import Lines, append
    from tuimon.follow import Follower
    from pathlib import Path
    {before}
    path = Path({path!r})
    append(path, 1)
    done, polling = threading.Event(), threading.Event()
    def post(what):
        if getattr(what, "state", "") == "polling":
            print(what.text)
            polling.set()
        if hasattr(what, "columns"):
            follower.acknowledge()
        if len(getattr(what, "columns", {{}}).get("loss", ())) and 2.0 in what.columns["loss"]:
            done.set()
    follower = Follower(Lines(path), post, heartbeat=0.05)
    follower.start()
    assert polling.wait(10)
    append(path, 2)
    assert done.wait(10)
    print("went on")
"""


def child(tmp_path: Path, before: str, prefix: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
    code = CHILD.format(root=str(Path(__file__).parents[1]), path=str(tmp_path / "run"), before=before)
    command = [*prefix, sys.executable, "-c", textwrap.dedent(code)]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


def test_without_an_inotify_instance_it_polls_and_says_so(tmp_path: Path) -> None:
    if sys.platform != "linux" or subprocess.run(["unshare", "-Ur", "true"], check=False).returncode != 0:
        pytest.skip("no user namespaces here, and the limit of the whole user must not be used up")
    limit = "open('/proc/sys/user/max_inotify_instances', 'w').write('0')"
    result = child(tmp_path, limit, ("unshare", "-Ur"))
    assert result.stdout.split("\n")[:2] == ["polling (no inotify instance left)", "went on"], result.stderr


def test_without_an_inotify_watch_it_polls_and_says_so(tmp_path: Path) -> None:
    if sys.platform != "linux" or subprocess.run(["unshare", "-Ur", "true"], check=False).returncode != 0:
        pytest.skip("no user namespaces here")
    limit = "open('/proc/sys/user/max_inotify_watches', 'w').write('0')"
    result = child(tmp_path, limit, ("unshare", "-Ur"))
    assert result.stdout.split("\n")[:2] == ["polling (no inotify watch left)", "went on"], result.stderr


MOUNTS = """\
22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
30 22 0:40 / /home rw,relatime shared:9 - nfs4 server:/home rw,vers=4.2
31 30 0:41 / /home/me/scratch\\040disk rw - xfs /dev/sdb rw
32 22 0:42 / /mnt/box rw - fuse.sshfs box:/ rw
torn line
"""


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/var/log/run", ""),
        ("/home/me/run.jsonl", "nfs4"),
        ("/homes/me/run.jsonl", ""),
        ("/home/me/scratch disk/run", ""),
        ("/mnt/box/run", "fuse.sshfs"),
    ],
)
def test_a_network_file_system_is_told_by_its_deepest_mount(tmp_path: Path, path: str, kind: str) -> None:
    (tmp_path / "mountinfo").write_text(MOUNTS)
    assert network_type(path, str(tmp_path / "mountinfo")) == kind


def test_on_a_network_file_system_it_polls_and_says_so(
    desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tuimon.follow.hints.network_type", lambda path: "nfs4")
    append(tmp_path / "run", 1)
    follow(desk, Lines(tmp_path / "run"), heartbeat=0.02)
    desk.say("polling (nfs4)")
    append(tmp_path / "run", 2)
    desk.wait(lambda: desk.values == [1, 2])


def test_a_loop_of_links_is_given_up(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to(tmp_path / "b")
    (tmp_path / "b").symlink_to(tmp_path / "a")
    assert len(chain(str(tmp_path / "a"))) <= 17
    hints = Hints(str(tmp_path / "a"), lambda: None)
    hints.arm()
    hints.close()


def test_an_idle_file_costs_next_to_nothing(tmp_path: Path) -> None:
    code = f"""
        import sys, threading, time
        sys.path.insert(0, {str(Path(__file__).parents[1])!r})
        from tests.test_follow import Desk, Lines, append
        from tuimon.follow import Follower
        from pathlib import Path
        path = Path({str(tmp_path / "run")!r})
        append(path, 1)
        desk, source = Desk(), Lines(path)
        desk.follower = Follower(source, desk.post, heartbeat=0.01)
        desk.follower.start()
        desk.say("live")
        begun = time.process_time()
        before, target = source.reads, source.reads + 100
        while source.reads < target:
            threading.Event().wait(0.1)
        print((time.process_time() - begun) / (source.reads - before))
    """
    result = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, check=True)
    # At one heartbeat a second, 0.1 % of a processor is 1 ms for each.
    assert float(result.stdout) < 0.001
