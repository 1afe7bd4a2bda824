"""Everything the screen shows, as one value that flows down to every panel."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from tuimon.follow import Status
from tuimon.monitor import Snapshot
from tuimon.panels.desk import Desk
from tuimon.panels.keys import ALL, Keys
from tuimon.panels.view import View
from tuimon.record import ROLES
from tuimon.store import Column


@dataclass(frozen=True, slots=True, eq=False)
class Scene:
    """One moment of the screen. Two scenes are never compared: a new one means that something changed.

    Attributes:
        snapshot: what is known of the run.
        columns: metric name -> its points; grows while the run goes on, read only here.
        desk: what the user has open.
        status: how the following goes.
        name, format: of the input, for the header.
        choice: which metric plays the loss, and how many others could, in ever shorter words; empty where that goes
            without saying.
        hint: what the user should know that is not about the run.
        age: for how long no record has come, in words; empty while that is nothing to mention.
        behind: records that came since the picture was paused.
        ascii: draw with ASCII only.
        keys: all of them, as the footer calls them.
        last: last step of the run; the highest one where the log went back.
    """

    snapshot: Snapshot = field(default_factory=Snapshot)
    columns: Mapping[str, Column] = field(default_factory=dict)
    desk: Desk = field(default_factory=Desk)
    status: Status = field(default_factory=lambda: Status("waiting", "starting"))
    name: str = ""
    format: str = ""
    choice: tuple[str, ...] = ()
    hint: str = ""
    age: str = ""
    behind: int = 0
    ascii: bool = False
    keys: Keys = ALL
    last: int = field(init=False)

    def __post_init__(self) -> None:
        snapshot = self.snapshot
        ends = [series.last_step for series in snapshot.series.values() if series.last_step is not None]
        # Asked for many times in a frame.
        object.__setattr__(self, "last", max([snapshot.last_step or 0, self.first, *ends]))

    @property
    def view(self) -> View:
        """Which steps are shown and how."""
        return self.desk.view

    @property
    def first(self) -> int:
        """First step of the run, 0 before there is one."""
        return self.snapshot.first_step or 0

    @property
    def window(self) -> tuple[int, int]:
        """First and last step shown."""
        return self.view.window(self.first, self.last)

    @property
    def cursor(self) -> int:
        """The chosen step, the newest when none is chosen."""
        return self.last if self.view.cursor is None else self.view.cursor

    @property
    def pages(self) -> list[tuple[str, ...]]:
        """The metrics in fours: first the roles, then the others that match the pattern, in order of appearance."""
        pattern = self.desk.pattern.lower()
        others = [name for name in self.columns if name not in ROLES and pattern in name.lower()]
        return [ROLES, *(tuple(others[i : i + 4]) for i in range(0, len(others), 4))]

    @property
    def shown(self) -> tuple[str, ...]:
        """The metrics of the four panels, fewer of them on a last page."""
        if not self.desk.page:
            return ROLES
        pages = self.pages
        return pages[self.desk.page % len(pages)]

    @property
    def enlarged(self) -> tuple[str, ...]:
        """The enlarged metric and those under it: the ones that follow it, round the end."""
        here = self.desk.metric
        others = [name for page in self.pages for name in page if name in self.columns and name != here]
        before = [*self.pages[0], *self.columns]
        after = before.index(here) if here in before else 0
        others.sort(key=lambda name: before.index(name) < after)
        return (here, *others[: self.desk.under])


class Shows(Protocol):
    """A panel of the screen."""

    def tell(self, scene: Scene) -> None:
        """Shows this scene."""
