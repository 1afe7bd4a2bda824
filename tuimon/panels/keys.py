"""Every key as data: bindings, footer and help all come from this table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class Key(NamedTuple):
    """One thing that a key does.

    Attributes:
        name: of what it does, in the user's file of defaults; empty for a key that stays where it is.
        keys: names of the keys, as the toolkit calls them.
        cap: what the footer and the help call them.
        action: what they do; "move(...)" maps the desk to the next one.
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

ASCII_CAPS = {"←": "Left", "→": "Right", "↑": "Up", "↓": "Down"}


def cap_of(name: str, keys: Sequence[Key] = KEYS) -> str:
    """What the key that does `name` is called.

    Raises:
        KeyError: nothing has this name.
    """
    for key in keys:
        if key.name == name:
            return key.cap
    raise KeyError(name)


def in_ascii(keys: Keys) -> Keys:
    """The same keys with caps that every font has."""
    return tuple(key._replace(cap=" ".join(ASCII_CAPS.get(part, part) for part in key.cap.split(" "))) for key in keys)
