"""From columns under the log's own names to a Batch: roles, steps, times, and bounds on what is kept.

Every source ends here, so that roles and steps are found by the same rules whatever the format. The result is a fold
over the records: it does not depend on where reads end.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import compress

from tuimon.record import ROLES, BadLine, Batch, Mark
from tuimon.sources import names
from tuimon.sources.base import SourceError
from tuimon.sources.steps import Column, Steps
from tuimon.sources.values import first_value, floats, roots, unix_time, unix_times

_MOST_NAMES = 20_000
"""Names that are remembered; a log that makes up a new name on every line must not fill the memory."""

_PLENTY = 100
"""Records without any number after which an input is taken for no log: a data set, say. A log may begin with a few."""


class Columns:
    """Names to roles, records to steps.

    Attributes:
        roles: role -> name in the log, as far as found.
        counts: name -> number of values so far, in order of appearance, for every metric that is kept.
        left_out: how many metrics beyond the first 512 were not kept.
        records: how many records there were.
        steps: where the steps come from.

    Args:
        roles: role -> name, where the user said so.
        step: name of the step column, when the user said so.
    """

    def __init__(self, roles: Mapping[str, str] | None = None, step: str | None = None) -> None:
        self._forced = dict(roles or {})
        self._step = step
        self.restart()

    def restart(self) -> None:
        """Forgets everything that was found: another file begins."""
        self.roles: dict[str, str] = dict(self._forced)
        self.steps = Steps(self._step)
        self.time: str | None = None
        self.counts: dict[str, int] = {}
        self.records = 0
        self._known: dict[str, str | None] = {}
        self._taken: set[str] = set()
        self.left_out = 0
        self._needs_role = False

    def learn(self, columns: Mapping[str, Sequence[object]], count: int) -> None:
        """Fixes roles, step and time from the head of the log: columns of `count` records.

        Raises:
            SourceError: the user's choice for the step is not there, or there is no number in many records.
        """
        there = ", ".join(names.clean(name) for name in list(columns)[:12])
        if count and self._step is not None and self._step not in columns:
            raise SourceError(f"no field is called {names.clean(self._step)}; there are {there}")
        values = _floats(columns)
        if count >= _PLENTY and not any(first_value(column) is not None for column in values.values()):
            raise SourceError(f"no metric in {count:,} records; their fields are {there}")
        self._choose(values)
        self.steps.learn(values, count, self.roles.get("loss"))
        start = self._start(values, count)
        if start:
            # What stands before the first record is configuration: its "lr" is not the run's.
            values = {name: column[start:] for name, column in values.items()}
            self.roles = dict(self._forced)
            self._choose(values)
        self._needs_role = not {"loss", "val_loss"}.isdisjoint(self.roles)
        self._find_time(values)

    def _choose(self, columns: Mapping[str, Column]) -> None:
        counts = {name: len(column) - column.count(None) for name, column in columns.items() if self._is_metric(name)}
        for role, name in names.choose(counts, self._forced.get("loss")).items():
            if name not in self._forced.values():
                self.roles.setdefault(role, name)

    def _start(self, columns: Mapping[str, Column], count: int) -> int:
        """The first row that has a step or a loss, 0 without any."""
        wanted = [self.steps.name, self.roles.get("loss"), self.roles.get("val_loss")]
        firsts = [first_value(columns[name]) for name in wanted if name is not None and name in columns]
        return min((row for row in firsts if row is not None), default=0)

    def _is_metric(self, name: str) -> bool:
        return name != self._step and names.rank_step(name) is None and not names.is_epoch(name)

    def _find_time(self, columns: Mapping[str, Column]) -> None:
        """Fixes the column of times: the first whose first value is a Unix time."""
        if self.time is not None:
            return
        found = []
        for place, name in enumerate(names.order_times(columns)):
            row = None if name in self.counts else first_value(columns[name])
            if row is not None and unix_time(columns[name][row]) is not None:
                found.append((row, place, name))
        if found:
            self.time = min(found)[-1]

    def batch(
        self,
        columns: Mapping[str, Sequence[object]],
        count: int,
        *,
        marks: Sequence[Mark] = (),
        bad_lines: Sequence[BadLine] = (),
        bad_count: int = 0,
        more: bool = False,
        offset: int = 0,
        size: int = 0,
    ) -> Batch:
        """A Batch of `count` records.

        Args:
            columns: name in the log -> raw value per record (number, text, None; what is no number counts as missing),
                names in order of their first appearance.
            marks: with rows that count the records of `columns`.
            bad_lines, bad_count, more, offset, size: as in the Batch.
        """
        values = _floats(columns) if count else {}
        self._fill(values)
        self._find_time(values)
        steps = self.steps.assign(values, count, lambda: self._measured(values, count))
        times: Sequence[float | None] = [None] * count
        if self.time is not None and self.time in values:
            times = unix_times(values[self.time])
        kept = self._kept(values)
        if None in steps:
            keep = [step is not None for step in steps]
            before = [0]
            for flag in keep:
                before.append(before[-1] + flag)
            marks = [Mark(before[mark.row], mark.kind, mark.fields) for mark in marks]
            steps, times = list(compress(steps, keep)), list(compress(times, keep))
            kept = {name: list(compress(column, keep)) for name, column in kept.items()}
        self.records += len(steps)
        outward = self._outward(kept)
        return Batch(
            steps,  # type: ignore[arg-type]
            times,
            outward,
            tuple(marks),
            tuple(bad_lines),
            max(bad_count, len(bad_lines)),
            more,
            offset,
            size,
        )

    def _fill(self, columns: Mapping[str, Column]) -> None:
        """Gives roles that nobody plays yet to the first record's best candidate."""
        missing = [role for role in ROLES if role not in self.roles]
        fresh = [name for name in columns if name not in self.counts] if missing else []
        for role in missing:
            found = [
                (row, matched.rank, place, name)
                for place, name in enumerate(fresh)
                if (matched := names.match(name)) is not None
                and matched.role == role
                and self._is_metric(name)
                and name not in self.roles.values()
                and (row := first_value(columns[name])) is not None
            ]
            if found:
                self.roles[role] = min(found)[-1]

    def _measured(self, columns: Mapping[str, Column], count: int) -> list[bool]:
        """Whether each record holds what makes a record even without a step."""
        wanted = [self.roles.get(role) for role in ("loss", "val_loss", "grad_norm")]
        if not self._needs_role:
            wanted = [name for name in columns if self._is_metric(name)]
        present = [columns[name] for name in wanted if name is not None and name in columns]
        if any(None not in column for column in present):
            return [True] * count
        return [any(column[i] is not None for column in present) for i in range(count)]

    def _kept(self, columns: Mapping[str, Column]) -> dict[str, Column]:
        """The columns that hold a value and are kept, new ones decided on in order of their first value."""
        firsts = {name: row for name, column in columns.items() if (row := first_value(column)) is not None}
        fresh = sorted((name for name in firsts if name not in self._known), key=firsts.__getitem__)
        for name in fresh:
            self._decide(name)
        return {name: columns[name] for name in firsts if self._known.get(name) is not None}

    def ignores(self, name: str) -> bool:
        """Whether the values of this name are not wanted."""
        return self._known.get(name, name) is None and name not in (self.steps.name, self.steps.epoch, self.time)

    def _decide(self, name: str) -> None:
        """Gives a metric its outward name, or leaves it out."""
        out: str | None = next((role for role, chosen in self.roles.items() if chosen == name), None)
        if name == self.time or (name == self.steps.name and not names.is_epoch(name)):
            self._known[name] = None
            return
        if out is None:
            out = names.clean(name)
            out = f"{out} (in the file)" if out in ROLES and out in self.roles else out
            if len(self._taken) >= names.MOST_METRICS or out in self._taken:
                out = None
                self.left_out += 1
        if out is not None:
            self._taken.add(out)
        if len(self._known) < _MOST_NAMES or out is not None:
            self._known[name] = out

    def _outward(self, kept: Mapping[str, Column]) -> dict[str, Column]:
        """The columns under their outward names, without those that have no value here."""
        result: dict[str, Column] = {}
        for name, column in kept.items():
            present = len(column) - column.count(None)
            if not present:
                continue
            self.counts[name] = self.counts.get(name, 0) + present
            out = self._known[name] or name
            if out == "grad_norm" and names.is_squared(name):
                result[out] = roots(column)
            elif int in set(map(type, column)):
                result[out] = [None if value is None else float(value) for value in column]
            else:
                result[out] = column
        return result

    @property
    def candidates(self) -> dict[str, list[str]]:
        """Role -> every name that could play it, best first."""
        return names.candidates({name: count for name, count in self.counts.items() if self._is_metric(name)})


def _floats(columns: Mapping[str, Sequence[object]]) -> dict[str, Column]:
    return {name: floats(name, column) for name, column in columns.items() if len(name) <= names.LONGEST_RAW}
