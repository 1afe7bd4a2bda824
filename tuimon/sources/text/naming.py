"""What a number is called, by the text in front of it."""

from __future__ import annotations

import re

from tuimon.sources.names import match
from tuimon.sources.text import words as w

_OPENERS = re.compile(r"(?:[\[({'\"<]|\b(?:tensor|array|np\.float\d\d|float)\(){1,8}$")
_SEPARATOR = re.compile(r"\s*(?::|=|->|\bis\b|\bwas\b|\.{3,}|\u2014)\s*$")
_DELIMITER = re.compile(r"'(?!s )|[|,;:=>{}\t\"\u2014]|  |\]|\)(?=\s*\S)|\. | - |--|^-")
_PARENTHESIS = re.compile(r"\s*\(([^()]*)\)$")
_BULLET = re.compile(r"^[\s>*#\u2022.-]+")
_IDENTIFIER = re.compile(r"[A-Za-z][\w./@-]*$")
_MARKDOWN = {ord("*"): None, ord("`"): None}
BOX = re.compile(r"^\|\s*([A-Za-z][^|]*?)\s*\|$")
"""A row of a table of two columns, up to its number."""


def name_before(text: str, first: bool) -> str:
    """The name that `text`, standing before a number, gives to it; empty for none."""
    box = BOX.match(text) if first else None
    if box:
        return box[1].strip()
    stripped = text.translate(_MARKDOWN).rstrip()
    if opened := _OPENERS.search(stripped):
        stripped = stripped[: opened.start()].rstrip()
    separator = _SEPARATOR.search(stripped)
    if separator:
        return _explicit(stripped[: separator.start()].rstrip(), first)
    if opened and not stripped:
        return ""
    return _bare(stripped, first)


def _explicit(text: str, first: bool) -> str:
    """The name in front of a ":" or "="."""
    if not text:
        return ""
    if text[-1] in "'\"":
        return text[:-1].rpartition(text[-1])[2].strip()
    remark = _PARENTHESIS.search(text)
    word = remark[1].strip().lower() if remark else ""
    if word in w.TIME_UNITS:
        return "time"
    if remark:
        text = text[: remark.start()] + (f" {word}" if w.PHASE.fullmatch(word) else "")
    parts = _last_part(text, first)
    name = " ".join(parts[-6:])
    if "(" in name and ")" not in name:
        name = name.rpartition("(")[2]
    name = name.lstrip("([ ")
    if len(parts) > 1 and not is_step(name) and match(name) is None:
        return _sure_tail(parts) or name
    return name


def _sure_tail(parts: list[str]) -> str:
    """The last words, if they are a well-known name: in "N/A total_loss:" a word that was no number stands before."""
    tails = (" ".join(parts[-count:]) for count in (3, 2, 1) if count < len(parts))
    return next((tail for tail in tails if (found := match(tail)) is not None and found.rank < 20), "")


def _last_part(text: str, first: bool) -> list[str]:
    """The words after the last delimiter of `text`, without the unit of the number before."""
    start = 0
    for found in _DELIMITER.finditer(text):
        start = found.end()
    parts = _BULLET.sub("", text[start:]).split()
    if start == 0 and not first and parts:
        glued = text[:1] not in (" ", "")
        while parts and (glued or _is_unit(parts[0], len(parts) == 1)):
            parts, glued = parts[1:], False
    return parts


def _is_unit(word: str, last: bool) -> bool:
    """Whether a word behind a number is its unit ("ms", "tok/s") and not the beginning of the next name."""
    bare = word.lower().strip(".")
    return bare in w.UNITS or bare in w.TIME_UNITS or ("/" in word and not last)


def _bare(text: str, first: bool) -> str:
    """The name of a number that nothing but blanks separates from it: one of the known ones, or a word on its own."""
    parts = _last_part(text, first)
    if not parts or not re.search(r"[A-Za-z]", parts[-1]):
        return ""
    last = parts[-1].strip("()[]")
    if is_step(last) or is_epoch(last):
        two = " ".join(parts[-2:])
        return two if is_step(two) else last
    if last.lower() in w.STOP or "(" in last or w.FILE.search(last):
        return ""
    for count in range(min(4, len(parts)) if w.BARE.search(last) else 0, 0, -1):
        name = " ".join(parts[-count:])
        found = match(name)
        if found is not None and (count == 1 or found.rank < 400):
            return "" if count < len(parts) and w.REMARK.fullmatch(parts[-count - 1]) else name
    return last if len(parts) == 1 and len(last) > 1 and _IDENTIFIER.match(last) else ""


def split_words(name: str) -> list[str]:
    """The words of a name in lower case."""
    return re.findall(r"[a-z]+", re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).lower())


def is_val(name: str) -> bool:
    """Whether a name says that it was measured on validation data."""
    return not w.VAL_WORDS.isdisjoint(split_words(name))


def is_time(name: str) -> bool:
    """Whether a number of this name says how long or how big, not how well."""
    parts = split_words(name)
    last = parts[-1] if parts else ""
    return (
        last in w.TIMES or name.lower() in w.TIMES or (len(parts) > 1 and last in w.TIME_UNITS and "per" not in parts)
    )


def is_step(name: str) -> bool:
    """Whether a number of this name counts steps."""
    name = name.rpartition("/")[2]
    if name.lower() in w.STEP_ALONE:
        return True
    parts = split_words(name)
    rest = [part for part in parts if part not in w.STEP_BESIDE and part not in w.VAL_WORDS]
    return bool(rest) and all(part in w.STEP_WORDS for part in rest) and not re.search(r"\d", name) and parts[0] != "n"


def is_epoch(name: str) -> bool:
    """Whether a number of this name counts epochs."""
    rest = [part for part in split_words(name) if part not in w.EPOCH_BESIDE]
    return len(rest) == 1 and rest[0] in w.EPOCH_WORDS
