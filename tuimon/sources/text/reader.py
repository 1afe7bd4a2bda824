"""From lines to rows: asks for evidence that a layout is that of a record, and puts lines of one record together."""

from __future__ import annotations

import re
from collections.abc import Sequence

from tuimon.record import number
from tuimon.sources.text import words as w
from tuimon.sources.text.lex import cut, tidy
from tuimon.sources.text.plan import NOTHING, Plan, plan, split_words
from tuimon.sources.text.steps import Position, integer
from tuimon.sources.text.tables import Tables

MOST_LAYOUTS = 4096
"""Layouts that are remembered. A training has a few dozen; text that is no log has a new one on every line."""

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
        self._plans: dict[str, Plan] = {}
        self._position = Position()
        self._tables = Tables()
        self._block: dict[str, float | None] = {}
        self._block_step = 0
        self._block_places: list[tuple[Plan, list[str]]] = []
        self._val = False
        self._any = False
        self._waiting: list[tuple[Plan, int, tuple[str, ...], list[float | None]]] = []

    def line(self, line: str) -> None:
        """Takes in one line."""
        parts = cut(tidy(line))
        if len(parts) == 1:
            self._without_number(line, parts[0])
            return
        if self._tables.open:
            row = self._tables.row(line)
            if row is not None:
                self._table_row(*row)
                return
        key = "\0".join(parts[::2])
        known = self._plans.get(key)
        if known is None:
            if len(self._plans) >= MOST_LAYOUTS:
                self._plans = {text: old for text, old in self._plans.items() if old.accepted}
                if len(self._plans) >= MOST_LAYOUTS:
                    self._plans.clear()
            known = self._plans[key] = plan(parts[::2])
        if known is NOTHING:
            self._flush()
            self._notice(line)
            return
        self._numbers(known, parts[1::2])

    def finish(self) -> None:
        """Nothing follows: what waits for evidence is taken if there was nothing better."""
        self._flush()
        if not self._any:
            for _, step, names, values in self._waiting:
                self.rows.append((step, names, values))
        self._waiting.clear()

    def _without_number(self, line: str, text: str) -> None:
        self._tables.line(line)
        self._flush()
        if text:
            self._notice(line)
            found = w.PHASE.findall(text) if len(text) < 80 else ()
            if found:
                self._val = not found[-1].lower().startswith("train")

    def _numbers(self, known: Plan, numbers: list[str]) -> None:
        """A line with numbers whose layout means something."""
        if known.box:
            self._block_row(known, numbers)
            return
        if known.bar == "part" or not known.names:
            self._flush()
            self._position.note(known, numbers)
            self._val = known.val
            return
        if known.step is None and known.epoch is None and not known.dictionary and known.guess is None:
            self._block_row(known, numbers)
            return
        self._flush()
        if known.accepted or self._evidence(known, numbers):
            self._emit(known, numbers)

    def _emit(self, known: Plan, numbers: list[str]) -> None:
        names = self._named(known)
        if known.step is None and known.guess is not None and known.accepted:
            step = integer(numbers[known.guess])
            step = self._position.of(known, numbers) if step is None else step
            self._position.now = step
        else:
            step = self._position.of(known, numbers) if known.bar != "full" else self._full_bar(known, numbers)
        if not known.summary:
            self._val = known.val
        self._put(step, names, values(numbers, known.indexes))
        if not self.family:
            self.family = known.family

    def _full_bar(self, known: Plan, numbers: list[str]) -> int:
        """A Keras bar that is full ends an epoch; it is the epoch's record."""
        return self._position.epoch_record(known, numbers)

    def _named(self, known: Plan) -> tuple[str, ...]:
        """The names of a line; a summary without a word on what it sums up belongs to what came before."""
        if known.summary and known.bare and self._val:
            return tuple(f"val {name.removesuffix(' (epoch)')}" for name in known.names)
        return known.names

    def _evidence(self, known: Plan, numbers: list[str]) -> bool:
        """Whether a layout that was not accepted so far is that of a record."""
        known.seen += 1
        if known.measures and self._is_sure(known, numbers):
            known.accepted = True
            return True
        step = self._position.now
        if known.first is None:
            known.first = (step, numbers)
            if known.measures and len(self._waiting) < 16:
                # For a log that ends before there is any evidence.
                self._waiting.append((known, len(self._waiting), known.names, values(numbers, known.indexes)))
            return False
        if not self._moves(known, numbers, step):
            return False
        known.accepted = True
        first_step, first = known.first
        if self._position.now == first_step or self._position.now is None:
            # Nothing came in between: the first one can still be told in its place.
            self._emit(known, first)
        return True

    def _is_sure(self, known: Plan, numbers: list[str]) -> bool:
        """Whether one line is enough: a step beside a loss, or a loss of some precision and nothing else."""
        shown = [numbers[i] for i, name in zip(known.indexes, known.names, strict=True) if _is_loss(name)]
        if known.step is not None or known.epoch is not None:
            return any(not text.isdigit() for text in shown) or not shown
        return known.pure and any(_decimals(text) >= 3 for text in shown)

    def _moves(self, known: Plan, numbers: list[str], step: int | None) -> bool:
        """Whether a layout that comes again comes with another step."""
        assert known.first is not None
        before, first = known.first
        if known.step is not None:
            return numbers[known.step] != first[known.step]
        if known.epoch is not None or known.dictionary:
            return numbers != first or known.dictionary
        moved = step is not None and step != before
        if known.guess is not None and not moved and not self._position.counted:
            old, new = integer(first[known.guess]), integer(numbers[known.guess])
            exact = "." not in first[known.guess] + numbers[known.guess]
            if old is not None and new is not None and exact and new > old and known.measures:
                return True
        known.guess = None
        fraction = any("." in numbers[i] or not numbers[i][-1:].isdigit() for i in known.indexes)
        if not known.measures:
            return moved
        return fraction and numbers != first and (moved or not self._position.counted)

    def _block_row(self, known: Plan, numbers: list[str]) -> None:
        """A line without a step: one of several that make a record, or a record by itself."""
        if known.box:
            for i, name in zip(known.indexes, known.names, strict=True):
                self._block[name] = values(numbers, (i,))[0]
            self._block_places.append((known, numbers))
            return
        if not (known.accepted or self._evidence(known, numbers)):
            return
        names = self._named(known)
        if any(name in self._block for name in names):
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

    def _table_row(self, step: int | None, epoch: int | None, names: tuple[str, ...], cells: list[float | None]) -> None:
        self._flush()
        self._put(self._position.of_table(step, epoch), names, cells)

    def _notice(self, line: str) -> None:
        """A sentence that says that the loss is not finite."""
        if len(line) > 1000 or not re.search("nan|inf|finite", line, re.IGNORECASE):
            return
        if not w.NOTICE_CONTEXT.search(line) or not any(pattern.search(line) for pattern in w.NOTICES):
            return
        found = re.search(r"\b(?:step|iteration|iter|batch|epoch)\b\W{0,3}(\d{1,15})\b", line, re.IGNORECASE)
        step = int(found[1]) if found else self._position.now
        self._put(step if step is not None else 0, ("loss",), [float("nan")])

    def _put(self, step: int, names: tuple[str, ...], cells: Sequence[float | None]) -> None:
        self._any = True
        self.rows.append((step, names, cells))


def values(numbers: Sequence[str], indexes: Sequence[int]) -> list[float | None]:
    """The numbers at `indexes` as floats."""
    try:
        return [float(numbers[i]) for i in indexes]
    except ValueError:
        return [_value(numbers[i]) for i in indexes]


def _value(text: str) -> float | None:
    try:
        return number(text.replace(",", ""))
    except ValueError:
        return None


def _is_loss(name: str) -> bool:
    parts = split_words(name)
    return "loss" in parts or "losses" in parts or bool({"val", "trl", "tel", "norm", "xent", "nll"} & set(parts))


def _decimals(text: str) -> int:
    """Digits behind the point; many, where there is no number to write."""
    if text[-1:].isalpha():
        return 9
    return len(text.partition(".")[2])
