"""Small files that are there whole or not at all (stdlib only)."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path


def write_whole(path: Path, text: str) -> None:
    """Puts `text` at `path`, in UTF-8, with the permissions that the user's umask says.

    It is written under a new name in the same folder and then renamed: whoever reads sees the old content or the new
    one, and a link that somebody planted at either name in a shared folder is not followed. What stands there and is no
    file (a pipe, a device) is written into.

    Raises:
        OSError: the place cannot be written; what was there before still is.
    """
    if path.exists() and not path.is_file():
        path.write_text(text, encoding="utf-8")
        return
    fresh = path.with_name(f".{path.name[:200]}.{os.urandom(6).hex()}")
    try:
        with open(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666), "w", encoding="utf-8") as file:
            file.write(text)
        os.replace(fresh, path)
    except BaseException:
        with contextlib.suppress(OSError):
            fresh.unlink()
        raise
