"""The formats that runs come in, one file each; `open_source` picks."""

from tuimon.sources.base import Source, SourceError
from tuimon.sources.opening import open_source

__all__ = ["Source", "SourceError", "open_source"]
