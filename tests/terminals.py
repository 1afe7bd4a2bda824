"""A program on a pseudo-terminal of its own, and what a person would see there."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import signal
import struct
import sys
import termios
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from types import TracebackType

import pyte

PATIENCE = 40.0
"""Seconds until a wait is given up: far above what a busy machine needs."""

WATCH = (sys.executable, "-m", "tuimon.cli", "watch")

# Questions to the terminal and modes that the emulator does not know and would print.
_UNKNOWN = re.compile(rb"\x1b\[[<>=][0-9;]*[a-z]|\x1b\[\?[0-9;]*\$p")
_ALTERNATE = re.compile(rb"(\x1b\[\?1049[hl])")


class Terminal:
    """A process whose controlling terminal is a pty.

    Attributes:
        pid: of the process.
        seen: every byte it wrote.
        status: its exit code, negative for a signal; None while it runs.
    """

    def __init__(
        self,
        command: Sequence[str],
        size: tuple[int, int] = (120, 40),
        *,
        environment: dict[str, str] | None = None,
        stdin: int | None = None,
        ignore: Sequence[signal.Signals] = (),
    ) -> None:
        self.seen = b""
        self.status: int | None = None
        self._fed = 0
        self._master, self.slave = pty.openpty()
        self.before = termios.tcgetattr(self.slave)
        self._set(size)
        self.emulator = pyte.Screen(*size)
        self._stream = pyte.ByteStream(self.emulator)
        self.pid = os.fork()
        if self.pid == 0:
            self._become(command, environment or {}, stdin, ignore)

    def _become(
        self, command: Sequence[str], environment: dict[str, str], stdin: int | None, ignore: Sequence[signal.Signals]
    ) -> None:
        try:
            os.setsid()
            fcntl.ioctl(self.slave, termios.TIOCSCTTY, 0)
            os.dup2(self.slave if stdin is None else stdin, 0)
            os.dup2(self.slave, 1)
            os.dup2(self.slave, 2)
            os.closerange(3, 256)
            # Whatever the tests themselves were started under, `nohup` among it.
            for number in (signal.SIGHUP, signal.SIGTERM, signal.SIGINT):
                signal.signal(number, signal.SIG_IGN if number in ignore else signal.SIG_DFL)
            calm = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "COLUMNS", "LINES")}
            os.execve(command[0], list(command), {**calm, "TERM": "xterm-256color", **environment})
        finally:
            os._exit(127)

    def __enter__(self) -> Terminal:  # noqa: PYI034 - typing.Self is not in Python 3.10
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.status is None:
            with suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        self.hang_up()

    def hang_up(self) -> None:
        """The link dies: nobody holds the terminal any more."""
        for descriptor in (self._master, self.slave):
            if descriptor >= 0:
                os.close(descriptor)
        self._master = self.slave = -1

    def _set(self, size: tuple[int, int]) -> None:
        fcntl.ioctl(self.slave, termios.TIOCSWINSZ, struct.pack("HHHH", size[1], size[0], 0, 0))

    def resize(self, width: int, height: int) -> None:
        """The window changes; the kernel tells the foreground process group."""
        self.take(0)
        self._feed()
        self._set((width, height))
        self.emulator.resize(height, width)
        os.kill(self.pid, signal.SIGWINCH)

    def take(self, seconds: float) -> bool:
        """Reads what is there, waiting at most so long for it."""
        if self._master < 0 or not select.select([self._master], [], [], seconds)[0]:
            return False
        try:
            got = os.read(self._master, 1 << 16)
        except OSError:
            return False
        self.seen += got
        return bool(got)

    def _feed(self) -> None:
        rest = self.seen[self._fed :]
        # Half a sequence waits for its other half.
        cut = rest.rfind(b"\x1b")
        whole = rest if cut < 0 or len(rest) - cut > 40 else rest[:cut]
        self._fed += len(whole)
        for part in _ALTERNATE.split(_UNKNOWN.sub(b"", whole)):
            if part == b"\x1b[?1049h":
                continue
            if part == b"\x1b[?1049l":
                self.emulator.erase_in_display(2)
            else:
                self._stream.feed(part)

    @property
    def lines(self) -> list[str]:
        """What stands on the screen."""
        self._feed()
        return [line.rstrip() for line in self.emulator.display]

    @property
    def text(self) -> str:
        return "\n".join(self.lines)

    def until(self, shown: str | Callable[[], bool], what: str = "") -> None:
        """Reads until a text stands on the screen, or a condition holds."""
        end = time.monotonic() + PATIENCE
        while not (shown in self.text if isinstance(shown, str) else shown()):
            assert time.monotonic() < end, f"no {what or shown!r} on\n{self.text}\n{self.seen[-2000:]!r}"
            self.take(0.05)

    def press(self, keys: str) -> None:
        os.write(self._master, keys.encode())

    def signal(self, number: signal.Signals) -> None:
        os.kill(self.pid, number)

    def wait(self, *, reading: bool = True) -> int:
        """The exit code; what is written until then is read, unless nobody reads."""
        end = time.monotonic() + PATIENCE
        while self.status is None:
            found, status = os.waitpid(self.pid, os.WNOHANG)
            if found:
                self.status = os.waitstatus_to_exitcode(status)
            else:
                assert time.monotonic() < end, f"still running\n{self.text}"
                if not reading or not self.take(0.02):
                    select.select([], [], [], 0.01)
        # The kernel hands the last bytes over a little later.
        while reading and self.take(0.2):
            pass
        return self.status

    def wait_stopped(self) -> None:
        """Until the process was stopped by a signal."""
        end = time.monotonic() + PATIENCE
        while True:
            found, status = os.waitpid(self.pid, os.WUNTRACED | os.WNOHANG)
            if found:
                assert os.WIFSTOPPED(status)
                return
            assert time.monotonic() < end, "not stopped"
            self.take(0.02)

    @property
    def restored(self) -> bool:
        """The keyboard as it was, the alternate screen left, the cursor shown, mouse, focus and paste reports off."""
        off = (b"\x1b[?1049l", b"\x1b[?25h", b"\x1b[?1000l", b"\x1b[?1004l", b"\x1b[?2004l")
        on = (b"\x1b[?1049h", b"\x1b[?25l", b"\x1b[?1000h", b"\x1b[?1004h", b"\x1b[?2004h")
        as_before = termios.tcgetattr(self.slave)[:4] == self.before[:4]
        return as_before and all(self.seen.rfind(a) >= self.seen.rfind(b) for a, b in zip(off, on, strict=True))
