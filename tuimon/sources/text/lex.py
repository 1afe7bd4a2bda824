r"""A line, cut into its numbers and the text between them. Every pattern here is linear in the length of the line.

"step:   12/400 loss=2.5" is cut into the texts ("step:", "/", " loss=", "") and the numbers ("12", "400", "2.5"). All
lines that one `print` of a training loop writes have the same texts, so that what they mean is worked out once only.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

LONGEST = 16 * 1024
"""Characters of a line that are looked at; the longest record seen in public logs has 6,000."""

MOST_GROUPS = 80
"""Numbers of a line for which a pattern is made; beyond, matching it is no quicker than cutting."""

# Cursor movements, colours and titles that a terminal would have swallowed.
_ESCAPES = re.compile(r"\x1b(?:\[[0-?]{0,40}[ -/]{0,4}[@-~]?|\][^\x07\x1b]{0,200}(?:\x07|\x1b\\)?|[@-Z\\^_])")

# "I0821 09:21:09.230595  5405 solver.cpp:397] ", glog's prefix.
_GLOG = re.compile(r"[IWEF]\d{4} [^\]]{0,80}\] ?")

# Quote marks of a mail or an issue, fences and rank prefixes before the line.
_QUOTE = re.compile(r"(?:> ?){1,3}(?=\S)")

# Dates, times of day and durations with colons: they are numbers of no metric.
_STAMP = re.compile(
    r"(?<![\w.])(?:"
    r"\d{4}[-/.]\d\d?[-/.]\d\d?(?:[T_ ]{1,2}\d\d?:\d\d(?::\d\d(?:[.,]\d{1,9})?)?Z?)?"
    r"|\d\d[-/]\d\d \d\d:\d\d(?::\d\d)?"
    r"|\d{1,9}:\d\d(?::\d\d){0,2}(?:[.,]\d{1,9})?"
    r")(?!\w)"
)

# A tqdm bar "45%|####4     |" becomes "%|"; a Keras bar "[===>...]" becomes "[=]", or "[>]" while it is not full.
_TQDM = re.compile(r"\d{1,3}%\|[^|]{0,300}\|")
_KERAS = re.compile(r"\[=*(?:>?\.*)\]|\u2501+")
_BLANKS = re.compile(r"[ \t]{2,}|\t")

_WORD_BEFORE = "(?<=epoch)|(?<=Epoch)|(?<=batch)|(?<=step)|(?<=iter)"
_FINITE = r"(?:\d{1,3}(?:,\d{3}){1,5}(?![\d,])|\d+)(?:\.\d*)?(?:[eE][-+]?\d+)?|\.\d+(?:[eE][-+]?\d+)?"
# "number of nan iterations" and "infinite or NaN" are prose, "nanms" and "+nanz" are units of something undefined.
_NAMED = r"(?i:nan|nanxxx|inf|infinity)"
_PROSE = "(?<!of )(?<!or )(?<!no )(?<!any )(?<!for )(?<!to )(?<!a )(?<!has )(?<!if )"
_OTHER = _PROSE + _NAMED + r"(?![\w-])|(?<=[:=] )(?i:n/a|none|null)(?!\w)|(?<=[:=])(?i:none|null)(?!\w)"
_NUMBER = re.compile(
    # The look ahead at one character is what makes cutting quick: most are letters that begin no number.
    rf"(?=[ \d.+nNiI-]) {{0,2}}((?:(?<![\w.@])(?<![A-Za-z]-)|{_WORD_BEFORE})[-+]?(?:{_FINITE})(?![\d_]|\.\d)"
    rf"|(?<![\w.+-])[-+]?(?:{_OTHER}))"
)
_MAYBE = re.compile(r"\d|nan|inf|none|null|n/a", re.IGNORECASE)


def plain(line: str) -> str:
    """`line` without colours and cursor movements, at most LONGEST characters of it."""
    line = line[:LONGEST]
    return _ESCAPES.sub("", line) if "\x1b" in line else line


def tidy(line: str) -> str:
    """`line` without what only decorates it, and with at most two blanks in a row."""
    line = plain(line)
    if line[:1] in "> " and line.lstrip()[:1] == ">":
        line = _QUOTE.sub("", line, count=1)
    if "|" in line and "%" in line:
        line = _TQDM.sub("%|", line)
    if "[=" in line or "[>" in line or "[." in line or "\u2501" in line:
        line = _KERAS.sub(_keras, line)
    if "  " in line or "\t" in line:
        line = _BLANKS.sub("  ", line)
    if ":" in line or "/" in line or "-" in line:
        if line[:1] in "IWEF" and line[1:5].isdigit():
            line = _GLOG.sub("", line, count=1)
        line = _STAMP.sub("", line)
    return line.strip()


def _keras(bar: re.Match[str]) -> str:
    text = bar[0]
    return "[=]" if "=" in text and "." not in text and ">" not in text else "[>]" if text[0] == "[" else "[~]"


def cut(line: str) -> list[str]:
    """Texts and numbers of a tidy line in turn: text, number, text, ..., text."""
    if _MAYBE.search(line) is None:
        return [line]
    return _NUMBER.split(line)


_MARK = "\x02"
_GAP = re.compile(r"(?:\\?[ \t])+")
_ANY_STAMP = r"\d[\d:/.,TZ-]{0,40}(?: \d[\d:.,]{0,30})?"


def pattern(line: str, numbers: Sequence[str]) -> re.Pattern[str] | None:
    """What matches lines of the same layout as `line` as they stand in the file, with a group for each number.

    Matching one layout takes a twentieth of the time of tidying and cutting. None where that would not give the same.
    """
    if len(line) > LONGEST or len(numbers) > MOST_GROUPS or not line.replace("\t", " ").isprintable():
        return None
    if "%|" in line or "[=" in line or "[>" in line or "\u2501" in line or line.lstrip()[:1] == ">":
        return None
    parts = cut(_STAMP.sub(_MARK, line.strip()))
    if _MARK in line or parts[1::2] != list(numbers):
        return None
    texts = [_GAP.sub("[ \\\\t]*", re.escape(text)).replace(_MARK, _ANY_STAMP) for text in parts[::2]]
    group = rf"[ \t]*([-+]?(?:{_FINITE}|{_NAMED}))"
    return re.compile(r"[ \t]*" + group.join(texts) + r"[ \t]*")
