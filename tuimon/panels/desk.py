"""What lies open before the user, apart from the run itself: one frozen value that every key maps to the next."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from tuimon.panels.view import View

Mode = Literal["run", "autopsy", "large"]


@dataclass(frozen=True, slots=True)
class Desk:
    """The user's side of the screen.

    Attributes:
        view: which steps the panels show and how.
        mode: the run with its table, the records around a NaN, or one panel enlarged.
        metric: the enlarged one.
        under: how many metrics stand under the enlarged one.
        page: which four metrics the panels show; 0 is the four roles.
        row: signature of the chosen row, empty for the first one of the table.
        opened, closed: rows that the user opened or closed himself.
        pattern: what rows and metrics must contain.
        typing: the line is open in which it is typed.
        held: the view to return to; not None while the picture is paused.
        before: the view to return to from the autopsy, None outside of it.
        said: why the last key changed nothing, empty when it did; a key that does nothing looks broken.
    """

    view: View = field(default_factory=View)
    mode: Mode = "run"
    metric: str = ""
    under: int = 0
    page: int = 0
    row: str = ""
    opened: frozenset[str] = frozenset()
    closed: frozenset[str] = frozenset()
    pattern: str = ""
    typing: bool = False
    held: View | None = None
    before: View | None = None
    said: str = ""

    @property
    def paused(self) -> bool:
        """The picture stays as it is while reading goes on."""
        return self.held is not None
