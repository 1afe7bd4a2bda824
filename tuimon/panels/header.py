"""The first line: the verdict, which run, how far, how fast, and how the following goes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from tuimon.panels import words
from tuimon.panels.ink import Line, Span, clip, width_of
from tuimon.panels.marks import marks
from tuimon.panels.scene import Scene
from tuimon.panels.sheet import Sheet
from tuimon.panels.verdict import badge, gravest
from tuimon.plain import plain_text
from tuimon.record import ABORTED, END

GAP = "  "

HINT = 44
"""Cells of a hint where room is short: with the verdict and its step it fits into 80."""

STALLED = "stalled-run"
"""Signature of the finding that the silence is far longer than this run's own pace."""


class Header(Sheet):
    """One line; what matters least goes first where the width is short."""

    def picture(self, scene: Scene, width: int, height: int) -> list[Line]:
        return [header_line(scene, width)]


class Part(NamedTuple):
    """A piece of the header.

    Attributes:
        rank: how dispensable it is; the greatest number goes first.
        span: what it says.
        shorter: what stays of it where it would have to go, None for nothing.
    """

    rank: int
    span: Span
    shorter: Part | None = None


def header_line(scene: Scene, width: int) -> Line:
    """The header in at most `width` cells: verdict and onset at the left, the run and its state after them."""
    parts = [part for part in _parts(scene) if part.span.text]
    while len(parts) > 1 and _cells(parts) > width:
        place = max(range(len(parts)), key=lambda place: parts[place].rank)
        shorter = parts[place].shorter
        parts[place : place + 1] = [] if shorter is None else [shorter]
    line: list[Span] = []
    for part in parts:
        line.append(Span(" " if not line else GAP))
        line.append(part.span)
    return tuple(line[1:])


def _cells(parts: Sequence[Part]) -> int:
    return width_of(part.span for part in parts) + len(GAP) * (len(parts) - 1)


def _parts(scene: Scene) -> list[Part]:
    """From left to right."""
    word, ink = badge(scene)
    finding = gravest(scene)
    mark = getattr(marks(scene.ascii), "recovered" if ink == "note" else ink)
    name = plain_text(scene.snapshot.run or scene.name, 40)
    return [
        Part(0, Span(f" {mark} {word} ", f"badge-{ink}")),
        Part(1, Span(f"since step {words.steps(finding.onset_step)}" if finding else "", ink)),
        Part(5, Span(name, "strong")),
        Part(2, Span(_progress(scene), "plain")),
        Part(1, Span(scene.desk.said, "warning")),
        _view(scene),
        Part(6, Span(words.pace(scene.snapshot.pace), "dim")),
        Part(3, _state(scene)),
        _hint(scene),
        Part(5, Span(_preflight(scene), "warning")),
        Part(7, Span(_bad(scene), "warning")),
        _choice(scene),
        Part(8, Span(scene.format, "dim")),
    ]


def _hint(scene: Scene) -> Part:
    """What the user should know; a long one keeps its beginning before it pushes everything else out."""
    short = Part(2, Span(clip(scene.hint, HINT), "warning"))
    return short if short.span.text == scene.hint else Part(4, Span(scene.hint, "warning"), short)


def _choice(scene: Scene) -> Part:
    """Which metric is taken for the loss: a guess has to be seen, so that it stays in the shortest words."""
    part = None
    for place, text in enumerate(reversed(scene.choice)):
        part = Part(2 + 4 * place, Span(text, "dim"), part)
    return part or Part(9, Span(""))


def _preflight(scene: Scene) -> str:
    """The first check before the run that failed."""
    failed = (
        str(note.fields.get("check", ""))
        for note in scene.snapshot.notes
        if note.name == "preflight" and note.fields.get("outcome") == "fail" and note.fields.get("check") != "verdict"
    )
    first = next(failed, "")
    return f"preflight failed: {plain_text(first, 40)}" if first else ""


def _progress(scene: Scene) -> str:
    if scene.snapshot.last_step is None:
        return ""
    total = scene.snapshot.meta.get("total_steps")
    step = f"step {words.steps(scene.snapshot.last_step)}"
    if isinstance(total, (int, float)) and not isinstance(total, bool) and total > 0:
        return f"{step} of {words.short(total)}"
    return step


def _view(scene: Scene) -> Part:
    """What was changed about the picture: thin panels have no room to say it, and an unseen log scale misleads.

    Where there is little room, the cursor goes first (the panels say it too), then the steps across.
    """
    view = scene.view
    low, high = scene.window
    zoomed = (view.low is not None or view.high is not None or view.tail is not None) and not scene.desk.paused
    told = (
        f"cursor {words.steps(view.cursor)}" if view.cursor is not None else "",
        f"steps {words.steps(low)} to {words.steps(high)}" if zoomed else "",
        *(
            "log" if view.log else "",
            f"smooth {view.smooth}" if view.smooth else "",
            "val on loss" if view.overlay else "",
        ),
    )
    part = None
    for rank, start in ((2, 2), (3, 1), (4, 0)):
        text = ", ".join(each for each in told[start:] if each)
        if text and (part is None or text != part.span.text):
            part = Part(rank, Span(text, "chosen"), part)
    return part or Part(9, Span(""))


def _state(scene: Scene) -> Span:
    """How the following goes, or whether records still come where it goes well."""
    if scene.desk.paused:
        return Span(f"paused, {words.steps(scene.behind)} behind", "warning")
    status = scene.status
    if status.state not in ("live", "polling"):
        return Span(plain_text(status.text, 60), "dim" if status.state == "reading" else "warning")
    ended = _ended(scene)
    if ended is not None:
        return ended
    if not scene.age:
        return Span(plain_text(status.text, 60), "dim")
    # After a day a run is not idle any more: nobody waits for its next record.
    text = f"last record {scene.age} ago" if scene.age.endswith((" days", " years")) else f"idle {scene.age}"
    return Span(text, "warning" if STALLED in scene.snapshot.lit else "dim")


def _ended(scene: Scene) -> Span | None:
    """That the log says so itself; None where it does not, or where records came after that."""
    snapshot = scene.snapshot
    note = snapshot.notes[-1] if snapshot.notes else None
    if note is None or note.name not in (END, ABORTED) or (note.step or 0) < (snapshot.last_step or 0):
        return None
    ago = f" {scene.age} ago" if scene.age else ""
    if note.name == END:
        return Span(f"ended{ago}", "dim")
    error = plain_text(note.fields.get("error", ""), 30)
    return Span(f"aborted{ago}{': ' * bool(error)}{error}", "warning")


def _bad(scene: Scene) -> str:
    count = scene.snapshot.bad_count
    if not count:
        return ""
    where = f", no. {scene.snapshot.bad_lines[0].number}" if scene.snapshot.bad_lines else ""
    return f"{words.short(count)} bad line{'s' * (count > 1)}{where}"
