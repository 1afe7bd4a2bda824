"""An app around one screen: what `tuimon lab` and `tuimon triage` show without a run behind them."""

from __future__ import annotations

from typing import ClassVar

from textual.app import App
from textual.binding import Binding, BindingType
from textual.screen import Screen

from tuimon.app.bound import keymap
from tuimon.app.themes import THEMES, variables
from tuimon.panels.keys import ALL, Keys
from tuimon.panels.palette import DARK


class AloneApp(App[None]):
    """Shows a screen in the colours of the monitor, and ends with it.

    Args:
        only: the screen.
        theme: a key of THEMES.
        keys: all of them, as the user wants them.
    """

    CSS_PATH = "monitor.tcss"
    ENABLE_COMMAND_PALETTE = False
    BINDINGS: ClassVar[list[BindingType]] = [Binding("ctrl+c", "quit", show=False, priority=True)]

    def __init__(self, only: Screen[None], theme: str = "dark", keys: Keys = ALL) -> None:
        # As on the monitor: colours are the terminal's own, and NO_COLOR takes them away and does not replace them.
        super().__init__(ansi_color=True)
        for each in THEMES.values():
            self.register_theme(each)
        self.theme = THEMES[theme].name
        self._only = only
        self.set_keymap(keymap(keys))

    def get_theme_variable_defaults(self) -> dict[str, str]:
        return variables(DARK)

    def on_mount(self) -> None:
        self.push_screen(self._only, lambda _: self.exit())
