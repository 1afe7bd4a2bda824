"""`tuimon table`: the symptom-to-cause table, for a terminal, a web page or a program."""

from __future__ import annotations

import argparse
import json
import shutil
import textwrap
from collections.abc import Sequence

from tuimon.catalogue import ROWS, Row
from tuimon.catalogue.now import NOW

LEAST = 24
"""Cells for what is seen beside the name of a row; with fewer it goes on under the name."""

FAMILIES = tuple(dict.fromkeys(row.family for row in ROWS))


def configure(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments."""
    parser.add_argument("--family", choices=FAMILIES, metavar="FAMILY", help=f"only one of {', '.join(FAMILIES)}")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--markdown", action="store_true", help="print it as Markdown, as in the README")
    form.add_argument("--json", action="store_true", help="print it as a list of JSON objects")


def run(args: argparse.Namespace) -> int:
    """Prints the table."""
    rows = [row for row in ROWS if args.family in (None, row.family)]
    if args.json:
        print(json.dumps([document(row) for row in rows], indent=1))
    elif args.markdown:
        print(markdown(rows))
    else:
        print(text(rows, shutil.get_terminal_size((80, 24)).columns))
    return 0


def document(row: Row) -> dict[str, object]:
    """A row for a program."""
    return {
        "signature": row.signature,
        "family": row.family,
        "severity": row.severity,
        "symptom": row.symptom,
        "separator": row.separator,
        "causes": list(row.causes),
        "checks": [{"look": check.look, "code": check.code, "expect": check.expect} for check in row.checks],
        "fix": row.fix,
        "now": NOW[row.signature],
        "needs": list(row.needs),
        "confused_with": list(row.confused_with),
        "known_at": row.known_at,
    }


def markdown(rows: Sequence[Row]) -> str:
    """The table as Markdown: one line a row, the first check before the fix."""
    names = ("row", "what is seen", "what tells it apart", "likeliest cause", "check first", "then")
    lines = ["| " + " | ".join(names) + " |", "|---" * len(names) + "|"]
    for row in rows:
        check = row.checks[0].look if row.checks else ""
        cells = (f"`{row.signature}`", row.symptom, row.separator, row.causes[0], check, row.fix)
        lines.append("| " + " | ".join(cell.replace("|", r"\|").replace("<", "&lt;") for cell in cells) + " |")
    return "\n".join(lines)


def text(rows: Sequence[Row], width: int) -> str:
    """The table for a terminal: one line a row under the name of its family, more where `width` is short."""
    name = max(len(row.signature) for row in ROWS)
    hang = " " * (name + 3) if width >= name + 3 + LEAST else "    "
    lines: list[str] = []
    for family in FAMILIES:
        members = [row for row in rows if row.family == family]
        if members:
            lines.append(family)
            for row in members:
                head = f"  {row.signature:<{name}} " if len(hang) > name else f"  {row.signature}: "
                lines += textwrap.wrap(
                    head + row.symptom,
                    max(width, 16),
                    subsequent_indent=hang,
                    break_on_hyphens=False,
                    drop_whitespace=True,
                )
    return "\n".join([*lines, "", *textwrap.wrap("tuimon explain ROW shows one of them in full.", max(width, 16))])
