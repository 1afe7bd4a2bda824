"""Colours, as data: what each ink looks like on a dark terminal, on a light one, and in sixteen colours (stdlib only).

All three leave the background to the terminal: a monitor belongs into the tmux it runs in, and a background in every
cell doubles the bytes of a change. The colours stand exactly on the 256-colour cube, whose codes are half as long as
RGB ones. Where the terminal's own colours are used, it is because they are legible on any dark palette; "bright black"
is none of these, since a widespread palette makes it the background.
"""

from __future__ import annotations

from typing import NamedTuple


class Colours(NamedTuple):
    """One colour per ink: "#rrggbb" on the cube, or a colour of the terminal's own by the toolkit's name."""

    dim: str
    faint: str
    failure: str
    warning: str
    note: str
    healthy: str
    code: str
    chosen: str
    badge: str
    axis: str
    loss: str
    val_loss: str
    grad_norm: str
    lr: str


DARK = Colours(
    dim="#9e9e9e",
    faint="#808080",
    failure="#ff5f5f",
    warning="#ffaf5f",
    note="#87afd7",
    healthy="#87d787",
    code="#87d7d7",
    chosen="#5fafff",
    badge="#1c1c1c",
    axis="#808080",
    loss="ansi_cyan",
    val_loss="ansi_magenta",
    grad_norm="ansi_green",
    lr="ansi_bright_blue",
)
LIGHT = Colours(
    dim="#585858",
    faint="#767676",
    failure="#d70000",
    warning="#af5f00",
    note="#005faf",
    healthy="#008700",
    code="#005f87",
    chosen="#005fd7",
    badge="#ffffff",
    axis="#767676",
    loss="#0087af",
    val_loss="#af00af",
    grad_norm="#008700",
    lr="#005fd7",
)
SIXTEEN = Colours(
    dim="ansi_default",
    faint="ansi_bright_black",
    failure="ansi_red",
    warning="ansi_yellow",
    note="ansi_cyan",
    healthy="ansi_green",
    code="ansi_cyan",
    chosen="ansi_blue",
    badge="ansi_black",
    axis="ansi_bright_black",
    loss="ansi_cyan",
    val_loss="ansi_magenta",
    grad_norm="ansi_green",
    lr="ansi_bright_blue",
)

PALETTES = {"dark": DARK, "light": LIGHT, "sixteen": SIXTEEN}

_OWN = ("black", "red", "green", "yellow", "blue", "magenta", "cyan", "white")
_CUBE = (0, 95, 135, 175, 215, 255)


def code_of(colour: str) -> str:
    """What a terminal is sent for a colour in front of a character, without ESC [ and m."""
    if colour.startswith("ansi_"):
        name = colour.removeprefix("ansi_")
        if name == "default":
            return "39"
        return str((90 if name.startswith("bright_") else 30) + _OWN.index(name.removeprefix("bright_")))
    red, green, blue = (int(colour[start : start + 2], 16) for start in (1, 3, 5))
    if red == green == blue and red not in _CUBE:
        return f"38;5;{232 + (red - 8) // 10}"
    return f"38;5;{16 + 36 * _CUBE.index(red) + 6 * _CUBE.index(green) + _CUBE.index(blue)}"
