"""Before the toolkit: a keyboard and a screen, a first picture on it, and no echo of keys that are typed early."""

from __future__ import annotations

import contextlib
import os
import sys
import termios
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tuimon.store import Store

SCREEN = 2
"""Descriptor that the toolkit draws on."""


class Early:
    """The first picture.

    Attributes:
        store: the samples that it shows, None where the input cannot be sampled.
        handed_over: somebody else owns the terminal now, and restores it.
    """

    def __init__(self, store: Store | None) -> None:
        self.store = store
        self.handed_over = False
        self._keyboard = termios.tcgetattr(0) if store else None

    def hush(self) -> None:
        """Keys wait unseen for whoever reads them."""
        if self._keyboard is not None:
            silent = termios.tcgetattr(0)
            silent[3] &= ~(termios.ECHO | termios.ICANON)
            termios.tcsetattr(0, termios.TCSANOW, silent)

    def hand_over(self) -> None:
        """The toolkit takes over: it finds the keyboard as we found it, and leaves it so when it is suspended."""
        self.handed_over = True
        if self._keyboard is not None:
            # The terminal may be gone.
            with contextlib.suppress(termios.error):
                termios.tcsetattr(0, termios.TCSANOW, self._keyboard)


@contextlib.contextmanager
def early(file: str, name: str, *, plain: bool = False, theme: str = "dark", **source: Any) -> Iterator[Early]:
    """Draws the picture; at the end the keyboard is as it was, and the screen too if nobody took it over.

    Args:
        file: path of the log.
        name: of it, as a person may see it.
        plain: ASCII only.
        theme: a key of PALETTES.
        source: `roles` and `step`, as `open_source` takes them; with a `format` forced there is no picture.
    """
    store = None if source.pop("format", None) else _samples(file, **source)
    found = Early(store)
    if store is None:
        yield found
        return
    from tuimon.panels.palette import PALETTES
    from tuimon.panels.preview import LEAVE, first_picture

    size = os.get_terminal_size(SCREEN)
    found.hush()
    try:
        colours = None if os.environ.get("NO_COLOR") else PALETTES[theme]
        _write(first_picture(store, name, size.columns, size.lines, plain=plain, colours=colours))
        yield found
    finally:
        if not found.handed_over:
            found.hand_over()
            _write(LEAVE)


def _samples(file: str, **source: Any) -> Store | None:
    from tuimon.sources.samples import sampled
    from tuimon.store import Store

    batch = sampled(file, **source)
    if batch is None:
        return None
    store = Store()
    store.append(batch)
    return store


def _write(sequences: str) -> None:
    rest = sequences.encode()
    with contextlib.suppress(OSError):
        while rest:
            rest = rest[os.write(SCREEN, rest) :]


def keyboard_and_screen() -> int | None:
    """Makes file descriptor 0 the keyboard and 2 the screen, whatever the shell connected them to, or closed.

    Returns:
        The descriptor that standard input can be read from now, None where it was closed.

    Raises:
        OSError: no controlling terminal.
    """
    stdin: int | None = 0
    if not os.isatty(0):
        try:
            keyboard = os.open("/dev/tty", os.O_RDWR)
        except OSError:
            raise OSError(6, "no terminal to read keys from (over ssh: ssh -t)") from None
        if keyboard:
            stdin = os.dup(0)
            os.dup2(keyboard, 0)
            os.close(keyboard)
        else:
            # The lowest free descriptor was 0 itself.
            stdin = None
            os.set_inheritable(0, True)
    if not os.isatty(SCREEN):
        # The toolkit draws on standard error, which may go into a file.
        os.dup2(1, SCREEN)
    # Python makes no stream for a descriptor that was closed when it started, and the toolkit wants one.
    if sys.__stdin__ is None:
        sys.stdin = sys.__stdin__ = open(0, encoding="utf-8", closefd=False)  # type: ignore[misc]  # noqa: SIM115
    if sys.__stderr__ is None:
        sys.stderr = sys.__stderr__ = open(SCREEN, "w", encoding="utf-8", closefd=False)  # type: ignore[misc]  # noqa: SIM115
    return stdin
