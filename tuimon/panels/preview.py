"""The first picture of a long log, drawn before the toolkit is imported: the panels where they will stand.

The toolkit takes half a second to load. A picture of samples is on the terminal in a tenth of that, and stays until the
whole log has been read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import groupby
from typing import NamedTuple

from tuimon import braille
from tuimon.numerals import step_text, value_text
from tuimon.panels.curve import Curve
from tuimon.panels.frame import BAD, DIM, NAME, Marks, Title, blank_picture, body_picture, layout_of, titled
from tuimon.panels.palette import DARK, Colours, code_of
from tuimon.panels.view import View
from tuimon.store import Column, Store

LABELS = {"loss": "loss", "val_loss": "val loss", "grad_norm": "grad norm", "lr": "lr"}

ENTER = "\x1b[?1049h\x1b[?25l\x1b[H\x1b[2J"
"""Alternate screen, no cursor, blank."""

LEAVE = "\x1b[?1049l\x1b[?25h"
"""Takes ENTER back."""


class Place(NamedTuple):
    """Where a panel stands, in cells."""

    x: int
    y: int
    width: int
    height: int


def places(width: int, height: int) -> list[Place]:
    """Where the stylesheet puts the four panels on a screen of this size."""
    if width >= 140 and height >= 16:
        return [Place(x, 1, part, height * 36 // 100) for x, part in _columns(width, 4)]
    if width >= 100 and height >= 16:
        rows = height * 45 // 100
        upper = rows // 2
        return [
            Place(x, y, part, high)
            for y, high in ((1, upper), (1 + upper, rows - upper))
            for x, part in _columns(width, 2)
        ]
    if width < 60 or height < 16:
        return [Place(0, 1, width, 3)]
    return [Place(0, 1 + 2 * k, width, 2) for k in range(4)]


def _columns(width: int, count: int) -> list[tuple[int, int]]:
    """(x, width) of `count` columns two cells apart; what does not go in evenly goes to the right."""
    room = width - 2 * (count - 1)
    return [(k * room // count + 2 * k, (k + 1) * room // count - k * room // count) for k in range(count)]


def first_picture(
    store: Store, name: str, width: int, height: int, *, plain: bool = False, colours: Colours | None = DARK
) -> str:
    """The sequences that draw it over the whole terminal.

    Args:
        store: the samples.
        name: of the input, as a person may see it.
        width, height: of the terminal.
        plain: ASCII only.
        colours: None for none.
    """
    last = store.last_step
    out = [ENTER, f" {name}  step {last:,}  reading"[:width] if last is not None else ""]
    for place, (metric, label) in zip(places(width, height), LABELS.items(), strict=False):
        out.extend(_panel(place, label, metric, store.columns, plain=plain, colours=colours))
    return "".join(out)


def extent_of(columns: Mapping[str, Column]) -> tuple[int, int] | None:
    """First and last step of all passes, None without any."""
    walks = [walk for column in columns.values() for walk in column.passes if walk.steps]
    return (min(walk.steps[0] for walk in walks), max(walk.steps[-1] for walk in walks)) if walks else None


def _codes(colours: Colours) -> dict[str, str]:
    """Ink -> what the terminal is sent for it."""
    axis, failure, warning = (code_of(colour) for colour in (colours.axis, colours.failure, colours.warning))
    return {
        **dict.fromkeys((braille.FAINT, DIM), axis),
        **dict.fromkeys((braille.NAN, braille.INF, BAD), f"1;{failure}"),
        **dict.fromkeys((braille.OUTLIER, braille.NONPOSITIVE), warning),
        NAME: "1",
    }


def _panel(
    place: Place, label: str, metric: str, columns: Mapping[str, Column], *, plain: bool, colours: Colours | None
) -> Iterator[str]:
    layout = layout_of(place.width, place.height)
    column, extent = columns.get(metric), extent_of(columns)
    if column is None or extent is None:
        picture = blank_picture(layout, Title(label, ""), f"no {label} in this log yet")
    else:
        strokes = Curve(robust=metric != "lr").strokes(column, View(), extent, 2 * layout.columns)
        body = body_picture(layout, strokes, Marks(), None, plain=plain)
        best = metric in ("loss", "val_loss") and column.best is not None and column.best_step is not None
        extreme = (f"best {value_text(column.best)}", f"@{step_text(column.best_step or 0)}") if best else ("", "")
        picture = titled(body, layout, Title(label, value_text(column.last), *extreme))
    inks = {**_codes(colours), braille.CURVE: code_of(getattr(colours, metric))} if colours else {}
    for y, (text, row) in enumerate(zip(picture.rows, picture.inks, strict=True), place.y + 1):
        yield f"\x1b[{y};{place.x + 1}H"
        start = 0
        for ink, cells in groupby(row):
            piece = text[start : start + len(list(cells))]
            start += len(piece)
            code = inks.get(ink, "")
            yield f"\x1b[{code}m{piece}\x1b[0m" if code else piece
