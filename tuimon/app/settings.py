"""What outlives the program: defaults that the user wrote down, and how he last looked at a file (stdlib only).

`$XDG_CONFIG_HOME/tuimon/config.ini` holds defaults of the command line:

    [screen]
    theme = light        ; dark, light or sixteen
    ascii = yes
    mouse = no
    fps = 10

`$XDG_STATE_HOME/tuimon/views/` holds a small file per run that was left with another scale, smoothing or overlay than
usual. Leaving it as usual (Esc until nothing changes, y and s off) removes that file again.

Read before the first picture, so what only writing needs is imported there.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from tuimon.panels.view import View

LARGEST = 1 << 16
"""Bytes of a settings file that are read: a hundred times what an honest one holds."""

KEPT = 200
"""Views that are kept; the ones not touched for longest go."""

Default = bool | float

THEMES: dict[str, dict[str, Default]] = {"dark": {}, "light": {"light": True}, "sixteen": {"low_color": True}}

TRUTH = {**dict.fromkeys(("yes", "true", "on", "1"), True), **dict.fromkeys(("no", "false", "off", "0"), False)}


def config_path(environment: Mapping[str, str] = os.environ) -> str:
    """Where the user's defaults are."""
    return os.path.join(_place(environment, "XDG_CONFIG_HOME", ".config"), "config.ini")


def views_path(environment: Mapping[str, str] = os.environ) -> Path:
    """The folder of the views."""
    from pathlib import Path

    return Path(_place(environment, "XDG_STATE_HOME", ".local/state"), "views")


def _place(environment: Mapping[str, str], name: str, usual: str) -> str:
    # The base directory specification: a relative path in these variables counts as none.
    base = environment.get(name, "")
    return os.path.join(base if os.path.isabs(base) else os.path.join(os.path.expanduser("~"), usual), "tuimon")


def defaults(path: str) -> tuple[dict[str, Default], list[str]]:
    """Defaults of the screen's arguments, and what could not be understood, one line each."""
    try:
        with open(path, "rb") as file:
            text = file.read(LARGEST).decode("utf-8")
    except FileNotFoundError:
        return {}, []
    except (OSError, UnicodeDecodeError) as error:
        return {}, [f"{path}: {getattr(error, 'strerror', None) or 'not UTF-8'}"]
    return _parsed(text, path)


def _parsed(text: str, where: str) -> tuple[dict[str, Default], list[str]]:
    import configparser

    parser = configparser.ConfigParser(interpolation=None, inline_comment_prefixes=(";", "#"))
    try:
        parser.read_string(text)
    except configparser.Error as error:
        return {}, [f"{where}: {str(error).splitlines()[0]}"]
    found: dict[str, Default] = {}
    wrong = [f"{where}: no section is called {name}" for name in parser.sections() if name != "screen"]
    for name, value in parser.items("screen") if parser.has_section("screen") else ():
        meant = _default(name, value.strip().lower())
        if meant is None:
            wrong.append(f"{where}: {name} = {value} means nothing here")
        else:
            found.update(meant)
    return found, wrong


def _default(name: str, value: str) -> dict[str, Default] | None:
    """The arguments that a line stands for, None where it means nothing."""
    if name == "theme":
        return dict(THEMES[value]) if value in THEMES else None
    if name == "fps":
        with suppress(ValueError):
            return {"fps": float(value)} if 0.1 <= float(value) <= 60 else None
    if name not in ("ascii", "mouse") or value not in TRUTH:
        return None
    return {"ascii": TRUTH[value]} if name == "ascii" else {"no_mouse": not TRUTH[value]}


def kept_view(file: str, view: View, folder: Path) -> View:
    """`view` as the file was last looked at; unknown or damaged content is left out."""
    import json

    try:
        with _slot(file, folder).open("rb") as kept:
            found = json.loads(kept.read(LARGEST))
        log, smooth, overlay = found["log"], found["smooth"], found["overlay"]
    except (OSError, ValueError, RecursionError, KeyError, TypeError):
        return view
    if not (isinstance(log, bool) and isinstance(overlay, bool) and smooth in (0, 1, 2, 3)):
        return view
    return replace(view, log=log, smooth=int(smooth), overlay=overlay, share=overlay)


def keep_view(file: str, view: View, folder: Path) -> None:
    """Keeps how a file was looked at; not which steps, which would be stale in a run that has grown.

    Nothing is kept of temporary files, and a disk that takes nothing is no trouble worth a word.
    """
    if file == "-" or os.path.realpath(file).startswith(_temporary() + os.sep):
        return
    import json

    slot = _slot(file, folder)
    with suppress(OSError):
        if not (view.log or view.smooth or view.overlay):
            slot.unlink(missing_ok=True)
            return
        slot.parent.mkdir(parents=True, exist_ok=True)
        kept = {"file": os.path.realpath(file), "log": view.log, "smooth": view.smooth, "overlay": view.overlay}
        slot.write_text(json.dumps(kept) + "\n", encoding="utf-8")
        ages = sorted(folder.glob("*.json"), key=lambda path: path.stat().st_mtime)
        for old in ages[:-KEPT]:
            old.unlink(missing_ok=True)


def _temporary() -> str:
    import tempfile

    return os.path.realpath(tempfile.gettempdir())


def _slot(file: str, folder: Path) -> Path:
    import hashlib

    name = os.path.realpath(file).encode("utf-8", "surrogateescape")
    return folder / f"{hashlib.sha256(name).hexdigest()[:24]}.json"
