"""Which format an input is in: a table, looked through from the top; the first entry that fits is taken.

A new format is one file with a class as `lined.LineSource` shows, and one line in FORMATS.
"""

from __future__ import annotations

import importlib
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from tuimon.plain import plain_text
from tuimon.sources import loose
from tuimon.sources.base import LONGEST_LINE, Source, SourceError
from tuimon.sources.names import match, rank_step
from tuimon.sources.pipe import Pipe

HEAD = 256 * 1024
"""Bytes that are looked at to tell the format and the roles."""

_LINES = 200
"""Lines of the head that are counted to tell a format."""


@dataclass(frozen=True)
class Head:
    """The beginning of an input.

    Attributes:
        name: its file name without the folder, "-" for a pipe.
        text: its first bytes, HEAD of them or a longer first line.
    """

    name: str
    text: bytes

    @cached_property
    def lines(self) -> list[bytes]:
        """The first lines that are not blank, without blanks around them."""
        text = self.text.removeprefix(b"\xef\xbb\xbf").replace(b"\r", b"\n").replace(b"\0", b"")
        return [stripped for line in text.split(b"\n")[: 4 * _LINES] if (stripped := line.strip())][:_LINES]

    @cached_property
    def start(self) -> bytes:
        """The first bytes that are not blank."""
        return self.text.removeprefix(b"\xef\xbb\xbf")[:4096].lstrip()


@dataclass(frozen=True)
class Format:
    """An entry of the table.

    Attributes:
        key: short name, for --format.
        title: name for people.
        matches: whether a head is in this format.
        opens: "module:Class" of its source, imported when needed.
        takes: what the class is made from: "lines" (a Tail or Pipe) or "path".
    """

    key: str
    title: str
    matches: Callable[[Head], bool]
    opens: str
    takes: str = "lines"

    def load(self) -> Any:
        """The class of the source."""
        module, _, name = self.opens.partition(":")
        return getattr(importlib.import_module(module), name)


def is_tfevents(head: Head) -> bool:
    """A TFRecord: a length whose checksum is right."""
    from tuimon.sources.tfrecord import starts_record

    return starts_record(head.text)


def is_wandb(head: Head) -> bool:
    """The magic bytes of a W&B offline file."""
    return head.text.startswith(b":W&B")


def is_tuimon(head: Head) -> bool:
    """The header line of our own writer."""
    return head.start.startswith(b'{"tuimon":')


def is_jsonl(head: Head) -> bool:
    """Mostly lines that are JSON objects; Python's dicts only in a file named so, else they are a console's."""
    lines = head.lines
    # A torn last line says nothing, unless it is all there is.
    whole = lines[:-1] if len(lines) > 1 and not head.text.endswith((b"\n", b"\r")) else lines
    named = head.name.endswith((".jsonl", ".ndjson"))
    begins = _OBJECT_OR_DICT if named else _OBJECT
    if named and len(lines) == 1 and len(head.text) > LONGEST_LINE and begins.match(lines[0]):
        return True  # a header that is too long to be read, with a run behind it
    objects = [line for line in whole if begins.match(line) and line.endswith((b"}", b"},"))]
    if not objects or len(objects) < 0.6 * len(whole):
        return False
    return any(map(loose.is_readable, objects[:20]))


_OBJECT = re.compile(rb'\{\s*["}]')
_OBJECT_OR_DICT = re.compile(rb"""\{\s*["'}]""")


def is_json(head: Head) -> bool:
    """One JSON document: over several lines, or with a Hugging Face log or lists of values in its only line."""
    if not head.start.startswith((b"{", b"[")):
        return False
    if b'"log_history"' in head.text[:65536] or re.match(rb'\[\s*\{\s*"', head.start):
        return True
    lists = len(head.lines) == 1 and re.match(rb'\{\s*"[^"]+":\s*\[', head.start)
    return bool(lists or re.match(rb'\{\s*[\r\n]+\s*["}]', head.start))


_DELIMITERS = b",;\t"


def delimiter(head: Head) -> str:
    """What separates the cells of a table: of ',', ';' and tab the one most frequent in the first line."""
    first = _cells_only(head.lines[0]) if head.lines else b""
    best = max(_DELIMITERS, key=first.count)
    return chr(best)


def _cells_only(line: bytes) -> bytes:
    """`line` without what stands in quotes."""
    return re.sub(rb'"[^"]*"', b'""', line)


def is_csv(head: Head) -> bool:
    """A header of names and, below, rows with as many cells that are mostly numbers or empty."""
    if not head.lines or head.start.startswith((b"{", b"[", b"<")):
        return False
    mark = delimiter(head).encode()
    header = _header(head, mark)
    named = sum(bool(re.search(rb"[A-Za-z_]", cell)) and not _PAIR.search(cell) for cell in header)
    if named < max(1, 0.8 * sum(map(bool, header))) or any(len(cell) > 200 for cell in header):
        return False
    rows = head.lines[1:20] if len(head.lines) > 2 else head.lines[1:2]
    by_name = head.name.lower().endswith((".csv", ".tsv"))
    if not rows:
        return names_metrics(head) and (len(header) > 1 or by_name)
    if len(header) < 2:
        return by_name and _numeric(rows[0])
    # A separator at the end of every row is no cell.
    fitting = [_cells_only(row).removesuffix(mark).count(mark) in _widths(header, row, mark) for row in rows]
    enough = sum(fitting) >= (0.25 if by_name else 0.6) * len(rows)
    return fitting[0] and enough and any(_numeric(cell) for cell in rows[0].split(mark))


