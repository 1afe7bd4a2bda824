"""The symptom table: lit rows first and open, what was lit after them, every other row as one dim line."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from textual import events
from textual.message import Message

from tuimon.catalogue import BY_SIGNATURE, ROWS
from tuimon.catalogue.now import NOW, dated
from tuimon.panels import words
from tuimon.panels.ink import Line, Span, clip, folded, width_of, wrap
from tuimon.panels.keys import cap_of
from tuimon.panels.marks import Marks, marks, of_entry
from tuimon.panels.rows import Entry, entries
from tuimon.panels.scene import Scene
from tuimon.panels.sheet import Sheet
from tuimon.plain import plain_text

LABEL = 9
"""Cells for the label in front of a row's text: "or is it" is the longest."""

INDENT = 2

NAME = max(len(row.signature) for row in ROWS)
"""Cells for a name, so that what is seen stands in a column."""

ALIGNED, WIDE = 80, 112
"""Cells from which it does: beside its onset a lit row has less room for it."""

NARROW = 60
"""Cells under which a column of labels would leave too little for the text: the label leads the text instead."""


class SymptomTable(Sheet, can_focus=True):
    """All rows of the catalogue, browsable, with the chosen one always in sight."""

    @dataclass
    class RowChosen(Message):
        """The user pointed at a row; `opened` when he did so twice."""

        signature: str
        opened: bool

    def __init__(self) -> None:
        super().__init__()
        self._top = 0
        self._owners: list[str] = []

    def state(self, scene: Scene, width: int) -> object:
        if scene.desk.mode != "run":
            return scene.desk.mode
        snapshot = scene.snapshot
        # How long ago a finding began grows with every step.
        ago = scene.last if any(f.active and f.severity != "note" for f in snapshot.findings) else None
        known = len(scene.columns), len(snapshot.meta), bool(snapshot.records)
        return snapshot.findings, snapshot.lit, scene.desk, ago, known, scene.ascii

    def picture(self, scene: Scene, width: int, height: int) -> list[Line]:
        alphabet = marks(scene.ascii)
        lines: list[Line] = []
        owners: list[str] = []
        start = stop = 0
        for entry in entries(scene):
            if entry.chosen:
                start = len(lines)
            lines.extend(block(entry, scene, width, alphabet, focused=self.has_focus))
            owners.extend([entry.row.signature] * (len(lines) - len(owners)))
            if entry.chosen:
                stop = len(lines)
        self._top = scrolled(self._top, start, stop, len(lines), height)
        self._owners = owners[self._top :]
        seen = lines[self._top : self._top + height]
        if not seen:
            pattern = plain_text(scene.desk.pattern, 30)
            return [(Span(f"  no row contains {pattern}; Esc clears the filter", "dim"),)]
        hidden = stop - self._top - height
        if hidden > 0 and height > 2:
            # The chosen row is longer than the room: say so where the eye stops, and how to read on.
            key = cap_of("explain", scene.keys)
            seen[-1] = (Span(f"{'':{INDENT}}{hidden + 1} more lines: {key} shows the whole row", "dim"),)
        return seen

    def watch_has_focus(self, has_focus: bool) -> None:
        # The messages of focus and blur come before it has changed.
        super().watch_has_focus(has_focus)
        self.draw()

    def on_click(self, event: events.Click) -> None:
        if event.y < len(self._owners):
            self.post_message(self.RowChosen(self._owners[event.y], event.chain > 1))


def scrolled(top: int, start: int, stop: int, total: int, height: int) -> int:
    """First line to show so that the lines start..stop are in sight, moving as little as possible."""
    if stop - start >= height or start < top:
        top = start
    elif stop > top + height:
        top = stop - height
    return max(0, min(top, total - height))


def block(entry: Entry, scene: Scene, width: int, alphabet: Marks, *, focused: bool = True) -> list[Line]:
    """The lines of one row: its head, and its text when it is open."""
    lines = [head(entry, scene, width, alphabet, focused=focused)]
    if entry.open and width < NARROW:
        for label, ink, text in body(entry, scene):
            lines.extend((Span("  "), Span(piece, ink)) for piece in wrap(f"{label} {text}", max(width - 2, 8)))
    elif entry.open:
        for label, ink, text in body(entry, scene):
            room = max(width - INDENT - LABEL - 1, 8)
            for number, piece in enumerate(wrap(text, room) if ink != "code" else folded(text, room)):
                name = label if number == 0 else ""
                lines.append((Span(f"{'':{INDENT}}{name:>{LABEL}} ", "dim"), Span(piece, ink)))
    return lines


