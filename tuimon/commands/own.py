"""What the user wrote down, for a command that opens a screen."""

from __future__ import annotations

import sys

from tuimon.app.config import Config, config, config_path
from tuimon.panels.keys import Keys, in_ascii
from tuimon.plain import plain_text


def told_config() -> Config:
    """The user's file; what means nothing in it is told on standard error."""
    found = config(config_path())
    for trouble in found.wrong:
        print(f"tuimon: {plain_text(trouble)}", file=sys.stderr)
    return found


def own_keys(ascii_only: bool) -> Keys:
    """All keys as the user wants them; what means nothing in his file is told."""
    keys = told_config().keys
    return in_ascii(keys) if ascii_only else keys
