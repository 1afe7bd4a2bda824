"""`tuimon watch PATH`: follow a run on the screen."""

from __future__ import annotations

import argparse
import errno
import gc
import os
import sys
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tuimon.app import views
from tuimon.app.config import config, config_path
from tuimon.commands.characters import writes_pictures
from tuimon.commands.diagnose import add_source_arguments, complaint, input_name, source_arguments
from tuimon.commands.early import early, keyboard_and_screen
from tuimon.commands.own import told_config
from tuimon.plain import plain_text

if TYPE_CHECKING:
    from tuimon.app.monitor_app import Options
    from tuimon.sources.base import Source
    from tuimon.sources.runs import Run

EXIT_DONE, EXIT_UNREADABLE = 0, 2


def configure(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments."""
    parser.add_argument("file", metavar="PATH", type=input_name, help="a log, a run's folder, or - for standard input")
    add_source_arguments(parser)
    add_screen_arguments(parser)


def add_screen_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments that say how to show a run."""
    parser.add_argument("--once", action="store_true", help="print one picture of the screen and end")
    parser.add_argument("--ascii", action="store_true", help="ASCII only, for fonts without braille")
    parser.add_argument("--light", action="store_true", help="colours for a light terminal")
    parser.add_argument("--low-color", action="store_true", help="the sixteen colours of the terminal only")
    parser.add_argument("--no-mouse", action="store_true", help="leave the mouse to the terminal")
    parser.add_argument("--fps", type=_fps, default=30.0, metavar="N", help="pictures per second at most (default: 30)")
    parser.add_argument("--reset-view", action="store_true", help="forget how this file was last looked at")
    parser.set_defaults(**config(config_path()).screen)


def _fps(text: str) -> float:
    fps = float(text)
    if not 0.1 <= fps <= 60:
        raise argparse.ArgumentTypeError("must lie between 0.1 and 60")
    return fps


def run(args: argparse.Namespace) -> int:
    """Shows the screen until the user quits; without a terminal, prints what `diagnose` would.

    Returns:
        0 done; 2 unreadable input or no terminal to read keys from; without a terminal, what `diagnose` returns.
    """
    from tuimon.sources.base import SourceError

    if not args.once and not _has_screen():
        from tuimon.commands import diagnose

        return diagnose.run(argparse.Namespace(**{**vars(args), "json": False, "fail_on": "failure"}))
    told_config()
    try:
        return _print_once(args) if args.once else _follow(args)
    except (SourceError, OSError, ValueError) as error:
        print(f"tuimon: {complaint(args.file, error)}", file=sys.stderr)
        return EXIT_UNREADABLE


def _has_screen() -> bool:
    return sys.stdout.isatty() and os.environ.get("TERM", "") not in ("", "dumb", "unknown")


def _follow(args: argparse.Namespace) -> int:
    stdin = keyboard_and_screen()
    if stdin is None and args.file == "-":
        raise OSError(errno.EBADF, os.strerror(errno.EBADF))
    # Nothing is let go while the program loads: looking for garbage costs a tenth of the time to the first picture.
    gc.disable()
    with early(args.file, _name(args), plain=args.ascii, theme=_theme(args), **source_arguments(args)) as first:
        opened = _open(args, stdin)
        from tuimon.app.following import Place
        from tuimon.app.monitor_app import MonitorApp
        from tuimon.panels.wire import trim_updates

        trim_updates()
        app = MonitorApp(_options(args), Place(args.file, **opened), samples=first.store)
        if not args.reset_view:
            app.desk = replace(app.desk, view=views.kept_view(args.file, app.desk.view, views.views_path()))
        first.hand_over()
        app.run(mouse=not args.no_mouse)
    views.keep_view(args.file, app.desk.view, views.views_path())
    return app.return_code or EXIT_DONE


def _open(args: argparse.Namespace, stdin: int | None) -> dict[str, Any]:
    """What is watched first, and how to open another run of the same folder, as fields of the app's Place.

    Raises:
        SourceError, OSError: as `open_source`.
    """
    from tuimon.sources.apart import apart
    from tuimon.sources.opening import open_run, open_source

    chosen = source_arguments(args)

    def open_any(run: Run | None, roles: Mapping[str, str]) -> Source:
        if run is not None:
            return open_run(run, roles=roles, step=args.step)
        return open_source(args.file, stdin=stdin or 0, **{**chosen, "roles": roles})

    run = None
    if os.path.isdir(args.file):
        from tuimon.sources.runs import is_bare, newest_run

        run = None if is_bare(args.file) else newest_run(args.file, args.format)
    roles = chosen["roles"]
    return {"open": open_any, "roles": roles, "source": apart(open_any(run, roles)), "run": run}


def _print_once(args: argparse.Namespace) -> int:
    import asyncio

    from tuimon.app.once import picture
    from tuimon.commands.diagnose import read_whole

    monitor, source = read_whole(args.file, **source_arguments(args))
    color = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
    sys.stdout.write(asyncio.run(picture(_options(args), monitor, source.describe(), color=color)))
    return EXIT_DONE


def _options(args: argparse.Namespace) -> Options:
    from tuimon.app.monitor_app import Options

    wanted = config(config_path())
    return Options(
        name=_name(args),
        theme=_theme(args),
        ascii=args.ascii or (args.once and not writes_pictures()),
        fps=args.fps,
        keys=wanted.keys,
        notice=wanted.notice,
    )


def _theme(args: argparse.Namespace) -> str:
    return "sixteen" if args.low_color else "light" if args.light else "dark"


def _name(args: argparse.Namespace) -> str:
    return "standard input" if args.file == "-" else plain_text(os.path.basename(os.path.abspath(args.file)), 60)
