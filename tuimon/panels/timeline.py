"""The strip under the panels: the whole run as a rail, with every finding at its onset."""

from __future__ import annotations

from dataclasses import dataclass

from textual import events
from textual.message import Message

from tuimon.panels import words
from tuimon.panels.ink import Line, Span, runs
from tuimon.panels.marks import Marks, marks, of_finding
from tuimon.panels.scene import Scene
from tuimon.panels.sheet import Sheet
from tuimon.signatures.finding import RANK, Finding

GRAIN = 64
"""The right end of the rail moves in hops of 1/64 of the run, so that a mark does not creep at every record."""

END = 5
"""Cells for the newest step, "12.3k", whatever its length: a rail that changes its length moves every mark."""


class Timeline(Sheet, can_focus=True):
    """One rail, and a line of names under it where there is room."""

    @dataclass
    class StepChosen(Message):
        """The user pointed at a place of the run."""

        step: int

    def state(self, scene: Scene, width: int) -> object:
        low, high = extent(scene)
        reached = (scene.last - low) * (room_of(scene, width) - 1) // (high - low)
        window = scene.window if scene.view.low is not None or scene.view.tail is not None else None
        return scene.snapshot.findings, ends(scene), reached, window, scene.view.cursor, scene.ascii

    def picture(self, scene: Scene, width: int, height: int) -> list[Line]:
        line, *names = rail(scene, width)
        if self.has_focus and line and line[0].text.startswith(" "):
            line = (Span(marks(scene.ascii).chosen, "chosen"), Span(line[0].text[1:], line[0].ink), *line[1:])
        return [line, *names][:height]

    def watch_has_focus(self, has_focus: bool) -> None:
        # The messages of focus and blur come before it has changed.
        super().watch_has_focus(has_focus)
        self.draw()

    def on_click(self, event: events.Click) -> None:
        low, high = extent(self.scene)
        left, _ = ends(self.scene)
        room = room_of(self.scene, self.size.width)
        if room > 1 and high > low:
            share = min(max((event.x - len(left)) / (room - 1), 0.0), 1.0)
            self.post_message(self.StepChosen(round(low + share * (high - low))))


def extent(scene: Scene) -> tuple[int, int]:
    """First step and a round last one, for the places of marks."""
    low, high = scene.first, scene.last
    grain = 1
    while grain * GRAIN < high - low:
        grain *= 2
    return low, low + max(-(-(high - low) // grain) * grain, 1)


def ends(scene: Scene) -> tuple[str, str]:
    """What stands at both ends of the rail: the first and the newest step."""
    if not scene.snapshot.records:
        return "", ""
    return f" {words.short(scene.first)} ", f" {words.short(scene.last):<{END}}"


def room_of(scene: Scene, width: int) -> int:
    """Cells of the rail itself."""
    return width - sum(map(len, ends(scene)))


def rail(scene: Scene, width: int) -> list[Line]:
    """The rail and the names under it, each in `width` cells; blank before the first record."""
    if not scene.snapshot.records:
        return [(), ()]
    alphabet = marks(scene.ascii)
    low, high = extent(scene)
    left, right = ends(scene)
    room = room_of(scene, width)
    if room < 4:
        return [(Span(left.strip(), "dim"),)]
    cells = [(alphabet.rail, "faint")] * room

    def place(step: int) -> int:
        return min(max((step - low) * (room - 1) // (high - low), 0), room - 1)

    reached = place(scene.last)
    cells[reached + 1 :] = [(" ", "plain")] * (room - reached - 1)
    view_low, view_high = scene.window
    if scene.view.low is not None or scene.view.tail is not None:
        a, b = place(view_low), place(view_high)
        cells[a : b + 1] = [(alphabet.window, "chosen")] * (b - a + 1)
    names: list[tuple[int, Finding]] = []
    # Painted gravest last: where two share a cell, the graver one is seen.
    for finding in sorted(scene.snapshot.findings, key=lambda f: (f.active, RANK[f.severity])):
        if finding.signature != "healthy":
            cells[place(finding.onset_step)] = of_finding(finding, alphabet)
            names.append((place(finding.onset_step), finding))
    if scene.view.cursor is not None and cells[place(scene.cursor)][0] in (alphabet.rail, alphabet.window, " "):
        cells[place(scene.cursor)] = (alphabet.cursor, "strong")
    painted = runs([character for character, _ in cells], [ink for _, ink in cells])
    return [(Span(left, "dim"), *painted, Span(right, "dim")), _names(names, len(left), width, alphabet)]


def _names(placed: list[tuple[int, Finding]], indent: int, width: int, alphabet: Marks) -> Line:
    """Names under their marks, the gravest first; one that would run into another is left out."""
    taken = [" "] * width
    inks = ["plain"] * width
    for x, finding in reversed(placed):
        text = finding.signature
        start = min(max(indent + x - len(text) // 2, 0), width - len(text))
        if start < 0 or any(c != " " for c in taken[max(start - 1, 0) : start + len(text) + 1]):
            continue
        taken[start : start + len(text)] = text
        inks[start : start + len(text)] = [of_finding(finding, alphabet)[1]] * len(text)
    return runs(taken, inks)
