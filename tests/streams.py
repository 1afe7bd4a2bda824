"""Builders of runs, row by row, for the tests of detectors and of the Monitor."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping, Sequence

from tuimon.monitor import Monitor, Snapshot
from tuimon.record import Batch, Mark
from tuimon.signatures.finding import Finding

Metrics = dict[str, float | None]
Row = tuple[int, float | None, Metrics]
Change = Callable[[int], Metrics]
NAN, INF = math.nan, math.inf


def run(
    steps: int = 600,
    change: Change = lambda step: {},
    *,
    seed: int = 0,
    start: int = 0,
    floor: float = 0.4,
    height: float = 2.0,
    noise: float = 0.05,
    scale: float = 1.0,
    shift: float = 0.0,
    every: int = 1,
    without: Sequence[str] = (),
) -> list[Row]:
    """A run that learns, with what `change` says for a step laid over it.

    The loss falls exponentially from floor + height to floor, with noise; every 25th step is evaluated. Losses are
    multiplied by `scale` and raised by `shift` after the change, every `every`-th step is logged, and the metrics in
    `without` are not.
    """
    rng = random.Random(seed)
    rows: list[Row] = []
    for step in range(start, start + steps):
        clean = floor + height * math.exp(-step / 150)
        metrics: Metrics = {"loss": clean + rng.gauss(0, noise), "grad_norm": math.exp(rng.gauss(0, 0.2)), "lr": 1e-3}
        if step % 25 == 0:
            metrics["val_loss"] = clean + 0.05 + rng.gauss(0, 0.01)
        metrics |= change(step)
        for name in ("loss", "val_loss"):
            value = metrics.get(name)
            if value is not None:
                metrics[name] = value * scale + shift
        kept = {name: value for name, value in metrics.items() if name not in without and value is not None}
        if step % every == 0 and kept:
            rows.append((step, 1e9 + 0.5 * step, kept))
    return rows


def header(row: int = 0, **meta: object) -> Mark:
    """A header that declares `meta`."""
    return Mark(row, "header", {"run": "test", "meta": meta})


def watched(rows: Sequence[Row], *marks: Mark) -> Snapshot:
    """What the Monitor says of the rows."""
    return Monitor().feed(Batch.from_rows(rows, marks=marks))


def found(snapshot: Snapshot, signature: str) -> Finding:
    """The finding of one signature; the test fails with what was said instead."""
    hits = [finding for finding in snapshot.findings if finding.signature == signature]
    assert hits, f"no {signature}; said {[(f.signature, f.onset_step, f.evidence) for f in snapshot.findings]}"
    return hits[0]


def loud(snapshot: Snapshot) -> list[str]:
    """Signatures above a note."""
    return [finding.signature for finding in snapshot.findings if finding.severity != "note"]


def after(first: int, last: int | None = None, **values: float | None) -> Change:
    """The given values from step `first` (to `last`, included)."""
    end = math.inf if last is None else last
    return lambda step: dict(values) if first <= step <= end else {}


def both(*changes: Change) -> Change:
    """Several changes, later ones over earlier ones."""

    def change(step: int) -> Metrics:
        merged: Metrics = {}
        for one in changes:
            merged |= one(step)
        return merged

    return change


def climb(first: int, factor: float, *names: str) -> Change:
    """Growth by `factor` a step from `first` on, of all `names`, capped before overflow."""
    return lambda step: {name: min(1.0 * factor ** (step - first + 1), 1e30) for name in names} if step >= first else {}


def healthy() -> Mapping[str, list[Row]]:
    """Runs that look bad and are not."""
    rng = random.Random(5)
    tail = [rng.gauss(0, 1) for _ in range(4000)]

    def bumpy(step: int) -> Metrics:
        # One wide batch in a hundred, never two in a row: the heavy tail of small batches.
        return {"loss": 0.5 + 0.05 * tail[step] + (1.5 if step % 97 == 41 else 0.0)}

    def restarts(step: int) -> Metrics:
        place = step % 200
        lr = 1e-3 * (0.51 + 0.49 * math.cos(math.pi * place / 200))
        return {"lr": lr, "loss": 0.4 + 1.6 * math.exp(-step / 150) + 0.5 * math.exp(-place / 12) + 0.02 * tail[step]}

    def shelf(step: int) -> Metrics:
        level = math.log(2) if step < 180 else 0.05 + 0.64 * math.exp(-(step - 180) / 60)
        return {"loss": level + 0.01 * tail[step], "val_loss": level if step % 25 == 0 else None}

    def hump(step: int) -> Metrics:
        return {
            "loss": 6.9
            + (10.0 * math.exp(-((step - 2) ** 2) / 4) if step < 12 else 0)
            - 4 * (1 - math.exp(-step / 90))
            + 0.03 * tail[step]
        }

    return {
        "ordinary": run(1200),
        "heavy tail": run(1500, bumpy),
        "restarts": run(1200, restarts),
        "a shelf at ln 2": run(700, shelf),
        "6.9 to 16.9 at step 2": run(600, hump),
        "converged": run(3000, height=1.0, noise=0.02, floor=0.3),
        "noise of diffusion": run(
            1500, lambda step: {"loss": 0.1 * math.exp(1.2 * tail[step]) * math.exp(-step / 400) + 0.01}
        ),
        "rounded": [(s, t, {k: round(v, 3) for k, v in m.items() if v is not None}) for s, t, m in run(1200)],
        "every tenth step": run(4000, every=10),
        "loss only": run(1200, without=("grad_norm", "val_loss", "lr")),
        "grad_norm printed as 0.000": run(900, lambda step: {"grad_norm": 0.0}),
        "scaler calibration": run(
            600, lambda step: {"grad_norm": INF if step < 6 else 1.0 + 0.1 * tail[step], "loss_scale": 65536.0}
        ),
        "a skip in two thousand": run(
            2500, lambda step: {"grad_norm": INF if step == 1700 else 1.0 + 0.1 * tail[step], "loss_scale": 1024.0}
        ),
    }
