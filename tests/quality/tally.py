"""From judged runs to the numbers of the table."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from statistics import median

from tests.quality.judged import DATED_BY_GROWTH, GROUP_OF, GROUPS, Judged

# Upper 95 % bound of a Poisson mean after k events (chi-square, 2k + 2 degrees); the first is the rule of three.
_UPPER_95 = (2.996, 4.744, 6.296, 7.754, 9.154, 10.513, 11.842, 13.148, 14.435, 15.705, 16.962)


def upper_bound(events: int) -> float:
    """95 % upper bound of a Poisson mean after so many events."""
    if events < len(_UPPER_95):
        return _UPPER_95[events]
    return events + 1.645 * math.sqrt(events) + 2  # within 2 % beyond ten events


@dataclass
class Score:
    """What was said of the runs of one true row (or one group of rows)."""

    runs: int = 0
    exact: int = 0
    right: int = 0
    family: int = 0
    silent: int = 0
    said: Counter[str] = field(default_factory=Counter)
    onsets: list[float] = field(default_factory=list)
    delays: list[float] = field(default_factory=list)

    def add(self, judged: Judged) -> None:
        self.runs += 1
        self.exact += judged.exact
        self.right += judged.right
        self.family += judged.family
        self.silent += not judged.said and not judged.family
        self.said[judged.said or "nothing"] += 1
        if judged.error is not None:
            self.onsets.append(judged.error.onset)
            self.delays.append(judged.error.delay)

    @property
    def onset_error(self) -> float | None:
        """Median absolute error of the onset, in records."""
        return median(abs(x) for x in self.onsets) if self.onsets else None

    @property
    def delay(self) -> float | None:
        return median(self.delays) if self.delays else None


@dataclass(frozen=True)
class Silence:
    """How quiet the healthy was.

    Attributes:
        runs, steps: healthy runs, and healthy steps (those of faulty runs before the fault too).
        failures, warnings: false findings; `failed_runs`, `warned_runs`: healthy runs with one.
    """

    runs: int
    steps: int
    failures: int
    warnings: int
    failed_runs: int
    warned_runs: int

    @property
    def per_million(self) -> float:
        return 1e6 * self.failures / max(self.steps, 1)

    @property
    def at_most_per_million(self) -> float:
        return 1e6 * upper_bound(self.failures) / max(self.steps, 1)


def by_row(judged: Iterable[Judged]) -> dict[str, Score]:
    """True row -> its score, in the catalogue's order."""
    scores: dict[str, Score] = defaultdict(Score)
    for one in judged:
        if one.failing:
            scores[one.run.truth.row].add(one)
    return {row: scores[row] for rows in GROUPS.values() for row in rows if row in scores}


def by_group(judged: Iterable[Judged]) -> dict[str, Score]:
    scores: dict[str, Score] = {group: Score() for group in GROUPS}
    for one in judged:
        if one.failing:
            scores[GROUP_OF[one.run.truth.row]].add(one)
    return {group: score for group, score in scores.items() if score.runs}


def silence(judged: Sequence[Judged]) -> Silence:
    healthy = [one for one in judged if one.run.truth.row == "healthy"]
    return Silence(
        len(healthy),
        sum(one.healthy_steps for one in judged if one.run.truth.row != "unclear"),
        sum(len(one.false_failures) for one in judged),
        sum(len(one.false_warnings) for one in judged),
        sum(bool(one.false_failures) for one in healthy),
        sum(bool(one.false_warnings) for one in healthy),
    )


def exact_onsets(judged: Iterable[Judged]) -> tuple[int, int]:
    """How many NaN runs were dated at their first non-finite record exactly, of those whose log shows one."""
    ones = [
        one
        for one in judged
        if GROUP_OF.get(one.run.truth.row) == "nan"
        and one.run.truth.row not in DATED_BY_GROWTH
        and one.onset is not None
    ]
    return sum(one.error is not None and one.error.onset == 0 for one in ones), len(ones)