def head(entry: Entry, scene: Scene, width: int, alphabet: Marks, *, focused: bool) -> Line:
    """Mark, name, symptom, and since when, as far as the width goes; the onset never falls off."""
    mark, ink = of_entry(entry, alphabet)
    pointer = alphabet.chosen if entry.chosen else " "
    name_ink = ink if entry.state == "lit" else "plain" if entry.state == "recovered" else "dim"
    if entry.chosen and focused and entry.state != "lit":
        name_ink = "chosen"
    left: list[Span] = [
        Span(f"{pointer}{mark} ", ink if entry.state == "lit" else "plain"),
        Span(entry.row.signature, name_ink),
    ]
    if width >= (WIDE if entry.state == "lit" else ALIGNED):
        left.append(Span(" " * (NAME - len(entry.row.signature))))
    when = began(entry, scene)
    if width_of(left) + len(when) + 1 > width:
        when = when.partition(", ")[0].replace("began at ", "")
    room = width - width_of(left) - len(when) - 1
    symptom = f"  {entry.row.symptom}"
    if room >= 12:
        ink = "plain" if entry.state == "lit" else "dim" if entry.state == "recovered" else "faint"
        left.append(Span(clip(symptom, room), ink))
    if when:
        gap = max(width - width_of(left) - len(when), 1)
        left.append(Span(" " * gap))
        left.append(Span(when, "strong" if entry.state == "lit" else "dim"))
    return tuple(left)


def began(entry: Entry, scene: Scene) -> str:
    """Since when the row is lit, or when it was."""
    finding = entry.finding
    if finding is None or entry.row.signature == "healthy":
        return ""
    onset = f"step {words.steps(finding.onset_step)}"
    if entry.state == "recovered":
        over = "" if finding.ended_step is None else f", over at {words.steps(finding.ended_step)}"
        times = f" ({len(entry.findings)} times)" if len(entry.findings) > 1 else ""
        return f"was lit at {onset}{over}{times}"
    if finding.severity == "note":
        return f"at {onset}"
    since = scene.last - finding.onset_step
    return f"began at {onset}" + (f", {words.short(since)} step{'s' * (since > 1)} ago" if since > 0 else ", now")


def body(entry: Entry, scene: Scene) -> Iterator[tuple[str, str, str]]:
    """(label, ink, text) of an open row, in the order in which one acts: a check stands before its fix."""
    row, finding = entry.row, entry.finding
    onset = finding.onset_step if finding is not None else None
    if finding is not None:
        if finding.evidence:
            yield "seen", "strong", plain_text(finding.evidence)
        if finding.place:
            yield "where", "strong", plain_text(finding.place)
        if finding.active and finding.severity != "note":
            yield "now", "strong", dated(NOW[row.signature], onset)
    else:
        yield "told by", "plain", row.separator
    yield "likely", "plain", "; ".join(row.causes)
    for number, check in enumerate(row.checks):
        yield ("check" if number == 0 else "next"), "strong" if number == 0 else "plain", dated(check.look, onset)
        # Code is for pasting, which x is better for: the first check shows what it looks like.
        for line in check.code.splitlines() if number == 0 else ():
            yield "", "code", line
        if check.expect:
            yield "", "dim", check.expect
    yield "then fix", "plain", dated(row.fix, onset)
    if finding is not None:
        yield "told by", "dim", row.separator
    for other in row.confused_with:
        known = BY_SIGNATURE.get(other)
        yield "or is it", "dim", other + (f": {known.separator}" if known else "")
    missing = finding.missing if finding else ""
    if missing:
        yield "missing", "warning", plain_text(missing)
    there = {*scene.columns, *scene.snapshot.meta, *(("time",) if scene.snapshot.last_time is not None else ())}
    # "grad_norm/<layer>" is there as soon as one layer is.
    absent = [need for need in row.needs if not any(_is(need, name) for name in there)]
    if absent and not missing and scene.snapshot.records:
        yield "needs", "dim", f"{', '.join(absent)}, which this log does not have"


def _is(need: str, name: str) -> bool:
    """Whether the metric `name` is what a row needs: itself, or "grad_norm/first" for "grad_norm/<layer>"."""
    stem, layer, _ = need.partition("<")
    return name.startswith(stem) if layer else name == need
