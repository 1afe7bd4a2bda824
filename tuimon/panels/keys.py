"""Every key as data: bindings, footer and help all come from this table."""

from __future__ import annotations

from typing import NamedTuple


class Key(NamedTuple):
    """One thing that a key does.

    Attributes:
        keys: names of the keys, as the toolkit calls them.
        cap: what the footer and the help call them.
        action: what they do; "move(...)" maps the desk to the next one.
        word: for the footer, one or two words; empty for help only.
        text: for the help.
        rank: place in the footer where room is short, 0 first.
    """

    keys: tuple[str, ...]
    cap: str
    action: str
    word: str
    text: str
    rank: int = 99


# No Ctrl-A, -B, -J, -K, -S and no Alt: tmux, screen and terminals take those for themselves.
KEYS: tuple[Key, ...] = (
    Key(("q", "ctrl+c"), "q", "quit", "quit", "leave (Ctrl-C too)", 0),
    Key(("question_mark",), "?", "help", "help", "this help", 1),
    Key(("n",), "n", "move('autopsy')", "NaN onset", "jump to the first non-finite value and the records around it", 2),
    Key(("e",), "e", "move('next_finding')", "finding", "next finding", 3),
    Key(("E",), "E", "move('previous_finding')", "", "previous finding"),
    Key(("enter",), "Enter", "enter", "open", "open or close a row; enlarge the panel that has the focus", 4),
    Key(("x",), "x", "explain", "explain", "the chosen row in full, in this run's numbers", 16),
    Key(("space",), "Space", "move('pause')", "pause", "hold the picture while reading goes on; again to go on", 5),
    Key(("left", "h"), "← h", "move('left')", "", "step cursor back, in all panels at once"),
    Key(("right", "l"), "→ l", "move('right')", "", "step cursor forward"),
    Key(("up", "k"), "↑ k", "move('row_up')", "", "row above in the table"),
    Key(("down", "j"), "↓ j", "move('row_down')", "rows", "row below in the table", 10),
    Key(("home",), "Home", "move('home')", "", "cursor to the first step"),
    Key(("end",), "End", "move('live')", "live", "back to the newest step, live", 11),
    Key(("plus", "equals_sign"), "+", "move('zoom_in')", "zoom", "fewer steps across", 6),
    Key(("minus",), "-", "move('zoom_out')", "", "more steps across"),
    Key(("0",), "0", "move('whole')", "all", "the whole run", 7),
    Key(("y", "L"), "y", "move('log')", "log", "logarithmic values (L too; l moves the cursor)", 8),
    Key(("s",), "s", "move('smooth')", "smooth", "smoothing: off, light, medium, strong", 9),
    Key(("v",), "v", "move('overlay')", "val on loss", "validation points over the training curve, one range", 14),
    Key(("m",), "m", "move('page')", "metrics", "other metrics in the panels; one more under an enlarged one", 12),
    Key(("r",), "r", "move('rewind')", "", "next place where the log went back (a resumed run)"),
    Key(("c",), "c", "candidate", "", "another metric as the loss, where the log has several that could be it"),
    Key(("o",), "o", "runs", "runs", "the runs in this folder, to watch another one", 5),
    Key(("slash",), "/", "filter", "filter", "show rows and metrics that contain a word", 13),
    Key(("tab",), "Tab", "app.focus_next", "", "next panel, strip or table"),
    Key(("shift+tab",), "S-Tab", "app.focus_previous", "", "previous one"),
    Key(("escape",), "Esc", "move('back')", "back", "back: close what is open, then cursor, zoom and filter", 15),
)
