"""What a run says about the valley it is in: only with what that needs, else nothing and why."""

from __future__ import annotations

import math
from dataclasses import dataclass

from tuimon.formulas import largest_stable_lr
from tuimon.monitor import Snapshot
from tuimon.numerals import value_text
from tuimon.plain import plain_text
from tuimon.signatures.finding import Family
from tuimon.store import Store

FASTEST = 4.0
"""Growth of the gradient per step up to which the valley is a fair picture; beyond, the walk has left it."""

SLOWEST = 1.1
"""Growth per step from which two steps say more than the noise of the batches."""

GROWTH_ROWS = ("lr-too-high", "nan-after-growth")

CONCERNED = frozenset(("divergence", "spike", "oscillation", "gradient"))
"""Families of rows for which the limit of the learning rate says something."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """The valley that explains how the gradient grew, or why there is none.

    Attributes:
        lr, momentum: of the run where it began to grow.
        limit: the largest stable learning rate, None when it cannot be known.
        words: one line for a person: where it comes from and how sure it is, or what is missing.
    """

    limit: float | None
    words: str
    lr: float = 0.0
    momentum: float = 0.0

    @property
    def curvature(self) -> float | None:
        """Of the valley: 2 (1 + momentum) / limit."""
        return None if self.limit is None else 2 * (1 + self.momentum) / self.limit


def estimate_for(signature: str, family: Family, snapshot: Snapshot, store: Store) -> Estimate:
    """The same for one row; without words where the row has nothing to do with the learning rate."""
    concerns = family in CONCERNED or signature in GROWTH_ROWS
    return estimate(snapshot, store) if concerns else Estimate(None, "")


def estimate(snapshot: Snapshot, store: Store) -> Estimate:
    """The valley at the onset of a run's divergence.

    Holds for SGD with or without heavy-ball momentum, for gradients that were not clipped, on the first two steps of a
    growth of SLOWEST to FASTEST per step. Typical error 0.7 to 1.4 times.
    """
    onsets = [found.onset_step for found in snapshot.findings if found.signature in GROWTH_ROWS]
    if not onsets:
        return Estimate(None, "No estimate from this run: its gradient does not grow.")
    momentum = snapshot.meta.get("momentum", 0.0)
    optimizer = snapshot.meta.get("optimizer")
    if isinstance(optimizer, str) and optimizer.lower() != "sgd":
        return Estimate(None, f"No estimate from this run: no such limit is known for {plain_text(optimizer, 30)}.")
    if not isinstance(optimizer, str) or not _is_momentum(momentum):
        return Estimate(None, 'No estimate from this run: it needs plain SGD, declared as meta={"optimizer": "sgd"}.')
    tried = [_at(onset, snapshot, store, float(momentum)) for onset in onsets]  # type: ignore[arg-type]
    return next((found for found in tried if found.limit is not None), tried[0])


def _at(onset: int, snapshot: Snapshot, store: Store, momentum: float) -> Estimate:
    norms, rates = _values(store, "grad_norm", onset), _values(store, "lr", onset)
    if norms is None or rates is None:
        return Estimate(None, f"No estimate: it needs grad_norm and lr of the three steps from {onset} on.")
    clip = snapshot.meta.get("clip_norm")
    if isinstance(clip, (int, float)) and max(norms) > clip:
        return Estimate(None, f"No estimate: the gradient was clipped at {value_text(float(clip), 3)} while it grew.")
    growth, lr = math.sqrt(norms[2] / norms[0]), rates[0]
    if not SLOWEST <= growth <= FASTEST or rates[2] != lr or lr <= 0:
        return Estimate(None, f"No estimate: the first steps after {onset} are no steady growth at one rate.")
    limit = largest_stable_lr(lr, growth, momentum)
    words = (
        f"From step {onset} on the gradient grew {growth:.2f}-fold per step at lr {value_text(lr, 3)}: the limit is "
        f"about {value_text(limit, 2)} (typical error 0.7 to 1.4 times)."
    )
    return Estimate(limit, words, lr, momentum)


def _is_momentum(value: object) -> bool:
    return isinstance(value, (int, float)) and 0 <= value < 1


def _values(store: Store, name: str, onset: int) -> list[float] | None:
    """The values at three neighbouring steps from the onset on, finite and positive; None without them."""
    column = store.columns.get(name)
    if column is None:
        return None
    steps, values = column.window(onset, onset + 2)
    good = list(steps) == [onset, onset + 1, onset + 2] and all(math.isfinite(v) and v > 0 for v in values)
    return list(values) if good else None
