"""`tuimon diagnose FILE`: what is wrong with a run, for a person or for a script."""

from __future__ import annotations

import argparse
import errno
import json
import select
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from tuimon.plain import plain_text
from tuimon.record import ROLES

if TYPE_CHECKING:
    from tuimon.monitor import Monitor
    from tuimon.report import Report
    from tuimon.signatures.finding import Finding
    from tuimon.sources.base import Source

EXIT_HEALTHY, EXIT_FAILURE, EXIT_UNREADABLE = 0, 1, 2


def configure(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments."""
    parser.add_argument("file", metavar="FILE", type=input_name, help="a log, a run's folder, or - for standard input")
    parser.add_argument("--json", action="store_true", help="print strict JSON")
    parser.add_argument(
        "--fail-on",
        metavar="NAME[,NAME]",
        default="failure",
        help="what makes the exit code 1: severities, families or signatures; 'none' for nothing (default: failure)",
    )
    add_source_arguments(parser)


def add_source_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments that say how to read a file; `source_arguments` takes them out again."""
    parser.add_argument("--format", default=None, help="read the file as this format instead of guessing")
    parser.add_argument(
        "--map",
        dest="roles",
        metavar="ROLE=NAME",
        action="append",
        type=_role,
        default=[],
        help=f"which metric plays a role ({', '.join(ROLES)}); may be repeated",
    )
    parser.add_argument("--step", metavar="NAME", default=None, help="which field is the optimizer step")


def source_arguments(args: argparse.Namespace) -> dict[str, Any]:
    """The keyword arguments of `open_source` that `add_source_arguments` asked for."""
    return {"format": args.format, "roles": dict(args.roles), "step": args.step}


def input_name(text: str) -> str:
    """The name of an input, as given; "-" for every name of standard input, which may be read only once."""
    return "-" if text in ("/dev/stdin", "/dev/fd/0", "/proc/self/fd/0") else text


def _role(text: str) -> tuple[str, str]:
    role, equals, name = text.partition("=")
    if role not in ROLES or not equals or not name:
        raise argparse.ArgumentTypeError(f"{text!r} is not ROLE=NAME with ROLE one of {', '.join(ROLES)}")
    return role, name


def run(args: argparse.Namespace) -> int:
    """Prints the report.

    Returns:
        0 healthy, or notes and warnings only; 1 a failure (or what --fail-on names) was found; 2 unreadable input.
    """
    from tuimon.sources.base import SourceError

    try:
        counted = fail_on_words(args.fail_on)
        report = examine(args.file, **source_arguments(args))
    except (SourceError, OSError, ValueError) as error:
        told = complaint(args.file, error)
        print(f"tuimon: {told}", file=sys.stderr)
        if args.json:
            print(json.dumps(nothing(args.file, told)))
        return EXIT_UNREADABLE
    if args.json:
        print(json.dumps(report.document(), allow_nan=False))
    else:
        import shutil

        width = min(max(shutil.get_terminal_size((80, 24)).columns, 60), 100)
        print(report.text(width), end="")
    return exit_code(report, counted)


def nothing(file: str, told: str) -> dict[str, object]:
    """The document of an input without a record: those of a run, and `error`, so that a script can rely on its keys."""
    from tuimon.monitor import Snapshot
    from tuimon.report import Report

    return {**Report(file, "", "", Snapshot()).document(), "error": told}


def examine(
    file: str, *, format: str | None = None, roles: Mapping[str, str] | None = None, step: str | None = None
) -> Report:
    """Reads all of a run and judges it.

    Args:
        file: path of a log or a run's folder; "-" for standard input, which is read to its end.
        format, roles, step: as `open_source` takes them.

    Raises:
        SourceError: the input is no run, and why.
        OSError: it cannot be read.
    """
    from tuimon.report import Report

    monitor, source = read_whole(file, format=format, roles=roles, step=step)
    return Report(file, source.format, source.describe(), monitor.snapshot)


def read_whole(
    file: str, *, format: str | None = None, roles: Mapping[str, str] | None = None, step: str | None = None
) -> tuple[Monitor, Source]:
    """Folds all of a run; arguments and errors as those of `examine`. The source is closed.

    A pipe is read to its end. A file that is empty, or holds a header only, is a run that has begun: no error.

    Raises:
        SourceError: the input is not empty, or is over, and nothing in it is a record or the beginning of a run.
    """
    from tuimon.monitor import Monitor
    from tuimon.sources import open_source
    from tuimon.sources.base import SourceError

    source = open_source(file, format=format, roles=roles or {}, step=step)
    try:
        monitor = Monitor()
        headed = False
        pipe = _pipe(source)
        batch = source.read()
        while True:
            monitor.feed(batch)
            headed = headed or bool(batch.marks)
            if not batch.more and (pipe is None or source.ended):
                break
            if pipe is not None and not batch.more:
                select.select([pipe], [], [])
            batch = source.read()
        rest = source.finish()
        headed = headed or bool(rest.marks)
        if not monitor.feed(rest).records and not headed:
            if max(batch.offset, rest.offset):
                raise SourceError(f"{_shown(file)}: nothing in it is a record ({source.describe()})")
            if source.ended:
                raise SourceError(f"{_shown(file)}: ended, and nothing had come")
        for role, name in (roles or {}).items():
            if role not in monitor.store.columns:
                there = ", ".join(plain_text(each, 40) for each in list(monitor.store.columns)[:12])
                raise SourceError(f"{_shown(file)}: no metric is called {plain_text(name, 40)}; there are {there}")
        return monitor, source
    finally:
        source.close()


def _pipe(source: Source) -> int | None:
    """The descriptor to wait for, None for a file, whose end is where it ends now."""
    try:
        return source.fileno()  # type: ignore[attr-defined,no-any-return]
    except (AttributeError, OSError):
        return None


def _shown(file: str) -> str:
    return "standard input" if file == "-" else plain_text(file)


def fail_on_words(text: str) -> frozenset[str]:
    """The names in the value of --fail-on.

    Raises:
        ValueError: one of them is no severity, family or signature.
    """
    from difflib import get_close_matches

    from tuimon.catalogue import ROWS
    from tuimon.signatures.finding import RANK

    words = frozenset(word.strip() for word in text.split(",") if word.strip())
    known = {*RANK, *(row.family for row in ROWS), *(row.signature for row in ROWS), "none"}
    for word in sorted(words - known):
        near = "".join(f"; {match}?" for match in get_close_matches(word, sorted(known), 1))
        raise ValueError(f"--fail-on {plain_text(word, 40)}: no such severity, family or signature{near}")
    return words


def exit_code(report: Report, counted: frozenset[str]) -> int:
    """What the report amounts to for a script.

    A severity counts findings as grave as it and graver ones; a family counts its failures; a signature counts itself.
    What is over counts as well: it was found.
    """
    snapshot = report.snapshot
    if not snapshot.records and snapshot.bad_count:
        return EXIT_UNREADABLE
    return EXIT_FAILURE if any(_counts(finding, counted) for finding in snapshot.findings) else EXIT_HEALTHY


def _counts(finding: Finding, counted: frozenset[str]) -> bool:
    from tuimon.signatures.finding import RANK

    if finding.signature in counted or (finding.family in counted and finding.severity == "failure"):
        return True
    return any(RANK[finding.severity] >= RANK[word] for word in counted if word in RANK)


def complaint(file: str, error: Exception) -> str:
    """One line about an input that cannot be read."""
    if file == "-" and isinstance(error, OSError) and error.errno == errno.EBADF:
        return "standard input is closed"
    if isinstance(error, OSError) and error.strerror:
        return f"{_shown(file)}: {error.strerror.lower()}"
    return plain_text(error, 400)
