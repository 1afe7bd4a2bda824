"""tuimon: watch a training run from a terminal.

Importing this package loads the standard library only, and none of its heavy parts, so that a training script pays
nothing for it. `RunWriter` is the whole API a training process needs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tuimon.writer import RunWriter

__all__ = ["RunWriter", "__version__"]
__version__ = "0.1.0"


def __getattr__(name: str) -> object:
    """The writer is loaded when it is asked for: the viewer draws its first picture sooner without it."""
    if name == "RunWriter":
        from tuimon.writer import RunWriter

        return RunWriter
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
