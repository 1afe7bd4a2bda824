"""The picture as text, by plotext.

plotext keeps one figure for the whole process, draws NaN, infinities and logarithms each in a way of its own, and takes
seconds where a value is far outside its limits. So it is only ever given places between 0 and 1, and labels of ours.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import NamedTuple

from tuimon.numerals import log_ticks, step_text, step_ticks, ticks
from tuimon.plots.subject import Point, Subject

_ONE_FIGURE = threading.Lock()

LEAST = (24, 6)
"""Cells under which a picture with axes has no room for a curve."""

COLORS = {"failure": "red", "warning": "orange"}


class Alphabet(NamedTuple):
    """What a picture is drawn with."""

    curve: str
    behind: str
    nan: str
    inf: str
    above: str
    below: str


UNICODE = Alphabet("braille", "dot", "×", "∞", "▲", "▼")
ASCII = Alphabet("*", ".", "x", "i", "^", "v")
_FRAME = str.maketrans("─│┌┐└┘├┤┬┴┼", "-|+++++++++")


def terminal(subjects: Sequence[Subject], width: int, height: int, *, color: bool = False, plain: bool = False) -> str:
    """All subjects under each other.

    Args:
        subjects: from `subject`, with about twice as many slices as `width`.
        width: cells of the whole picture, at least 24.
        height: lines per subject, at least 6; a line per onset comes on top.
        color: with escape sequences for colours.
        plain: no character beyond ASCII.
    """
    width, height = max(width, LEAST[0]), max(height, LEAST[1])
    return "\n".join(_one(each, width, height, color, plain) for each in subjects)


def _one(each: Subject, width: int, height: int, color: bool, plain: bool) -> str:
    alphabet = ASCII if plain else UNICODE
    lines = [_title(each, width)]
    lines.extend(_figure(each, width, height - 1, color, alphabet).split("\n"))
    lines.extend(f"  {alphabet.above} {onset.label} began at step {onset.step:,}" for onset in each.onsets)
    beyond = each.outliers()
    if beyond:
        shown = ", ".join(dict.fromkeys(value for _, _, value in beyond[:5]))
        lines.append(f"  beyond the axis: {shown}{' ...' if len(beyond) > 5 else ''}")
    return "\n".join(line.rstrip() for line in lines) + "\n"


def _title(each: Subject, width: int) -> str:
    title = f"{each.name}  {each.numbers}"
    return title if len(title) <= width else f"{each.name[: width - 1]}"


def _figure(each: Subject, width: int, height: int, color: bool, alphabet: Alphabet) -> str:
    """The one place where plotext is called."""
    import plotext

    with _ONE_FIGURE:
        plotext.clear_figure()
        try:
            plotext.plotsize(width, height)
            plotext.theme("clear")
            plotext.xlim(0, 1)
            plotext.ylim(0, 1)
            plotext.xticks(*_x_ticks(each, width))
            plotext.yticks(*_y_ticks(each, height))
            for onset in each.onsets:
                plotext.vline(each.across(onset.step), COLORS.get(onset.severity, "gray"))
            means = each.mean_strokes()
            for stroke in each.strokes():
                _stroke(plotext, stroke, "gray" if means else "cyan", alphabet.behind if means else alphabet.curve)
            for stroke in means:
                _stroke(plotext, stroke, "cyan", alphabet.curve)
            for places, level, mark in ((each.nan_places(), 0.0, alphabet.nan), (each.inf_places(), 1.0, alphabet.inf)):
                if places:
                    plotext.scatter(places, [level] * len(places), marker=mark, color="red")
            for above, mark in ((True, alphabet.above), (False, alphabet.below)):
                places = [place for place, is_above, _ in each.outliers() if is_above == above]
                if places:
                    plotext.scatter(places, [float(above)] * len(places), marker=mark, color="orange")
            drawn = str(plotext.build() if color else plotext.uncolorize(plotext.build())).rstrip("\n")
            return drawn.translate(_FRAME) if alphabet is ASCII else drawn
        finally:
            plotext.clear_figure()


def _stroke(plotext: object, stroke: Sequence[Point], color: str, marker: str) -> None:
    draw = getattr(plotext, "plot" if len(stroke) > 1 else "scatter")
    draw([x for x, _ in stroke], [y for _, y in stroke], marker=marker, color=color)


def _x_ticks(each: Subject, width: int) -> tuple[list[float], list[str]]:
    steps = step_ticks(each.first, each.last, max(2, width // 14)) or [each.first]
    return [each.across(step) for step in steps], [step_text(step) for step in steps]


def _y_ticks(each: Subject, height: int) -> tuple[list[float], list[str]]:
    make = log_ticks if each.scale.log else ticks
    marked = make(each.scale.low, each.scale.high, max(2, height // 3))
    return [each.up(value) for value, _ in marked], [label for _, label in marked]
