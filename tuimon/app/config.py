"""The defaults that the user wrote down (stdlib only).

They stand in `$XDG_CONFIG_HOME/tuimon/config.ini`:

    [screen]
    theme = light        ; dark, light or sixteen
    ascii = yes
    mouse = no
    fps = 10

    [keys]
    nan-onset = f        ; the names stand in the README
    live = L end         ; several keys for one thing
    log = y

A line that means nothing here is told with its number, and the rest counts.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from tuimon.panels.keys import ALL, Keys

if TYPE_CHECKING:
    from tuimon.app.keymap import Wish

LARGEST = 1 << 16
"""Bytes of the file that are read: a hundred times what an honest one holds."""

Default = bool | float

THEMES: dict[str, dict[str, Default]] = {"dark": {}, "light": {"light": True}, "sixteen": {"low_color": True}}

TRUTH = {**dict.fromkeys(("yes", "true", "on", "1"), True), **dict.fromkeys(("no", "false", "off", "0"), False)}


@dataclass(frozen=True, slots=True)
class Config:
    """What the file says.

    Attributes:
        screen: defaults of the screen's arguments.
        keys: all keys, with those of the file.
        wrong: what could not be understood, one line each.
    """

    screen: Mapping[str, Default] = field(default_factory=dict)
    keys: Keys = ALL
    wrong: tuple[str, ...] = ()

    @property
    def theme(self) -> str:
        """A key of the palettes."""
        return "light" if self.screen.get("light") else "sixteen" if self.screen.get("low_color") else "dark"

    @property
    def notice(self) -> str:
        """The same in a few words, for a screen under which the lines stand."""
        if len(self.wrong) > 1:
            return f"config.ini: {len(self.wrong)} lines mean nothing; they are told on leaving"
        return "".join(f"config.ini{wrong.partition('config.ini')[2].partition(';')[0]}" for wrong in self.wrong)


class Entry(NamedTuple):
    """A line `name = value`."""

    number: int
    section: str
    name: str
    value: str


def base_folder(environment: Mapping[str, str], name: str, usual: str) -> str:
    """Our folder under the base directory that the variable `name` gives, or under `usual` of the home folder."""
    # The base directory specification: a relative path in these variables counts as none.
    base = environment.get(name, "")
    return os.path.join(base if os.path.isabs(base) else os.path.join(os.path.expanduser("~"), usual), "tuimon")


def config_path(environment: Mapping[str, str] = os.environ) -> str:
    """Where the user's defaults are."""
    return os.path.join(base_folder(environment, "XDG_CONFIG_HOME", ".config"), "config.ini")


def config(path: str) -> Config:
    """What stands in the file at `path`; nothing where there is none."""
    try:
        with open(path, "rb") as file:
            text = file.read(LARGEST).decode("utf-8-sig")
    except FileNotFoundError:
        return Config()
    except (OSError, UnicodeDecodeError) as error:
        return Config(wrong=(f"{path}: {getattr(error, 'strerror', None) or 'not UTF-8'}",))
    # Imported where there is a file: the first picture waits for this.
    from tuimon.app.keymap import Wish, remapped

    screen: dict[str, Default] = {}
    wishes: list[Wish] = []
    wrong: list[tuple[int, str]] = []
    for found in _entries(text):
        number, section, name, value = found
        meant = _default(name, value.lower()) if section == "screen" else None
        if section == "keys":
            wishes.append(Wish(number, name, tuple(value.replace(", ", " ").split())))
        elif meant is not None:
            screen.update(meant)
        elif section not in ("screen", ""):
            wrong.append((number, f"no section is called [{section}]: there are [screen] and [keys]"))
        elif not section:
            wrong.append((number, f"{name!r} is neither a [section] nor a line `name = value` in one"))
        else:
            wrong.append((number, f"{name} = {value} means nothing here"))
    keys, trouble = remapped(wishes)
    return Config(screen, keys, tuple(f"{path}:{number}: {what}" for number, what in sorted([*wrong, *trouble])))


def _entries(text: str) -> Iterator[Entry]:
    """The lines that say something; a section that nobody knows, and a line that is none, come as entries too."""
    section = ""
    for number, line in enumerate(text.splitlines(), 1):
        line = line.strip()
        if not line or line[0] in ";#":
            continue
        if line.startswith("[") and "]" in line:
            section = line[1 : line.index("]")].strip().lower()
            if section not in ("screen", "keys"):
                yield Entry(number, section or "?", "", "")
            continue
        name, sign, value = line.partition("=" if "=" in line.partition(":")[0] else ":")
        if not sign or not section:
            yield Entry(number, "", line, "")
        elif section in ("screen", "keys"):
            yield Entry(number, section, name.strip().lower(), _uncommented(value))


def _uncommented(value: str) -> str:
    """The value without the comment behind it: its first word always counts, since ; and # are keys too."""
    words = value.split()
    end = next((place for place, word in enumerate(words) if place and word[0] in ";#"), len(words))
    return " ".join(words[:end])


def _default(name: str, value: str) -> dict[str, Default] | None:
    """The arguments that a line of [screen] stands for, None where it means nothing."""
    if name == "theme":
        return dict(THEMES[value]) if value in THEMES else None
    if name == "fps":
        with suppress(ValueError):
            return {"fps": float(value)} if 0.1 <= float(value) <= 60 else None
    if name not in ("ascii", "mouse") or value not in TRUTH:
        return None
    return {"ascii": TRUTH[value]} if name == "ascii" else {"no_mouse": not TRUTH[value]}
