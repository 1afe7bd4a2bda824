"""The colours of the palettes as themes of the toolkit."""

from __future__ import annotations

from textual.theme import BUILTIN_THEMES, Theme

from tuimon.panels.palette import DARK, LIGHT, SIXTEEN, Colours


def variables(colours: Colours) -> dict[str, str]:
    """The stylesheet's variables for a set of colours."""
    return {f"ink-{name.replace('_', '-')}": colour for name, colour in colours._asdict().items()}


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
