"""The Follower decides when a source is read, and posts what it brought."""

from __future__ import annotations

import contextlib
import os
import select
import socket
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from tuimon.follow.hints import Hints
from tuimon.follow.pace import FRAME, Pace
from tuimon.record import Batch
from tuimon.sources.base import Source, SourceError

State = Literal["waiting", "reading", "live", "polling", "restarted", "gone", "denied", "trouble", "stopped"]

HOLD = 5.0
"""Seconds for which a restart stays on the status line; people look away."""

READ = 128 * 1024
"""Bytes per read: a thousand records, which take the consumer about 5 ms; a key waits for two such batches at most, the
one that is being taken in and the one that was read meanwhile."""

RETRY = 30.0
"""Seconds between attempts to get file events where there were none left."""


@dataclass(frozen=True, slots=True)
class Status:
    """How the following goes, in a word for programs and a few for people.

    Attributes:
        state: "waiting" no file yet; "reading" history; "live"; "polling" live without file events; "restarted"
            the file was truncated or replaced; "gone"; "denied"; "trouble" anything else that may pass; "stopped".
        text: the same for the status line, such as "reading 34 %" or "file gone, waiting".
        offset, size: bytes read and bytes there, 0 where unknown.
    """

    state: State
    text: str
    offset: int = 0
    size: int = 0


