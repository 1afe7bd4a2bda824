"""The fold: batches in, a frozen Snapshot out. No clock, no I/O, no screen."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from tuimon.record import BadLine, Batch
from tuimon.signatures.finding import Finding
from tuimon.store import Store

Verdict = Literal["healthy", "nan", "divergence", "plateau", "watch", "no_data"]


@dataclass(frozen=True, slots=True)
class Series:
    """One metric in numbers; `best` is the least finite value, and skips NaN."""

    count: int
    first_step: int | None
    last_step: int | None
    last: float | None
    best: float | None
    best_step: int | None
    non_finite: int


@dataclass(frozen=True, slots=True)
class Note:
    """A remark of the training process: "nan_origin", "preflight", "checkpoint", ... with its fields as written."""

    step: int | None
    name: str
    fields: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What is known of a run after the records so far.

    Attributes:
        records, bad_count: lines read and lines that could not be.
        bad_lines: the first few of those, with line numbers.
        first_step, last_step: of the records, None without any.
        last_time: Unix time of the last record, None where the log has no times.
        pace: median seconds per step over the recent records, None while unknown.
        verdict: one word for the run.
        findings: everything seen, oldest onset first.
        lit: signatures of the active findings, gravest first.
        series: metric name -> its numbers.
        meta: what the headers declared, later ones over earlier ones.
        run: the run's name as declared, empty without.
        notes: remarks of the training process.
        rewinds: steps at which the log went back.
    """

    records: int = 0
    bad_count: int = 0
    bad_lines: tuple[BadLine, ...] = ()
    first_step: int | None = None
    last_step: int | None = None
    last_time: float | None = None
    pace: float | None = None
    verdict: Verdict = "no_data"
    findings: tuple[Finding, ...] = ()
    lit: tuple[str, ...] = ()
    series: Mapping[str, Series] = field(default_factory=dict)
    meta: Mapping[str, object] = field(default_factory=dict)
    run: str = ""
    notes: tuple[Note, ...] = ()
    rewinds: tuple[int, ...] = ()


class Monitor:
    """Feeds the store and the detectors.

    `feed(a)` then `feed(b)` leaves the same state as feeding both at once: no result depends on where reads ended.
    """

    def __init__(self) -> None:
        self.store = Store()
        self.snapshot = Snapshot()

    def feed(self, batch: Batch) -> Snapshot:
        """Takes in a batch and returns what is known now."""
        raise NotImplementedError

    def look_at(self, now: float) -> Snapshot:
        """What is known at Unix time `now`, when no record has come: the only way a stall can be seen."""
        raise NotImplementedError
