"""`tuimon explain ROW`: one row of the table in full."""

from __future__ import annotations

import argparse
import shutil
import sys
from difflib import get_close_matches

from tuimon.catalogue import BY_SIGNATURE
from tuimon.catalogue.lessons import LESSONS
from tuimon.commands.characters import writes_pictures
from tuimon.plain import plain_text


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
    from tuimon.explain import explanation
    from tuimon.panels.specimen import specimen

    width = min(max(shutil.get_terminal_size((80, 24)).columns, 40), 100)
    picture = specimen(row, width, ascii_only=args.ascii or not writes_pictures())
    print("\n".join(explanation(row, LESSONS[row.signature], width, picture=picture)))
    return 0


def nearest(word: str) -> list[str]:
    """Rows that may have been meant: those that begin the same way, else those spelt alike."""
    alike = [signature for signature in BY_SIGNATURE if signature.startswith(word[:3])] if len(word) > 2 else []
    return alike or get_close_matches(word, list(BY_SIGNATURE), 3)
