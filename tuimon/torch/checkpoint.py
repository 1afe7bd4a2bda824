"""The gate in front of a checkpoint: unsound weights do not pass, and the last good one is never overwritten."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any, Protocol

from tuimon.torch.atomic import save_atomically
from tuimon.torch.tree import is_finite, tensors


class NoteWriter(Protocol):
    """The part of `tuimon.RunWriter` that is needed here."""

    def note(self, step: int | None, name: str, **fields: Any) -> None:
        """Appends a note line."""


class NonFiniteWeightsError(ValueError):
    """The state holds NaN or infinity and was not saved; the message names the first tensors."""


def save_checkpoint(
    state: Mapping[str, Any],
    path: str | Path,
    keep: int = 3,
    *,
    step: int | None = None,
    writer: NoteWriter | None = None,
) -> Path:
    """Saves a checkpoint if it is sound, and keeps the generations before it.

    With `step`, the file is `<stem>-<step><suffix>` and `path` names the family; without, it is `path` itself and the
    generations before it are `path.1`, `path.2`... The write is atomic: killed at any moment, no half-written file is
    left under a final name. With `writer`, a "checkpoint" note goes into the run's log, which is what the screen shows
    as the last good checkpoint.

    Args:
        state: what torch.save takes: any nesting of mappings, lists and tensors, usually {"model": model.state_dict()}.
        path: the file.
        keep: generations that stay, the new one included; at least 1.
        step: optimizer step of the state.
        writer: where the note goes.

    Returns:
        The path of the file written.

    Raises:
        NonFiniteWeightsError: a floating-point tensor of the state is not finite. Nothing was written or removed.
        ValueError: keep < 1.
        OSError: as from the file system; what was there before is still there.
    """
    if keep < 1:
        raise ValueError("keep must be at least 1")
    bad = [name for name, tensor in tensors(state, "state") if not is_finite(tensor)]
    if bad:
        shown = ", ".join(bad[:3]) + (f" and {len(bad) - 3} more" if len(bad) > 3 else "")
        raise NonFiniteWeightsError(f"not saved: {shown} not finite; the checkpoint before this one is still good")
    path = Path(path)
    target = path if step is None else path.with_name(f"{path.stem}-{step}{path.suffix}")
    if step is None:
        _rotate(path, keep)
    size = save_atomically(state, target)
    if step is not None:
        _prune(path, keep)
    if writer is not None:
        writer.note(step, "checkpoint", path=str(target), bytes=size)
    return target


def _rotate(path: Path, keep: int) -> None:
    """Moves path -> path.1 -> path.2 ...; the newest is copied by a hard link, so that `path` never is absent."""
    generation = [path, *(path.with_name(f"{path.name}.{n}") for n in range(1, keep))]
    for newer, older in reversed(list(pairwise(generation[1:]))):
        if newer.exists():
            newer.replace(older)
    if keep > 1 and path.exists():
        generation[1].unlink(missing_ok=True)
        try:
            generation[1].hardlink_to(path)
        except OSError:  # a file system without hard links
            path.replace(generation[1])


def _prune(path: Path, keep: int) -> None:
    numbered = re.compile(re.escape(path.stem) + r"-(\d+)" + re.escape(path.suffix) + r"\Z")
    found = [(int(match[1]), file) for file in path.parent.iterdir() if (match := numbered.match(file.name))]
    # By age and not by step number: after a rewind the newest checkpoint has a lower step than the ones it replaces.
    found.sort(key=lambda pair: (pair[1].stat().st_mtime_ns, pair[0]))
    for _, file in found[:-keep]:
        with contextlib.suppress(OSError):
            file.unlink()
