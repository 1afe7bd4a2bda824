"""The autopsy view: what broke first, on the numbers of the records around it."""

from __future__ import annotations

import math

from tuimon.numerals import value_text
from tuimon.panels import words
from tuimon.panels.autopsy import Records, last_good_step, records, story
from tuimon.panels.ink import Line, Span, clip, wrap
from tuimon.panels.marks import Marks, marks
from tuimon.panels.scene import Scene
from tuimon.panels.sheet import Sheet
from tuimon.plain import plain_text
from tuimon.signatures.finding import place

CELL = 18
"""Cells per metric: a value of nine, a growth factor of six, and room between."""

TIGHT = 12
"""Cells per metric where the width is short: a value of nine and its mark, without growth."""

LEAST = 3
"""Records without which the table says nothing: the last good one, the first bad one, and what followed."""

STEP = 15
"""Cells for the step and the pointer."""

BEFORE = 8
"""Finite records shown before the onset; growth shows in fewer, a calm run needs no more."""

AFTER = 4
"""Records shown after it."""

WORTH = 1.5
"""Growth from one record to the next that is printed; noise of a usual loss stays below."""


class RecordsView(Sheet, can_focus=True):
    """A sentence, the records around the onset, what is still good."""

    def state(self, scene: Scene, width: int) -> object:
        return scene if scene.desk.mode == "autopsy" else None

    def picture(self, scene: Scene, width: int, height: int) -> list[Line]:
        return autopsy_lines(scene, width, height)


def autopsy_lines(scene: Scene, width: int, height: int) -> list[Line]:
    """The whole view; the cursor is always among the records. Where lines are short, records go before sentences do."""
    alphabet = marks(scene.ascii)
    onset = scene_onset(scene)
    around = scene.cursor if onset is None else onset
    told = shown = records(scene.columns, around, BEFORE, AFTER, scene.last)
    if scene.view.cursor is not None and not _holds(shown, scene.cursor):
        around = scene.cursor
        shown = records(scene.columns, around, BEFORE, AFTER, scene.last)
    mark, ink = (alphabet.healthy, "healthy") if onset is None else (alphabet.failure, "failure")
    head = [(Span(f" {mark} ", ink), Span(piece, "strong")) for piece in wrap(story(told), max(width - 4, 8))]
    tail = [
        (Span(f"   {label:<16}", "dim"), Span(piece, ink))
        for label, ink, text in facts(scene, onset)
        for number, piece in enumerate(wrap(text, max(width - 20, 8)))
        for label in [label if number == 0 else ""]
    ]
    for number in range(1, len(head)):
        head[number] = (Span("   "), *head[number][1:])
    room = height - len(head) - len(tail) - 1
    if room < LEAST:
        # The records are the evidence: on a tiny screen they stay, and the sentence keeps its beginning.
        head, tail, room = [(head[0][0], Span(clip(story(told), max(width - 4, 8)), "strong"))], [], height - 2
    if room < len(shown.steps):
        before = max(room * 2 // 3, 2)
        shown = records(scene.columns, around, before - 1, max(room - before, 1), scene.last)
        if scene.view.cursor is not None and not _holds(shown, scene.cursor):
            shown = records(scene.columns, scene.cursor, before - 1, max(room - before, 1), scene.last)
    return [*head, *table(shown, scene, alphabet, width), *tail]


def _holds(shown: Records, step: int) -> bool:
    return bool(shown.steps) and shown.steps[0] <= step <= shown.steps[-1]


def scene_onset(scene: Scene) -> int | None:
    """Step of the first non-finite value of a role, None without one."""
    return records(scene.columns, scene.cursor, 0, 0).onset


def columns_of(shown: Records, width: int) -> tuple[int, list[int]]:
    """Cells per metric, and which metrics fit into `width` in their own order: those that broke stay longest."""
    everything = list(range(len(shown.names)))
    if STEP + CELL * len(everything) - CELL // 2 <= width:
        return CELL, everything
    room = max((width - STEP) // TIGHT, 1)
    wanted = sorted(everything, key=lambda i: shown.first.get(shown.names[i], 1 << 63))
    return TIGHT, sorted(wanted[:room])


def table(shown: Records, scene: Scene, alphabet: Marks, width: int = 200) -> list[Line]:
    """A title line, then a line per record."""
    if not shown.steps:
        return [(Span("   no records yet", "dim"),)]
    cell, chosen = columns_of(shown, width)
    lines: list[Line] = [
        (Span(f"   {'step':>10}  ", "dim"), *(Span(f"{shown.names[i]:>9}{'':{cell - 9}}", "dim") for i in chosen))
    ]
    previous: list[float | None] = [None] * len(shown.names)
    for step, cells in zip(shown.steps, shown.cells, strict=True):
        here = step == scene.cursor
        pointer = alphabet.chosen if here else " "
        line = [Span(f" {pointer} {words.steps(step):>10}  ", "strong" if here else "plain")]
        for number, i in enumerate(chosen):
            # The last column may have less room behind its value: a growth factor goes before it is cut.
            rest = min(cell - 9, width - STEP - cell * number - 9)
            line.extend(_cell(cells[i], previous[i], rest, shown.first.get(shown.names[i]) == step, alphabet))
            if cells[i] is not None:
                previous[i] = cells[i]
        lines.append(tuple(line))
    return [trimmed(line) for line in lines]


def trimmed(line: Line) -> Line:
    """The line without blanks at its end, which would look cut where the width is short."""
    while line and not line[-1].text.strip():
        line = line[:-1]
    return (*line[:-1], Span(line[-1].text.rstrip(), line[-1].ink)) if line else ()


def _cell(value: float | None, previous: float | None, rest: int, first: bool, alphabet: Marks) -> list[Span]:
    """A value and, in `rest` cells, its growth since the record before; the first non-finite one carries a mark."""
    text = f"{value_text(value):>9}"
    if value is None:
        return [Span(text, "faint"), Span(" " * rest)]
    if not math.isfinite(value):
        mark = f" {alphabet.failure} first" if rest > 8 else f" {alphabet.failure}"
        return [Span(text, "failure"), Span((mark if first else "").ljust(rest), "failure")]
    ratio = abs(value / previous) if previous and math.isfinite(previous) else 1.0
    if ratio >= WORTH and rest > 6:
        return [Span(text), Span(f" {words.factor(ratio)}".ljust(rest), "warning")]
    return [Span(text), Span(" " * rest)]


def facts(scene: Scene, onset: int | None) -> list[tuple[str, str, str]]:
    """(label, ink, text): the last good step, checkpoints, the origin that the training process named."""
    if onset is None:
        return []
    good = last_good_step(scene.columns, onset)
    found = [("last good step", "plain", "none: it was bad from the start" if good is None else words.steps(good))]
    checkpoints = [note.step for note in scene.snapshot.notes if "checkpoint" in note.name and note.step is not None]
    kept = [step for step in checkpoints if step < onset]
    if kept:
        found.append(("checkpoint", "healthy", f"step {words.steps(max(kept))} is the newest that is still good"))
    if len(kept) < len(checkpoints):
        spoilt = min(step for step in checkpoints if step >= onset)
        found.append(("", "warning", f"from step {words.steps(spoilt)} on they hold the NaN"))
    for note in scene.snapshot.notes:
        if note.name == "nan_origin":
            module, op, direction = (str(note.fields.get(key) or "") for key in ("module", "op", "direction"))
            found.append(("born in", "strong", plain_text(place(module, op, direction and f"{direction} pass"))))
            break
    return found