class Follower:
    """Reads `source` in a thread of its own whenever there may be something new.

    `post` gets frozen values in that thread: each `Batch` that holds something, and a `Status` whenever it changes.
    **The consumer calls `acknowledge()` once for each Batch it is done with**: without it, `ahead` batches are posted
    and no more, so that a history of gigabytes does not pile up in the consumer's queue.

    File events wake the thread, a heartbeat backs them up; neither is believed, only what the source then reads.

    Args:
        source: what to read. Its `fileno()` is waited for if it has one (a pipe), and its `path` is where it lies.
        post: called with each Batch and Status; may be `App.post_message` behind a small lambda.
        path: where the input lies, when the source does not say so itself.
        heartbeat: seconds between looks when nothing hints at a change.
        ahead: batches posted and not acknowledged, at most.
    """

    def __init__(
        self,
        source: Source,
        post: Callable[[Batch | Status], object],
        *,
        path: str | os.PathLike[str] | None = None,
        heartbeat: float = 1.0,
        ahead: int = 1,
    ) -> None:
        self.status = Status("waiting", "starting")
        self._source = source
        self._post = post
        self._heartbeat = heartbeat
        self._lock = threading.Lock()
        self._free = ahead
        self._starved = False
        self._stopping = False
        self._bell, self._ringer = socket.socketpair()
        self._bell.setblocking(False)
        self._ringer.setblocking(False)
        place = path if path is not None else getattr(source, "path", None)
        named = None if place in (None, "-") else os.fspath(place)
        self._hints = None if named is None else Hints(named, self.wake)
        self._pace = Pace(named, heartbeat)
        self._blind = ""
        self._armed_at = -RETRY
        self._looked_at = 0.0
        self._unposted: Batch | None = None
        self._hold_until = 0.0
        self._read_any = False
        self._failed = False
        self._rang = False
        self._deaf = False
        self._thread = threading.Thread(target=self._run, name="tuimon-follower", daemon=True)

    def start(self) -> None:
        """Starts the thread; once only."""
        self._thread.start()

    def stop(self, timeout: float = 2.0) -> None:
        """Ends the thread and lets go of the file. Returns when that is done, at the latest after `timeout` seconds."""
        self._stopping = True
        self.wake()
        if self._thread.ident is not None and self._thread is not threading.current_thread():
            self._thread.join(timeout)

    def wake(self) -> None:
        """Has the thread look now. Callable from any thread."""
        # A full or closed bell has been rung already.
        with contextlib.suppress(OSError):
            self._ringer.send(b"!")

    def acknowledge(self) -> None:
        """The consumer is done with one Batch. Callable from any thread."""
        with self._lock:
            self._free += 1
            starved, self._starved = self._starved, False
        if starved:
            self.wake()

    def _run(self) -> None:
        try:
            while not self._stopping:
                try:
                    pause = self._turn()
                    self._failed = False
                except Exception as error:  # noqa: BLE001 - the thread's edge: it is shown, and tried again
                    pause = self._heartbeat
                    self._failed = True
                    # What is gone grows no more; an event tells sooner than a glance when it is back.
                    self._pace.hot = False
                    self._say_trouble(error)
                self._rest(pause)
        finally:
            self._close()

    def _turn(self) -> float:
        """One look at the source. Returns the seconds to wait, if nothing rings before."""
        if not self._may_post():
            return self._heartbeat
        hot = self._pace.hot
        if not hot and self._hints is not None:
            self._renew_hints(self._hints)
        now = time.monotonic()
        if not self._pace.may_bring(now) and hot and self._unposted is None:
            self._pace.rest(now)
            return self._pace.pause
        batch = self._unposted if self._unposted is not None else self._source.read(READ)
        self._unposted = batch
        self._deliver(batch)
        self._unposted = None
        # A pipe that is ready and brings nothing has lost its writer; it would be ready again at once, for ever.
        self._deaf = self._rang and batch.offset == self.status.offset
        self._read_any = self._read_any or batch.offset > 0 or len(batch) > 0
        self._say(self._state_of(batch, now))
        if self._source.ended and not batch.more:
            self._deliver(self._source.finish())
            self._say(Status("stopped", "stopped: end of input", batch.offset, batch.size))
            self._stopping = True
        self._pace.took(len(batch), batch.more, now, may_heat=not self._blind)
        return 0.0 if batch.more else self._pause(len(batch) > 0 or hot)

    def _may_post(self) -> bool:
        with self._lock:
            self._starved = self._free <= 0
            return not self._starved

    def _deliver(self, batch: Batch) -> None:
        if len(batch) or batch.marks or batch.bad_count:
            with self._lock:
                self._free -= 1
            try:
                self._post(batch)
            except BaseException:
                with self._lock:
                    self._free += 1
                raise

    def _pause(self, lively: bool) -> float:
        """Seconds until the next look; `lively` if data came now, or came all the time until now."""
        if self._pace.hot:
            if self._hints is not None:
                self._hints.disarm()
            return self._pace.pause
        # After leaving the hot pace, look once more at once: what came between the last read and the new watch.
        return FRAME if lively and self._hints is not None and not self._hints.armed else self._heartbeat

    def _renew_hints(self, hints: Hints) -> None:
        """Watches again when the folders changed, after the hot pace, and now and then where no events were left."""
        now = time.monotonic()
        due = now - self._armed_at > RETRY if self._blind else not hints.armed
        if not due and (hints.lost or now - self._looked_at >= self._heartbeat):
            self._looked_at = now
            due = hints.stale()
        if due:
            self._armed_at = now
            self._blind = hints.arm()

    def _state_of(self, batch: Batch, now: float) -> Status:
        where = batch.offset, batch.size
        if any(mark.kind == "restart" for mark in batch.marks):
            self._hold_until = now + HOLD
            return Status("restarted", "file cut short or replaced, keeping the old curve", *where)
        if batch.more:
            share = f" {100 * batch.offset // batch.size} %" if batch.size else ""
            return Status("reading", f"reading{share}", *where)
        if not self._read_any and not batch.size:
            return Status("waiting", "waiting for the first line", *where)
        if now < self._hold_until and self.status.state == "restarted":
            return self.status
        if self._blind:
            return Status("polling", f"polling ({self._blind})", *where)
        return Status("live", "live", *where)

    def _say_trouble(self, error: Exception) -> None:
        if isinstance(error, FileNotFoundError):
            status = Status("gone", "file gone, waiting") if self._read_any else Status("waiting", "waiting for file")
        elif isinstance(error, PermissionError):
            status = Status("denied", "permission denied, trying again")
        elif isinstance(error, IsADirectoryError):
            status = Status("trouble", "a folder stands where the file was, waiting")
        elif isinstance(error, SourceError):
            status = Status("stopped", f"stopped: {error}")
        elif isinstance(error, OSError):
            status = Status("trouble", f"cannot read: {error.strerror or error}, trying again")
        else:
            status = Status("trouble", f"{type(error).__name__}: {error}, trying again")
        # A consumer that can no longer be told is gone; the thread must not die of it before it has let go of the file.
        with contextlib.suppress(Exception):
            self._say(status)

    def _say(self, status: Status) -> None:
        changed = (status.state, status.text) != (self.status.state, self.status.text)
        self.status = status
        if changed:
            self._post(status)

    def _rest(self, seconds: float) -> None:
        """Waits until the bell rings, the pipe has data, or the time is over."""
        pipe = None
        if not (self._pace.hot or self._starved or self._failed or self._deaf):
            with contextlib.suppress(AttributeError, OSError, ValueError):
                pipe = self._source.fileno()  # type: ignore[attr-defined]
        waited = [self._bell] if pipe is None else [self._bell, pipe]
        try:
            ready = select.select(waited, [], [], 0 if self._stopping else seconds)[0]
        except (OSError, ValueError):
            # The pipe's descriptor was closed under us; reading it will say so.
            ready = select.select([self._bell], [], [], seconds)[0]
        self._rang = pipe in ready
        if self._bell in ready:
            with contextlib.suppress(BlockingIOError):
                self._bell.recv(4096)

    def _close(self) -> None:
        # The last word is on the screen already; a file that cannot even be closed changes nothing for anybody.
        with contextlib.suppress(Exception):
            if self._hints is not None:
                self._hints.close()
        with contextlib.suppress(Exception):
            self._source.close()
        self._ringer.close()
        self._bell.close()
