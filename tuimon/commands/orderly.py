"""An orderly end when the program is told to go."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Iterator
from types import FrameType


@contextlib.contextmanager
def orderly() -> Iterator[None]:
    """SIGTERM and SIGHUP end the block as SystemExit, so that files go away and the terminal is as it was.

    Only in the main thread, which alone hears signals; one that is ignored (`nohup`) stays ignored.
    """
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


def _leave(number: int, _: FrameType | None) -> None:
    raise SystemExit(128 + number)
