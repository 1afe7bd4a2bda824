"""Finds the runs in a folder, by what is in its files."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass

from tuimon.plain import plain_text
from tuimon.sources import loose
from tuimon.sources.base import SourceError
from tuimon.sources.names import match, rank_step
from tuimon.sources.sniff import Format, Head, names_metrics, sniff
from tuimon.sources.tfevents import PHASE

_MOST_ENTRIES = 20_000
"""Directory entries that are looked at: a data set next to the logs must not hold up the start."""

_MOST_FILES = 400
"""Files whose beginning is read, newest first: a head each, a second or two on a slow disk."""

_DEEPEST = 6
"""Folders below the one that was named: lightning_logs/version_0/checkpoints is three."""

_SHORT_HEAD = 32 * 1024
"""Bytes of each file that are read to tell whether it is a run."""

_SKIPPED = frozenset(("node_modules", "__pycache__", "site-packages", "venv"))

_ENDINGS = frozenset(
    [".jsonl", ".json", ".ndjson", ".csv", ".tsv", ".txt", ".log", ".out", ".err", ".tfevents", ".wandb", ".v2"]
)
"""Endings of files that may hold a log; a name without any, or with a number for one, may as well."""

_PROSE = frozenset(
    "readme license licence copying notice authors changelog changes todo citation requirements cmakelists makefile "
    "dockerfile jenkinsfile".split()
)
"""Names, without an ending, of files that people write: a loss of 0.3 that one of them reports is no run."""


@dataclass(frozen=True, slots=True)
class Run:
    """A run that was found.

    Attributes:
        path: what to give to `open_source`.
        format: key of its format.
        title: name of the format for people.
        changed: Unix time of the last write.
        size: bytes.
    """

    path: str
    format: str
    title: str
    changed: float
    size: int


Known = dict[str, tuple[float, int, Format | None]]
"""Path -> time of the last write, size and format of a file that was looked at."""


def find_runs(path: str | os.PathLike[str], known: Known | None = None) -> list[Run]:
    """The runs in a folder and below, the one written last first. The work is bounded, whatever lies there.

    Args:
        path: the folder.
        known: what an earlier look found, and brought up to date by this one: only changed files are opened again.

    Raises:
        OSError: the folder cannot be read.
    """
    root = os.fspath(path)
    os.listdir(root)
    files = sorted(_files(root), reverse=True)[:_MOST_FILES]
    found = []
    seen: set[str] = set()
    for changed, size, name in files:
        entry = _told_again(name, changed, size, known)
        if entry is None:
            continue
        place = _place(entry, name)
        if place not in seen:
            seen.add(place)
            found.append(Run(place, entry.key, entry.title, changed, size))
    return found


def is_bare(path: str | os.PathLike[str]) -> bool:
    """Whether nothing in a folder may be a log: a training may still be going to write one."""
    return next(_files(os.fspath(path)), None) is None


def newest_run(path: str | os.PathLike[str], format: str | None = None) -> Run:
    """The run in a folder that was written last, of those in `format` if that is given.

    Raises:
        SourceError: there is none.
    """
    found = [run for run in find_runs(path) if format in (None, run.format)]
    if not found:
        known = f"as {format}" if format else "in a known format"
        raise SourceError(f"no run in {plain_text(os.fspath(path))}: no file there is a log {known}")
    newest = found[0]
    structured = next((run for run in found if run.format != "text"), newest)
    # A trainer writes console text and metrics side by side: the metrics are exact.
    return structured if newest.changed - structured.changed < _SAME_RUN else newest


_SAME_RUN = 600.0
"""Seconds between the last writes of two files of one training: console text comes more often than metrics."""


def _files(root: str) -> Iterator[tuple[float, int, str]]:
    """(time of last write, size, path) of what may be logs below `root`."""
    budget = _MOST_ENTRIES
    waiting = [(root, 0)]
    while waiting and budget > 0:
        folder, depth = waiting.pop(0)
        try:
            entries = os.scandir(folder)
        except OSError:
            continue
        with entries:
            for entry in entries:
                budget -= 1
                if budget <= 0:
                    return
                try:
                    if entry.is_dir(follow_symlinks=False):
                        if depth < _DEEPEST and not entry.name.startswith(".") and entry.name not in _SKIPPED:
                            waiting.append((entry.path, depth + 1))
                    elif _may_be_log(entry.name):
                        facts = entry.stat()
                        if stat.S_ISREG(facts.st_mode) and facts.st_size:
                            yield facts.st_mtime, facts.st_size, entry.path
                except OSError:
                    continue


def _may_be_log(name: str) -> bool:
    stem, ending = os.path.splitext(name.lower())
    if stem in _PROSE:
        return False
    return ending in _ENDINGS or not ending or ending[1:].isdigit() or "tfevents" in name


def _told_again(path: str, changed: float, size: int, known: Known | None) -> Format | None:
    """The same as `_told`, without opening a file that has not changed, or that has only grown and is a run."""
    if known is None:
        return _told(path)
    before = known.get(path)
    if before is None or before[:2] != (changed, size):
        grown = before is not None and before[2] is not None and size >= before[1]
        known[path] = (changed, size, before[2] if before is not None and grown else _told(path))
    return known[path][2]


def _told(path: str) -> Format | None:
    """The format of a file that is a run, None for anything else."""
    try:
        with open(path, "rb") as file:
            head = Head(os.path.basename(path), file.read(_SHORT_HEAD))
        entry = sniff(head)
    except (OSError, SourceError):
        return None
    return entry if _EVIDENCE.get(entry.key, _always)(head) else None


def _always(head: Head) -> bool:
    return bool(head.text)


def _talks_of_loss(head: Head) -> bool:
    """Whether a text has the word loss and a number on one line: a README or a licence is no run."""
    return any(b"loss" in line.lower() and any(48 <= byte <= 57 for byte in line) for line in head.lines)


def _has_history(head: Head) -> bool:
    """Whether a document is a trainer's log and not a configuration."""
    return b'"log_history"' in head.text or head.start.startswith(b"[")


def _has_metrics(head: Head) -> bool:
    """Whether JSON Lines hold metrics and are no data set: a role, or a step with some number."""
    return any(_tells_metrics(line) for line in head.lines[:20])


def _tells_metrics(line: bytes) -> bool:
    rows, _ = loose.records(line)
    keys = [key for row in rows for key, value in row.items() if not isinstance(value, str) or len(value) < _LONG_CELL]
    return any(match(key) is not None for key in keys) or any(rank_step(key) is not None for key in keys)


_EVIDENCE = {"text": _talks_of_loss, "json": _has_history, "jsonl": _has_metrics, "csv": names_metrics}
"""What a file in a folder must have beside its format: nobody named it, and data sets have the same formats."""

_LONG_CELL = 40
"""Characters of a value that can still be a number in words."""


def _place(entry: Format, path: str) -> str:
    """What to open for a file: event files of one folder are one run, and so are the checkpoints of one training."""
    folder = os.path.dirname(path)
    if entry.key == "tfevents":
        return os.path.dirname(folder) if PHASE.fullmatch(os.path.basename(folder)) else folder
    if entry.key == "json" and os.path.basename(path) == "trainer_state.json":
        return os.path.dirname(folder) if os.path.basename(folder).startswith("checkpoint-") else folder
    return path
