"""Which step a line belongs to, when lines count in steps, inside an epoch, in epochs, in bars, or not at all."""

from __future__ import annotations

from collections.abc import Sequence

from tuimon.sources.names import rank_step
from tuimon.sources.text.plan import NUMBER, Plan

LARGEST = 2**53
"""A step beyond this is not exact as a float; it is taken for missing."""

_UNKNOWN = 1000
"""Rank of a counter whose name is in no list."""


def integer(text: str) -> int | None:
    """The step that a number is, None if it is none."""
    try:
        value = float(text.replace(",", ""))
    except ValueError:
        return None
    return int(value) if -LARGEST < value < LARGEST else None


class Position:
    """Where the run stands: a fold over the lines.

    Attributes:
        now: step of the latest record, or of the latest line that named one; None before.
        counted: whether lines counted steps, so that records without a step or an epoch belong to the step before.
        recorded: whether records had steps of their own, so that epochs are no steps.
    """

    def __init__(self) -> None:
        self.now: int | None = None
        self.counted = False
        self.recorded = False
        self._bar: tuple[int, int] | None = None
        self._used: tuple[int, int] | None = None
        self._latest: tuple[int, int] | None = None
        self._length: int | None = None
        self._epoch: int | None = None
        self._fraction: float | None = None
        self._first_epoch: int | None = None
        self._raw = 0
        self._gap = 1
        self._base = 0
        self._number = -1
        self._numbered: int | None = None
        self._trained = False

    def take(self, step: int) -> None:
        """A record has this step by its own word: epochs are no steps in this log."""
        self.now = step
        self.counted = self.recorded = True

    @property
    def here(self) -> int | None:
        """The step that a record without one would get, None before anything said where the run stands."""
        return self.now if self.counted or self._epoch is None else self._epoch

    @property
    def in_epochs(self) -> bool:
        """Whether an epoch is known, so that counters may start again in the next one."""
        return self._epoch is not None

    def note(self, plan: Plan, numbers: Sequence[str]) -> None:
        """Takes in a line that only says where the run stands."""
        if plan.bar == "tqdm":
            self._draw(plan, numbers)
        if plan.epoch is not None and plan.step is None:
            self._enter(numbers[plan.epoch])
        elif plan.step is not None and plan.bar == "" and plan.counter != NUMBER and not (plan.val and plan.local):
            step = self._own(plan, numbers)
            if step is not None:
                self.now = step
                # A counter with its end beside it, or one that counts the run, is no setting of a configuration.
                self.counted = self.counted or plan.whole or (plan.total is not None and not plan.local)

    def _draw(self, plan: Plan, numbers: Sequence[str]) -> None:
        """A bar was drawn."""
        place = integer(numbers[plan.step]) if plan.step is not None else None
        total = integer(numbers[plan.total]) if plan.total is not None else None
        if place is not None and total is not None:
            # Evaluation has bars of its own; once records went with one, another length is another bar.
            self._latest = (place, total)
            if self._length in (None, total):
                self._bar = self._latest

    def _enter(self, text: str) -> None:
        """A new epoch, if `text` is a whole number."""
        if "." in text or "e" in text.lower():
            return
        epoch = integer(text)
        if epoch is not None:
            self._epoch = epoch
            if self._first_epoch is None:
                self._first_epoch = 0 if epoch == 0 else 1

    def of(self, plan: Plan, numbers: Sequence[str]) -> int:
        """The step of a record."""
        validation = plan.val or ("val_loss" in plan.roles and "loss" not in plan.roles)
        step: int | None = None
        if plan.bar == "tqdm" and plan.epoch is not None and "." in numbers[plan.epoch]:
            # A record of a trainer that counts in fractions of epochs stands right behind its bar.
            self._draw(plan, numbers)
            step = self._by_epoch(numbers[plan.epoch], validation)
        elif plan.step is not None and not (plan.val and plan.local):
            step = self._own(plan, numbers)
            if step is not None:
                self.take(step)
        elif plan.epoch is not None:
            step = self._by_epoch(numbers[plan.epoch], validation)
        if step is None:
            step = self._without(plan, validation)
        self._trained = self._trained or not validation
        self.now = step
        return step

    def _own(self, plan: Plan, numbers: Sequence[str]) -> int | None:
        """The step that the line itself names, continued across epochs."""
        assert plan.step is not None
        raw = integer(numbers[plan.step])
        if raw is None:
            return None
        before = self._epoch
        if plan.epoch is not None:
            self._enter(numbers[plan.epoch])
        if plan.whole:
            return raw
        total = integer(numbers[plan.total]) if plan.total is not None else None
        if plan.local and total is not None and self._epoch is not None:
            return (self._epoch - (self._first_epoch or 0)) * total + raw
        return self._across(raw, total, before) if self._epoch is not None else raw

    def _across(self, raw: int, total: int | None, before: int | None) -> int:
        """A counter with a name may start again in each epoch; only that it did tells."""
        epoch = self._epoch
        if raw < self._raw and before is not None and epoch is not None:
            if epoch > before:
                self._base += total or (self._raw + self._gap)
            elif epoch < before:
                self._base = 0
        elif raw > self._raw:
            self._gap = raw - self._raw
        self._raw = raw
        return self._base + raw

    def _by_epoch(self, text: str, validation: bool) -> int | None:
        """The step of a record that names only its epoch."""
        fractional = "." in text
        if not fractional:
            self._enter(text)
        if self.recorded:
            return self.now
        if not fractional:
            return self._epoch
        value, before = _fraction(text), self._fraction
        if value is None or (validation and self.now is not None):
            return None
        self._fraction = value
        back = before is not None and value < before - 1e-9
        if back and self._latest != self._bar:
            # Another run began, with a bar of another length.
            self._bar, self._length = self._latest, None
        if self._bar is not None and self._bar == self._used and value != before:
            # The epoch moves on and the bar does not: it is another's.
            self._bar = None
            self._number = max(self._number, self.now or 0)
        if self._bar is None and back:
            self._number = -1
        return None

    def _without(self, plan: Plan, validation: bool) -> int:
        """The step of a record that names none: the bar's, the current one, the epoch, or its own number."""
        if validation and self.now is not None and (self.counted or self._trained):
            return self.now
        if self._bar is not None and not self.recorded:
            self._used = self._bar
            self._length = self._bar[1]
            return self._bar[0]
        if self.counted and self.now is not None:
            return self.now
        if self._epoch is not None and plan.epoch is None:
            return self._epoch
        if self.now is not None and self._numbered is None and plan.epoch is None:
            return self.now
        self._number += 1
        self._numbered = self._number
        return self._number

    def epoch_record(self, plan: Plan, numbers: Sequence[str]) -> int:
        """The step of a record at the end of an epoch, for trainers that count in nothing else."""
        if plan.epoch is not None:
            self._enter(numbers[plan.epoch])
        if self._epoch is None or self.recorded:
            return self.of_table(None, None)
        self.now = self._epoch
        return self._epoch

    def of_box(self, rows: Sequence[tuple[Plan, Sequence[str]]]) -> int | None:
        """The step of a record written as a box, from the row that counts the run; None if no row counts anything."""
        for plan, numbers in rows:
            if plan.epoch is not None:
                self._enter(numbers[plan.epoch])
        counting = [(plan, numbers) for plan, numbers in rows if plan.step is not None]
        if not counting:
            return self.here if any(plan.epoch is not None for plan, _ in rows) else None
        plan, numbers = min(counting, key=lambda row: (not row[0].whole, _rank(row[0].counter)))
        step = self._own(plan, numbers)
        if step is not None:
            self.take(step)
        return step

    def of_table(self, step: int | None, epoch: int | None) -> int:
        """The step of a row of a table with columns."""
        if step is not None:
            self.take(step)
        elif epoch is not None and not self.recorded:
            step = epoch
        elif self.counted and self.now is not None:
            step = self.now
        else:
            self._number += 1
            step = self._number
        self.now = step
        return step


def _rank(counter: str) -> int:
    rank = rank_step(counter.rpartition("/")[2])
    return _UNKNOWN if rank is None else rank


def _fraction(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None
