"""Files that are there whole or not at all."""

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path
from typing import Any

import torch


def save_atomically(state: Any, path: Path) -> int:
    """torch.save under a temporary name in the same folder, flushed to the disk, then renamed over `path`.

    Killed at any moment, the name `path` holds either what it held before or the whole new file. The temporary file
    is created exclusively, so that a link planted in a shared folder is never followed; the result gets the user's
    umask.

    Returns:
        Size in bytes.

    Raises:
        OSError: the folder cannot be written, or the disk is full.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".part")
    try:
        with os.fdopen(handle, "wb") as file:
            torch.save(state, file)
            file.flush()
            os.fsync(file.fileno())
            size = file.tell()
        os.chmod(name, 0o666 & ~_umask())
        os.replace(name, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(name)
        raise
    _sync_folder(path.parent)
    return size


def _umask() -> int:
    # Reading the umask without setting it is not possible before Linux 4.7's /proc; the pair of calls is the usual way.
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def _sync_folder(folder: Path) -> None:
    # A rename is durable once its folder is; some network file systems refuse to sync one.
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
