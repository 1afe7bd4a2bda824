"""The `tuimon` program: picks the command, turns what the user got wrong into one clear line."""

from __future__ import annotations

import argparse
import contextlib
import importlib
import os
import sys
from collections.abc import Sequence

from tuimon.commands.characters import spell_what_is_lacking
from tuimon.commands.orderly import orderly
from tuimon.plain import fault_text, plain_text

COMMANDS = {  # name -> what it does, for `tuimon --help`; the module tuimon.commands.<name> does it
    "watch": "follow a run on the screen",
    "diagnose": "say what is wrong with a run, as text or JSON",
    "demo": "watch a run that fails on purpose",
    "plot": "draw metrics as a static picture, or write them as SVG",
    "table": "print the symptom-to-cause table",
    "explain": "explain one row of the table in full",
    "lab": "turn the learning rate and see where steps begin to grow",
    "triage": "rule out one cause after the other, and see what is left",
    "autopsy": "run a saved batch again and say where the NaN was born",
}


def build_parser(chosen: str | None) -> argparse.ArgumentParser:
    """The argument parser; only the module of the command `chosen` is imported."""
    from tuimon import __version__

    parser = argparse.ArgumentParser(
        prog="tuimon", description="Watch a training run from a terminal.", formatter_class=_formatter
    )
    parser.add_argument("--version", action="version", version=f"tuimon {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", prog="tuimon")
    for name, summary in COMMANDS.items():
        words = summary.capitalize() + "."
        child = commands.add_parser(name, help=summary, description=words, formatter_class=_formatter)
        if name == chosen:
            importlib.import_module(f"tuimon.commands.{name}").configure(child)
    return parser


def _formatter(prog: str) -> argparse.HelpFormatter:
    """The usual one, but without the module that it imports to ask for a width at every argument that is added."""
    try:
        columns = int(os.environ.get("COLUMNS", "0")) or os.get_terminal_size(1).columns
    except (OSError, ValueError):
        columns = 0
    return argparse.HelpFormatter(prog, width=(columns or 80) - 2)


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the program.

    Returns:
        The exit code: 0 done or healthy, 1 a failure was found in a run, 2 usage or unreadable input.
    """
    _fill_streams()
    spell_what_is_lacking()
    words = list(sys.argv[1:] if argv is None else argv)
    chosen = next((word for word in words if word in COMMANDS), None)
    parser = build_parser(chosen)
    args = parser.parse_args(words)
    if args.command is None:
        parser.print_help()
        return 2
    try:
        with orderly():
            code = int(importlib.import_module(f"tuimon.commands.{args.command}").run(args))
            sys.stdout.flush()
            return code
    except KeyboardInterrupt:
        return 130
    except OSError as error:
        # Leave nothing for the exit flush to hit; a caller's own stream has no descriptor.
        with contextlib.suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if isinstance(error, BrokenPipeError):
            # The reader of our output went away (`| head`): not an error of ours.
            return 0
        print(f"tuimon: {plain_text(error.strerror or error).lower()}", file=sys.stderr)
        return 2
    except Exception as error:  # noqa: BLE001 -- the outermost edge: 1 would say that a run has failed
        print(f"tuimon: a fault of its own: {fault_text(error)}", file=sys.stderr)
        return 2


def _fill_streams() -> None:
    """Output that was closed goes nowhere: Python has no stream for it, and the next file would take its descriptor."""
    for number, name in ((1, "stdout"), (2, "stderr")):
        if getattr(sys, name) is None:
            nowhere = os.open(os.devnull, os.O_WRONLY)
            if nowhere != number:
                os.dup2(nowhere, number)
                os.close(nowhere)
            setattr(sys, name, open(number, "w", encoding="utf-8", closefd=False))  # noqa: SIM115


if __name__ == "__main__":
    sys.exit(main())
