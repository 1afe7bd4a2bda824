"""The runs of a folder as a list to choose from. Pure: a shelf in, lines out."""

from __future__ import annotations

from dataclasses import dataclass, field

from rich.cells import cell_len

from tuimon.monitor import Snapshot
from tuimon.panels import words
from tuimon.panels.footer import hints
from tuimon.panels.ink import Line, Span, fit, wrap
from tuimon.panels.keys import ALL, Keys, spelled
from tuimon.panels.marks import marks
from tuimon.panels.verdict import WORDS
from tuimon.plain import plain_text
from tuimon.sources.runs import Run
from tuimon.survey import Listing, Standing

HINTS = "{row-down} {row-up} choose  {open} watch it  {quit} back"

PENDING = "..."
"""Stands where something is not known yet."""

FORMAT, STEP, VERDICT, AGE = 18, 13, 11, 8
"""Cells of the columns; names take what is left."""

NARROW = 80
"""Cells under which the format is left out: a name cut to fewer than twenty characters tells runs apart no more."""

TIGHT, TIGHTEST = 56, 34
"""Cells under which the step is left out too, and then the age."""


@dataclass(frozen=True, slots=True)
class Shelf:
    """What the list shows.

    Attributes:
        listing: the runs.
        shown: path of the run that is on the screen.
        snapshot: of that run.
        described: what its input was taken for, in one line.
        now: Unix time in seconds.
        note: what to say while there is no run to list.
        keys: all of them, as the user wants them.
    """

    listing: Listing = field(default_factory=Listing)
    shown: str = ""
    snapshot: Snapshot = field(default_factory=Snapshot)
    described: str = ""
    now: float = 0.0
    note: str = ""
    keys: Keys = ALL

    @property
    def paths(self) -> list[str]:
        """What can be chosen, from top to bottom."""
        return [run.path for run in self.listing.runs]


def runs_lines(shelf: Shelf, chosen: str, width: int, height: int, ascii_only: bool) -> list[Line]:
    """The list in `height` lines of at most `width` cells: title, the runs around `chosen`, what is shown now."""
    foot = _foot(shelf, width, height)
    places = window(shelf, chosen, width, height)
    name_room = _name_room(shelf, width)
    runs = [shelf.listing.runs[place] for place in places]
    body = [_row(shelf, run, run.path == chosen, name_room, width, ascii_only) for run in runs]
    if not body:
        body = [(Span(f" {plain_text(shelf.note)}", "dim"),)]
    below = len(shelf.listing.runs) - places.stop
    more: Line = (Span(f" {below} more below" if below > 0 else "", "dim"),)
    blank = height - 3 - len(foot) - len(body)
    return [_title(shelf, width), (), *body, *[()] * blank, more, *foot][:height]


def window(shelf: Shelf, chosen: str, width: int, height: int) -> range:
    """Places of the runs on the screen, of which the first stands on line FIRST_ROW."""
    room = max(height - 3 - len(_foot(shelf, width, height)), 1)
    paths = shelf.paths
    place = paths.index(chosen) if chosen in paths else 0
    top = max(0, min(place - room // 2, len(paths) - room))
    return range(top, min(top + room, len(paths)))


FIRST_ROW = 2
"""Line of the first run on the screen."""


def _title(shelf: Shelf, width: int) -> Line:
    count = len(shelf.listing.runs)
    folder = plain_text(shelf.listing.folder, max(width - 40, 10))
    told = f"{count} run{'s' * (count != 1)}, newest first" if count else ""
    return (Span(" runs", "strong"), Span(f"  {folder}  "), Span(told, "dim"))


def _foot(shelf: Shelf, width: int, height: int) -> list[Line]:
    described = wrap(plain_text(shelf.described, 400), max(width - 2, 10)) if shelf.described else []
    # The list itself is what somebody opened this for.
    described = described[: max(height - 8, 0)]
    return [
        *((Span(f" {line}", "dim"),) for line in described),
        (Span(f" {hints(spelled(HINTS, shelf.keys), width - 1)}", "key"),),
    ]


def _name_room(shelf: Shelf, width: int) -> int:
    """Cells for names: as many as the longest takes, so that the columns stand beside them, or what is left."""
    columns = ((NARROW, FORMAT + 2), (TIGHT, STEP + 2), (TIGHTEST, AGE))
    left = width - 3 - 2 - VERDICT - sum(cells for least, cells in columns if width >= least) - 1
    longest = max([cell_len(_name(shelf, run)) for run in shelf.listing.runs], default=0)
    return max(8, min(left, longest + 2))


def _name(shelf: Shelf, run: Run) -> str:
    return plain_text(shelf.listing.name(run.path), 200)


def _row(shelf: Shelf, run: Run, chosen: bool, room: int, width: int, ascii_only: bool) -> Line:
    alphabet = marks(ascii_only)
    here = run.path == shelf.shown
    standing = _standing(shelf) if here else shelf.listing.standings.get(run.path)
    mark, word, ink = _verdict(standing, ascii_only)
    step = PENDING if standing is None else "" if standing.last_step is None else words.steps(standing.last_step)
    name = _tail(_name(shelf, run), room, ascii_only)
    cells = [
        Span(alphabet.chosen if chosen else " ", "chosen"),
        Span(f"{mark} ", ink),
        *fit((Span(name, "chosen" if chosen else "strong" if here else "plain"),), room),
        Span("  "),
        *(fit((Span(run.title, "dim"),), FORMAT + 2) if width >= NARROW else ()),
        *((Span(f"{f'step {step}' if step and step != PENDING else step:<{STEP}}  "),) if width >= TIGHT else ()),
        Span(f"{word:<{VERDICT}}", ink),
    ]
    age = "shown" if here else words.span(max(shelf.now - run.changed, 0))
    return (*cells, Span(f"{age:>{AGE}}", "dim")) if width >= TIGHTEST else tuple(cells)


def _standing(shelf: Shelf) -> Standing:
    known = shelf.snapshot
    return Standing(known.verdict, known.first_step, known.last_step, known.run)


def _verdict(standing: Standing | None, ascii_only: bool) -> tuple[str, str, str]:
    """Mark, word and ink."""
    if standing is None:
        return " ", PENDING, "dim"
    if standing.verdict is None:
        return " ", plain_text(standing.remark, VERDICT), "dim"
    word, ink = WORDS[standing.verdict]
    return getattr(marks(ascii_only), ink), word, ink


def _tail(name: str, room: int, ascii_only: bool) -> str:
    """The end of a path: runs of one folder differ there."""
    if cell_len(name) <= room:
        return name
    dots = "..." if ascii_only else "\N{HORIZONTAL ELLIPSIS}"
    while cell_len(name) > room - len(dots):
        name = name[1:]
    return dots + name
