"""`tuimon lab`: turn the learning rate and see where steps begin to grow."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from dataclasses import replace
from typing import TYPE_CHECKING

from tuimon.app.config import config, config_path
from tuimon.commands.characters import writes_pictures
from tuimon.commands.diagnose import EXIT_UNREADABLE, add_source_arguments, complaint

if TYPE_CHECKING:
    from tuimon.panels.lab.bench import Bench


def configure(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments."""
    parser.add_argument("file", metavar="FILE", nargs="?", help="start at the values of this run, if they can be known")
    parser.add_argument("--lr", type=_positive, help="learning rate to start at")
    parser.add_argument("--curvature", type=_positive, help="curvature a of the valley a*x^2/2")
    parser.add_argument("--momentum", type=_momentum, help="momentum to start at, 0 to 0.9")
    parser.add_argument("--ascii", action="store_true", help="draw with plain characters")
    parser.add_argument("--theme", choices=("dark", "light", "sixteen"), default="dark", help="colours (default: dark)")
    wanted = config(config_path())
    parser.set_defaults(theme=wanted.theme, ascii=bool(wanted.screen.get("ascii")))
    add_source_arguments(parser)


def _positive(text: str) -> float:
    value = float(text)
    if not 1e-9 <= value <= 1e9:
        raise argparse.ArgumentTypeError(f"{text} is not between 1e-9 and 1e9")
    return value


def _momentum(text: str) -> float:
    value = float(text)
    if not 0 <= value <= 0.9:
        raise argparse.ArgumentTypeError(f"{text} is not between 0 and 0.9")
    return value


def run(args: argparse.Namespace) -> int:
    """Shows the figure; without a terminal, prints its first page.

    Returns:
        0, or 2 when FILE cannot be read.
    """
    from tuimon.panels.lab.bench import Bench
    from tuimon.sources.base import SourceError

    try:
        bench = bench_at(args) if args.file else Bench()
    except (SourceError, OSError) as error:
        print(f"tuimon: {complaint(args.file, error)}", file=sys.stderr)
        return EXIT_UNREADABLE
    given = {name: value for name in ("lr", "curvature", "momentum") if (value := getattr(args, name)) is not None}
    bench = replace(bench, **given)
    if not sys.stdout.isatty() or os.environ.get("TERM") == "dumb":
        from tuimon.panels.lab.figure import figure

        width = min(max(shutil.get_terminal_size((80, 24)).columns, 60), 120)
        for line in figure(bench, width, 24, args.ascii or not writes_pictures()):
            print("".join(span.text for span in line).rstrip())
        return 0
    from tuimon.app.lab import LabApp
    from tuimon.commands.own import own_keys

    LabApp(bench, args.theme, args.ascii, own_keys(args.ascii)).run()
    return 0


def bench_at(args: argparse.Namespace) -> Bench:
    """The bench at the values of a run, as far as they can be known.

    Raises:
        SourceError, OSError: the file cannot be read.
    """
    from tuimon.commands.diagnose import read_whole
    from tuimon.estimate import estimate
    from tuimon.panels.lab.bench import bench_of

    monitor, _ = read_whole(args.file, format=args.format, roles=dict(args.roles), step=args.step)
    return bench_of(estimate(monitor.snapshot, monitor.store))
