"""The crime scene: what is needed to make a failure happen again."""

from __future__ import annotations

import random
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from tuimon.torch.atomic import save_atomically
from tuimon.torch.tree import rebuild, tensors

SCENE_VERSION = 1


def _kept(leaf: Any) -> Any:
    """A leaf as a scene can hold it: tensors on the CPU, plain values, and the name of anything else."""
    if isinstance(leaf, torch.Tensor):
        return leaf.detach().to("cpu", copy=True)
    if leaf is None or isinstance(leaf, (bool, int, float, str)):
        return leaf
    return f"<{type(leaf).__name__}, not saved>"


def rng_states() -> dict[str, Any]:
    """States of the generators of torch, its devices, Python and (only if it is loaded) numpy."""
    states: dict[str, Any] = {"torch": torch.get_rng_state(), "python": random.getstate()}
    if torch.cuda.is_available() and torch.cuda.is_initialized():
        states["cuda"] = torch.cuda.get_rng_state_all()
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        name, keys, position, has_gauss, cached = numpy.random.get_state()
        states["numpy"] = (str(name), [int(key) for key in keys], int(position), int(has_gauss), float(cached))
    return states


def save_scene(
    path: str | Path,
    batch: Any,
    *,
    step: int,
    last_finite: Mapping[str, float],
    model: torch.nn.Module | None = None,
    rng: Mapping[str, Any] | None = None,
    most_bytes: int = 1 << 30,
) -> list[str]:
    """Writes batch, step, generator states, last finite metrics and, where they fit, the weights: one file, atomically.

    Args:
        path: the file to write.
        batch: any nesting of mappings, lists, tuples, tensors and plain values; other objects are left out by name.
        step: optimizer step at which it happened.
        last_finite: metric name -> its last finite value.
        model: its state_dict goes in if the scene stays below `most_bytes` with it.
        rng: as from `rng_states`, taken before the batch was used; taken now if None.
        most_bytes: bound of the tensors' size. A batch above it is left out.

    Returns:
        What had to be left out ("batch", "weights"), empty if all is there.

    Raises:
        OSError: the file cannot be written.
    """
    size = sum(t.numel() * t.element_size() for _, t in tensors(batch))
    left_out = ["batch"] if size > most_bytes else []
    scene: dict[str, Any] = {
        "tuimon_scene": SCENE_VERSION,
        "step": int(step),
        "last_finite": {str(name): float(value) for name, value in last_finite.items()},
        "rng": dict(rng if rng is not None else rng_states()),
        "batch": None if left_out else rebuild(batch, _kept),
        "weights": None,
    }
    if model is not None:
        weights = model.state_dict()
        size += sum(t.numel() * t.element_size() for _, t in tensors(weights))
        if size > most_bytes:
            left_out.append("weights")
        else:
            scene["weights"] = rebuild(weights, _kept)
    scene["left_out"] = left_out
    save_atomically(scene, Path(path))
    return left_out


def load_scene(path: str | Path) -> dict[str, Any]:
    """Reads a scene. Nothing in the file can run code: it is read with torch's weights_only unpickler.

    Raises:
        ValueError: the file is no scene, or of a newer version; the message says which.
        OSError: it cannot be read.
    """
    path = Path(path)
    with open(path, "rb") as file:
        try:
            scene = torch.load(file, map_location="cpu", weights_only=True)
        except Exception as error:  # noqa: BLE001 -- torch raises half a dozen types for a file that is not its own
            reason = str(error).strip().splitlines() or [type(error).__name__]
            raise ValueError(f"{path}: not a scene saved by tuimon ({reason[0][:120]})") from None
    if not isinstance(scene, dict) or "tuimon_scene" not in scene:
        raise ValueError(f"{path}: not a scene saved by tuimon")
    if scene["tuimon_scene"] != SCENE_VERSION:
        raise ValueError(
            f"{path}: a scene of version {scene['tuimon_scene']}; this tuimon reads version {SCENE_VERSION}"
        )
    return scene
