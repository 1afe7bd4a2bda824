"""What the training process itself can say: where a NaN was born, which layer died, whether a checkpoint is sound.

The one part of tuimon that imports torch; install it with the `torch` extra.
"""

from tuimon.torch.checkpoint import save_checkpoint
from tuimon.torch.guard import Guard, NonFiniteError
from tuimon.torch.origin import Origin, find_origin
from tuimon.torch.preflight import PreflightReport, preflight
from tuimon.torch.scene import load_scene, save_scene

__all__ = [
    "Guard",
    "NonFiniteError",
    "Origin",
    "PreflightReport",
    "find_origin",
    "load_scene",
    "preflight",
    "save_checkpoint",
    "save_scene",
]
