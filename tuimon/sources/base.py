"""What every source is: appended bytes of one format in, batches of records out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from tuimon.record import Batch

CHUNK = 64 * 1024
"""Bytes per read: a batch of this size keeps the screen's worst stall at 7 ms (measured; 256 KB: 11 ms)."""

LONGEST_LINE = 1024 * 1024
"""A longer line is skipped and counted as bad: no size of line may exhaust memory."""

MOST_BAD = 20
"""Bad lines that a batch describes; the others are only counted."""


class SourceError(Exception):
    """The input cannot be read at all; the message says why and what to do, in one line."""


class Source(Protocol):
    """Reads one run from one place."""

    @property
    def format(self) -> str:
        """Short name of the format, a key of the table of formats; empty while unknown."""

    @property
    def roles(self) -> Mapping[str, str]:
        """Role -> name of the metric in the file, for what has been seen so far."""

    @property
    def candidates(self) -> Mapping[str, Sequence[str]]:
        """Role -> every name in the file that could play it, best first: what the user can switch to."""

    @property
    def ended(self) -> bool:
        """Whether nothing can come any more (a pipe whose other end is closed); never true of a file."""

    def read(self, limit: int = CHUNK) -> Batch:
        """The records that were completed since the last read, from at most about `limit` bytes.

        An incomplete last line stays unread until its newline comes. An empty batch with `more` False means that there
        is nothing new. A truncated or replaced file is read from its start again, after a "restart" mark.

        Raises:
            FileNotFoundError, PermissionError, OSError: the file is not there (yet, or any more); the source stays
                usable and the next read tries again.
        """

    def finish(self) -> Batch:
        """What is left though its newline never came: call it once, after everything is read, for a run that is over.

        A source may be read on afterwards; it then goes on behind that last line.
        """

    def describe(self) -> str:
        """One line for a person: what the input was taken for, and which metric plays which role."""

    def close(self) -> None:
        """Lets go of the file."""
