"""MonitorApp: takes in what the follower posts, keeps the one Scene, and lets it flow down to the panels."""

from __future__ import annotations

import asyncio
import gc
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.reactive import var
from textual.widget import Widget
from textual.widgets import Input

from tuimon.app.explain import ExplainScreen
from tuimon.app.following import FollowingApp, Place
from tuimon.app.help import HelpScreen
from tuimon.app.messages import Arrived, StatusChanged
from tuimon.app.terminal import State, cut_off, fault, on_signals, only_clicks, terminal_state
from tuimon.app.themes import DARK, THEMES, variables
from tuimon.follow import Status
from tuimon.monitor import Monitor, Snapshot
from tuimon.panels import moves, rows, words
from tuimon.panels.desk import Desk
from tuimon.panels.footer import Footer
from tuimon.panels.grid import PanelGrid
from tuimon.panels.header import Header
from tuimon.panels.keys import KEYS
from tuimon.panels.large import LargePanel
from tuimon.panels.metric import MetricPanel
from tuimon.panels.preview import extent_of
from tuimon.panels.records import RecordsView
from tuimon.panels.scene import Scene
from tuimon.panels.table import SymptomTable
from tuimon.panels.timeline import Timeline
from tuimon.panels.view import View
from tuimon.plain import plain_text
from tuimon.store import Store

GLANCE = 2.0
"""Seconds between looks at the clock, for a stall and the age of the last record; cheap, and sends nothing itself."""

EXIT_HUNG_UP = 129
"""What a shell says of a program that ended because its terminal was closed."""

SETTLED = 0.15
"""Seconds after the last change of size until all is drawn once more."""

STALLED = 0.1
"""Seconds until a terminal that took no output is asked again."""


@dataclass(frozen=True, slots=True)
class Options:
    """What the command line says about the screen.

    Attributes:
        name: of the input, for the header.
        theme: a key of THEMES.
        ascii: no character beyond ASCII in pictures and marks.
        fps: frames per second at most. 30 draws each record of a run of 20 steps/s as it comes.
    """

    name: str = ""
    theme: str = "dark"
    ascii: bool = False
    fps: float = 30.0


def _loaded() -> None:
    """The first picture is out: garbage is collected again, and what was loaded for it is never looked through."""
    gc.freeze()
    gc.enable()


class FilterLine(Input):
    """Where the word to look for is typed."""


