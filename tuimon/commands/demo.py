"""`tuimon demo`: watch a run that fails on purpose, written by the real writer into a real file."""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
import textwrap
import threading
import time
from difflib import get_close_matches
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from tuimon.commands import tour
from tuimon.commands.asking import ask
from tuimon.commands.watch import add_screen_arguments
from tuimon.plain import plain_text

if TYPE_CHECKING:
    from tuimon.demo import DemoRun

EXIT_DONE, EXIT_USAGE, EXIT_INTERRUPTED = 0, 2, 130
CHOICE_SECONDS = 8.0
"""How long the short list waits for an answer before the first of it begins."""
SHORT_LIST = (
    "nan-forward",
    "nan-after-growth",
    "lr-too-high",
    "loss-spike",
    "exploding-gradient",
    "overfitting",
    "uniform-prediction",
    "healthy-warmup-hump",
)


def configure(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments."""
    parser.add_argument("name", metavar="NAME", nargs="?", help="which run; without it, choose from a short list")
    parser.add_argument("--list", action="store_true", help="list the runs and what each of them shows")
    parser.add_argument("--speed", metavar="X", type=_speed, default=1.0, help="times 20 steps a second (default: 1)")
    parser.add_argument("--write", metavar="FILE", help="write the whole run into FILE at once, without a screen")
    parser.add_argument(
        "--real", action="store_true", help="NAME is a torch training of demo/ (python -m demo.fail --list)"
    )
    add_screen_arguments(parser)


def _speed(text: str) -> float:
    speed = float(text)
    if not 0.01 <= speed <= 1000.0:
        raise argparse.ArgumentTypeError("must lie between 0.01 and 1000")
    return speed


def run(args: argparse.Namespace) -> int:
    """Shows, lists or writes a run.

    Returns:
        0 done (also where the run shown has failed: it was meant to); 2 no such run, or the file cannot be written.
    """
    from tuimon.demo import RUNS

    try:
        if args.real:
            return _train(args)
        if args.list:
            print(listing(RUNS))
            return EXIT_DONE
        terminal = sys.stdin.isatty() and sys.stdout.isatty() and not args.once
        name = args.name or (_choose(RUNS) if terminal and not args.write else SHORT_LIST[0])
        if name is None:
            return EXIT_DONE
        if name not in RUNS:
            near = "".join(f"; {match}?" for match in get_close_matches(name, RUNS, 1, 0.4))
            print(
                f"tuimon: no demo run is called {plain_text(name, 40)}{near} (--list shows them all)", file=sys.stderr
            )
            return EXIT_USAGE
        if args.write:
            return _write(RUNS[name], Path(args.write))
        if not terminal:
            return _print(RUNS[name], args)
        # A run that was asked for by name is shown alone; the list begins a tour.
        start = SHORT_LIST.index(name) if name in SHORT_LIST and not args.name else len(SHORT_LIST)
        tour.take(SHORT_LIST[start:] or (name,), RUNS, lambda chosen: _play(chosen, args))
    except (KeyboardInterrupt, EOFError):
        print(file=sys.stderr)
        return EXIT_INTERRUPTED
    return EXIT_DONE


def listing(runs: dict[str, DemoRun]) -> str:
    """One line per run: its name, the row it lights, what happens."""
    wide = max(map(len, runs))
    lines = []
    for name, each in runs.items():
        row = "" if each.signature in {"", name} else f" (lights {each.signature})"
        lines.append(f"{name:{wide}}  {each.story}{row}")
    return "\n".join(lines)


def _choose(runs: dict[str, DemoRun]) -> str | None:
    """Asks on the terminal: None to leave; nothing said within a few seconds means the first of the list."""
    width = max(shutil.get_terminal_size((80, 24)).columns - 1, 40)
    print("Runs that fail on purpose (tuimon demo --list shows all", len(runs), "of them).")
    print("On the screen: n jumps to a NaN, x explains the row that lights, q goes on.\n")
    for number, name in enumerate(SHORT_LIST, 1):
        line = f"  {number}  {name:22}{runs[name].story}"
        print(textwrap.fill(line, width, subsequent_indent=" " * 27, break_on_hyphens=False))
    prompt = f"\nNumber or name, q to leave, Enter for {SHORT_LIST[0]} (by itself in {CHOICE_SECONDS:.0f} s): "
    numbers = "".join(str(number) for number in range(1, len(SHORT_LIST) + 1))
    answer = (ask(prompt, f"q{numbers}", CHOICE_SECONDS) or "").strip()
    if answer == "q":
        return None
    if answer.isdecimal() and 1 <= int(answer) <= len(SHORT_LIST):
        return SHORT_LIST[int(answer) - 1]
    return answer or SHORT_LIST[0]


def _write(chosen: DemoRun, path: Path) -> int:
    """Writes a whole run into a new file; an existing log is not the demo's to add to."""
    from tuimon.demo import write

    shown = plain_text(path)
    try:
        path.touch(exist_ok=False)
    except OSError as error:
        print(f"tuimon: {shown}: {(error.strerror or 'cannot be written').lower()}", file=sys.stderr)
        return EXIT_USAGE
    print(f"{write(chosen, path):,} records in {shown} ({chosen.story})")
    return EXIT_DONE


def _print(chosen: DemoRun, args: argparse.Namespace) -> int:
    """The whole run without a screen: one picture of it with --once, else what `diagnose` says."""
    from tuimon.commands import diagnose, watch
    from tuimon.demo import write

    with tempfile.TemporaryDirectory(prefix="tuimon-demo-") as place:
        path = Path(place) / f"{chosen.name}.jsonl"
        write(chosen, path)
        if args.once:
            watch.run(_watch_arguments(args, path))
        else:
            print(diagnose.examine(str(path)).text(), end="")
    return EXIT_DONE


def _play(chosen: DemoRun, args: argparse.Namespace) -> None:
    """The screen on a file that grows; the file goes away with it."""
    from tuimon.commands import watch
    from tuimon.demo.script import Player

    with tempfile.TemporaryDirectory(prefix="tuimon-demo-") as place:
        path = Path(place) / f"{chosen.name}.jsonl"
        player = Player(chosen, path, args.speed)
        writing = threading.Thread(target=player.play, name="tuimon-demo", daemon=True)
        writing.start()
        try:
            watch.run(_watch_arguments(args, path))
        finally:
            player.stop()
            writing.join()


def _train(args: argparse.Namespace) -> int:
    """A real training in a process of its own, and the screen on its log; both go away together."""
    from tuimon.commands import diagnose, watch

    trouble = ""
    if not Path("demo", "fail.py").exists():
        trouble = "the real trainings lie in demo/ of the repository: run this in a checkout"
    elif find_spec("torch") is None:
        trouble = "the real trainings need torch: pip install torch"
    if trouble or not args.name:
        print(f"tuimon: {trouble or 'say which one: python -m demo.fail --list'}", file=sys.stderr)
        return EXIT_USAGE
    terminal = sys.stdin.isatty() and sys.stdout.isatty() and not args.once
    with tempfile.TemporaryDirectory(prefix="tuimon-demo-") as place:
        path, errors = Path(place) / "run.jsonl", Path(place) / "errors"
        pace = 0.05 / args.speed if terminal else 0.0
        command = [sys.executable, "-m", "demo.fail", args.name, "--out", str(path), "--pace", str(pace)]
        # Its name is checked there, and the shell is not asked.
        with errors.open("wb") as err, subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=err) as training:  # noqa: S603
            try:
                if not terminal:
                    training.wait()
                while training.poll() is None and not path.exists():
                    time.sleep(0.05)
                if not path.exists():
                    print(f"tuimon: {plain_text(errors.read_text(errors='replace').strip(), 400)}", file=sys.stderr)
                    return EXIT_USAGE
                if terminal or args.once:
                    watch.run(_watch_arguments(args, path))
                else:
                    print(diagnose.examine(str(path)).text(), end="")
            finally:
                training.kill()
    return EXIT_DONE


def _watch_arguments(args: argparse.Namespace, path: Path) -> argparse.Namespace:
    """What `tuimon watch PATH` would run with, and the screen as `tuimon demo` was asked for it."""
    from tuimon.commands import watch

    parser = argparse.ArgumentParser()
    watch.configure(parser)
    defaults = vars(parser.parse_args([str(path)]))
    return argparse.Namespace(**{name: getattr(args, name, value) for name, value in defaults.items()})
