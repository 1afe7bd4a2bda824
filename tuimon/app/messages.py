"""What crosses from the follower's thread into the app."""

from __future__ import annotations

from dataclasses import dataclass

from textual.message import Message

from tuimon.follow import Status
from tuimon.record import Batch


@dataclass
class Arrived(Message):
    """Records were read. The batch is frozen; nobody changes it after it was posted."""

    batch: Batch


@dataclass
class StatusChanged(Message):
    """The following goes differently now."""

    status: Status