def _widths(header: list[bytes], row: bytes, mark: bytes) -> tuple[int, ...]:
    """How many separators a row may have, but for one at its end."""
    separators = len(header) - 1
    return (separators - 1, separators) if row.endswith(mark) else (separators,)


_PAIR = re.compile(rb"^[^\"]*[=:]\s*[-+\d.]")
"""A name with a value, as in the first line of a text log; not within quotes."""


def _header(head: Head, mark: bytes) -> list[bytes]:
    """The cells of the first line, with their quotes."""
    outside = re.escape(mark) + rb'(?=(?:[^"]*"[^"]*")*[^"]*$)'
    line = head.lines[0][:65536]
    return [
        cell.strip() for cell in (re.split(outside, line) if b'"' in line and len(line) < 8192 else line.split(mark))
    ]


def names_metrics(head: Head) -> bool:
    """Whether the header of a table names a role or a step."""
    header = _header(head, delimiter(head).encode())
    names = [cell.strip(b' "').decode("utf-8", "replace") for cell in header]
    return any(match(name) is not None or rank_step(name) is not None for name in names)


def _numeric(cell: bytes) -> bool:
    try:
        float(cell.strip(b' "'))
    except ValueError:
        return False
    return True


def is_text(head: Head) -> bool:
    """Anything that is mostly printable."""
    sample = head.text[:65536].replace(b"\0", b"")
    if not sample:
        return False
    odd = len(sample.translate(None, _PRINTABLE))
    return odd <= 0.1 * len(sample)


_PRINTABLE = bytes([*range(32, 127), *range(128, 256), 7, 8, 9, 10, 12, 13, 27])

_SOURCES = "tuimon.sources."
FORMATS = (
    Format("tfevents", "TensorBoard events", is_tfevents, _SOURCES + "tfevents:EventFiles", "path"),
    Format("wandb", "W&B offline run", is_wandb, _SOURCES + "wandb:WandbFile", "path"),
    Format("tuimon", "tuimon log", is_tuimon, _SOURCES + "jsonl:JsonLines"),
    Format("json", "JSON", is_json, _SOURCES + "trainer_state:JsonFile", "path"),
    Format("jsonl", "JSON Lines", is_jsonl, _SOURCES + "jsonl:JsonLines"),
    Format("csv", "CSV", is_csv, _SOURCES + "csv:Table"),
    Format("text", "text log", is_text, _SOURCES + "text:TextLog"),
)
"""Every format, the most telling first.

The class of a "lines" entry takes (lines, *, head, roles, step); that of a "path" entry takes (path, *, roles, step).
"""

# First bytes of files that are not logs -> what they are and what to do.
_FOREIGN = (
    (b"\x1f\x8b", "compressed with gzip: unpack it first (gunzip)"),
    (b"\x28\xb5\x2f\xfd", "compressed with zstd: unpack it first (unzstd)"),
    (b"BZh", "compressed with bzip2: unpack it first (bunzip2)"),
    (b"\xfd7zXZ", "compressed with xz: unpack it first (unxz)"),
    (b"PK\x03\x04", "a zip archive or a model's weights, not a log"),
    (b"\x89HDF", "an HDF5 file, not a log"),
    (b"SQLite format 3", "an SQLite database, not a log"),
    (b"PAR1", "a Parquet file, not a log"),
    (b"\x80\x02", "a Python pickle, not a log"),
    (b"\x80\x04", "a Python pickle, not a log"),
    (b"\x80\x05", "a Python pickle, not a log"),
    (b"\xff\xfe", "UTF-16 text: convert it to UTF-8 first (iconv -f UTF-16 -t UTF-8)"),
    (b"\xfe\xff", "UTF-16 text: convert it to UTF-8 first (iconv -f UTF-16 -t UTF-8)"),
    (b"\x7fELF", "a program, not a log"),
    (b"\x89PNG", "a picture, not a log"),
    (b"%PDF", "a PDF, not a log"),
)


def sniff(head: Head) -> Format:
    """The format of an input.

    Raises:
        SourceError: it is in none that is known.
    """
    for magic, what in _FOREIGN:
        if head.text.startswith(magic):
            raise SourceError(f"{plain_text(head.name)} is {what}")
    for entry in FORMATS:
        if entry.matches(head):
            return entry
    raise SourceError(f"{plain_text(head.name)} is binary and in no known format ({', '.join(keys())})")


def keys() -> list[str]:
    """The names that --format takes."""
    return [entry.key for entry in FORMATS]


def by_key(key: str) -> Format:
    """The entry of that name.

    Raises:
        SourceError: there is none.
    """
    for entry in FORMATS:
        if entry.key == key:
            return entry
    raise SourceError(f"no format is called {plain_text(key, 40)}; there are {', '.join(keys())}")


def read_head(path: str | os.PathLike[str]) -> Head:
    """The beginning of a file, with the whole of a first line that is longer. Raises OSError."""
    with open(path, "rb") as file:
        text = file.read(HEAD)
        if len(text) == HEAD and b"\n" not in text:
            text += file.read(LONGEST_LINE)
    return Head(os.path.basename(os.fspath(path)), text)


def make(
    entry: Format,
    lines: Any,
    head: Head,
    roles: Mapping[str, str] | None,
    step: str | None,
) -> Source:
    """The source of an input whose format is known.

    Raises:
        SourceError: a pipe cannot carry this format, or the document is no log.
    """
    made: Source
    if entry.takes == "path" and isinstance(lines, Pipe):
        raise SourceError(f"{entry.title} cannot be read from a pipe: name the file")
    if entry.takes == "path":
        made = entry.load()(lines.name, roles=roles, step=step)
    else:
        made = entry.load()(lines, head=head.text, roles=roles, step=step)
    return made
