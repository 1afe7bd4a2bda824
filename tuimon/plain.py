"""The one door between untrusted text and a terminal (stdlib only).

Run names, notes, metric names and file names are written by whoever wrote the log. Nothing of them that could move a
cursor, change a colour, set a title or turn the reading direction reaches a screen. Markup is not this module's matter:
screens show text as text (`Content(...)`, never `Content.from_markup`).
"""

from __future__ import annotations

import re
from functools import lru_cache

LIMIT = 200
"""Characters of one text that are shown: two lines of a usual terminal, far more than any honest name needs."""

# A whole escape sequence goes at once, so that "\x1b[31mred" leaves "red" and not "[31mred": CSI; strings (OSC, DCS,
# SOS, PM, APC) up to their terminator; any other two-character escape. The C1 forms of both openers count as well.
_ESCAPES = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]?"
    r"|(?:\x1b[\]PX^_]|[\x90\x98\x9d\x9e\x9f])[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)?"
    r"|\x1b[ -/]*[0-~]?"
)
_BLANKS = re.compile(r"[\s\x85\u2028\u2029]+")


def plain_text(s: object, limit: int = LIMIT) -> str:
    """`s` on one line, with nothing in it that a terminal would obey.

    Args:
        s: any value; what is no string is shown as `str` gives it.
        limit: longest result in characters; what is cut ends in an ellipsis.

    Returns:
        Printable characters and single blanks. Escape sequences are gone, other unprintable characters (controls, lone
        surrogates, direction overrides, unassigned code points) are shown as "?".
    """
    # Cutting before cleaning bounds the work on a huge name; eight times leaves room for what cleaning removes.
    return _cleaned(str(s)[: 8 * limit + 8], limit)


# The same names are asked for in every frame.
@lru_cache(maxsize=256)
def _cleaned(text: str, limit: int) -> str:
    text = _BLANKS.sub(" ", _ESCAPES.sub("", text)).strip()
    if not text.isprintable():
        text = "".join(character if character.isprintable() else "?" for character in text)
    return text if len(text) <= limit else text[: max(limit - 1, 0)] + "\N{HORIZONTAL ELLIPSIS}"


def fault_text(error: BaseException) -> str:
    """An error of our own on one line, for whoever reports it: what it was and where."""
    import traceback

    frames = traceback.extract_tb(error.__traceback__)
    own = next((frame for frame in reversed(frames) if "tuimon" in frame.filename), frames[-1] if frames else None)
    what = plain_text(f"{type(error).__name__}: {error}", 240)
    return f"{what} ({plain_text(own.filename.rpartition('tuimon/')[2], 60)}:{own.lineno})" if own else what
