"""What crosses from other threads into the app."""

from __future__ import annotations

from dataclasses import dataclass

from textual.message import Message

from tuimon.follow import Status
from tuimon.record import Batch
from tuimon.sources.base import Source
from tuimon.survey import Listing


@dataclass(frozen=True, slots=True)
class Taken:
    """What a source takes its input for.

    Attributes:
        described: in one line.
        path: of what is read.
        loss: the metric that plays the loss, empty without one.
        losses: every metric that could, best first.
    """

    described: str = ""
    path: str = ""
    loss: str = ""
    losses: tuple[str, ...] = ()


def taken(source: Source, path: str) -> Taken:
    """What `source` takes its input for now; to be asked in the thread that reads it.

    Args:
        source: which.
        path: what was opened, for a source that does not tell.
    """
    loss = source.roles.get("loss", "")
    losses = tuple(source.candidates.get("loss", ()))
    if loss and loss not in losses:
        losses = (loss, *losses)
    return Taken(source.describe(), getattr(source, "path", path), loss, losses)


@dataclass
class Arrived(Message):
    """Records were read. The batch is frozen; nobody changes it after it was posted.

    Attributes:
        batch: the records.
        generation: counts the inputs that were followed; of an earlier one nothing is wanted any more.
        taken: what the input is taken for, where that may have changed.
    """

    batch: Batch
    generation: int = 0
    taken: Taken | None = None


@dataclass
class StatusChanged(Message):
    """The following goes differently now."""

    status: Status
    generation: int = 0


@dataclass
class Surveyed(Message):
    """Somebody looked at the folder."""

    listing: Listing
