"""Which runs lie in a folder and how each of them stands, found out beside the run on the screen."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from tuimon.monitor import Monitor, Snapshot, Verdict
from tuimon.sources import Source, SourceError
from tuimon.sources.runs import Known, Run, find_runs

LARGEST = 8 * 1024 * 1024
"""Bytes of a run that is judged before anybody chose it: under a second; a longer one waits until it is opened."""

PAUSE = 5.0
"""Seconds between looks at the folder: a new run is a matter of minutes."""

SHARE = 50
"""A look that took a second is not repeated for so many seconds: a slow disk must not be kept busy by us."""

MOST_KNOWN = 5000
"""Files remembered between looks; a folder whose files come and go must not fill the memory."""

Open = Callable[[Run], Source]


@dataclass(frozen=True, slots=True)
class Standing:
    """How a run stands after all its records.

    Attributes:
        verdict: its verdict, None where it was not judged.
        first_step, last_step: of its records, None without any.
        run: its name as declared, empty without.
        remark: why it was not judged.
    """

    verdict: Verdict | None = None
    first_step: int | None = None
    last_step: int | None = None
    run: str = ""
    remark: str = ""


@dataclass(frozen=True, slots=True)
class Listing:
    """The runs of a folder, the one written last first, and how those stand that were looked into (by path)."""

    folder: str = ""
    runs: tuple[Run, ...] = ()
    standings: Mapping[str, Standing] = field(default_factory=dict)

    def run(self, path: str) -> Run | None:
        """The run of this path, None if it is none of these."""
        return next((run for run in self.runs if run.path == path), None)

    def name(self, path: str) -> str:
        """What to call a run in this folder; not yet fit for a terminal."""
        name = os.path.relpath(path, self.folder) if self.folder else path
        return os.path.basename(os.path.abspath(path)) if name == "." or name.startswith("..") else name


def standing_of(run: Run, open_run: Open, rest: Callable[[float], bool] = lambda _: False) -> Standing:
    """Reads all of a run that is not too large.

    Args:
        run: which.
        open_run: opens it.
        rest: called after each read with the seconds it took; True to give up.
    """
    if run.size > LARGEST:
        return Standing(remark="long log")
    try:
        source = open_run(run)
    except (SourceError, OSError):
        return Standing(remark="unreadable")
    monitor = Monitor()
    try:
        batch = source.read()
        while True:
            began = time.monotonic()
            monitor.feed(batch)
            if batch.offset > LARGEST:
                return Standing(remark="long log", first_step=monitor.snapshot.first_step)
            if not batch.more or rest(time.monotonic() - began):
                break
            batch = source.read()
        known = monitor.feed(source.finish())
    except (SourceError, OSError):
        return Standing(remark="unreadable")
    finally:
        source.close()
    return Standing(known.verdict, known.first_step, known.last_step, known.run)


def continues(before: Snapshot, run: Run, standing: Standing, shown: Run) -> bool:
    """Whether a run that appeared is the shown one, restarted into a second file.

    It is in the same format, in the same folder but for numbers, and either declares the same name or goes on where the
    other stopped; a run that begins at its first step is another one.
    """
    if run.format != shown.format or _numberless(run.path) != _numberless(shown.path) or run.changed < shown.changed:
        return False
    if before.run or standing.run:
        return before.run == standing.run
    first, last = before.first_step, before.last_step
    if first is None or last is None or standing.first_step is None:
        return False
    # A restart repeats what came after the last checkpoint, or goes on with the next record.
    return first < standing.first_step <= last + max(1, (last - first) // 10)


def _numberless(path: str) -> str:
    return "".join(character for character in path if not character.isdigit())


class Survey:
    """Looks at a folder now and then, and into its runs when asked to, in a thread of its own.

    Args:
        path: the folder; or a file, whose folder is looked at only when asked to.
        post: called in that thread with each new Listing; must not raise.
        open_run: opens a run.
        pause: seconds between looks.
    """

    def __init__(self, path: str, post: Callable[[Listing], object], open_run: Open, *, pause: float = PAUSE) -> None:
        self.shown = ""
        self._path = os.path.abspath(path)
        self._post = post
        self._open = open_run
        self._pause = pause
        self._known: Known = {}
        self._standings: dict[str, tuple[float, int, Standing]] = {}
        self._listing = Listing()
        self._deep = False
        self._stopping = False
        self._bell = threading.Event()
        self._thread = threading.Thread(target=self._run, name="tuimon-survey", daemon=True)

    def start(self) -> None:
        """Starts the thread; once only. The first look comes after a pause, unless asked for."""
        self._thread.start()

    def stop(self) -> None:
        """Ends the thread soon."""
        self._stopping = True
        self._bell.set()

    def look(self, *, deep: bool) -> None:
        """Has the thread look now; and from now on into every run if `deep`, else into the newest alone."""
        self._deep = deep
        self._bell.set()

    def _run(self) -> None:
        pause = self._pause
        while not self._stopping:
            self._bell.wait(pause)
            self._bell.clear()
            if self._stopping:
                return
            began = time.monotonic()
            if self._deep or os.path.isdir(self._path):
                self._scan()
            pause = max(self._pause, SHARE * (time.monotonic() - began))
            self._judge()

    def _scan(self) -> None:
        folder = self._path if os.path.isdir(self._path) else os.path.dirname(self._path)
        if len(self._known) > MOST_KNOWN:
            self._known.clear()
        try:
            runs = tuple(find_runs(folder, self._known))
        except OSError:
            # The folder is gone; its runs come back with it.
            runs = ()
        self._tell(Listing(folder, runs, self._listing.standings))

    def _judge(self) -> None:
        """Looks into the runs that changed if somebody reads the list; else only into one that may be a restart."""
        for run in self._listing.runs if self._deep else self._listing.runs[:1]:
            if self._stopping or self._bell.is_set():
                return
            if run.path == self.shown or not self._wants(run):
                continue
            try:
                standing = standing_of(run, self._open, self._rest)
            except Exception as error:  # noqa: BLE001 - the thread's edge: it is shown beside the run
                standing = Standing(remark=type(error).__name__)
            here = {run.path for run in self._listing.runs}
            self._standings = {path: entry for path, entry in self._standings.items() if path in here}
            self._standings[run.path] = (run.changed, run.size, standing)
            standings = {path: entry[2] for path, entry in self._standings.items()}
            self._tell(Listing(self._listing.folder, self._listing.runs, standings))

    def _wants(self, run: Run) -> bool:
        known = self._standings.get(run.path)
        if self._deep:
            return known is None or known[:2] != (run.changed, run.size)
        # How it begins tells a restart; a log that grows beside the shown one is not read again and again.
        return (known is None or known[2].first_step is None) and _numberless(run.path) == _numberless(self.shown)

    def _rest(self, seconds: float) -> bool:
        """Leaves the processor to the screen for as long as it was taken; True when it is time to end."""
        time.sleep(min(seconds, 0.1))
        return self._stopping

    def _tell(self, listing: Listing) -> None:
        if listing != self._listing:
            self._listing = listing
            self._post(listing)
