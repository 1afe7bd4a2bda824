"""`tuimon explain ROW`: one row of the table in full."""

from __future__ import annotations

import argparse
import shutil
import sys
import time
from difflib import get_close_matches

from tuimon.catalogue import BY_SIGNATURE, Row
from tuimon.catalogue.lessons import LESSONS
from tuimon.commands.characters import writes_pictures
from tuimon.commands.diagnose import EXIT_UNREADABLE, add_source_arguments, complaint, read_whole, source_arguments
from tuimon.plain import plain_text
from tuimon.signatures.finding import Finding


def configure(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments."""
    parser.add_argument("row", metavar="ROW", help="a row of `tuimon table`, for example nan-forward")
    parser.add_argument("file", metavar="FILE", nargs="?", help="a run, whose own numbers come first")
    parser.add_argument("--ascii", action="store_true", help="draw with plain characters")
    add_source_arguments(parser)


def run(args: argparse.Namespace) -> int:
    """Prints the row.

    Returns:
        0, or 2 when there is no such row, or FILE cannot be read.
    """
    row = BY_SIGNATURE.get(args.row)
    if row is None:
        near = ", ".join(nearest(args.row)) or "see tuimon table"
        print(f"tuimon: no row {plain_text(args.row, 40)}; {near}", file=sys.stderr)
        return 2
    from tuimon.explain import explanation
    from tuimon.panels.specimen import specimen

    findings: list[Finding] = []
    remarks: list[str] = []
    if args.file:
        from tuimon.sources.base import SourceError

        try:
            findings, remarks = _seen(row, args)
        except (SourceError, OSError) as error:
            print(f"tuimon: {complaint(args.file, error)}", file=sys.stderr)
            return EXIT_UNREADABLE
        if not findings:
            print(f"{row.signature} is not lit in {plain_text(args.file, 200)}.\n")
    width = min(max(shutil.get_terminal_size((80, 24)).columns, 40), 100)
    picture = specimen(row, width, ascii_only=args.ascii or not writes_pictures())
    lines = explanation(row, LESSONS[row.signature], width, picture=picture, findings=findings, remarks=remarks)
    print("\n".join(lines))
    return 0


def _seen(row: Row, args: argparse.Namespace) -> tuple[list[Finding], list[str]]:
    """The findings of a run that light the row, and what else its numbers say."""
    from tuimon.measured import measured

    monitor, _ = read_whole(args.file, **source_arguments(args))
    snapshot = monitor.look_at(time.time())  # a run that hangs is known by the clock alone
    findings = [finding for finding in snapshot.findings if finding.row == row.signature]
    return findings, measured(findings[-1], snapshot, monitor.store) if findings else []


def nearest(word: str) -> list[str]:
    """Rows that may have been meant: those that begin the same way, else those spelt alike."""
    alike = [signature for signature in BY_SIGNATURE if signature.startswith(word[:3])] if len(word) > 2 else []
    return alike or get_close_matches(word, list(BY_SIGNATURE), 3)
