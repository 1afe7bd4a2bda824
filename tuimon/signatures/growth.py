"""Whether the loss or the gradient was growing just before a step, and since when."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import median
from typing import NamedTuple

from tuimon.signatures.course import Course

FAR = 8.0
"""Sigmas above the baseline that noise does not reach two times in a row (0 of 339,850 healthy public steps)."""

NEAR = 3.0
"""Sigmas above the baseline within which a value is ordinary again."""

FOLD = 4.0
"""Least ratio of gradient norms that counts as growth: gradients are noisier than losses."""

UNARMED_FOLD = 10.0
"""The same where there are too few points for a baseline."""


class Growth(NamedTuple):
    """A rise that was still going on: its first step and numbers for a person."""

    onset: int
    text: str


MANY_SIGMAS = 1000.0
"""Above it the number says only how little noise there was."""


def sigmas(height: float, noise: float) -> str:
    """`height` over `noise` as it is told; `noise` may be 0."""
    many = height > MANY_SIGMAS * noise
    return f"more than {short(MANY_SIGMAS)} sigma" if many else f"{short(height / noise)} sigma"


def short(value: float) -> str:
    """A number for a person: four significant digits at most."""
    return f"{value:.4g}"


def digits(value: float) -> int:
    """Significant digits that a logged value was written with, at least."""
    return len(f"{value:.12g}".replace(".", "").replace("-", "").lstrip("0").split("e")[0])


def growth_before(course: Course, step: int) -> Growth | None:
    """The growth that led up to `step`: of the loss, or else of the gradient norm."""
    losses, loss_steps = _before(course.losses, course.loss_steps, step)
    gns, gn_steps = _before(course.gns, course.gn_steps, step)
    level, log_gn = course.level, course.log_gn
    loss = grad = None
    if losses:
        if level is None:
            loss = _young(losses)
        elif level.z(losses[-1]) > FAR:
            loss = _leave(losses, level.middle + NEAR * level.sigma)
    if gns and gns[-1] > 0.0:
        if log_gn is None:
            grad = _young([math.log(gn) if gn > 0 else -math.inf for gn in gns], math.log(UNARMED_FOLD))
        elif gns[-1] > FOLD * math.exp(log_gn.middle) and log_gn.z(math.log(gns[-1])) > FAR:
            grad = _leave(gns, math.exp(min(log_gn.middle + NEAR * log_gn.sigma, 700.0)))
    parts = []
    if loss is not None:
        parts.append((loss_steps[loss], f"loss {short(losses[max(loss - 1, 0)])} -> {short(losses[-1])}"))
    if grad is not None:
        parts.append((gn_steps[grad], f"grad_norm {short(gns[max(grad - 1, 0)])} -> {short(gns[-1])}"))
    if not parts:
        return None
    onset = min(part[0] for part in parts)
    return Growth(onset, " and ".join(part[1] for part in parts))


def _before(values: Sequence[float], steps: Sequence[int], step: int) -> tuple[list[float], list[int]]:
    """The recent points that belong to earlier steps."""
    count = len(steps)
    while count and steps[count - 1] >= step:
        count -= 1
    return list(values)[:count], list(steps)[:count]


def _leave(values: Sequence[float], ordinary: float) -> int:
    """Index of the first value of the last unbroken run above `ordinary`."""
    i = len(values) - 1
    while i > 0 and values[i - 1] > ordinary:
        i -= 1
    return i


def _young(values: Sequence[float], least: float | None = None) -> int | None:
    """The same without a baseline: the last value is the highest, and the rise to it dwarfs what came before.

    The rise is measured from the last low; what came before it is the median absolute change up to that low.
    """
    last = len(values) - 1
    if last < 1 or values[last] < max(values):
        return None
    i = last
    while i > 0 and values[i - 1] < values[i]:
        i -= 1
    rise = values[last] - values[i]
    if least is not None:
        return i + 1 if rise > least else None
    changes = [abs(b - a) for a, b in zip(values[:i], values[1 : i + 1], strict=True)]
    if len(changes) >= 3:
        return i + 1 if rise > FAR * median(changes) and rise > max(changes) else None
    growing = last - i >= 2 and values[last] - values[last - 1] > values[last - 1] - values[last - 2]
    return i + 1 if growing or rise > UNARMED_FOLD * abs(values[i]) else None
