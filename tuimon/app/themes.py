"""Colours, as data: what each ink looks like on a dark terminal, on a light one, and in sixteen colours.

All three leave the background to the terminal: a monitor belongs into the tmux it runs in, and a background in every
cell doubles the bytes of a change. The colours stand exactly on the 256-colour cube, whose codes are half as long as
RGB ones.
"""

from __future__ import annotations

from typing import NamedTuple

from textual.theme import BUILTIN_THEMES, Theme


class Colours(NamedTuple):
    """One colour per ink."""

    dim: str
    faint: str
    failure: str
    warning: str
    note: str
    healthy: str
    code: str
    chosen: str
    badge: str


DARK = Colours("#9e9e9e", "#767676", "#ff5f5f", "#ffaf5f", "#87afd7", "#87d787", "#87d7d7", "#5fafff", "#1c1c1c")
LIGHT = Colours("#585858", "#808080", "#d70000", "#af5f00", "#005faf", "#008700", "#005f87", "#0087d7", "#ffffff")
SIXTEEN = Colours(
    *("ansi_default", "ansi_bright_black", "ansi_red", "ansi_yellow", "ansi_cyan", "ansi_green", "ansi_cyan"),
    *("ansi_blue", "ansi_black"),
)


def variables(colours: Colours) -> dict[str, str]:
    """The stylesheet's variables for a set of colours."""
    return {f"ink-{name}": colour for name, colour in colours._asdict().items()}


def theme(name: str, colours: Colours, *, dark: bool) -> Theme:
    """A theme of the toolkit that uses the terminal's own background and these colours."""
    return Theme(
        name=name,
        ansi=True,
        dark=dark,
        primary=colours.chosen,
        secondary=colours.note,
        warning=colours.warning,
        error=colours.failure,
        success=colours.healthy,
        accent=colours.chosen,
        foreground="ansi_default",
        background="ansi_default",
        surface="ansi_default",
        panel="ansi_default",
        boost="ansi_default",
        # The toolkit's own stylesheets name variables that only its own themes of this kind have.
        variables={**BUILTIN_THEMES["ansi-dark" if dark else "ansi-light"].variables, **variables(colours)},
    )


THEMES = {
    "dark": theme("tuimon-dark", DARK, dark=True),
    "light": theme("tuimon-light", LIGHT, dark=False),
    "sixteen": theme("tuimon-sixteen", SIXTEEN, dark=True),
}