class MonitorApp(FollowingApp):
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
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(name, key.action, key.word, show=False, priority=name == "ctrl+c") for key in KEYS for name in key.keys
    ]

    scene: var[Scene] = var(Scene)

    def __init__(
        self,
        options: Options,
        place: Place | None = None,
        *,
        describe: Callable[[], str] = str,
        clock: Callable[[], float] = time.time,
        samples: Store | None = None,
    ) -> None:
        super().__init__(place)
        for theme in THEMES.values():
            self.register_theme(theme)
        self.theme = THEMES[options.theme].name
        self.options = options
        self.monitor = Monitor()
        self.desk = Desk()
        self.status = Status("waiting", "starting")
        self._newest = self.monitor.snapshot
        self._held: Snapshot | None = None
        self._left: Widget | None = None
        self._age = ""
        self._clock = clock
        self._describe = describe
        self._samples = samples
        self._taken_for = ""
        self._frame: asyncio.TimerHandle | None = None
        self._settling: asyncio.TimerHandle | None = None
        self._sizes = 0
        self._drawn_at = 0.0

    def get_theme_variable_defaults(self) -> dict[str, str]:
        return variables(DARK)

    def compose(self) -> ComposeResult:
        yield Header().data_bind(MonitorApp.scene)
        yield PanelGrid().data_bind(MonitorApp.scene)
        yield LargePanel().data_bind(MonitorApp.scene)
        yield Timeline().data_bind(MonitorApp.scene)
        yield SymptomTable().data_bind(MonitorApp.scene)
        yield RecordsView().data_bind(MonitorApp.scene)
        yield FilterLine(placeholder="rows and metrics that contain ...", select_on_focus=False)
        yield Footer().data_bind(MonitorApp.scene)

    def on_mount(self) -> None:
        self.query_one(FilterLine).cursor_blink = False
        only_clicks(self._driver)
        if not self.is_headless:
            on_signals(self.leave)
            self.app_resume_signal.subscribe(self, self._continued)
        self.set_interval(GLANCE, self.glance)
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
        if other:
            view = self.desk.view
            self.desk = Desk(View(log=view.log, smooth=view.smooth, overlay=view.overlay, share=view.share))
        elif self.desk.paused:
            self.desk = replace(self.desk, held=None)
        # Panels tell one metric from the next by its column: without any in between, an equal one would stay.
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
        self._age = ""
        if not self._taken_for:
            self._tell_format()
        self.request_frame()

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
        """Looks at the clock: a stall, and the age of the last record, are seen by it alone."""
        if self.terminal_state == "gone":
            self.leave(EXIT_HUNG_UP)
        now = self._clock()
        last = self._newest.last_time
        age = "" if last is None else words.age(now - last, self._newest.pace)
        seen = self.monitor.look_at(now)
        if age != self._age or seen.lit != self._newest.lit or seen.verdict != self._newest.verdict:
            self._age, self._newest = age, seen
            self.request_frame()

    # What goes out.

    def request_frame(self) -> None:
        """A frame soon: at once after a pause, else when the frame rate allows."""
        if self._frame is None:
            due = self._drawn_at + 1 / self.options.fps - time.monotonic()
            self._frame = asyncio.get_running_loop().call_later(max(due, 0.0), self.call_next, self._draw)

    def _draw(self) -> None:
        self._frame = None
        state = self.terminal_state
        if state == "ready":
            self.show()
        elif state == "gone":
            self.leave(EXIT_HUNG_UP)
        else:
            self._frame = asyncio.get_running_loop().call_later(STALLED, self.call_next, self._draw)

    @property
    def terminal_state(self) -> State:
        """Whether a frame can be drawn."""
        return "ready" if self.is_headless else terminal_state()

    def on_resize(self) -> None:
        self._sizes += 1
        if self._sizes == 1 or self.is_headless:
            return
        # The toolkit draws nothing where the size is again what it was, but the terminal has cut off cells meanwhile.
        if self._settling is not None:
            self._settling.cancel()
        self._settling = asyncio.get_running_loop().call_later(SETTLED, self.call_next, self._repaint)

    def _repaint(self) -> None:
        # None is left while the program ends.
        if self.screen_stack:
            self.screen.refresh(layout=True)

    def _continued(self, _: object) -> None:
        """The program was stopped, and others have used the terminal since: all of it is drawn again."""
        only_clicks(self._driver)
        self.screen.refresh()

    def leave(self, code: int) -> None:
        """Ends the program with this exit code, and restores the terminal if it is still there."""
        if self.terminal_state == "gone":
            cut_off(self._driver)
        self.exit(return_code=code)

    def _fatal_error(self) -> None:
        """One line; the toolkit would print the source of every frame, from which nobody learns more."""
        self._exit_renderables.append(Text(fault(self._exception) if self._exception else "tuimon stopped", "bold"))
        self._close_messages_no_wait()

    def show(self) -> None:
        """Draws the present state; nothing while the program ends, when a frame that was due has no screen left."""
        if not self.screen_stack:
            return
        self._drawn_at = time.monotonic()
        with self.batch_update():
            self.scene = self.current()

    def current(self) -> Scene:
        """The scene as it would be drawn now."""
        snapshot = self._held if self._held is not None else self._newest
        columns = self.monitor.store.columns
        behind = self._newest.records - snapshot.records
        extent = extent_of(self._samples.columns) if self._samples is not None else None
        if self._samples is not None and extent is not None:
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
            choice=self.taken.choice,
            hint=self.hint,
            age=self._age,
            behind=behind,
            ascii=self.options.ascii,
        )

    def watch_scene(self, before: Scene, scene: Scene) -> None:
        base, was, mode = self.screen_stack[0], before.desk.mode, scene.desk.mode
        if mode == was:
            return
        if was == "run":
            # What is hidden loses the focus to its neighbour; what is shown again gets it back.
            self._left = base.focused
        for name in ("autopsy", "large"):
            base.set_class(mode == name, f"-{name}")
        if mode == "run" and self._left is not None:
            self.call_after_refresh(base.set_focus, self._left)

    def lay(self, desk: Desk) -> None:
        """The user's side of the screen is `desk` from now on."""
        if desk.paused != self.desk.paused:
            self._held = self._newest if desk.paused else None
        self.desk = desk
        self.request_frame()

    # What the user does.

    def action_move(self, name: str) -> None:
        if name == "back" and self._filtering:
            self._close_filter()
            return
        self.lay(moves.move(name, self.current()))

    def action_enter(self) -> None:
        panel = self.focused
        if self.desk.mode == "large":
            self.action_move("back")
        elif isinstance(panel, MetricPanel):
            metric = self.query_one(PanelGrid).metric_of(panel)
            if metric in self.monitor.store.columns:
                self.lay(replace(self.desk, mode="large", metric=metric, under=0))
        elif self.desk.mode == "run":
            self.action_move("toggle")

    def action_help(self) -> None:
        self.push_screen(HelpScreen())

    def action_explain(self) -> None:
        scene = self.current()
        row = next((entry.row for entry in rows.entries(scene) if entry.chosen), None)
        if row is None:
            # The filter left no row; the table says how to clear it.
            return
        self.push_screen(ExplainScreen(row, scene.snapshot, self.monitor.store, ascii_only=scene.ascii))

    def action_filter(self) -> None:
        self.screen.add_class("-filter")
        self.query_one(FilterLine).focus()

    @property
    def _filtering(self) -> bool:
        return self.focused is not None and isinstance(self.focused, FilterLine)

    def _close_filter(self) -> None:
        self.screen.remove_class("-filter")
        self.query_one(SymptomTable).focus()

    def on_input_changed(self, event: Input.Changed) -> None:
        self.lay(moves.filtered(self.current(), event.value))

    def on_input_submitted(self) -> None:
        self._close_filter()

    def on_metric_panel_step_chosen(self, message: MetricPanel.StepChosen) -> None:
        self.lay(moves.at(self.current(), message.step))

    def on_timeline_step_chosen(self, message: Timeline.StepChosen) -> None:
        self.lay(moves.at(self.current(), message.step))

    def on_symptom_table_row_chosen(self, message: SymptomTable.RowChosen) -> None:
        self.desk = replace(self.desk, row=message.signature)
        self.lay(moves.toggled(self.current()) if message.opened else self.desk)

    def on_panel_grid_wheeled(self, message: PanelGrid.Wheeled) -> None:
        self.lay(moves.zoom(self.current(), message.factor, message.step))
