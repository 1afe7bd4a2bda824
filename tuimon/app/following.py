"""An app that follows one input at a time, and can turn to another one."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial

from textual.app import App
from textual.timer import Timer

from tuimon.app.inbox import Inbox
from tuimon.app.messages import Arrived, StatusChanged, Surveyed
from tuimon.app.runs import RunsScreen
from tuimon.app.taken import Taken, taken
from tuimon.follow import Follower, Status
from tuimon.monitor import Snapshot
from tuimon.panels.keys import ALL, Keys, cap_of
from tuimon.panels.runs import Shelf
from tuimon.plain import plain_text
from tuimon.record import Batch, Mark
from tuimon.sources.base import Source
from tuimon.sources.later import Later
from tuimon.sources.runs import Run
from tuimon.survey import Listing, Survey, continues

SAID = 6.0
"""Seconds for which an answer to a key stands in the header."""

Open = Callable[[Run | None, Mapping[str, str]], Source]


@dataclass(frozen=True, slots=True)
class Place:
    """What was named on the command line.

    Attributes:
        path: a file, a folder, or "-".
        open: opens a run of the folder, or for None what the command line named, with these roles.
        roles: role -> name, as the command line says.
        source: what was opened there; None to open it when it is read first.
        run: the run of a folder that this is, None for anything else.
    """

    path: str
    open: Open
    roles: Mapping[str, str] = field(default_factory=dict)
    source: Source | None = None
    run: Run | None = None

    @property
    def start(self) -> str:
        """Path of what is read first."""
        return self.run.path if self.run is not None else self.path


class FollowingApp(App[None]):
    """See the module. A subclass shows what arrives.

    Args:
        place: what to follow; None when batches are posted by somebody else (a test).
    """

    keys: Keys = ALL
    """All of them, as the user wants them."""

    def __init__(self, place: Place | None) -> None:
        # All themes leave colours to the terminal; said here, NO_COLOR takes them away and does not replace them.
        super().__init__(ansi_color=True)
        self.generation = 0
        self.taken = Taken()
        self.watched = ""
        self.listing = Listing()
        self.said = ""
        self._place = place
        self._run = place.run if place else None
        self._roles = dict(place.roles) if place else {}
        self._inbox = Inbox(self)
        self._follower: Follower | None = None
        self._survey: Survey | None = None
        self._offered: frozenset[str] | None = None
        self._runs: RunsScreen | None = None
        self._silence: Timer | None = None
        if place is not None:
            self._take(Taken(path=place.start))

    # What a subclass does.

    def begin(self, *, other: bool) -> None:
        """What arrives from now on is the beginning of a run.

        Args:
            other: it is another run, and not the same one with other roles.
        """
        raise NotImplementedError

    def known(self) -> Snapshot:
        """The newest Snapshot."""
        raise NotImplementedError

    def now(self) -> float:
        """Unix time in seconds."""
        raise NotImplementedError

    def request_frame(self) -> None:
        """Something that is shown has changed."""
        raise NotImplementedError

    def cap(self, name: str) -> str:
        """What the key that does `name` is called."""
        return cap_of(name, self.keys)

    # The one input.

    def start_following(self) -> None:
        """Begins with what the command line named."""
        place = self._place
        if place is None:
            return
        self._inbox.open()
        if place.path != "-":
            self._survey = Survey(place.path, lambda listing: self._inbox.put(Surveyed(listing)), self._open_other)
            self._survey.shown = place.start
            self._survey.start()
        self._follow(place.source or self._later(place.start), place.start)

    def stop_following(self) -> None:
        """Ends the threads."""
        if self._survey is not None:
            self._survey.stop()
        if self._follower is not None:
            # The program ends, and the thread with it: a read that takes long is not waited for.
            self._follower.stop(0.0)

    def acknowledge(self, message: Arrived) -> bool:
        """Takes note of what arrived; False if it belongs to an earlier input and is not wanted."""
        if message.generation != self.generation:
            return False
        if self._follower is not None:
            self._follower.acknowledge()
        if message.taken is not None:
            self._take(message.taken)
        return True

    def _take(self, now: Taken) -> None:
        place, before, self.taken = self._place, self.taken.path, now
        if self._survey is not None:
            self._survey.shown = now.path
        if place is not None and now.path != before:
            folder = place.path if os.path.isdir(place.path) else os.path.dirname(place.path)
            # What the command line named has its name from there.
            self.watched = "" if now.path == place.path else plain_text(Listing(folder).name(now.path), 60)

    def _open_other(self, run: Run) -> Source:
        """Opens a run of the folder: the roles of the command line are for it too."""
        assert self._place is not None
        return self._place.open(run, self._place.roles)

    def _later(self, path: str) -> Source:
        assert self._place is not None
        return Later(path, partial(self._place.open, self._run, dict(self._roles)))

    def _follow(self, source: Source, path: str, before: Batch | None = None) -> None:
        """Reads `source` from now on, after posting `before`."""
        self.generation += 1
        if self._follower is not None:
            # Its thread lets go of the file by itself; the screen does not wait for a read that takes long.
            self._follower.stop(0.0)
        post = partial(self._post, source, path, self.generation, {})
        self._follower = Follower(source, post, path=path)
        if before is not None:
            self._inbox.put(Arrived(before, self.generation))
        self._follower.start()

    def _post(self, source: Source, path: str, generation: int, seen: dict[str, None], brought: Batch | Status) -> None:
        """Called in the follower's thread."""
        if isinstance(brought, Status):
            if brought.state == "waiting" and os.path.isdir(path):
                brought = replace(brought, text="no run in this folder yet, waiting")
            self._inbox.put(StatusChanged(brought, generation))
            return
        if any(mark.kind == "restart" for mark in brought.marks):
            seen.clear()
        fresh = not seen or not seen.keys() >= brought.columns.keys()
        seen.update(dict.fromkeys(brought.columns))
        message = Arrived(brought, generation, taken(source, path, seen) if fresh else None)
        self._inbox.put(message, behind_keys=brought.more)

    # Another input.

    def turn_to(self, run: Run) -> None:
        """Watches another run of the folder, from its start."""
        self._turn(run)
        self.begin(other=True)

    def _turn(self, run: Run, before: Batch | None = None) -> None:
        """Reads another run, after `before`."""
        self._run = run
        self._roles = dict(self._place.roles) if self._place else {}
        self._take(Taken(path=run.path))
        self._follow(self._later(run.path), run.path, before)

    def action_candidate(self) -> None:
        """Takes the next metric that could be the loss."""
        losses, loss, path = self.taken.losses, self.taken.loss, self.taken.path
        if len(losses) < 2:
            self.say("no other loss in this log")
        elif self._place is None or not (os.path.isfile(path) or os.path.isdir(path)):
            self.say("a pipe cannot be read again: start with --map loss=NAME")
        else:
            chosen = losses[(losses.index(loss) + 1) % len(losses)]
            self._roles["loss"] = chosen
            self._run = self._run or self.listing.run(path)
            self._take(Taken(self.taken.described, path, chosen, losses))
            self._follow(self._later(path), path)
            self.begin(other=False)

    def say(self, text: str) -> None:
        """Answers a key for a few seconds."""
        self.said = text
        if self._silence is not None:
            self._silence.stop()
        self._silence = self.set_timer(SAID, self._fall_silent)
        self.request_frame()

    def _fall_silent(self) -> None:
        self.said = ""
        self.request_frame()

    # The other runs.

    def action_runs(self) -> None:
        """Opens the list of runs."""
        self._offered = None
        if self._survey is not None:
            self._survey.look(deep=True)
        self._runs = RunsScreen(self._shelf(), self.is_ascii)
        self.push_screen(self._runs, self._chosen)

    @property
    def is_ascii(self) -> bool:
        """No character beyond ASCII in pictures."""
        return False

    def _chosen(self, path: str | None) -> None:
        self._runs = None
        self._offered = frozenset(run.path for run in self.listing.runs)
        if self._survey is not None:
            self._survey.look(deep=False)
        run = self.listing.run(path) if path else None
        if run is not None:
            self.turn_to(run)
        elif path:
            self.say("that run is gone")
        self.request_frame()

    def _shelf(self) -> Shelf:
        if self._survey is None:
            note = "this input lies in no folder"
        else:
            note = "no run was found there" if self.listing.folder else "looking ..."
        title, semicolon, rest = self.taken.described.partition(";")
        # Without the count of records, which grows.
        described = title.partition(",")[0] + semicolon + rest
        return Shelf(self.listing, self.taken.path, self.known(), described, self.now(), note, self.keys)

    def on_surveyed(self, message: Surveyed) -> None:
        self.listing = message.listing
        if self._offered is None:
            self._offered = frozenset(run.path for run in self.listing.runs)
        if self._runs is not None:
            self._runs.put(self._shelf())
        else:
            self._follow_a_restart()
        self.request_frame()

    @property
    def hint(self) -> str:
        """What the header says of runs and of the loss, beside the run itself."""
        if self.said:
            return self.said
        runs = self.listing.runs
        appeared = bool(runs) and runs[0].path != self.taken.path and runs[0].path not in (self._offered or ())
        if appeared and self._runs is None:
            return f"newer run: press {self.cap('runs')}"
        return self.taken.lack

    def _follow_a_restart(self) -> None:
        """Goes on with the file that a restarted training writes, keeping the curve."""
        runs = {run.path: run for run in self.listing.runs}
        shown = runs.get(self.taken.path)
        newest = self.listing.runs[0] if runs else None
        if shown is None or newest is None or newest is shown or newest.path in (self._offered or ()):
            return
        standing = self.listing.standings.get(newest.path)
        if standing is None or not continues(self.known(), newest, standing, shown):
            return
        self._turn(newest, Batch(marks=(Mark(0, "restart", {}),)))
        self.say(f"restarted: going on with {plain_text(self.listing.name(newest.path), 40)}")
