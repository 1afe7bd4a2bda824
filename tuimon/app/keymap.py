"""Keys of the user's own: what he calls one, what the toolkit calls it, and which of them may stand together."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from tuimon.panels.keys import ALL, USES, Key, Keys

NAMED = {  # what the user writes -> (what the toolkit calls it, what the footer calls it)
    "space": ("space", "Space"),
    "enter": ("enter", "Enter"),
    "backspace": ("backspace", "Bksp"),
    "delete": ("delete", "Del"),
    "insert": ("insert", "Ins"),
    "home": ("home", "Home"),
    "end": ("end", "End"),
    "pageup": ("pageup", "PgUp"),
    "pagedown": ("pagedown", "PgDn"),
    "left": ("left", "←"),
    "right": ("right", "→"),
    "up": ("up", "↑"),
    "down": ("down", "↓"),
    **{f"f{number}": (f"f{number}", f"F{number}") for number in range(1, 13)},
    # With Ctrl, h, i, j and m are Backspace, Tab and Enter on a terminal; the others are taken before we see them.
    **{f"ctrl+{letter}": (f"ctrl+{letter}", f"^{letter.upper()}") for letter in "defglnoprtuvwxy"},
}

PUNCTUATION = {"/": "slash", "\\": "backslash", "@": "at", "-": "minus", "+": "plus", "_": "underscore"}
"""The toolkit's names where they are not those of Unicode."""


class Wish(NamedTuple):
    """A line of the user's file: these keys for the thing called `name`."""

    number: int
    name: str
    keys: tuple[str, ...]


def key_named(word: str) -> tuple[str, str] | None:
    """(the toolkit's name, the footer's name) of the key that the user calls `word`, None where there is none."""
    if len(word) == 1 and word.isascii() and word.isprintable() and word != " ":
        if word.isalnum():
            return word, word
        return PUNCTUATION.get(word, unicodedata.name(word).lower().replace("-", "_").replace(" ", "_")), word
    return NAMED.get(word.lower())


def remapped(wishes: Sequence[Wish], keys: Keys = ALL) -> tuple[Keys, list[tuple[int, str]]]:
    """All keys as the user wants them.

    Returns:
        The keys; and what could not be done, as (line, why). A wish that cannot be granted leaves that thing's keys as
        they were.
    """
    wrong: list[tuple[int, str]] = []
    granted: dict[str, tuple[int, Key]] = {}
    names = {key.name: key for key in keys if key.name}
    for wish in wishes:
        trouble = _trouble(wish, names, granted)
        if trouble:
            wrong.append((wish.number, trouble))
            continue
        known = [named for word in wish.keys if (named := key_named(word))]
        own = names[wish.name]._replace(
            keys=tuple(dict.fromkeys(key for key, _ in known)), cap=" ".join([cap for _, cap in known][:2])
        )
        granted[wish.name] = wish.number, own
    while True:
        result = tuple(granted[key.name][1] if key.name in granted else key for key in keys)
        clash = _clash(result, granted)
        if clash is None:
            return result, wrong
        name, why = clash
        wrong.append((granted.pop(name)[0], why))


def _trouble(wish: Wish, names: dict[str, Key], granted: dict[str, tuple[int, Key]]) -> str:
    """Why a wish means nothing, empty where it means something."""
    if wish.name not in names:
        from difflib import get_close_matches

        near = get_close_matches(wish.name, names, 1, 0.5)
        return f"no action is called {wish.name}; " + (f"{near[0]}?" if near else f"there are {', '.join(names)}")
    if wish.name in granted:
        return f"{wish.name} has its keys from line {granted[wish.name][0]} already"
    if not wish.keys:
        return f"{wish.name} has no key here"
    unknown = next((word for word in wish.keys if key_named(word) is None), None)
    if unknown is None:
        return ""
    if unknown.lower().startswith(("ctrl+", "alt+")):
        return f"{unknown} does not reach a program in a terminal, or is taken"
    return f"no key is called {unknown}: a character, or space, enter, home, f5, ctrl+g, ..."


def _clash(keys: Keys, granted: dict[str, tuple[int, Key]]) -> tuple[str, str] | None:
    """Which wish has to go because another thing has its key, the later one of two; and why."""
    for screen, together in _together(keys):
        owners: dict[str, Key] = {}
        for key in together:
            for name in key.keys:
                other = owners.setdefault(name, key)
                if other is key:
                    continue
                first, second = sorted(
                    (other, key), key=lambda owner: granted[owner.name][0] if owner.name in granted else -1
                )
                shown = second.cap if len(second.keys) == 1 else name
                taken = first.name or first.word or first.text
                return second.name, f"{shown} cannot be {second.name}: it is {taken} already{screen}"
    return None


def _together(keys: Keys) -> Iterator[tuple[str, list[Key]]]:
    """The keys that must not mean two things: those of each screen, behind what to call it in a sentence."""
    yield "", [key for key in keys if key.action]
    named = {key.name: key for key in keys if key.name}
    for screen, uses in USES.items():
        stay = [Key("", use.keys, use.name, use.action, "", use.name) for use in uses if use.keys]
        yield f", in the {screen}", [*stay, *(named[use.name] for use in uses if not use.keys)]
