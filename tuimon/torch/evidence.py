"""What is kept of a bad step: its birthplace in the log, its scene on the disk."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol

from torch import nn

from tuimon.torch.origin import find_origin
from tuimon.torch.scene import rng_states, save_scene


class Writer(Protocol):
    """The part of `tuimon.RunWriter` that the guard uses."""

    def log(self, step: int, **metrics: Any) -> None:
        """Appends a record."""

    def note(self, step: int | None, name: str, **fields: Any) -> None:
        """Appends a note line."""


class Evidence:
    """Keeps the evidence of bad steps, bounded in number and size; nothing that goes wrong here stops the training.

    Args:
        model: its weights go into the scene.
        writer: notes go here.
        loss_fn: as for `find_origin`; without it the birthplace is not looked for.
        folder: where scenes go, next to the log by default.
        most: scenes in a run.
        most_bytes: size of a scene.
    """

    def __init__(
        self,
        model: nn.Module,
        writer: Writer,
        loss_fn: Callable[..., Any] | None,
        folder: str | Path | None,
        most: int,
        most_bytes: int,
    ) -> None:
        self.model, self.writer, self.loss_fn = model, writer, loss_fn
        log = getattr(writer, "path", None)
        self.folder = Path(folder) if folder is not None else Path(f"{log}.scenes") if log is not None else None
        self.most, self.most_bytes = most, most_bytes
        self.scenes: list[Path] = []

    def keep(self, step: int, batch: Any, rng: Mapping[str, Any] | None, last_finite: Mapping[str, float]) -> None:
        """Notes the birthplace and saves the scene of one bad step."""
        if batch is not None and self.loss_fn is not None:
            self._note_origin(step, batch, self.loss_fn)
        if len(self.scenes) < self.most and self.folder is not None:
            self._save(self.folder / f"step-{step}.pt", step, batch, rng, last_finite)

    def _note_origin(self, step: int, batch: Any, loss_fn: Callable[..., Any]) -> None:
        try:
            origin = find_origin(self.model, loss_fn, batch, step=step)
        except Exception as error:  # noqa: BLE001 -- the user's code runs again here and may raise anything
            self.writer.note(step, "origin_unknown", reason=f"{type(error).__name__}: {error}"[:300])
        else:
            self.writer.note(step, "nan_origin", **origin.as_note())

    def _save(
        self, path: Path, step: int, batch: Any, rng: Mapping[str, Any] | None, last_finite: Mapping[str, float]
    ) -> None:
        try:
            left_out = save_scene(
                path,
                batch,
                step=step,
                last_finite=last_finite,
                model=self.model,
                rng={**rng_states(), **(rng or {})},
                most_bytes=self.most_bytes,
            )
        except (OSError, RuntimeError) as error:  # torch reports a full disk as RuntimeError
            self.writer.note(step, "scene_lost", reason=str(error)[:300])
            return
        self.scenes.append(path)
        self.writer.note(step, "scene", path=str(path), left_out=", ".join(left_out))
