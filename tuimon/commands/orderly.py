"""An orderly end, however the program comes to it: told to go, or with the terminal in a state that nobody meant."""

from __future__ import annotations

import contextlib
import os
import signal
import termios
from collections.abc import Iterator
from types import FrameType


@contextlib.contextmanager
def orderly() -> Iterator[None]:
    """SIGTERM and SIGHUP end the block as SystemExit, so that files go away and the terminal is as it was.

    Only in the main thread, which alone hears signals; one that is ignored (`nohup`) stays ignored.
    """
    terminal = next((number for number in (0, 2, 1) if os.isatty(number)), None)
    modes = _modes(terminal)
    before = {}
    with contextlib.suppress(ValueError):
        for number in (signal.SIGTERM, signal.SIGHUP):
            if signal.getsignal(number) is signal.SIG_DFL:
                before[number] = signal.signal(number, _leave)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        _restore(terminal, modes)


def _modes(terminal: int | None) -> list[object] | None:
    """How the terminal treats keys, None without one."""
    if terminal is not None:
        with contextlib.suppress(termios.error):
            return termios.tcgetattr(terminal)
    return None


def _restore(terminal: int | None, modes: list[object] | None) -> None:
    """Gives the terminal its modes back.

    The toolkit does so too, but with those that it found when it took over last. After a stop that no program can see
    (SIGSTOP, a frozen container) these are its own.
    """
    if terminal is None or modes is None or _modes(terminal) == modes:
        return
    # In the background the terminal is somebody else's, and changing it would stop this program. It may also be gone.
    with contextlib.suppress(termios.error, OSError):
        if os.tcgetpgrp(terminal) == os.getpgrp():
            termios.tcsetattr(terminal, termios.TCSANOW, modes)  # type: ignore[arg-type]


def _leave(number: int, _: FrameType | None) -> None:
    raise SystemExit(128 + number)
