"""`tuimon watch PATH`: follow a run on the screen."""

from __future__ import annotations

import argparse
import gc
import os
import sys
from typing import TYPE_CHECKING

from tuimon.commands.diagnose import add_source_arguments, complaint, source_arguments
from tuimon.commands.early import early
from tuimon.plain import plain_text

if TYPE_CHECKING:
    from tuimon.app.monitor_app import Options

EXIT_DONE, EXIT_UNREADABLE = 0, 2


def configure(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments."""
    parser.add_argument("file", metavar="PATH", help="a log, a run's folder, or - for standard input")
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
    try:
        return _print_once(args) if args.once else _follow(args)
    except (SourceError, OSError, ValueError) as error:
        print(f"tuimon: {complaint(args.file, error)}", file=sys.stderr)
        return EXIT_UNREADABLE


def _has_screen() -> bool:
    return sys.stdout.isatty() and os.environ.get("TERM", "") not in ("", "dumb", "unknown")


def _follow(args: argparse.Namespace) -> int:
    stdin = _keyboard_from_the_terminal()
    # Nothing is let go while the program loads: looking for garbage costs a tenth of the time to the first picture.
    gc.disable()
    with early(args.file, _name(args), plain=args.ascii, **source_arguments(args)) as first:
        from tuimon.sources import open_source

        source = open_source(args.file, stdin=stdin, **source_arguments(args))
        from tuimon.app.monitor_app import MonitorApp
        from tuimon.follow import Follower
        from tuimon.panels.wire import trim_updates

        trim_updates()
        app = MonitorApp(
            _options(args),
            lambda post: Follower(source, post, path=args.file),
            describe=source.describe,
            samples=first.store,
        )
        first.handed_over = True
        app.run(mouse=not args.no_mouse)
    return app.return_code or EXIT_DONE


def _print_once(args: argparse.Namespace) -> int:
    import asyncio

    from tuimon.app.once import picture
    from tuimon.commands.diagnose import read_whole

    monitor, source = read_whole(args.file, **source_arguments(args))
    sys.stdout.write(asyncio.run(picture(_options(args), monitor, source.describe(), color=sys.stdout.isatty())))
    return EXIT_DONE


def _options(args: argparse.Namespace) -> Options:
    from tuimon.app.monitor_app import Options

    return Options(
        name=_name(args),
        theme="sixteen" if args.low_color else "light" if args.light else "dark",
        ascii=args.ascii,
        fps=args.fps,
    )


def _name(args: argparse.Namespace) -> str:
    return "standard input" if args.file == "-" else plain_text(os.path.basename(os.path.normpath(args.file)), 60)


def _keyboard_from_the_terminal() -> int:
    """Makes file descriptor 0 the keyboard and 2 the screen, whatever the shell connected them to.

    Returns:
        The descriptor that standard input can be read from now.

    Raises:
        OSError: no controlling terminal.
    """
    stdin = 0
    if not os.isatty(0):
        try:
            keyboard = os.open("/dev/tty", os.O_RDWR)
        except OSError:
            raise OSError(6, "no terminal to read keys from (over ssh: ssh -t)") from None
        stdin = os.dup(0)
        os.dup2(keyboard, 0)
        os.close(keyboard)
    if not os.isatty(2):
        # The toolkit draws on standard error, which may go into a file.
        os.dup2(1, 2)
    return stdin
