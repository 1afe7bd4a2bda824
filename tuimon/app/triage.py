"""`tuimon triage`: the isolation as a checklist on the screen."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.screen import ModalScreen

from tuimon.app.alone import AloneApp
from tuimon.app.bound import of_screen
from tuimon.catalogue.procedure import PROCEDURES
from tuimon.panels.ink import Line, Span
from tuimon.panels.keys import ALL, Keys
from tuimon.panels.scene import Scene
from tuimon.panels.sheet import Sheet
from tuimon.panels.triage import hidden_lines, triage_lines
from tuimon.plain import plain_text
from tuimon.triage import Answer, Triage, load, save

ANSWERS: dict[str, Answer | None] = {"yes": "yes", "no": "no", "": None}


class TriageSheet(Sheet, can_focus=True):
    """The checklist.

    Args:
        triage: where it stands.
        path: where answers are kept, None to forget them.
        ascii_only: no character beyond ASCII.
        keys: all of them, as the user wants them.
    """

    def __init__(self, triage: Triage, path: Path | None, ascii_only: bool, keys: Keys = ALL) -> None:
        super().__init__()
        self.triage = triage
        self.chosen = 0
        self._skipped = 0
        self._path = path
        self._ascii = ascii_only
        self._keys = keys
        self._trouble = ""
        self._choose_next_open()

    def picture(self, scene: Scene, width: int, height: int) -> list[Line]:
        self._skipped = min(self._skipped, hidden_lines(self.triage, self.chosen, width, height))
        lines = triage_lines(self.triage, self.chosen, width, height, self._ascii, self._skipped, self._keys)
        return [*lines[:-1], (Span(f" {self._trouble}", "warning"),)] if self._trouble else lines

    def other(self) -> None:
        """Goes to the next procedure."""
        names = list(PROCEDURES)
        following = names[(names.index(self.triage.procedure) + 1) % len(names)]
        fresh = replace(self.triage, procedure=following, lit="", answers={}, noted={}, seen="")
        self.triage = load(self._path, fresh) if self._path else fresh
        self._choose_next_open()
        self.draw()

    def move(self, by: int) -> None:
        """Through the opened question where it is longer than the screen, then to the next one."""
        skipped = self._skipped + by
        if 0 <= skipped <= hidden_lines(self.triage, self.chosen, *self.size):
            self._skipped = skipped
        else:
            self._skipped = 0
            self.chosen = (self.chosen + by) % len(self.triage.questions)
        self.draw()

    def answer(self, answer: Answer | None) -> None:
        """Sets, keeps and moves on. Nothing taken back from a question that has none is the answer given last."""
        keys = [question.key for question in self.triage.questions]
        if answer is None and keys[self.chosen] not in self.triage.answers:
            given = [key for key in self.triage.answers if key in keys]
            if not given:
                return
            self.chosen, self._skipped = keys.index(given[-1]), 0
        self.triage = self.triage.answered(self.triage.questions[self.chosen].key, answer)
        if self._path is not None:
            try:
                save(self._path, self.triage)
                self._trouble = ""
            except OSError as error:
                self._trouble = f"not kept: {plain_text(self._path, 60)}: {error.strerror}"
        if answer is not None:
            self._choose_next_open()
        self.draw()

    def _choose_next_open(self) -> None:
        self._skipped = 0
        question = self.triage.next_open
        if question is not None:
            self.chosen = self.triage.questions.index(question)
        else:
            self.chosen = min(self.chosen, len(self.triage.questions) - 1)


class TriageScreen(ModalScreen[None]):
    """The checklist as a screen. Arguments as those of TriageSheet."""

    BINDINGS: ClassVar[list[BindingType]] = of_screen("triage")
    DEFAULT_CSS = "TriageSheet { height: 1fr; }"

    def __init__(self, triage: Triage, path: Path | None = None, ascii_only: bool = False, keys: Keys = ALL) -> None:
        super().__init__()
        self._sheet = TriageSheet(triage, path, ascii_only, keys)

    def compose(self) -> ComposeResult:
        yield self._sheet

    def on_mount(self) -> None:
        self._sheet.focus()

    def action_leave(self) -> None:
        self.dismiss()

    def action_move(self, by: int) -> None:
        self._sheet.move(by)

    def action_answer(self, word: str) -> None:
        self._sheet.answer(ANSWERS[word])

    def action_other(self) -> None:
        self._sheet.other()


class TriageApp(AloneApp):
    """The checklist alone."""

    def __init__(
        self,
        triage: Triage,
        path: Path | None = None,
        theme: str = "dark",
        ascii_only: bool = False,
        keys: Keys = ALL,
    ) -> None:
        super().__init__(TriageScreen(triage, path, ascii_only, keys), theme, keys)
