"""`tuimon plot FILE`: metrics as a static picture, on the terminal or as SVG."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING

from tuimon.commands.characters import writes_pictures
from tuimon.commands.diagnose import add_source_arguments, complaint, input_name, read_whole, source_arguments
from tuimon.files import write_whole
from tuimon.plain import plain_text
from tuimon.record import ROLES

if TYPE_CHECKING:
    from tuimon.monitor import Monitor
    from tuimon.plots import Subject

EXIT_DONE, EXIT_UNREADABLE = 0, 2

MOST = 12
"""Metrics in one picture: more would be read by nobody."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments."""
    parser.add_argument("file", metavar="FILE", type=input_name, help="a log, a run's folder, or - for standard input")
    parser.add_argument(
        "--metric",
        metavar="NAME",
        action="append",
        default=[],
        help="draw this one; may be repeated (default: all roles)",
    )
    parser.add_argument("--width", type=_size, default=None, metavar="N", help="cells, or pixels with --svg")
    parser.add_argument("--height", type=_size, default=None, metavar="N", help="lines or pixels of the whole picture")
    parser.add_argument("--log", action="store_true", help="logarithmic values")
    parser.add_argument("--smooth", type=_size, default=0, metavar="N", help="running mean over about N points")
    parser.add_argument("--ascii", action="store_true", help="draw with plain characters")
    parser.add_argument("--svg", metavar="OUT", default=None, help="write an SVG file instead")
    add_source_arguments(parser)


def _size(text: str) -> int:
    size = int(text)
    if not 1 <= size <= 10_000:
        raise argparse.ArgumentTypeError("must lie between 1 and 10000")
    return size


def run(args: argparse.Namespace) -> int:
    """Draws.

    Returns:
        0 done; 2 unreadable input, no such metric, nothing to draw, or the SVG cannot be written.
    """
    from tuimon.sources.base import SourceError

    try:
        monitor, _ = read_whole(args.file, **source_arguments(args))
        names = chosen(monitor, args.metric)
    except (SourceError, OSError, ValueError) as error:
        print(f"tuimon: {complaint(args.file, error)}", file=sys.stderr)
        return EXIT_UNREADABLE
    return _write_svg(args, monitor, names) if args.svg else _print(args, monitor, names)


def chosen(monitor: Monitor, wanted: Sequence[str]) -> list[str]:
    """The metrics to draw.

    Raises:
        ValueError: the log does not have one of them, or has none at all.
    """
    columns = monitor.store.columns
    if not columns:
        raise ValueError("no records yet, nothing to draw")
    for name in wanted:
        if name not in columns:
            near = "".join(f"; {match}?" for match in get_close_matches(name, columns, 1, 0.4))
            raise ValueError(f"no metric is called {plain_text(name, 60)}{plain_text(near, 60)}")
    if len(wanted) > MOST:
        raise ValueError(f"{len(wanted)} metrics are too many for one picture, {MOST} at most")
    return list(wanted) or [name for name in ROLES if name in columns] or list(columns)[:4]


def subjects(monitor: Monitor, names: Sequence[str], count: int, *, log: bool, smooth: int) -> list[Subject]:
    """What to draw of each metric, in `count` slices at most, all over the same steps."""
    from tuimon.plots import Onset, subject

    columns, findings = monitor.store.columns, monitor.snapshot.findings
    onsets = [Onset(f.onset_step, f.signature, f.severity) for f in findings if f.severity != "note"]
    walks = [walk for name in names for walk in columns[name].passes if walk.first_step is not None]
    first = min(walk.first_step for walk in walks if walk.first_step is not None)
    last = max(walk.steps[-1] for walk in walks)
    return [subject(columns[name], onsets, (first, last), count, log=log, smooth=smooth) for name in names]


def _print(args: argparse.Namespace, monitor: Monitor, names: Sequence[str]) -> int:
    from tuimon.plots import terminal

    size = shutil.get_terminal_size((100, 24))
    width = args.width or size.columns
    # One metric fills the screen; several get enough lines each to be read, and scroll.
    height = (args.height // len(names)) if args.height else max((size.lines - 3) // len(names), 12)
    drawn = subjects(monitor, names, 2 * width, log=args.log, smooth=args.smooth)
    color = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
    plain = args.ascii or not writes_pictures()
    print(terminal(drawn, width, height, color=color, plain=plain), end="")
    return EXIT_DONE


def _is_other(path: Path) -> bool:
    """Whether a file is there that is no SVG: a log named by mistake must not be drawn over."""
    try:
        return path.stat().st_size > 0 and b"<svg" not in path.read_bytes()[:256]
    except OSError:
        return False


def _write_svg(args: argparse.Namespace, monitor: Monitor, names: Sequence[str]) -> int:
    from tuimon.plots import svg

    width = args.width or 900
    height = args.height or max(500, 30 + 200 * len(names))
    snapshot = monitor.snapshot
    name = plain_text(snapshot.run or os.path.basename(os.path.normpath(args.file)), 60)
    title = f"{name}: {snapshot.records:,} records, verdict {snapshot.verdict.replace('_', ' ')}"
    if _is_other(Path(args.svg)):
        print(f"tuimon: {plain_text(args.svg)}: there is another file of this name, not written", file=sys.stderr)
        return EXIT_UNREADABLE
    drawn = subjects(monitor, names, width, log=args.log, smooth=args.smooth)
    try:
        write_whole(Path(args.svg), svg(drawn, title, width, height))
    except OSError as error:
        print(f"tuimon: {plain_text(args.svg)}: {(error.strerror or 'cannot be written').lower()}", file=sys.stderr)
        return EXIT_UNREADABLE
    print(f"{plain_text(args.svg)}: {', '.join(plain_text(each, 60) for each in names)}")
    return EXIT_DONE
