"""The terminal itself, where the toolkit has no word for what this program needs of it."""

from __future__ import annotations

import select
import sys

from textual.driver import Driver

CLICKS_ONLY = "\x1b[?1003l\x1b[?1002l"
"""Takes back the report of every motion: it costs bytes on the way to the program, and no panel uses it."""


def takes_output() -> bool:
    """The terminal would take bytes now; False while it is stalled (flow control, a dead link).

    A frame for a stalled terminal is skipped: the toolkit queues thirty writes and then stops the whole program.
    """
    try:
        file = sys.__stderr__
        if file is None or not file.isatty():
            return True
        return bool(select.select([], [file.fileno()], [], 0)[1])
    except (OSError, ValueError):
        # No terminal to ask: a test, or one that is just going away; the toolkit deals with both.
        return True


def only_clicks(driver: Driver | None) -> None:
    """Has the terminal report clicks and the wheel, and no motion."""
    if driver is not None:
        driver.write(CLICKS_ONLY)
