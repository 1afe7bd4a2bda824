"""Gradient descent in a valley a * theta**2 / 2: the picture behind the learning rate's limit (stdlib only).

Near a minimum every smooth loss looks like this along each direction, with `a` the curvature there. Everything is exact
for the valley and holds for a network only as long as it stays near one.
"""

from __future__ import annotations

import cmath
import math
from collections.abc import Sequence
from typing import Literal

Regime = Literal["creeps", "bounces", "swings", "blows up"]

FAR = 1e150
"""Distance at which a walk stops: its square is still a number."""


def limit(curvature: float, momentum: float = 0.0) -> float:
    """The learning rate from which steps grow: 2 (1 + momentum) / curvature (heavy ball; Polyak, 1964)."""
    return 2 * (1 + momentum) / curvature


def multiplier(lr: float, curvature: float, momentum: float = 0.0) -> complex:
    """What one step multiplies the distance from the minimum by, in the long run.

    Without momentum 1 - lr * curvature. With it, the larger root of r**2 - (1 + momentum - lr * curvature) r + momentum
    = 0; a complex one means that the distance swings while its size changes by abs(r) per step.
    """
    middle = 1 + momentum - lr * curvature
    root = cmath.sqrt(middle * middle - 4 * momentum)
    return max((middle + root) / 2, (middle - root) / 2, key=abs)


def regime(lr: float, curvature: float, momentum: float = 0.0) -> Regime:
    """Which of the pictures it is: creeps down one side, bounces across, swings through, or blows up."""
    factor = multiplier(lr, curvature, momentum)
    if lr >= limit(curvature, momentum):
        return "blows up"
    if abs(factor.imag) > 1e-12:  # rounding of the root of a square
        return "swings"
    return "bounces" if factor.real < 0 else "creeps"


def walk(
    lr: float | Sequence[float],
    curvature: float | Sequence[float],
    momentum: float = 0.0,
    start: float = 1.0,
    steps: int = 60,
) -> list[float]:
    """Positions of heavy-ball descent, the start first; shorter than `steps` + 1 where it left for infinity.

    Args:
        lr: one learning rate, or one per step.
        curvature: one curvature, or one per step.
        momentum: 0 <= momentum < 1.
        start: first position.
        steps: number of steps.
    """
    rates = [lr] * steps if isinstance(lr, (int, float)) else lr
    curvatures = [curvature] * steps if isinstance(curvature, (int, float)) else curvature
    position, velocity = start, 0.0
    positions = [position]
    for rate, steepness in zip(rates[:steps], curvatures[:steps], strict=True):
        velocity = momentum * velocity + steepness * position
        position -= rate * velocity
        if not abs(position) < FAR:
            break
        positions.append(position)
    return positions


def losses(positions: Sequence[float], curvature: float | Sequence[float]) -> list[float]:
    """The loss a * theta**2 / 2 at each position; a curvature per step goes with the step's start."""
    if isinstance(curvature, (int, float)):
        return [curvature * position * position / 2 for position in positions]
    last = len(curvature) - 1
    return [curvature[min(i, last)] * position * position / 2 for i, position in enumerate(positions)]


def warmup(peak: float, steps: int, ramp: int) -> list[float]:
    """Learning rates that rise in a straight line to `peak` over `ramp` steps and stay; ramp 0 starts there."""
    return [peak * min(1.0, (step + 1) / ramp) if ramp else peak for step in range(steps)]


def softening(early: float, late: float, steps: int, time_constant: float) -> list[float]:
    """Curvatures that fall from `early` to `late` exponentially: a network is steepest in its first steps."""
    return [late + (early - late) * math.exp(-step / time_constant) for step in range(steps)]
