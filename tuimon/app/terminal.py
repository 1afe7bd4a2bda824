"""The terminal itself, where the toolkit has no word for what this program needs of it."""

from __future__ import annotations

import asyncio
import contextlib
import select
import signal
import sys
import termios
import threading
import time
from collections.abc import Callable
from typing import Literal

from textual.driver import Driver

from tuimon.plain import fault_text

CLICKS_ONLY = "\x1b[?1003l\x1b[?1002l"
"""Takes back the report of every motion: it costs bytes on the way to the program, and no panel uses it."""

PATIENCE = 1.0
"""Seconds that a program which was told to end waits for a stalled terminal to take its last words."""

INPUT = "textual-input"
"""Name of the toolkit's thread that reads the keys."""

RETRY = 0.05
"""Seconds between attempts to free a writer that waits."""

WRITER = "textual-output"
"""Name of the toolkit's thread that writes to the terminal."""

State = Literal["ready", "stalled", "gone"]


def terminal_state() -> State:
    """Whether the terminal would take bytes now, is stalled (flow control, a slow or dead link), or was closed.

    A frame for a stalled terminal is skipped: the toolkit queues thirty writes and then stops the whole program.
    """
    try:
        poll = select.poll()
        poll.register(sys.__stderr__.fileno(), select.POLLOUT)  # type: ignore[union-attr]
        ready = poll.poll(0)
    except (AttributeError, OSError, ValueError):
        return "gone"
    if not ready:
        return "stalled"
    return "gone" if ready[0][1] & (select.POLLHUP | select.POLLERR | select.POLLNVAL) else "ready"


def only_clicks(driver: Driver | None) -> None:
    """Has the terminal report clicks and the wheel, and no motion."""
    if driver is not None:
        driver.write(CLICKS_ONLY)


def cut_off(driver: Driver | None) -> None:
    """Writes nothing more to a terminal that is gone: the toolkit's queue would fill, and then wait for ever."""
    if driver is not None:
        driver.write = lambda _: None  # type: ignore[method-assign,assignment]


def on_signals(leave: Callable[[int], object]) -> None:
    """Has `leave(exit code)` called when the program is told to end; a second signal ends it at once."""
    loop = asyncio.get_running_loop()

    def told(number: signal.Signals) -> None:
        loop.remove_signal_handler(number)
        leave(128 + number)
        # Heard by nobody, but a write that waits for the terminal is interrupted by it, and looks again.
        signal.signal(signal.SIGALRM, lambda *_: None)
        threading.Thread(target=discard_output, name="tuimon-end", daemon=True).start()

    for number in (signal.SIGTERM, signal.SIGHUP):
        # Whoever started us with `nohup` wants it ignored; outside the main thread signals are not ours.
        if signal.getsignal(number) is not signal.SIG_IGN:
            with contextlib.suppress(ValueError, RuntimeError):
                loop.add_signal_handler(number, told, number)


def on_stops(driver: Driver | None) -> None:
    """Has the terminal given back on Ctrl+Z and taken over anew afterwards, from the event loop.

    Two faults of the toolkit's own handlers, which run in the middle of whatever is going on:
    a signal that comes during a write to the terminal writes too, and waits for ever for the lock that it interrupted;
    after a stop that nobody told of (SIGSTOP, a frozen container) a second reader of keys starts beside the one that is
    still there: each key wakes both, one gets it, and the other waits in a read that nobody can end.
    """
    stop, takes_over = signal.getsignal(signal.SIGTSTP), signal.getsignal(signal.SIGCONT)
    if driver is None or not callable(stop) or not callable(takes_over):
        return

    def continued() -> None:
        if terminal_state() == "gone":
            return  # a hang-up continues the program too, and what is written then is never taken
        if any(thread.name == INPUT for thread in threading.enumerate()):
            driver.suspend_application_mode()
        takes_over(signal.SIGCONT, None)

    loop = asyncio.get_running_loop()
    with contextlib.suppress(ValueError, RuntimeError):  # outside the main thread signals are not ours
        loop.add_signal_handler(signal.SIGTSTP, stop, signal.SIGTSTP, None)
        loop.add_signal_handler(signal.SIGCONT, continued)


def discard_output() -> None:
    """Drops what a stalled terminal does not take, until the toolkit's writer has nothing left to wait for."""
    time.sleep(PATIENCE)
    while writers := [thread for thread in threading.enumerate() if thread.name == WRITER]:
        with contextlib.suppress(termios.error, OSError, ValueError, AttributeError):
            termios.tcflush(sys.__stderr__.fileno(), termios.TCOFLUSH)  # type: ignore[union-attr]
        for thread in writers:
            signal.pthread_kill(thread.ident or 0, signal.SIGALRM)
        time.sleep(RETRY)


def fault(error: BaseException) -> str:
    """One line on an error of our own: what it was and where, for whoever reports it."""
    return f"tuimon: the screen stopped, a fault of its own: {fault_text(error)}"
