"""Tables in text: CSV of Lightning, Keras, ultralytics, Stable-Baselines and W&B exports, with ',', ';' or tab."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence

from tuimon.record import BadLine
from tuimon.sources.lined import LineSource, Parsed
from tuimon.sources.sniff import Head, delimiter
from tuimon.sources.tail import Chunk

_MOST_COLUMNS = 20_000
"""Columns of a table; a header with more is not read."""

Cells = list[str]


class Table(LineSource):
    """See the module. The first line that is no comment names the columns; where it stands again, a run was resumed.

    An empty cell is missing. A row with too few or too many cells is a bad line: it was cut or glued.
    """

    format = "csv"
    title = "CSV"

    def start(self) -> None:
        """See `LineSource.start`."""
        self._names: Cells = []
        self._delimiter = ","

    def parse(self, chunk: Chunk) -> Parsed:
        """See `LineSource.parse`."""
        bad: list[BadLine] = []
        tables: list[tuple[Cells, list[Cells]]] = []
        lines = chunk.text[:-1].decode("utf-8", "replace").split("\n")
        start = 0 if self._names else self._find_header(lines, chunk.first, bad)
        rows: list[Cells] = self._quick(lines[start:]) or []
        if not rows:
            rows, tables = self._careful(lines[start:], chunk.first + start, bad)
        tables.append((self._names, rows))
        return _joined([table for table in tables if table[1]], bad)

    def _find_header(self, lines: Sequence[str], first: int, bad: list[BadLine]) -> int:
        """Takes the names of the columns from the first line that has any; returns the number of lines up to it."""
        for i, line in enumerate(lines):
            if line.strip() and not line.startswith("#"):
                self._delimiter = delimiter(Head("", line.encode()))
                self.title = {",": "CSV", ";": "CSV with semicolons", "\t": "TSV"}[self._delimiter]
                cells = self._split(line)
                if len(cells) <= _MOST_COLUMNS:
                    self._names = _unique(cells)
                else:
                    bad.append(BadLine(first + i, f"{len(cells):,} columns, too many"))
                return i + 1
        return len(lines)

    def _split(self, line: str) -> Cells:
        """The cells of one line, without quotes."""
        if '"' not in line:
            return line.split(self._delimiter)
        try:
            return next(csv.reader([line], delimiter=self._delimiter), [])
        except csv.Error:
            return [line]

    def _quick(self, lines: Sequence[str]) -> list[Cells] | None:
        """The rows, if every line is a row like the others; None if one of them needs a closer look."""
        if not self._names or not lines:
            return None
        mark, width = self._delimiter, len(self._names)
        rows = [line.replace('"', "").split(mark) if '"' in line else line.split(mark) for line in lines]
        if set(map(len, rows)) != {width} or (width == 1 and [""] in rows):
            return None
        name = self._names[0]
        return None if any(row[0].strip() == name for row in rows) else rows

    def _careful(
        self, lines: Sequence[str], first: int, bad: list[BadLine]
    ) -> tuple[list[Cells], list[tuple[Cells, list[Cells]]]]:
        """The rows line by line, and the tables before the last header among them."""
        rows: list[Cells] = []
        tables: list[tuple[Cells, list[Cells]]] = []
        for number, line in enumerate(lines, first):
            cells = self._split(line)
            if not line.strip() or line.startswith("#") or not self._names:
                continue
            if _is_header(cells, self._names):
                tables.append((self._names, rows))
                self._names, rows = _unique(cells), []
            elif len(cells) == len(self._names) or not any(cell.strip() for cell in cells[len(self._names) :] or ["x"]):
                rows.append(cells[: len(self._names)])
            else:
                bad.append(BadLine(number, f"{len(cells)} cells where {len(self._names)} belong"))
        return rows, tables


def _is_header(cells: Cells, names: Cells) -> bool:
    """Whether a row names columns again, perhaps with some added."""
    plain = [cell.strip() for cell in cells]
    return plain[:1] == names[:1] and 2 * len(set(plain) & set(names)) > len(set(names))


def _unique(cells: Sequence[str]) -> Cells:
    """Names of columns: trimmed, the nameless index of a pandas table called index, repeated ones numbered."""
    result: dict[str, None] = {}
    for place, cell in enumerate(cells):
        name = cell.strip() or ("index" if place == 0 else f"column {place + 1}")
        count = 2
        while name in result:
            name, count = f"{cell.strip()} ({count})", count + 1
        result[name] = None
    return list(result)


def _joined(tables: Sequence[tuple[Cells, list[Cells]]], bad: Sequence[BadLine]) -> Parsed:
    """One set of columns from tables that follow each other."""
    if len(tables) == 1:
        names, rows = tables[0]
        return Parsed(_columns(names, rows), len(rows), (), bad)
    count = sum(len(rows) for _, rows in tables)
    result: dict[str, list[object]] = {}
    before = 0
    for names, rows in tables:
        for name, column in _columns(names, rows).items():
            result.setdefault(name, [None] * count)[before : before + len(rows)] = column
        before += len(rows)
    return Parsed(result, count, (), bad)


def _columns(names: Cells, rows: Sequence[Cells]) -> Mapping[str, Sequence[object]]:
    return {name: _numbers(column) for name, column in zip(names, zip(*rows, strict=True), strict=True)}


def _numbers(column: Sequence[str]) -> Sequence[object]:
    """The cells as floats, or as they are where they are no plain numbers."""
    try:
        return list(map(float, column))
    except ValueError:
        pass
    try:
        return [float(cell) if cell and not cell.isspace() else None for cell in column]
    except ValueError:
        return [_decimal_point(cell) for cell in column]


def _decimal_point(cell: str) -> str:
    """`cell` with a decimal point where it has a decimal comma."""
    whole, comma, part = cell.strip().partition(",")
    return f"{whole}.{part}" if comma and part.isdigit() and whole.lstrip("+-").isdigit() else cell
