"""How one training may have been logged: every so many steps, smoothed, scaled, shifted, rounded, without a column.

A variant derives from the columns of the one training, so that nothing is trained twice. `batch` is the public input:
what a reader would have made of that log.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from tests.quality.corpus import Run
from tuimon.record import Batch, Mark

LOSSES = ("loss", "val_loss")
SECONDS_PER_STEP = 0.05


@dataclass(frozen=True)
class Variant:
    """A way of logging.

    Attributes:
        name: as printed.
        interval: only every so many steps are logged (validation rows stay).
        decay: the loss is an exponential average with this decay, 0 for raw.
        scale, shift: both losses become scale * loss + shift; the gradient norm is scaled too.
        without: columns that are not logged.
        digits: decimals to which a text log rounds, None for full precision.
        declared: the header says what is known of the run; else there is no header.
    """

    name: str
    interval: int = 1
    decay: float = 0.0
    scale: float = 1.0
    shift: float = 0.0
    without: tuple[str, ...] = ()
    digits: int | None = None
    declared: bool = True


RAW = Variant("raw")
VARIANTS: tuple[Variant, ...] = (
    RAW,
    Variant("every 10", interval=10),
    Variant("every 50", interval=50),
    Variant("smoothed", decay=0.95),
    Variant("x 0.001", scale=1e-3, declared=False),
    Variant("x 1000", scale=1e3, declared=False),
    Variant("negative", shift=-20.0, declared=False),
    Variant("no grad norm", without=("grad_norm",)),
    Variant("loss only", without=("grad_norm", "val_loss", "lr"), declared=False),
    Variant("4 decimals", digits=4),
)


def smoothed(values: np.ndarray, decay: float) -> np.ndarray:
    """Exponential average that starts at the first value; a NaN stays in it, as it does in such loggers."""
    out = np.empty_like(values)
    mean = values[0]
    for index, value in enumerate(values):
        mean = decay * mean + (1 - decay) * value
        out[index] = mean
    return out


def logged_columns(run: Run, variant: Variant) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """The columns as this variant logs them: metric -> (steps, values)."""
    made = {}
    for name, (steps, column) in run.columns.items():
        if name in variant.without or (name.startswith("grad_norm/") and "grad_norm" in variant.without):
            continue
        values = column.astype(float)
        with np.errstate(all="ignore"):
            if name == "loss" and variant.decay:
                values = smoothed(values, variant.decay)
            if name in LOSSES:
                values = variant.scale * values + variant.shift
            elif name.startswith("grad_norm"):
                values = variant.scale * values
            if variant.digits is not None and name != "lr":
                values = np.round(values, variant.digits)
        kept = slice(None) if name == "val_loss" else steps % variant.interval == 0
        made[name] = (steps[kept], values[kept])
    return made


def header(run: Run, variant: Variant) -> dict[str, Any]:
    """The meta of the first line; a scaled or shifted loss is no cross-entropy in nats any more."""
    meta = dict(run.meta)
    if variant.decay:
        meta["loss_smoothing"] = variant.decay
    return {"tuimon": 1, "run": run.name, "meta": meta}


def batch(run: Run, variant: Variant = RAW) -> Batch:
    """The run as a reader hands it on. Validation rows stand on their own, after the training row of their step."""
    columns = logged_columns(run, variant)
    training = {name: column for name, column in columns.items() if name != "val_loss"}
    rows: dict[tuple[int, int], dict[str, float]] = {}
    _fill(rows, training, 0)
    if "val_loss" in columns:
        _fill(rows, {"val_loss": columns["val_loss"]}, 1)
    ordered = sorted(rows)
    marks = (Mark(0, "header", header(run, variant)),) if variant.declared else ()
    return Batch.from_rows(
        [(step, 1.7e9 + SECONDS_PER_STEP * step, rows[step, kind]) for step, kind in ordered], marks=marks
    )


def _fill(
    rows: dict[tuple[int, int], dict[str, float]], columns: Mapping[str, tuple[np.ndarray, np.ndarray]], kind: int
) -> None:
    for name, (steps, values) in columns.items():
        for step, value in zip(steps.tolist(), values.tolist(), strict=True):
            rows.setdefault((step, kind), {})[name] = value
