"""The screen on a real terminal, and what happens when that terminal misbehaves."""

from __future__ import annotations

import os
import random
import select
import signal
import sys
import termios
from pathlib import Path

import pytest

from tests.samples import grow, jsonl, losses, write
from tests.terminals import PATIENCE, WATCH, Terminal

# Processes, threads and terminals of a busy machine: a second look before it counts.
pytestmark = pytest.mark.flaky(reruns=2)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return write(tmp_path, "run.jsonl", jsonl(losses(300)))


def shown(log: Path, size: tuple[int, int] = (120, 40), *arguments: str) -> Terminal:
    return Terminal([*WATCH, str(log), *arguments], size)


def is_whole(terminal: Terminal) -> bool:
    """Header, panels and footer stand where they belong, and reading has come to the end."""
    lines = terminal.lines
    return "step 300" in lines[0] and "live" in lines[0] and lines[1].startswith("loss") and "q quit" in lines[-1]


def test_q_ends_and_leaves_the_terminal_as_it_was(log: Path) -> None:
    with shown(log) as terminal:
        terminal.until(lambda: is_whole(terminal))
        assert not terminal.restored
        terminal.press("q")
        assert terminal.wait() == 0
        assert terminal.restored


def storm(terminal: Terminal, sizes: int) -> None:
    randomly = random.Random(5)
    for _ in range(sizes):
        terminal.resize(randomly.randint(1, 220), randomly.randint(1, 70))
    terminal.resize(120, 40)
    terminal.until(lambda: is_whole(terminal), "whole screen")
    terminal.press("?")
    terminal.until("any key closes this")


@pytest.mark.long  # under load the help may still stand in the size of a moment before: see it with patience
def test_a_storm_of_sizes_ends_in_a_whole_screen_that_answers_keys(log: Path) -> None:
    with shown(log) as terminal:
        terminal.until(lambda: is_whole(terminal))
        storm(terminal, 25)


@pytest.mark.long
def test_a_long_storm_of_sizes_while_the_run_goes_on(log: Path) -> None:
    with shown(log) as terminal:
        terminal.until(lambda: is_whole(terminal))
        for round_ in range(40):
            grow(log, jsonl(losses(50, first=301 + 50 * round_)))
            for _ in range(25):
                terminal.resize(random.randint(1, 220), random.randint(1, 70))
                terminal.take(0.01)
        terminal.resize(120, 40)
        terminal.until("step 2,300")


@pytest.mark.parametrize("size", [(1, 1), (2, 1), (1, 40), (7, 3)])
def test_a_terminal_of_a_few_cells_neither_crashes_nor_hangs(log: Path, size: tuple[int, int]) -> None:
    with shown(log, size) as terminal:
        terminal.until(lambda: b"\x1b[?1000h" in terminal.seen, "mouse mode")
        terminal.resize(120, 40)
        terminal.until(lambda: is_whole(terminal), "whole screen")
        terminal.resize(*size)
        terminal.press("q")
        assert terminal.wait() == 0
        assert terminal.restored


def test_suspending_gives_the_terminal_back_and_continuing_draws_all_of_it_again(log: Path) -> None:
    with shown(log) as terminal:
        terminal.until(lambda: is_whole(terminal))
        terminal.signal(signal.SIGTSTP)
        terminal.wait_stopped()
        terminal.until(lambda: terminal.restored, "terminal as it was")
        terminal.emulator.reset()
        grow(log, jsonl(losses(20, first=301)))
        terminal.signal(signal.SIGCONT)
        terminal.until("step 320")
        terminal.until(lambda: terminal.lines[1].startswith("loss") and "q quit" in terminal.lines[-1], "whole screen")
        terminal.press("q")
        assert terminal.wait() == 0
        assert terminal.restored


def taken_over(terminal: Terminal) -> int:
    """How often the program has got ready to read keys; those that are pressed in between are thrown away."""
    return terminal.seen.count(b"\x1b[?2004h")


def test_a_stop_that_no_program_can_see_leaves_the_terminal_as_it_was_in_the_end(log: Path) -> None:
    with shown(log) as terminal:
        terminal.until(lambda: is_whole(terminal))
        terminal.signal(signal.SIGSTOP)
        terminal.wait_stopped()
        grow(log, jsonl(losses(20, first=301)))
        terminal.signal(signal.SIGCONT)
        terminal.until(lambda: taken_over(terminal) > 1 and "step 320" in terminal.lines[0])
        terminal.press("q")
        assert terminal.wait() == 0
        assert terminal.restored


