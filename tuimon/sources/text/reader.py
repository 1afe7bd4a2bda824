"""From lines to rows: asks for evidence that a layout is that of a record, and puts lines of one record together."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence

from tuimon.sources.text import words as w
from tuimon.sources.text.evidence import Here, is_loss, is_precise, is_sure, moves, values
from tuimon.sources.text.layouts import Layouts
from tuimon.sources.text.lex import cut, plain, tidy
from tuimon.sources.text.naming import is_val
from tuimon.sources.text.notices import says_not_finite, step_in
from tuimon.sources.text.plan import NOTHING, Plan
from tuimon.sources.text.steps import LARGEST, Position, integer
from tuimon.sources.text.tables import Tables

MOST_WAITING = 16
"""Lines kept for a log that ends before there is any evidence."""

LONGEST_BLOCK = 512
"""Lines that are put together to one record; Coqui prints 45."""

Row = tuple[int, tuple[str, ...], Sequence[float | None]]


class Reader:
    """A fold over the lines of a text log.

    Attributes:
        rows: (step, names, values) of the records so far; whoever takes them clears the list.
        family: the trainer that prints so, empty while unknown.
    """

    def __init__(self) -> None:
        self.rows: list[Row] = []
        self.family = ""
        self._layouts = Layouts()
        self._position = Position()
        self._tables = Tables()
        self._block: dict[str, float | None] = {}
        self._block_step = 0
        self._block_places: list[tuple[Plan, Sequence[str]]] = []
        self._val = False
        self._group = ""
        self._count = 0
        self._since = 0
        self._parts: deque[tuple[Plan, Sequence[str]]] = deque(maxlen=MOST_WAITING)
        self._shown: tuple[int, list[float | None]] = (-1, [])
        self._held: Row | None = None
        self._told: tuple[int | None, int] = (None, -1)
        self._waiting: list[tuple[Plan, Sequence[str]]] = []

    def line(self, line: str) -> None:
        """Takes in one line."""
        quick = self._layouts.quick
        for place, (matches, known, direct) in enumerate(quick):
            found = matches(line)
            if found is not None:
                if place:
                    quick.insert(0, quick.pop(place))
                numbers = found.groups()
                if not (direct and self._direct(known, numbers)):
                    self._since += 1
                    self._numbers(known, numbers)
                return
        self._slow(line)

    def _direct(self, known: Plan, numbers: Sequence[str]) -> bool:
        """Takes in a record that names its step, if nothing else bears on it: most lines of a long log are such."""
        position = self._position
        if self._block or self._block_places or position.in_epochs:
            return False
        try:
            step = int(numbers[known.step])  # type: ignore[index]
            if not -LARGEST < step < LARGEST:
                return False
            self.rows.append((step, known.names, [float(numbers[i]) for i in known.indexes]))
        except ValueError:
            return False
        position.take(step)
        self._val = known.val
        self._count += 1
        self._since = 0
        return True

    def _slow(self, line: str) -> None:
        """Takes in a line of a layout that did not come lately."""
        bare = plain(line)
        parts = cut(tidy(bare))
        if len(parts) == 1:
            self._without_number(bare, parts[0])
            return
        if self._tables.open:
            row = self._tables.row(bare)
            if row is not None:
                self._table_row(*row)
                return
        self._since += 1
        known = self._layouts.plan(parts)
        if known is NOTHING:
            if not (self._block_places and line.lstrip().startswith("|")):
                self._flush()
            self._notice(bare)
            return
        self._numbers(known, parts[1::2])
        if not known.accepted:
            self._notice(bare)
        self._layouts.used(known, line, parts[1::2])

    def finish(self) -> None:
        """Nothing follows: what waits for evidence is taken if there was nothing better."""
        self._flush()
        if not self._count:
            for known, numbers in self._waiting:
                if known.step is not None or known.epoch is not None or is_precise(known, numbers, 2):
                    self._emit(known, numbers)
            for known, numbers in self._parts:
                self._emit(known, numbers)
        if self._held is not None:
            self.rows.append(self._held)
            self._held = None
        self._waiting.clear()
        self._parts.clear()

    def _without_number(self, line: str, text: str) -> None:
        if text.startswith("|") and text.endswith("|") and text.count("|") == 3:
            # A heading inside a box: "| train/   |   |".
            self._group = text.strip("| ")
            return
        self._group = ""
        self._tables.line(line)
        self._flush()
        if text:
            self._notice(line)
            found = w.PHASE.findall(text) if len(text) < 80 else ()
            if found:
                self._val = not found[-1].lower().startswith("train")

    def _numbers(self, known: Plan, numbers: Sequence[str]) -> None:
        """A line with numbers whose layout means something."""
        if known.step is not None:
            self._since = 0
        if known.box:
            self._block_row(known, numbers)
            return
        if known.bar == "part" or not known.names:
            self._flush()
            self._position.note(known, numbers)
            self._val = known.val
            if known.measures:
                self._part(known, numbers)
            return
        if known.step is None and known.epoch is None and not known.dictionary and known.guess is None:
            self._block_row(known, numbers)
            return
        self._flush()
        if known.accepted or self._evidence(known, numbers):
            self._emit(known, numbers)
        elif known.step is not None or known.epoch is not None:
            self._position.note(known, numbers)

    def _emit(self, known: Plan, numbers: Sequence[str]) -> None:
        names, before = self._named(known, numbers), self._position.now
        if known.step is None and known.guess is not None and known.accepted:
            step = integer(numbers[known.guess])
            step = self._position.of(known, numbers) if step is None else step
            self._position.now = step
        else:
            # A Keras bar that is full ends an epoch; it is the epoch's record.
            place = self._position.epoch_record if known.bar == "full" else self._position.of
            step = place(known, numbers)
        if not known.summary:
            self._val = known.val
        if not known.measures and before is not None and step < before and self._position.counted:
            # "New best accuracy 0.9 at step 400" is no return to step 400.
            self._position.now = before
            return
        cells = values(numbers, known.indexes)
        if known.absent is not None and numbers[known.absent] == "0":
            names, cells = (*names, "lm loss"), [*cells, math.nan]
        if known.bar == "tqdm" and self._shown == (step, cells):
            # A bar is drawn again when nothing but the clock has changed.
            return
        self._shown = (step, cells)
        self.family = self.family or known.family
        if known.paired and not self._count and self._held is None:
            # The first record decides what "loss" is; whether the steps show one of their own, the next record tells.
            self._held = (step, names, cells)
        else:
            self._put(step, names, cells)

    def _part(self, known: Plan, numbers: Sequence[str]) -> None:
        """A Keras bar on its way shows means over a part of the epoch; only what is not finite is told at once."""
        cells = values(numbers, known.indexes)
        losses = [cell for name, cell in zip(known.names, cells, strict=True) if is_loss(name) and cell is not None]
        if all(math.isfinite(cell) for cell in losses):
            self._parts.append((known, numbers))
        elif self._told != (self._position.here, self._count):
            self._put(self._position.epoch_record(known, numbers), known.names, cells)
            self._told = (self._position.here, self._count)

    def _named(self, known: Plan, numbers: Sequence[str]) -> tuple[str, ...]:
        """The names of a line, which tell a mean over an epoch from the values of its steps."""
        if known.summary and known.bare and self._val:
            # It does not say what it sums up: what came before.
            return tuple(f"val {name.removesuffix(' (epoch)')}" for name in known.names)
        whole = known.epoch is not None and known.step is None and "." not in numbers[known.epoch]
        if whole and self._position.recorded and not known.val:
            return tuple(name if is_val(name) else f"{name} (epoch)" for name in known.names)
        return known.names

    def _here(self) -> Here:
        return Here(self._position.here, self._position.counted, self._count, self._since)

    def _evidence(self, known: Plan, numbers: Sequence[str]) -> bool:
        """Whether a layout that was not accepted so far is that of a record."""
        if is_sure(known, numbers, self._position.counted):
            known.accepted, known.guess = True, None
            return True
        step = self._position.here
        if known.first is None:
            known.first = (step, numbers, self._count)
            if (known.measures or known.step is not None) and len(self._waiting) < MOST_WAITING:
                self._waiting.append((known, numbers))
            return False
        if not moves(known, numbers, self._here()):
            return False
        known.accepted = True
        before, first, count = known.first
        if count == self._count and (known.measures or known.step is not None or known.dictionary):
            # No record came in between: the first one can still be told in its place.
            if known.step is None and known.guess is None and before is not None:
                self._put(before, self._named(known, first), values(first, known.indexes))
            else:
                self._emit(known, first)
        return True

    def _block_row(self, known: Plan, numbers: Sequence[str]) -> None:
        """A line without a step: one of several that make a record, or a record by itself."""
        if bool(self._block_places) != known.box or len(self._block_places) > LONGEST_BLOCK:
            # A box begins or ends here; its rows are no part of another record.
            self._flush()
        if known.box:
            group = self._group if self._group.endswith("/") else ""
            for i, name in zip(known.indexes, known.names, strict=True):
                self._block[group + name] = values(numbers, (i,))[0]
            self._block_places.append((known, numbers))
            return
        if not (known.accepted or self._evidence(known, numbers)):
            return
        names = self._named(known, numbers)
        if not known.summary and not known.bare:
            self._val = known.val
        if any(name in self._block for name in names) or len(self._block) > LONGEST_BLOCK:
            self._flush()
        if not self._block:
            self._block_step = self._position.of(known, numbers)
        self._block.update(zip(names, values(numbers, known.indexes), strict=True))
        self.family = self.family or known.family

    def _flush(self) -> None:
        """Ends the record that was spread over lines."""
        if not self._block and not self._block_places:
            return
        block, places = self._block, self._block_places
        self._block, self._block_places = {}, []
        step: int | None = self._block_step
        if places:
            step = self._position.of_box(places)
        if step is not None and block:
            self._put(step, tuple(block), list(block.values()))

    def _table_row(
        self, step: int | None, epoch: int | None, names: tuple[str, ...], cells: list[float | None]
    ) -> None:
        self._flush()
        self._put(self._position.of_table(step, epoch), names, cells)

    def _notice(self, line: str) -> None:
        """A line that is no record may say that the loss is not finite."""
        if says_not_finite(line):
            step = step_in(line)
            step = self._position.now if step is None else step
            self._put(step or 0, ("loss",), [math.nan])

    def _put(self, step: int, names: tuple[str, ...], cells: Sequence[float | None]) -> None:
        if all(cell is None for cell in cells):
            return
        self._count += 1
        row = (step, names, cells)
        if self._held is None:
            self.rows.append(row)
        else:
            self.rows += [self._held, row] if self._held[0] < step else [row, self._held]
            self._held = None
