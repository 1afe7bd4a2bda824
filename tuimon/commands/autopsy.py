"""`tuimon autopsy`: runs the batch of a crime scene again and says where the NaN was born."""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any


def configure(parser: argparse.ArgumentParser) -> None:
    """Adds the command's arguments."""
    parser.add_argument("scene", type=Path, help="file saved by the guard, such as run.jsonl.scenes/step-412.pt")
    parser.add_argument(
        "--module",
        required=True,
        metavar="PKG:BUILD",
        help="a function without arguments that returns (model, loss_fn); it is your code and it is run",
    )
    parser.add_argument("--device", default="cpu", help="where to run it, such as cuda:0 (default: cpu)")
    parser.add_argument("--autocast", choices=("float16", "bfloat16"), help="what the training autocasts to")
    parser.add_argument("--log", type=Path, metavar="RUN.JSONL", help="append the finding to this log as a note")


def run(args: argparse.Namespace) -> int:
    """Prints the origin as a paragraph.

    Returns:
        1 if an origin was found, 0 if nothing went non-finite, 2 if the scene or the model could not be had.
    """
    try:
        import torch

        from tuimon.torch.origin import find_origin
        from tuimon.torch.scene import load_scene
        from tuimon.torch.tree import rebuild
    except ImportError:
        print("tuimon autopsy needs torch: pip install torch", file=sys.stderr)
        return 2
    try:
        scene = load_scene(args.scene)
        model, loss_fn = _build(args.module)
        told = _restore(model, scene)
        model.to(args.device)
    except (OSError, ValueError) as error:
        print(f"tuimon: {error}", file=sys.stderr)
        return 2
    if scene["batch"] is None:
        print(f"tuimon: {args.scene}: the batch was too large to be saved, so there is nothing to run", file=sys.stderr)
        return 2
    batch = rebuild(scene["batch"], lambda leaf: leaf.to(args.device) if isinstance(leaf, torch.Tensor) else leaf)
    torch.set_rng_state(scene["rng"]["torch"])
    autocast = getattr(torch, args.autocast) if args.autocast else None
    origin = find_origin(model, loss_fn, batch, step=scene["step"], autocast=autocast)
    print(origin)
    if told:
        print(told)
    if args.log is not None:
        from tuimon.writer import RunWriter

        writer = RunWriter(args.log)
        writer.note(scene["step"], "nan_origin", **origin.as_note())
        writer.close(ended=False)
    return 0 if origin.direction == "none" else 1


def _build(name: str) -> tuple[Any, Callable[..., Any]]:
    module_name, _, function = name.partition(":")
    if not function:
        raise ValueError(f"--module takes PKG:BUILD, such as train:build, not {name!r}")
    sys.path.insert(0, os.getcwd())
    try:
        build = getattr(importlib.import_module(module_name), function)
    except (ImportError, AttributeError) as error:
        raise ValueError(f"--module {name}: {error}") from None
    made = build()
    if not (isinstance(made, tuple) and len(made) == 2):
        raise ValueError(f"{name}() must return (model, loss_fn)")
    return made


def _restore(model: Any, scene: dict[str, Any]) -> str:
    """Loads the saved weights; a remark if there are none, so that the answer is not taken for more than it is."""
    if scene["weights"] is None:
        return "The weights were too large to be saved: this is the model as built, not as it was at that step."
    try:
        model.load_state_dict(scene["weights"])
    except RuntimeError as error:
        raise ValueError(f"the saved weights do not fit the model: {str(error).splitlines()[0]}") from None
    return ""
