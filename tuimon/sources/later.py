"""A source that is opened by its first read, in the thread that reads: opening may read a whole document."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Mapping, Sequence

from tuimon.record import Batch
from tuimon.sources.apart import apart
from tuimon.sources.base import CHUNK, Source, SourceError


class Later:
    """See the module.

    Args:
        path: what will be opened.
        open_source: opens it; raises what `open_source` does, and is asked again once the file has changed.
    """

    def __init__(self, path: str, open_source: Callable[[], Source]) -> None:
        self._path = path
        self._open = open_source
        self._source: Source | None = None
        self._error: SourceError | None = None
        self._facts: tuple[int, int] | None = None

    @property
    def path(self) -> str:
        """What is read; in a folder, the run that was found there."""
        return getattr(self._source, "path", self._path)

    @property
    def format(self) -> str:
        """See `Source.format`."""
        return self._source.format if self._source else ""

    @property
    def roles(self) -> Mapping[str, str]:
        """See `Source.roles`."""
        return self._source.roles if self._source else {}

    @property
    def candidates(self) -> Mapping[str, Sequence[str]]:
        """See `Source.candidates`."""
        return self._source.candidates if self._source else {}

    @property
    def ended(self) -> bool:
        """See `Source.ended`."""
        return self._source is not None and self._source.ended

    def read(self, limit: int = CHUNK) -> Batch:
        """See `Source.read`. Raises SourceError too: what is there is no log."""
        if self._source is None:
            facts = self._look()
            if self._error is not None and facts == self._facts:
                raise self._error
            self._facts = facts
            try:
                self._source = apart(self._open())
            except SourceError as error:
                self._error = error
                raise
        return self._source.read(limit)

    def finish(self) -> Batch:
        """See `Source.finish`."""
        return self._source.finish() if self._source else Batch()

    def describe(self) -> str:
        """See `Source.describe`."""
        return self._source.describe() if self._source else ""

    def close(self) -> None:
        """See `Source.close`."""
        if self._source is not None:
            self._source.close()

    def _look(self) -> tuple[int, int] | None:
        with contextlib.suppress(OSError):
            facts = os.stat(self._path)
            return facts.st_mtime_ns, facts.st_size
        return None
