"""What crosses from other threads into the app."""

from __future__ import annotations

from dataclasses import dataclass

from textual.message import Message

from tuimon.app.taken import Taken
from tuimon.follow import Status
from tuimon.record import Batch
from tuimon.survey import Listing


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
