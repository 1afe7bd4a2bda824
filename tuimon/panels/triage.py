"""The isolation as lines: what is left to suspect, and the questions, the chosen one opened. Pure."""

from __future__ import annotations

from tuimon.catalogue.procedure import Question
from tuimon.panels.footer import hints
from tuimon.panels.ink import Line, Span, folded, wrap
from tuimon.panels.keys import ALL, Keys, spelled
from tuimon.plain import plain_text
from tuimon.triage import Triage

PREFLIGHT = "tuimon.torch.preflight(..., writer=run) in the training answers some of these by itself."

HINTS = "{row-down} {row-up} move  {yes} yes  {no} no  {take-back} take back  Tab other procedure  {quit} back"

MARKS = {"yes": ("✓", "healthy"), "no": ("✗", "failure"), None: ("·", "dim")}
ASCII_MARKS = {"yes": ("+", "healthy"), "no": ("X", "failure"), None: ("-", "dim")}


def triage_lines(
    triage: Triage,
    chosen: int,
    width: int,
    height: int,
    ascii_only: bool = False,
    skipped: int = 0,
    keys: Keys = ALL,
) -> list[Line]:
    """The whole picture in `width` x `height` cells, with question number `chosen` opened and in view.

    Where that question has more lines than there is room, `skipped` of them are scrolled out at the top. `keys` are as
    the user wants them.
    """
    head = heading(triage, width)
    body: list[Line] = []
    start = end = 0
    for index, question in enumerate(triage.questions):
        if index == chosen:
            start = len(body)
        body += question_lines(triage, index, question, width, ascii_only, opened=index == chosen)
        if index == chosen:
            end = len(body)
    room = max(height - len(head) - 1, 1)
    top = max(0, min(end - room, start + skipped))
    shown = body[top : top + room]
    shown += [()] * (room - len(shown))
    return [*head, *shown, (Span(f" {hints(spelled(HINTS, keys), width - 1)}", "key"),)]


def hidden_lines(triage: Triage, chosen: int, width: int, height: int) -> int:
    """How many lines of the opened question have no room."""
    question = triage.questions[chosen]
    room = max(height - len(heading(triage, width)) - 1, 1)
    # Without the blank line behind it.
    return max(len(question_lines(triage, chosen, question, width, False, opened=True)) - 1 - room, 0)


def heading(triage: Triage, width: int) -> list[Line]:
    """Which procedure, how far, and what is left."""
    done = sum(triage.answer(q.key) is not None for q in triage.questions)
    what = f" for {triage.lit}" if triage.lit else ""
    lines: list[Line] = [
        (
            Span(f" triage {triage.procedure}", "strong"),
            Span(f"{what}  {done} of {len(triage.questions)} answered", "dim"),
        )
    ]
    if triage.seen:
        lines += [(Span(f" {line}", "plain"),) for line in wrap(plain_text(triage.seen, 300), width - 2)[:2]]
    if triage.named:
        lines += [(Span(f" {line}", "failure"),) for line in wrap(f"named: {', '.join(triage.named)}", width - 2)]
    left = ", ".join(triage.suspects) or "nothing that these questions can name"
    lines += [(Span(f" {line}"),) for line in wrap(f"left to suspect: {left}", width - 2)]
    if not done and not triage.noted and any(question.preflight for question in triage.questions):
        lines += [(Span(f" {line}", "dim"),) for line in wrap(PREFLIGHT, width - 2)]
    return [*lines, ()]


def question_lines(
    triage: Triage, index: int, question: Question, width: int, ascii_only: bool, *, opened: bool
) -> list[Line]:
    """One question; opened with its code and what the answers mean, else with what a "no" meant."""
    answer = triage.answer(question.key)
    mark, ink = (ASCII_MARKS if ascii_only else MARKS)[answer]
    by = " (preflight)" if question.key in triage.noted and question.key not in triage.answers else ""
    first, *rest = wrap(f"{index + 1}. {question.ask}{by}", width - 6)
    text = "chosen" if opened else "plain" if answer is None else "dim"
    lines: list[Line] = [
        (Span(f" {mark} ", ink), Span(first, text)),
        *((Span(f"      {line}", text),) for line in rest),
    ]
    if not opened:
        # What a "no" has found is what there is to do.
        told = wrap(question.no, width - 8) if answer == "no" else []
        return [*lines, *((Span(f"      {line}", "plain"),) for line in told)]
    lines += [
        (Span(piece, "code"),) for line in question.code.splitlines() for piece in folded(f"    {line}", max(width, 8))
    ]
    for word, meaning in (("yes", question.yes), ("no", question.no)):
        ink = "plain" if answer in (None, word) else "faint"
        first, *rest = wrap(f"{word}: {meaning}", width - 8)
        lines += [(Span(f"      {first}", ink),), *((Span(f"        {line}", ink),) for line in rest)]
    return [*lines, ()]
