"""tuimon: watch a training run from a terminal.

Importing this package loads the standard library only, and none of its heavy parts, so that a training script pays
nothing for it. `RunWriter` is the whole API a training process needs.
"""

from tuimon.writer import RunWriter

__all__ = ["RunWriter", "__version__"]
__version__ = "0.1.0"
