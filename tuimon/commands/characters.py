"""Output that cannot write every character, as in a C locale: what it lacks is spelled in ASCII, and nothing fails."""

from __future__ import annotations

import codecs
import sys
from typing import TextIO

SPELLED = {
    "\N{HORIZONTAL ELLIPSIS}": "...",
    "\N{MULTIPLICATION SIGN}": "x",
    "\N{INFINITY}": "i",
    "\N{BLACK UP-POINTING TRIANGLE}": "^",
    "\N{BLACK DOWN-POINTING TRIANGLE}": "v",
    "\N{MIDDLE DOT}": "-",
    "\N{BULLET}": "*",
    "\N{BALLOT X}": "X",
    "\N{CHECK MARK}": "+",
    **dict.fromkeys("─━╌┄", "-"),
    **dict.fromkeys("│┃┆┊", "|"),
    **dict.fromkeys("┌┐└┘├┤┬┴┼", "+"),
}
"""Characters of ours, and what is written for them."""

SAMPLE = "\N{BRAILLE PATTERN DOTS-1}\N{BOX DRAWINGS LIGHT HORIZONTAL}\N{BALLOT X}"


def writes_pictures(stream: TextIO | None = None) -> bool:
    """Whether the stream (standard output if None) can write the characters of our pictures."""
    stream = sys.stdout if stream is None else stream
    try:
        SAMPLE.encode(stream.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def spell_what_is_lacking() -> None:
    """Has standard output and standard error write ASCII for what they cannot encode."""
    codecs.register_error("tuimon-spelled", _spelled)
    for stream in (sys.stdout, sys.stderr):
        if not writes_pictures(stream) and hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="tuimon-spelled")


def _spelled(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return "".join(SPELLED.get(character, "?") for character in error.object[error.start : error.end]), error.end


def spelled(text: str) -> str:
    """The text in ASCII."""
    return "".join(character if character.isascii() else SPELLED.get(character, "?") for character in text)
