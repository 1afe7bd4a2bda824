"""Untrusted text on its way to a terminal."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tuimon.plain import plain_text


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("run 7", "run 7"),
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x9b2Jcleared", "cleared"),
        ("\x1b]0;owned\x07title", "title"),
        ("\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x1bPq#0\x1b\\sixel", "sixel"),
        ("\x1b", ""),
        ("two\nlines\tand\r\nmore", "two lines and more"),
        ("back\x08space\x00", "back?space?"),
        ("left\u202eright", "left?right"),
        ("half\ud800", "half?"),
        ("[b]bold[/b]", "[b]bold[/b]"),
        ("größe 学習", "größe 学習"),
        (None, "None"),
    ],
)
def test_what_a_terminal_would_obey_is_gone_and_the_rest_is_kept(written: object, shown: str) -> None:
    assert plain_text(written) == shown


def test_a_long_text_is_cut_with_an_ellipsis() -> None:
    assert plain_text("x" * 300, limit=10) == "x" * 9 + "…"
    assert plain_text("x" * 10, limit=10) == "x" * 10


@given(st.text(alphabet=st.characters(), max_size=300), st.integers(1, 50))
def test_any_text_becomes_one_printable_line_within_the_limit(written: str, limit: int) -> None:
    shown = plain_text(written, limit)
    assert shown.isprintable()
    assert len(shown) <= limit
    assert plain_text(shown, limit) == shown
