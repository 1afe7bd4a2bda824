"""From the tables of keys to what the toolkit binds."""

from __future__ import annotations

from textual.binding import Binding, BindingType

from tuimon.panels.keys import ALL, KEYS, USES, Keys


def of_monitor() -> list[BindingType]:
    """The bindings of the monitor's screen."""
    own = (Binding(",".join(key.keys), key.action, key.word, show=False, id=key.name or None) for key in KEYS)
    return [Binding("ctrl+c", "quit", show=False, priority=True), *own]


def of_screen(name: str) -> list[BindingType]:
    """The bindings of a screen over it."""
    known = {key.name: key.keys for key in ALL if key.name}
    return [
        Binding("ctrl+c", "app.quit", show=False),
        *(
            Binding(",".join(use.keys or known[use.name]), use.action, show=False, id=None if use.keys else use.name)
            for use in USES[name]
        ),
    ]


def keymap(keys: Keys) -> dict[str, str]:
    """What `App.set_keymap` takes: name -> keys, of all that have others than the usual ones."""
    usual = {key.name: key.keys for key in ALL}
    return {key.name: ",".join(key.keys) for key in keys if key.keys != usual[key.name] and key.name}