def test_signals_in_the_middle_of_a_write_do_not_stop_the_program(log: Path) -> None:
    with shown(log) as terminal:
        terminal.until(lambda: is_whole(terminal))
        for step in range(301, 331, 2):
            grow(log, jsonl(losses(2, first=step)))
            terminal.signal(signal.SIGCONT)
            terminal.take(0.002)
        terminal.until("step 330")
        terminal.press("q")
        assert terminal.wait() == 0
        assert terminal.restored


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_told_to_end_it_ends_and_leaves_the_terminal_as_it_was(log: Path, number: signal.Signals) -> None:
    with shown(log) as terminal:
        terminal.until(lambda: is_whole(terminal))
        terminal.signal(number)
        assert terminal.wait() == 128 + number
        assert terminal.restored


def test_told_to_end_while_the_toolkit_loads_it_leaves_the_terminal_as_it_was(log: Path) -> None:
    with shown(log) as terminal:
        terminal.until(lambda: b"\x1b[?1049h" in terminal.seen, "first picture")
        terminal.signal(signal.SIGTERM)
        assert terminal.wait() == 128 + signal.SIGTERM
        assert terminal.restored


@pytest.mark.parametrize("ignore", [(), (signal.SIGHUP,)], ids=["hangup", "nohup"])
def test_a_dead_link_ends_the_program_even_where_it_is_not_told(log: Path, ignore: tuple[signal.Signals, ...]) -> None:
    with Terminal([*WATCH, str(log)], ignore=ignore) as terminal:
        terminal.until(lambda: is_whole(terminal))
        terminal.hang_up()
        grow(log, jsonl(losses(20, first=301)))
        assert terminal.wait() in (1, 128 + signal.SIGHUP)


def fill(pipe: int, content: bytes) -> None:
    """Writes all of it, as fast as the other side reads."""
    while content:
        assert select.select([], [pipe], [], PATIENCE)[1], "nobody reads the pipe"
        content = content[os.write(pipe, content[:4096]) :]


def test_while_nobody_reads_the_terminal_the_log_is_read_and_then_the_newest_frame_is_shown() -> None:
    reading, writing = os.pipe()
    with Terminal([*WATCH, "-"], stdin=reading) as terminal:
        fill(writing, jsonl(losses(300)))
        terminal.until(lambda: is_whole(terminal))
        for width in (119, 118, 117, 116, 120):
            # Whole repaints fill the terminal's buffer; from here on nothing is taken.
            terminal._set((width, 40))
            os.kill(terminal.pid, signal.SIGWINCH)
        # Ten times what a pipe holds goes only if it is read.
        fill(writing, jsonl(losses(9700, first=301)))
        terminal.until("step 10,000")
        terminal.press("q")
        assert terminal.wait() == 0
        os.close(writing)
    os.close(reading)


def test_told_to_end_while_nobody_reads_the_terminal_it_ends() -> None:
    reading, writing = os.pipe()
    with Terminal([*WATCH, "-"], stdin=reading) as terminal:
        fill(writing, jsonl(losses(300)))
        terminal.until(lambda: is_whole(terminal))
        for width in (119, 118, 117, 116, 120):
            terminal._set((width, 40))
            os.kill(terminal.pid, signal.SIGWINCH)
        terminal.signal(signal.SIGTERM)
        assert terminal.wait(reading=False) == 128 + signal.SIGTERM
        os.close(writing)
    os.close(reading)


def test_keys_come_from_the_terminal_while_the_log_comes_from_a_pipe() -> None:
    reading, writing = os.pipe()
    with Terminal([*WATCH, "-"], stdin=reading) as terminal:
        fill(writing, jsonl(losses(300)))
        terminal.until("step 300")
        terminal.press("?")
        terminal.until("any key closes this")
        terminal.press("xq")
        assert terminal.wait() == 0
        assert terminal.restored
        os.close(writing)
    os.close(reading)


def started(words: str, log: Path) -> Terminal:
    """Started by a shell, with redirections."""
    return Terminal(["/bin/sh", "-c", f"exec {sys.executable} -m tuimon.cli watch {words.format(log)}"])


