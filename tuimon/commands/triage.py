"""`tuimon triage`: what to rule out first, and what is left to suspect."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import time
from typing import TYPE_CHECKING

from tuimon.app.config import config, config_path
from tuimon.commands.characters import writes_pictures
from tuimon.commands.diagnose import EXIT_UNREADABLE, add_source_arguments, complaint, read_whole

if TYPE_CHECKING:
    from tuimon.monitor import Snapshot
    from tuimon.triage import Triage


def configure(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments."""
    from tuimon.catalogue.procedure import PROCEDURES

    parser.add_argument("file", metavar="FILE", nargs="?", help="the run; answers are kept beside it")
    parser.add_argument("--procedure", choices=tuple(PROCEDURES), help="which one, instead of the one for what is lit")
    parser.add_argument(
        "--yes", metavar="QUESTION", action="append", default=[], help="answer a question with yes: its number or name"
    )
    parser.add_argument("--no", metavar="QUESTION", action="append", default=[], help="answer a question with no")
    parser.add_argument("--ascii", action="store_true", help="no characters beyond ASCII")
    parser.add_argument("--theme", choices=("dark", "light", "sixteen"), default="dark", help="colours (default: dark)")
    wanted = config(config_path())
    parser.set_defaults(theme=wanted.theme, ascii=bool(wanted.screen.get("ascii")))
    add_source_arguments(parser)


def run(args: argparse.Namespace) -> int:
    """Shows the checklist; without a terminal, or after --yes and --no, prints it.

    Returns:
        0, or 2 when FILE cannot be read, the answers cannot be kept, or a question does not exist.
    """
    from tuimon.sources.base import SourceError
    from tuimon.triage import load, save, state_path, triage_of

    path = state_path(args.file) if args.file and args.file != "-" else None
    try:
        snapshot = _snapshot(args) if args.file else None
        triage = triage_of(snapshot, args.procedure)
        triage = answered(load(path, triage) if path else triage, args)
        if path and (args.yes or args.no):
            save(path, triage)
    except (SourceError, OSError, ValueError) as error:
        print(f"tuimon: {complaint(args.file or 'triage', error)}", file=sys.stderr)
        return EXIT_UNREADABLE
    if args.yes or args.no or not sys.stdout.isatty() or os.environ.get("TERM") == "dumb":
        _print(triage, args.ascii or not writes_pictures())
        return 0
    from tuimon.app.triage import TriageApp
    from tuimon.commands.own import own_keys

    TriageApp(triage, path, args.theme, args.ascii, own_keys(args.ascii)).run()
    return 0


def _snapshot(args: argparse.Namespace) -> Snapshot:
    monitor, _ = read_whole(args.file, format=args.format, roles=dict(args.roles), step=args.step)
    return monitor.look_at(time.time())  # a run that hangs is known by the clock alone


def answered(triage: Triage, args: argparse.Namespace) -> Triage:
    """`triage` with the answers of the command line.

    Raises:
        ValueError: a question does not exist in this procedure.
    """
    keys = [question.key for question in triage.questions]
    for word in ("yes", "no"):
        for named in getattr(args, word):
            place = int(named) if named.isdecimal() and len(named) < 3 else 0
            key = keys[place - 1] if 1 <= place <= len(keys) else named
            if key not in keys:
                there = ", ".join(f"{number} {each}" for number, each in enumerate(keys, 1))
                raise ValueError(f"no question {key!r} in the procedure {triage.procedure}; there are {there}")
            triage = triage.answered(key, word)
    return triage


def _print(triage: Triage, ascii_only: bool) -> None:
    from tuimon.panels.triage import heading, question_lines

    width = min(max(shutil.get_terminal_size((80, 24)).columns, 60), 100)
    lines = heading(triage, width)
    for index, question in enumerate(triage.questions):
        opened = triage.answer(question.key) is None
        lines += question_lines(triage, index, question, width, ascii_only, opened=opened)
    for line in lines:
        print("".join(span.text for span in line).rstrip())
