"""Pastes code into a small real training, sound or with a fault in it, and says what it prints."""

from __future__ import annotations

import contextlib
import io
import math
import re
from collections.abc import Callable
from typing import Any

from tuimon.catalogue import snippets

PIECES = {name: code for name, code in vars(snippets).items() if name.isupper() and isinstance(code, str)}

Names = dict[str, Any]


def printed(code: str, names: Names) -> str:
    """What pasting the code prints, and the last line of what it raises; `names` are as it leaves them."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        try:
            exec(compile(code, "pasted", "exec"), names)
        except (RuntimeError, KeyError) as error:
            print(type(error).__name__, str(error).splitlines()[0])
    return out.getvalue()


def numbers(text: str) -> list[float]:
    """The numbers in what was printed."""
    return [float(found) for found in re.findall(r"-?\d+\.?\d*(?:e[+-]?\d+)?|nan|inf", text)]


def tiny(torch: Any) -> Names:
    """A sound training, three steps in: three classes that are easy to learn."""
    torch.manual_seed(0)
    nn = torch.nn
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3))
    optimizer = torch.optim.Adam(model.parameters(), 1e-2)
    centres = 3 * torch.randn(3, 4)

    def batches(count: int) -> list[tuple[Any, Any]]:
        labels = [torch.randint(3, (16,)) for _ in range(count)]
        return [(centres[y] + torch.randn(16, 4), y) for y in labels]

    loader, val_loader = batches(6), batches(3)
    names: Names = {
        "torch": torch, "math": math, "model": model, "optimizer": optimizer, "loader": loader, "train_loader": loader,
        "val_loader": val_loader, "loss_fn": nn.functional.cross_entropy, "step": 412, "num_classes": 3,
    }  # fmt: skip
    for batch in loader[:3]:
        step(names, batch)
    forward(names, loader[3])
    names["loss"].backward()
    return names


def forward(names: Names, batch: tuple[Any, Any]) -> None:
    """One forward pass; gradients are cleared before it."""
    names["optimizer"].zero_grad()
    names["batch"] = batch
    names["x"], names["y"] = batch
    names["logits"] = names["model"](names["x"])
    names["loss"] = names["loss_fn"](names["logits"], names["y"])


def step(names: Names, batch: tuple[Any, Any]) -> None:
    """One step of a sound loop."""
    forward(names, batch)
    names["loss"].backward()
    names["optimizer"].step()


# One function per piece: (what it prints in the sound training, what it prints after a planted fault, whether they are
# as its text says). Each begins from a fresh sound training.

Case = Callable[[Any], bool]
CASES: dict[str, Case] = {}


def case(function: Case) -> Case:
    CASES[function.__name__.upper()] = function
    return function


def both(name: str, torch: Any, plant: Callable[[Names], object]) -> tuple[str, str]:
    sound, broken = tiny(torch), tiny(torch)
    first = printed(PIECES[name], sound)
    plant(broken)
    return first, printed(PIECES[name], broken)