@pytest.mark.parametrize("words", ["{} <&-", "{} <&- 2>&-", "{} < /dev/null 2> /dev/null"])
def test_closed_standard_streams_do_not_matter(log: Path, words: str) -> None:
    with started(words, log) as terminal:
        terminal.until(lambda: is_whole(terminal))
        terminal.press("q")
        assert terminal.wait() == 0
        assert terminal.restored


@pytest.mark.parametrize("words", ["/dev/stdin < {}", "- < {}"])
def test_standard_input_may_be_a_file_under_any_of_its_names(log: Path, words: str) -> None:
    with started(words, log) as terminal:
        terminal.until("stopped: end of input")
        assert "standard input  step 300" in terminal.lines[0]
        terminal.press("q")
        assert terminal.wait() == 0


def test_a_standard_input_that_is_closed_is_told(log: Path) -> None:
    with started("- <&-", log) as terminal:
        assert terminal.wait() == 2
        assert terminal.seen == b"tuimon: standard input is closed\r\n"


@pytest.mark.parametrize("kind", ["dumb", "unknown", ""])
def test_a_terminal_without_a_screen_gets_the_report_as_text(log: Path, kind: str) -> None:
    with Terminal([*WATCH, str(log)], environment={"TERM": kind}) as terminal:
        assert terminal.wait() == 0
        assert b"\x1b" not in terminal.seen
        assert b"verdict: healthy" in terminal.seen


def test_an_unheard_of_terminal_is_taken_for_a_usual_one(log: Path) -> None:
    with Terminal([*WATCH, str(log)], environment={"TERM": "no-such-terminal"}) as terminal:
        terminal.until(lambda: is_whole(terminal))
        terminal.press("q")
        assert terminal.wait() == 0


BROKEN_HEADER = """
import sys
import tuimon.panels.header as header
from tuimon.cli import main
drawn = header.header_line
def header_line(scene, width):
    if scene.last > 300:
        raise ZeroDivisionError("a\\x1b[31mfault")
    return drawn(scene, width)
header.header_line = header_line
sys.exit(main(["watch", sys.argv[1]]))
"""


def test_a_fault_in_a_widget_restores_the_terminal_and_is_told_in_one_line(log: Path) -> None:
    with Terminal([sys.executable, "-c", BROKEN_HEADER, str(log)]) as terminal:
        terminal.until(lambda: is_whole(terminal))
        grow(log, jsonl(losses(1, first=301)))
        assert terminal.wait() == 1
        assert terminal.restored
        left = terminal.seen.rpartition(b"\x1b[?1049l")[2].decode()
        assert "the screen stopped, a fault of its own: ZeroDivisionError: a" in left.replace("\r\n", "")
        assert "\x1b[31m" not in left and "Traceback" not in left and "locals" not in left
        assert left.count("\n") <= 2


def test_a_demo_that_is_told_to_end_takes_its_folder_along(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tuimon.cli", "demo", "healthy-warmup-hump"]
    with Terminal(command, environment={"TMPDIR": str(tmp_path)}) as terminal:
        terminal.until("q quit")
        assert list(tmp_path.glob("tuimon-demo-*"))
        terminal.signal(signal.SIGTERM)
        terminal.wait()
        assert not list(tmp_path.glob("tuimon-demo-*"))
        assert terminal.restored


def test_the_first_picture_stays_until_the_screen_has_a_better_one(tmp_path: Path) -> None:
    log = write(tmp_path, "long.jsonl", jsonl(losses(30_000)))
    with shown(log) as terminal:
        terminal.until(lambda: "\u28c0" <= max(terminal.text) < "\u2900" or curve(terminal) > 0, "curve")
        assert b"\x1b[?1000h" not in terminal.seen, "the toolkit came first"
        least = curve(terminal)

        def there() -> bool:
            nonlocal least
            least = min(least, curve(terminal))
            return "step 30,000" in terminal.lines[0] and "live" in terminal.lines[0]

        terminal.until(there, "whole history")
        assert least > 0


def curve(terminal: Terminal) -> int:
    """Cells with a piece of a curve."""
    return sum("\u2801" <= cell < "\u2900" for cell in terminal.text)


def test_keys_typed_while_the_toolkit_loads_are_not_echoed_and_not_lost(log: Path) -> None:
    with shown(log) as terminal:
        terminal.until(lambda: b"\x1b[?1049h" in terminal.seen, "first picture")
        assert not termios.tcgetattr(terminal.slave)[3] & termios.ECHO
        terminal.press("?")
        terminal.until("any key closes this")
