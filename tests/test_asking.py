"""Questions that one key answers, on a real terminal."""

from __future__ import annotations

import os
import termios
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tuimon.commands.asking import ask

# Terminals of a busy machine: a second look before it counts.
pytestmark = pytest.mark.flaky(reruns=2)


@contextmanager
def terminal(monkeypatch: pytest.MonkeyPatch, keys: bytes) -> Iterator[int]:
    """Standard input is a terminal at which these keys are pressed."""
    controller, terminal = os.openpty()
    try:
        with open(terminal, encoding="utf-8", closefd=False) as stdin:
            monkeypatch.setattr("sys.stdin", stdin)
            # Pressed a little later: changing the terminal's mode may drop what was typed before.
            timer = threading.Timer(0.1, os.write, (controller, keys))
            timer.start()
            yield terminal
            timer.join()
    finally:
        os.close(controller)
        os.close(terminal)


@pytest.mark.parametrize(
    ("keys", "answer"),
    [(b"q", "q"), (b"3", "3"), (b"\n", ""), (b"healthx\x7fy\n", "healthy"), (b"\x7f\x1b9\n", "9"), (b"xq\n", "xq")],
)
def test_a_key_answers_at_once_and_a_name_needs_enter(
    keys: bytes, answer: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with terminal(monkeypatch, keys) as descriptor:
        before = termios.tcgetattr(descriptor)
        assert ask("which? ", "q123") == answer
        assert termios.tcgetattr(descriptor) == before
    assert capsys.readouterr().out.startswith("which? ")


def test_the_end_of_the_input_is_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    with terminal(monkeypatch, b"\x04"), pytest.raises(EOFError):
        ask("", "q")


def test_nothing_in_time_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    with terminal(monkeypatch, b""):
        assert ask("", "q", 0.0) is None
