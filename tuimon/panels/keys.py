"""Every key as data: bindings, footers and help all come from these tables."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple


class Key(NamedTuple):
    """One thing that a key does.

    Attributes:
        name: of what it does, in the user's file of defaults; empty for a key that stays where it is.
        keys: names of the keys, as the toolkit calls them.
        cap: what the footer and the help call them.
        action: what they do on the monitor's screen, where "move(...)" maps the desk to the next one; empty for a key
            of other screens.
        word: for the footer, one or two words; empty for help only.
        text: for the help.
        rank: place in the footer where room is short, 0 first.
    """

    name: str
    keys: tuple[str, ...]
    cap: str
    action: str
    word: str
    text: str
    rank: int = 99


Keys = tuple[Key, ...]

# No Ctrl-A, -B, -J, -K, -S and no Alt: tmux, screen and terminals take those for themselves.
KEYS: Keys = (
    Key("quit", ("q",), "q", "quit", "quit", "leave (Ctrl-C too)", 0),
    Key("help", ("question_mark",), "?", "help", "help", "this help", 1),
    Key(
        "nan-onset",
        ("n",),
        "n",
        "move('autopsy')",
        "NaN onset",
        "first non-finite value, with the records around it",
        2,
    ),
    Key("next-finding", ("e",), "e", "move('next_finding')", "finding", "next finding", 3),
    Key("previous-finding", ("E",), "E", "move('previous_finding')", "", "previous finding"),
    Key("open", ("enter",), "Enter", "enter", "open", "open a row; enlarge a panel", 4),
    Key("explain", ("x",), "x", "explain", "explain", "the chosen row in full", 16),
    Key("pause", ("space",), "Space", "move('pause')", "pause", "hold the picture, or go on", 5),
    Key("step-back", ("left", "h"), "← h", "move('left')", "", "step cursor back, in all panels"),
    Key("step-forward", ("right", "l"), "→ l", "move('right')", "", "step cursor forward"),
    Key("row-up", ("up", "k"), "↑ k", "move('row_up')", "", "row, record or metric above"),
    Key("row-down", ("down", "j"), "↓ j", "move('row_down')", "rows", "row, record or metric below", 10),
    Key("first-step", ("home",), "Home", "move('home')", "", "cursor to the first step"),
    Key("live", ("end",), "End", "move('live')", "live", "back to the newest step, live", 11),
    Key("zoom-in", ("plus", "equals_sign"), "+", "move('zoom_in')", "zoom", "fewer steps across", 6),
    Key("zoom-out", ("minus",), "-", "move('zoom_out')", "", "more steps across"),
    Key("whole-run", ("0",), "0", "move('whole')", "all", "the whole run", 7),
    Key("log", ("y", "L"), "y L", "move('log')", "log", "logarithmic values", 8),
    Key("smooth", ("s",), "s", "move('smooth')", "smooth", "smoothing: off, 1, 2, 3", 9),
    Key("validation", ("v",), "v", "move('overlay')", "val on loss", "validation points on the loss", 14),
    Key("metrics", ("m",), "m", "move('page')", "metrics", "other metrics in the panels", 12),
    Key("rewind", ("r",), "r", "move('rewind')", "", "next place the log went back"),
    Key("usual-view", ("R",), "R", "move('usual')", "", "back to the usual view, kept so"),
    Key("other-loss", ("c",), "c", "candidate", "", "another metric as the loss"),
    Key("runs", ("o",), "o", "runs", "runs", "other runs of this folder", 5),
    Key("filter", ("slash",), "/", "filter", "filter", "filter rows and metrics", 13),
    Key("", ("tab",), "Tab", "app.focus_next", "", "next panel, strip or table"),
    Key("", ("shift+tab",), "S-Tab", "app.focus_previous", "", "previous one"),
    Key("", ("escape",), "Esc", "move('back')", "back", "close what is open; clear view", 15),
)

ELSEWHERE: Keys = (
    Key("page-down", ("pagedown", "space"), "PgDn Space", "", "", "a page down"),
    Key("page-up", ("pageup",), "PgUp", "", "", "a page up"),
    Key("checks", ("c",), "c", "", "", "to the checks"),
    Key("lab", ("b",), "b", "", "", "the lab"),
    Key("triage", ("t",), "t", "", "", "the triage"),
    Key("yes", ("y",), "y", "", "", "answer with yes"),
    Key("no", ("n",), "n", "", "", "answer with no"),
    Key("take-back", ("u",), "u", "", "", "take an answer back"),
    Key("momentum-down", ("m",), "m", "", "", "less momentum"),
    Key("momentum-up", ("M",), "M", "", "", "more momentum"),
)
"""What only the screens over the monitor's have."""

