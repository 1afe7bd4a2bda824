"""`tuimon explain ROW`: one row of the table in full."""

from __future__ import annotations

import argparse
import shutil
import sys
import textwrap
from collections.abc import Iterator
from difflib import get_close_matches

from tuimon.catalogue import BY_SIGNATURE, Row
from tuimon.catalogue.lesson import ALWAYS, Lesson
from tuimon.catalogue.lessons import LESSONS
from tuimon.plain import plain_text

_INDENT = "  "


def configure(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments."""
    parser.add_argument("row", metavar="ROW", help="a row of `tuimon table`, for example nan-forward")
    parser.add_argument("--ascii", action="store_true", help="draw with plain characters")


def run(args: argparse.Namespace) -> int:
    """Prints the row.

    Returns:
        0, or 2 when there is no such row.
    """
    row = BY_SIGNATURE.get(args.row)
    if row is None:
        near = ", ".join(nearest(args.row)) or "see tuimon table"
        print(f"tuimon: no row {plain_text(args.row, 40)}; {near}", file=sys.stderr)
        return 2
    width = min(max(shutil.get_terminal_size((80, 24)).columns, 40), 100)
    print("\n".join(explanation(row, LESSONS[row.signature], width)))
    return 0


def nearest(word: str) -> list[str]:
    """Rows that may have been meant: those that begin the same way, else those spelt alike."""
    alike = [signature for signature in BY_SIGNATURE if signature.startswith(word[:3])] if len(word) > 2 else []
    return alike or get_close_matches(word, list(BY_SIGNATURE), 3)


def explanation(row: Row, lesson: Lesson, width: int, picture: tuple[str, ...] = ()) -> Iterator[str]:
    """The row as lines of at most `width` columns; lines of code may be longer, so that they can be pasted.

    Args:
        row: the row of the table.
        lesson: why it happens.
        width: columns, at least 40.
        picture: lines of the drawn curve.
    """
    yield f"{row.signature} ({row.family}, {row.severity})"
    yield from _section("what is seen", [row.symptom], width)
    yield from picture
    yield from _section("why it happens", [lesson.why], width)
    yield from (_INDENT * 2 + line for line in (lesson.formula,) if line)
    yield from _filled([lesson.example] if lesson.example else [], width)
    yield from _section("what separates it", [row.separator, *_neighbours(row), *_needed(row)], width)
    yield from _section("causes, likeliest first", [f"- {cause}" for cause in row.causes], width)
    if row.checks:
        yield from _section("check, in this order, before anything is changed", [], width)
        for number, check in enumerate(row.checks, 1):
            yield from _filled([f"{number}. {check.look}"], width, hang=3)
            yield from (_INDENT * 4 + line for line in (check.code,) if line)
            yield from _filled([check.expect], width, _INDENT + "   ")
        yield from _section("then", [row.fix], width)
    pitfalls = [*lesson.pitfalls, *(ALWAYS if row.severity == "failure" else ())]
    if pitfalls:
        yield from _section("pitfalls", [f"- {pitfall}" for pitfall in pitfalls], width)


def _neighbours(row: Row) -> Iterator[str]:
    if row.confused_with:
        yield "Its neighbours:"
    for signature in row.confused_with:
        yield f"- {signature}: {BY_SIGNATURE[signature].separator}"


def _needed(row: Row) -> Iterator[str]:
    if row.needs:
        yield f"Needs {', '.join(row.needs)}; known {row.known_at}."


def _section(title: str, texts: list[str], width: int) -> Iterator[str]:
    yield ""
    yield title.upper()
    yield from _filled(texts, width)


def _filled(texts: list[str], width: int, indent: str = _INDENT, hang: int = 0) -> Iterator[str]:
    for text in texts:
        deeper = indent + " " * (2 if text.startswith("- ") else hang)
        yield from textwrap.wrap(
            text, width, initial_indent=indent, subsequent_indent=deeper, break_long_words=False, break_on_hyphens=False
        )
