"""MonitorApp: takes in what the follower posts, keeps the one Scene, and lets it flow down to the panels."""

from __future__ import annotations

import gc
import os
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

from textual.app import ComposeResult
from textual.widget import Widget

from tuimon.app.acting import ActingApp, FilterLine
from tuimon.app.drawing import EXIT_HUNG_UP
from tuimon.app.following import Place
from tuimon.app.messages import Arrived, StatusChanged
from tuimon.app.terminal import on_signals, on_stops, only_clicks
from tuimon.app.themes import THEMES, variables
from tuimon.follow import Status
from tuimon.monitor import Monitor, Snapshot
from tuimon.panels import words
from tuimon.panels.desk import Desk
from tuimon.panels.footer import Footer
from tuimon.panels.grid import PanelGrid
from tuimon.panels.header import Header
from tuimon.panels.keys import ALL, Keys, in_ascii
from tuimon.panels.large import LargePanel
from tuimon.panels.palette import DARK
from tuimon.panels.preview import extent_of
from tuimon.panels.records import RecordsView
from tuimon.panels.scene import Scene
from tuimon.panels.table import SymptomTable
from tuimon.panels.timeline import Timeline
from tuimon.panels.view import View
from tuimon.plain import plain_text
from tuimon.store import Store

GLANCE = 2.0
"""Seconds between looks at the clock, for a stall and for how long no record came; cheap, and sends nothing itself."""
ASLEEP = 10 * GLANCE
"""Seconds between two looks after which this program itself slept: the machine was suspended, or it was stopped."""


@dataclass(frozen=True, slots=True)
class Options:
    """What the command line says about the screen.

    Attributes:
        name: of the input, for the header.
        theme: a key of THEMES.
        ascii: no character beyond ASCII in pictures and marks.
        fps: frames per second at most. 30 draws each record of a run of 20 steps/s as it comes.
        keys: all of them, as the user wants them.
        notice: what the header says at first.
    """

    name: str = ""
    theme: str = "dark"
    ascii: bool = False
    fps: float = 30.0
    keys: Keys = ALL
    notice: str = ""


def _loaded() -> None:
    """The first picture is out: garbage is collected again, and what was loaded for it is never looked through."""
    gc.freeze()
    gc.enable()


def _written(path: str) -> float | None:
    """When the file was written last, None where nobody knows: of a log without times the best there is."""
    try:
        return os.path.getmtime(path)
    except (OSError, ValueError):
        return None