ALL: Keys = (*KEYS, *ELSEWHERE)


class Use(NamedTuple):
    """What a key does on a screen over the monitor's.

    Attributes:
        name: of the key in ALL; of nothing there for `keys` that stay where they are.
        action: of that screen.
        keys: as the toolkit calls them, for a key that stays.
    """

    name: str
    action: str
    keys: tuple[str, ...] = ()


_BACK = Use("quit", "leave"), Use("Esc", "leave", ("escape",))
_UP_AND_DOWN = Use("row-down", "move(1)"), Use("row-up", "move(-1)")
_PAGES = Use("page-down", "page(1)"), Use("page-up", "page(-1)")
_ENDS = Use("first-step", "go(-1)"), Use("live", "go(1)")
_TURNED = "step-back", "step-forward", "row-down", "row-up", "momentum-down", "momentum-up", "zoom-out", "zoom-in"

USES: dict[str, tuple[Use, ...]] = {
    "explanation": (
        *(*_BACK, *_UP_AND_DOWN, *_PAGES, *_ENDS, Use("explain", "leave")),
        *(Use("checks", "checks"), Use("lab", "lab"), Use("triage", "triage")),
    ),
    "triage": (
        *(*_BACK, *_UP_AND_DOWN, Use("Tab", "other", ("tab",))),
        *(Use("yes", "answer('yes')"), Use("no", "answer('no')"), Use("take-back", "answer('')")),
    ),
    "lab": (
        *(*_BACK, Use("whole-run", "start_again"), *(Use(name, f"turn('{name}')") for name in _TURNED)),
        *(Use("Tab", "other(1)", ("tab",)), Use("S-Tab", "other(-1)", ("shift+tab",))),
        *(Use(f"page {number}", f"page({number})", (str(number),)) for number in range(1, 5)),
    ),
    "list of runs": (
        *(*_BACK, *_UP_AND_DOWN, *_PAGES, *_ENDS, Use("runs", "leave"), Use("open", "take")),
        Use("Tab", "ignore", ("tab", "shift+tab")),
    ),
}
"""Screen -> what keys do there. A key that has a name does so by that name everywhere."""

ASCII_CAPS = {"←": "Left", "→": "Right", "↑": "Up", "↓": "Down"}


def cap_of(name: str, keys: Sequence[Key] = ALL) -> str:
    """What the key that does `name` is called.

    Raises:
        KeyError: nothing has this name.
    """
    for key in keys:
        if key.name == name:
            return key.cap
    raise KeyError(name)


def spelled(text: str, keys: Sequence[Key]) -> str:
    """`text` with what a key is called for each of its "{name}", the last of its caps: the letter beside an arrow."""
    return re.sub(r"\{([a-z-]+)\}", lambda found: cap_of(found[1], keys).split(" ")[-1], text)


def in_ascii(keys: Keys) -> Keys:
    """The same keys with caps that every font has."""
    return tuple(key._replace(cap=" ".join(ASCII_CAPS.get(part, part) for part in key.cap.split(" "))) for key in keys)
