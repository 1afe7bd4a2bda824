"""How the user last looked at a file (stdlib only).

`$XDG_STATE_HOME/tuimon/views/` holds a small file per run that was left with another scale, smoothing or overlay than
usual. Leaving it as usual (the key R, or `--reset-view`) removes that file again.

Read before the first picture, so what only writing needs is imported there.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from tuimon.app.config import base_folder

if TYPE_CHECKING:
    from pathlib import Path

    from tuimon.panels.view import View

LARGEST = 1 << 12
"""Bytes of a view that are read: many times what an honest one holds."""

KEPT = 200
"""Views that are kept; the ones not touched for longest go."""


def views_path(environment: Mapping[str, str] = os.environ) -> Path:
    """The folder of the views."""
    from pathlib import Path

    return Path(base_folder(environment, "XDG_STATE_HOME", ".local/state"), "views")


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

    from tuimon.files import write_whole

    slot = _slot(file, folder)
    with suppress(OSError):
        if not (view.log or view.smooth or view.overlay):
            slot.unlink(missing_ok=True)
            return
        slot.parent.mkdir(parents=True, exist_ok=True)
        kept = {"file": os.path.realpath(file), "log": view.log, "smooth": view.smooth, "overlay": view.overlay}
        write_whole(slot, json.dumps(kept) + "\n")
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