class MonitorApp(ActingApp):
    """The screen of `tuimon watch`.

    Args:
        options: how to look.
        place: what to follow; None when batches are posted by somebody else (a test).
        describe: what an input that somebody else reads was taken for, in one line.
        clock: Unix time in seconds.
        samples: points from all over the run, drawn while its history is read.
    """

    CSS_PATH = "monitor.tcss"
    ENABLE_COMMAND_PALETTE = False
    AUTO_FOCUS = "SymptomTable"
    HORIZONTAL_BREAKPOINTS: list[tuple[int, str]] | None = [  # noqa: RUF012 - the toolkit declares it so
        (0, "-tiny"),
        (60, "-narrow"),
        (100, "-medium"),
        (140, "-wide"),
    ]
    VERTICAL_BREAKPOINTS: list[tuple[int, str]] | None = [(0, "-tiny"), (16, "-low"), (30, "-tall")]  # noqa: RUF012

    def __init__(
        self,
        options: Options,
        place: Place | None = None,
        *,
        describe: Callable[[], str] = str,
        clock: Callable[[], float] = time.time,
        samples: Store | None = None,
    ) -> None:
        super().__init__(place, options.fps, in_ascii(options.keys) if options.ascii else options.keys)
        for theme in THEMES.values():
            self.register_theme(theme)
        self.theme = THEMES[options.theme].name
        self.options = options
        self.status = Status("waiting", "starting")
        self._newest = self.monitor.snapshot
        self._held: Snapshot | None = None
        self._left: Widget | None = None
        self._age = ""
        self._heard: float | None = None
        self._clock = clock
        self._looked = clock()
        self._describe = describe
        self._samples = samples
        self._taken_for = ""

    def get_theme_variable_defaults(self) -> dict[str, str]:
        return variables(DARK)

    def compose(self) -> ComposeResult:
        above = Header(), PanelGrid(), LargePanel(), Timeline(), SymptomTable(), RecordsView()
        footer = Footer()
        self.panels = [*above, footer]
        yield from above
        yield FilterLine(placeholder="rows and metrics that contain ...", select_on_focus=False)
        yield footer

    def on_mount(self) -> None:
        self.query_one(FilterLine).cursor_blink = False
        only_clicks(self._driver)
        if not self.is_headless:
            on_signals(self.leave)
            on_stops(self._driver)
            self.app_resume_signal.subscribe(self, self._continued)
        self.set_interval(GLANCE, self.glance)
        if self.options.notice:
            self.say(plain_text(self.options.notice, 120))
        self.show()
        if not gc.isenabled():
            self.call_after_refresh(_loaded)
        self.start_following()

    def on_unmount(self) -> None:
        self.stop_following()

    def begin(self, *, other: bool) -> None:
        self.monitor = Monitor()
        self._newest, self._held, self._samples = self.monitor.snapshot, None, None
        self._age = self._taken_for = ""
        self._heard = None
        # What is read now was there before; it does not come before our eyes.
        self.status = Status("reading", "reading")
        if other:
            view = self.desk.view
            self.desk = Desk(View(log=view.log, smooth=view.smooth, overlay=view.overlay, share=view.share))
        elif self.desk.paused:
            self.desk = replace(self.desk, held=None)
        self.show()

    def known(self) -> Snapshot:
        return self._newest

    def now(self) -> float:
        return self._clock()

    @property
    def is_ascii(self) -> bool:
        return self.options.ascii

    def take_over(self, monitor: Monitor, status: Status) -> None:
        """Shows a run that somebody else has read."""
        self.monitor, self._newest, self.status = monitor, monitor.snapshot, status
        self._tell_format()

    # What comes in.

    def on_arrived(self, message: Arrived) -> None:
        if not self.acknowledge(message):
            return
        self._newest = self.monitor.feed(message.batch)
        if len(message.batch) and self.status.state in ("live", "polling"):
            self._heard = self._clock()
        elif self._heard is None and self._newest.last_time is None:
            self._heard = _written(self.taken.path)
        self._age = self._age_at(self._clock())
        if not self._taken_for:
            self._tell_format()
        self.frame(message.batch.more)

    def _tell_format(self) -> None:
        # Without the count of records, which grows, and the roles, which the panels show.
        described = self.taken.described or self._describe()
        self._taken_for = plain_text(described.partition(";")[0].partition(",")[0], 40)

    def on_status_changed(self, message: StatusChanged) -> None:
        if message.generation != self.generation:
            return
        self.status = message.status
        if message.status.state not in ("reading", "waiting"):
            self._samples = None
        self.request_frame()

    def glance(self) -> None:
        """Looks at the clock: silence is seen by it alone."""
        if self.terminal_state == "gone":
            self.leave(EXIT_HUNG_UP)
        now = self._clock()
        before, self._looked = self._looked, now
        if not -ASLEEP < now - before < ASLEEP:
            # What was written meanwhile is read before the next look; until then nobody knows whether there is any.
            return
        age = self._age_at(now)
        last = self._newest.last_time
        seen = self.monitor.look_at(now if last is None else last + self._silence_at(now))
        if age != self._age or seen.lit != self._newest.lit or seen.verdict != self._newest.verdict:
            self._age, self._newest = age, seen
            self.request_frame()

    def _silence_at(self, now: float) -> float:
        """Seconds without a record, 0 if unknown; one that came before our eyes did so whatever its clock says."""
        heard = [when for when in (self._newest.last_time, self._heard) if when is not None]
        return now - max(heard, default=now)

    def _age_at(self, now: float) -> str:
        return words.age(self._silence_at(now), self._newest.pace)

    # What goes out.

    def current(self) -> Scene:
        """The scene as it would be drawn now."""
        snapshot = self._held if self._held is not None else self._newest
        columns = self.monitor.store.columns
        behind = self._newest.records - snapshot.records
        extent = extent_of(self._samples.columns) if self._samples is not None else None
        if self._samples is not None and extent is not None:
            for column in columns.values():
                # What a picture of the whole run needs is made ready bit by bit: all of it at once, at the end of a
                # history of a million records, keeps keys waiting for 0.1 s.
                column.bins(extent[0], extent[1], 1)
            columns = self._samples.columns
            records = max(snapshot.records, self._samples.records)
            snapshot = replace(snapshot, records=records, first_step=extent[0], last_step=extent[1])
        return Scene(
            snapshot=snapshot,
            columns=columns,
            desk=self.desk,
            status=self.status,
            name=self.watched or self.options.name,
            format=self._taken_for,
            choice=self.taken.choice(self.cap("other-loss")),
            hint=self.hint,
            age=self._age,
            behind=behind,
            ascii=self.options.ascii,
            keys=self.keys,
        )

    def turn(self, before: Scene, scene: Scene) -> None:
        if scene.desk is before.desk:
            return
        base, was, mode = self.screen_stack[0], before.desk.mode, scene.desk.mode
        # Whatever has put another desk here: the line is there as long as something is typed into it.
        base.set_class(scene.desk.typing, "-filter")
        if mode == was:
            return
        if was == "run":
            # What is hidden loses the focus to its neighbour; what is shown again gets it back.
            self._left = base.focused
        for name in ("autopsy", "large"):
            base.set_class(mode == name, f"-{name}")
        if mode == "run" and self._left is not None:
            self.call_after_refresh(base.set_focus, self._left)
        elif mode == "autopsy":
            self.call_after_refresh(base.set_focus, base.query_one(RecordsView))

    def lay(self, desk: Desk) -> None:
        """The user's side of the screen is `desk` from now on."""
        if desk.paused != self.desk.paused:
            self._held = self._newest if desk.paused else None
        super().lay(desk)
