"""A question on the terminal that a single key answers."""

from __future__ import annotations

import os
import select
import sys


def ask(prompt: str, at_once: str, seconds: float | None = None) -> str | None:
    """What the user types, up to Enter; a first key that is one of `at_once` needs no Enter.

    Args:
        prompt: printed before.
        at_once: the keys.
        seconds: how long to wait for a first key, None for ever.

    Returns:
        The answer without its Enter; None when nothing came in time.

    Raises:
        EOFError: the input has ended (Ctrl-D).
    """
    print(prompt, end="", flush=True)
    descriptor = sys.stdin.fileno()
    if not sys.stdin.isatty():
        return sys.stdin.readline().rstrip("\n") if _is_ready(descriptor, seconds) else None
    import termios
    import tty

    before = termios.tcgetattr(descriptor)
    try:
        tty.setcbreak(descriptor)
        answer = _typed(descriptor, at_once, seconds)
    finally:
        termios.tcsetattr(descriptor, termios.TCSADRAIN, before)
        print(flush=True)
    return answer


def _is_ready(descriptor: int, seconds: float | None) -> bool:
    return bool(select.select([descriptor], [], [], seconds)[0])


def _typed(descriptor: int, at_once: str, seconds: float | None) -> str | None:
    """Keys one by one, echoed, because the terminal does neither lines nor echo now."""
    typed = ""
    while _is_ready(descriptor, seconds):
        seconds = None
        key = os.read(descriptor, 1).decode("ascii", "replace")
        if key in {"", "\x04"}:
            raise EOFError
        if key in "\r\n":
            return typed
        if key in "\x7f\b":
            if typed:
                typed = typed[:-1]
                print("\b \b", end="", flush=True)
        elif key.isprintable():
            print(key, end="", flush=True)
            typed += key
            if len(typed) == 1 and typed in at_once:
                return typed
    return None
