"""One row of the table in full, over the monitor's screen and with the run's own numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.screen import ModalScreen

from tuimon.app.bound import of_screen
from tuimon.app.lab import LabScreen
from tuimon.app.triage import TriageScreen
from tuimon.catalogue import Row
from tuimon.catalogue.lessons import LESSONS
from tuimon.catalogue.procedure import procedure_of
from tuimon.estimate import estimate_for
from tuimon.explain import explanation
from tuimon.measured import measured
from tuimon.monitor import Snapshot
from tuimon.panels.footer import hints
from tuimon.panels.ink import Line, Span, folded, width_of
from tuimon.panels.keys import ALL, Keys, spelled
from tuimon.panels.lab.bench import bench_of
from tuimon.panels.scene import Scene
from tuimon.panels.sheet import Sheet
from tuimon.panels.specimen import specimen
from tuimon.signatures.finding import Finding
from tuimon.store import Store
from tuimon.triage import load, state_path, triage_of

LEAST, WIDEST = 24, 100
"""Columns of text: with fewer it is folded once more; longer lines are hard to read."""

HINTS = "{row-down} {row-up} scroll  {checks} checks  {lab} lab  {triage} triage  {quit} back"

FAR = 10**6
"""Lines that lead to an end of any text."""


class ExplainSheet(Sheet, can_focus=True):
    """The text, from line `top` on.

    Args:
        row: the row of the table.
        findings: of the run, that lit this row.
        remarks: what can be said in numbers about this run.
        ascii_only: no character beyond ASCII.
        keys: all of them, as the user wants them.
    """

    def __init__(
        self, row: Row, findings: Sequence[Finding], remarks: Sequence[str], ascii_only: bool, keys: Keys = ALL
    ) -> None:
        super().__init__()
        self.top = 0
        self._row = row
        self._findings = findings
        self._remarks = remarks
        self._ascii = ascii_only
        self._hints = spelled(HINTS, keys)
        self._drawn: list[str] = []
        self._drawn_for = 0

    def text(self, width: int) -> list[str]:
        """All lines for a room of `width` columns."""
        width = min(max(width - 2, LEAST), WIDEST)
        if width != self._drawn_for:
            self._drawn, self._drawn_for = specimen(self._row, width, ascii_only=self._ascii), width
        picture = self._drawn
        lesson = LESSONS[self._row.signature]
        lines = explanation(self._row, lesson, width, picture=picture, findings=self._findings, remarks=self._remarks)
        return list(lines)

    def lines(self, width: int) -> list[Span]:
        """The same in inks; what is wider than `width` columns all the same is folded, so that nothing is cut."""
        codes = {line.strip() for check in self._row.checks for line in check.code.splitlines()}
        room = max(width - 2, 8)
        title, *rest = self.text(width)
        inked = [(title, self._row.severity), *((line, self._ink(line, codes)) for line in rest)]
        return [
            Span(f" {piece}", ink)
            for line, ink in inked
            for piece in (folded(line, room) if len(line) > room else [line])
        ]

    def _ink(self, line: str, codes: set[str]) -> str:
        if line.strip() in codes:
            return "code"
        if line in self._drawn:
            return "note"
        return "strong" if line and line == line.upper() and not line.startswith(" ") else "plain"

    def picture(self, scene: Scene, width: int, height: int) -> list[Line]:
        lines = self.lines(width)
        room = max(height - 1, 1)
        self.top = max(0, min(self.top, len(lines) - room))
        shown = [(span,) for span in lines[self.top : self.top + room]]
        below = len(lines) - self.top - room
        keys = hints(self._hints, width - 1)
        foot: Line = (Span(f" {keys}", "key"), Span(f"  {below} more lines" if below > 0 else "", "dim"))
        if width_of(foot) > width:
            foot = foot[:1]
        return [*shown, *[()] * (room - len(shown)), foot]

    def scroll(self, lines: int) -> None:
        """Moves the text by so many lines, as far as it goes."""
        self.top += lines
        self.draw()

    def show_checks(self) -> None:
        """Moves to the first check."""
        checks = (place for place, line in enumerate(self.lines(self.size.width)) if line.text.startswith(" CHECK"))
        self.scroll(next(checks, self.top) - self.top)


class ExplainScreen(ModalScreen[None]):
    """The row as a screen.

    Args:
        row: the row of the table.
        snapshot, store: of the run.
        file: path of the run, beside which triage keeps its answers; empty to forget them.
        ascii_only: no character beyond ASCII.
        keys: all of them, as the user wants them.
    """

    BINDINGS: ClassVar[list[BindingType]] = of_screen("explanation")
    DEFAULT_CSS = "ExplainSheet { height: 1fr; }"

    def __init__(
        self,
        row: Row,
        snapshot: Snapshot,
        store: Store,
        *,
        file: str = "",
        ascii_only: bool = False,
        keys: Keys = ALL,
    ) -> None:
        super().__init__()
        self._row, self._snapshot, self._file, self._ascii, self._keys = row, snapshot, file, ascii_only, keys
        self._estimate = estimate_for(row.signature, row.family, snapshot, store)
        findings = [finding for finding in snapshot.findings if finding.row == row.signature]
        remarks = measured(findings[-1], snapshot, store) if findings else []
        self._sheet = ExplainSheet(row, findings, remarks, ascii_only, keys)

    def compose(self) -> ComposeResult:
        yield self._sheet

    def on_mount(self) -> None:
        self._sheet.focus()

    def action_leave(self) -> None:
        self.dismiss()

    def action_move(self, lines: int) -> None:
        self._sheet.scroll(lines)

    def action_page(self, pages: int) -> None:
        self._sheet.scroll(pages * max(self._sheet.size.height - 2, 1))

    def action_go(self, end: int) -> None:
        self._sheet.scroll(end * FAR)

    def action_checks(self) -> None:
        self._sheet.show_checks()

    def action_lab(self) -> None:
        self.app.push_screen(LabScreen(bench_of(self._estimate), self._ascii, self._keys))

    def action_triage(self) -> None:
        triage = triage_of(self._snapshot, procedure_of(self._row.signature, self._row.family))
        path = state_path(self._file) if self._file and self._file != "-" else None
        self.app.push_screen(TriageScreen(load(path, triage) if path else triage, path, self._ascii, self._keys))
