"""What a source takes its input for, as one frozen value that crosses the threads."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from tuimon.plain import plain_text
from tuimon.sources.base import Source

LISTED = 3
"""Metrics named where none is a loss; the list of runs has more of them."""


@dataclass(frozen=True, slots=True)
class Taken:
    """What a source takes its input for.

    Attributes:
        described: in one line.
        path: of what is read.
        loss: the metric that plays the loss, empty without one.
        losses: every metric that could, best first.
        metrics: the metrics that are there, where none of them is a loss.
    """

    described: str = ""
    path: str = ""
    loss: str = ""
    losses: tuple[str, ...] = ()
    metrics: tuple[str, ...] = ()

    def choice(self, key: str) -> tuple[str, ...]:
        """Which metric plays the loss, where that is worth a word, and which `key` takes another; long and short."""
        others = len(self.losses) - 1
        if self.loss in ("", "loss") and others < 1:
            return ()
        if others < 1:
            return (f"loss <- {plain_text(self.loss, 30)}",)
        long = f"loss <- {plain_text(self.loss, 30)}, {others} other{'s' * (others > 1)} ({key})"
        return long, f"loss <- {plain_text(self.loss, 16)} ({key})"

    @property
    def lack(self) -> str:
        """What there is instead of a loss, empty with one."""
        if not self.metrics:
            return ""
        more = f" and {len(self.metrics) - LISTED} more" if len(self.metrics) > LISTED else ""
        names = ", ".join(plain_text(name, 20) for name in self.metrics[:LISTED])
        return f"no loss among {names}{more} (--map loss=NAME)"


def taken(source: Source, path: str, metrics: Collection[str] = ()) -> Taken:
    """What `source` takes its input for now; to be asked in the thread that reads it.

    Args:
        source: which.
        path: what was opened, for a source that does not tell.
        metrics: the metrics that came so far.
    """
    loss = source.roles.get("loss", "")
    losses = tuple(source.candidates.get("loss", ()))
    if loss and loss not in losses:
        losses = (loss, *losses)
    lost = not {"loss", "val_loss"} & set(source.roles)
    return Taken(source.describe(), getattr(source, "path", path), loss, losses, tuple(metrics) if lost else ())
