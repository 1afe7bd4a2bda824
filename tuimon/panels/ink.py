"""Lines of text with named inks: what every text panel draws, before a toolkit or a colour is involved.

An ink is a role ("failure", "dim"), never a colour; the stylesheet gives it one per theme. Whatever an ink says is also
said by a mark or a word, since colours may be off.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from rich.cells import cell_len, set_cell_size

INKS = (
    *("plain", "dim", "faint", "strong", "failure", "warning", "note", "healthy", "code", "chosen", "key"),
    *("badge-failure", "badge-warning", "badge-note", "badge-healthy"),
)

CUT, CUT_IN_ASCII = "\N{HORIZONTAL ELLIPSIS}", "~"
"""What stands where a text is cut; both take one cell."""


class Span(NamedTuple):
    """Text in one ink."""

    text: str
    ink: str = "plain"


Line = tuple[Span, ...]


def shown(text: str) -> str:
    """`text` with "?" for what does not print: the last lock behind `plain_text`, for a string that missed it."""
    if text.isprintable():
        return text
    return "".join(character if character.isprintable() else "?" for character in text)


def cells_of(text: str) -> int:
    """Terminal cells that the text takes."""
    return len(text) if text.isascii() else cell_len(text)


def width_of(line: Iterable[Span]) -> int:
    """Terminal cells that the line takes."""
    return sum([cells_of(span.text) for span in line])


def runs(characters: Sequence[str], inks: Sequence[str]) -> Line:
    """A line of single cells, neighbours of one ink joined."""
    line: list[Span] = []
    start = 0
    for x in range(1, len(inks) + 1):
        if x == len(inks) or inks[x] != inks[start]:
            line.append(Span("".join(characters[start:x]), inks[start]))
            start = x
    return tuple(line)


def fit(line: Sequence[Span], width: int) -> Line:
    """The line in exactly `width` cells: padded with blanks, or cut with an ellipsis."""
    room = width - width_of(line)
    if room >= 0:
        return (*line, Span(" " * room)) if room else tuple(line)
    kept: list[Span] = []
    room = width - 1
    for span in line:
        if room <= 0:
            break
        cells = cell_len(span.text)
        kept.append(span if cells <= room else Span(set_cell_size(span.text, room), span.ink))
        room -= cells
    # The cut shows, so that half a number is never taken for a number.
    return (*kept, Span(CUT, "dim")) if width > 0 else ()


def clip(text: str, width: int) -> str:
    """`text` in at most `width` cells: what does not fit ends after a whole word, with an ellipsis."""
    if cell_len(text) <= width:
        return text
    head = set_cell_size(text, max(width - 1, 0)).rstrip()
    words, _, rest = head.rpartition(" ")
    # A cut that leaves a single long word in pieces still says more than nothing.
    whole = words if words.strip() and len(rest) < len(head) // 2 and not text[len(head) :].startswith(" ") else head
    return whole.rstrip(" ,;:") + CUT if width > 0 else ""


def wrap(text: str, width: int) -> list[str]:
    """Words of `text` in lines of at most `width` cells; a longer word is cut into pieces."""
    lines: list[str] = []
    line = ""
    for word in text.split():
        while cell_len(word) > width > 0:
            room = width - cell_len(line) - 1 if line else width
            if line and room < 8:
                lines.append(line)
                line, room = "", width
            head = word[:room]
            while cell_len(head) > room:
                head = head[:-1]
            lines.append(f"{line} {head}" if line else head)
            line, word = "", word[len(head) :]
        if not line:
            line = word
        elif cell_len(line) + 1 + cell_len(word) <= width:
            line = f"{line} {word}"
        else:
            lines.append(line)
            line = word
    if line:
        lines.append(line)
    return lines or [""]


def folded(code: str, width: int) -> list[str]:
    """A line of code in lines of at most `width` cells, each with its indentation; blanks inside stay as they are."""
    rest = code.lstrip(" ")
    indent = code[: len(code) - len(rest)] if len(code) - len(rest) <= width // 2 else ""
    room = max(width - len(indent), 1)
    lines = []
    while cell_len(rest) > room:
        head = rest[:room]
        while cell_len(head) > room:
            head = head[:-1]
        blank = rest.rfind(" ", 0, len(head) + 1)
        place = blank if blank > 0 else max(len(head), 1)
        lines.append(indent + rest[:place].rstrip(" "))
        rest = rest[place:].lstrip(" ")
    return [*lines, indent + rest]


def changed(old: Line, new: Line) -> list[tuple[int, int]]:
    """The (x, width) pieces in which two lines of equal width differ.

    Pieces closer than eight cells are one: moving the cursor costs about as many bytes as sending the cells between.
    """
    if old == new:
        return []
    # Spans that are the same at both ends need not be looked at cell by cell.
    most = min(len(old), len(new))
    head = next((i for i in range(most) if old[i] != new[i]), most)
    tail = next((i for i in range(most - head) if old[-1 - i] != new[-1 - i]), most - head)
    before, after = _cells(old[head : len(old) - tail]), _cells(new[head : len(new) - tail])
    if len(before) != len(after):
        return [(0, max(width_of(old), width_of(new)))]
    left = width_of(old[:head])
    pieces: list[tuple[int, int]] = []
    for x, (a, b) in enumerate(zip(before, after, strict=True), left):
        if a == b:
            continue
        if pieces and x - sum(pieces[-1]) < 8:
            pieces[-1] = (pieces[-1][0], x + 1 - pieces[-1][0])
        else:
            pieces.append((x, 1))
    return pieces


def _cells(line: Line) -> list[tuple[str, str]]:
    """Every cell as (character, ink); the second cell of a wide character holds the character again."""
    return [
        (character, span.ink)
        for span in line
        for character in span.text
        for _ in range(1 if character < "\u0300" else cell_len(character))
    ]
