"""A run as the oracle sees it, and how it measures: level, noise, departure."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from tests.quality.training import Recipe

Columns = Mapping[str, tuple[np.ndarray, np.ndarray]]
Hidden = Mapping[str, np.ndarray]


@dataclass(frozen=True)
class Truth:
    """The label of a run.

    Attributes:
        row: catalogue row that should light; "healthy" when none may, "unclear" when the run is not scored.
        onset: step at which it began, None without one.
        accept: other rows that are right as well (the log cannot tell them apart, or both are there).
        planted: step of the planted fault, 0 for one from the start, None for healthy runs.
        growth: where the growth before an overflow began, None elsewhere.
    """

    row: str
    onset: int | None = None
    accept: frozenset[str] = frozenset()
    planted: int | None = None
    growth: int | None = None

    @property
    def rows(self) -> frozenset[str]:
        return self.accept | {self.row}


@dataclass(frozen=True)
class Trace:
    """One run as the oracle sees it; `loss` and `norm` have one value a step."""

    recipe: Recipe
    columns: Columns
    hidden: Hidden
    at: int
    loss: np.ndarray
    norm: np.ndarray
    val_steps: np.ndarray
    val: np.ndarray
    probe_steps: np.ndarray
    probe: np.ndarray

    @property
    def chance(self) -> float:
        """Loss of a uniform guess, or the first loss where there are no classes."""
        classes = self.meta_classes
        return math.log(classes) if classes else float(np.median(self.loss[:5]))

    @property
    def meta_classes(self) -> int:
        return int(self.hidden["classes"]) if "classes" in self.hidden else 0

    def before(self, step: int) -> tuple[float, float]:
        """Median and spread of the logged loss over the 64 steps before `step`."""
        window = self.loss[max(0, step - 64) : max(step, 1)]
        middle = float(np.median(window))
        return middle, max(1.4826 * float(np.median(np.abs(window - middle))), 1e-6 * abs(middle), 1e-12)

    def end(self) -> float:
        """Median probe loss over the last 15 % of the run."""
        return float(np.median(self.probe[-max(3, len(self.probe) * 15 // 100) :]))

    def end_logged(self) -> float:
        """The same of the logged loss, which follows when the data change."""
        return float(np.median(self.loss[-max(3, len(self.loss) * 15 // 100) :]))


def first(mask: np.ndarray) -> int | None:
    """Index of the first true entry."""
    return int(mask.argmax()) if mask.any() else None


def first_bad(trace: Trace) -> int | None:
    """The first step at which any of the four roles is not finite."""
    steps = [
        int(steps[~np.isfinite(values)][0])
        for name, (steps, values) in trace.columns.items()
        if name in ("loss", "val_loss", "grad_norm", "lr") and not np.isfinite(values).all()
    ]
    return min(steps) if steps else None


def rolling_median(values: np.ndarray, width: int) -> np.ndarray:
    """Median of each `width` consecutive values; shorter than the input by width-1."""
    if len(values) < width:
        return np.full(1, np.inf)
    return np.median(np.lib.stride_tricks.sliding_window_view(values, width), axis=1)


def departure(trace: Trace, start: int) -> int | None:
    """The first step from `start` at which the loss leaves its level for good: 6 spreads up, and the next four too."""
    level, noise = trace.before(start)
    above = ~(trace.loss[start:] <= level + 6 * noise)
    for offset in np.flatnonzero(above):
        if above[offset : offset + 5].mean() >= 0.8:
            return start + int(offset)
    return None
