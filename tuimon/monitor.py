"""The fold: batches in, a frozen Snapshot out. No clock, no I/O, no screen."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import Literal

from tuimon.catalogue import ROWS
from tuimon.fold import Fold
from tuimon.record import BadLine, Batch, Mark
from tuimon.signatures.finding import RANK, Family, Finding
from tuimon.signatures.precedence import reduced
from tuimon.store import Column, Store

Verdict = Literal["healthy", "nan", "divergence", "plateau", "watch", "no_data"]

BAD_LINES_KEPT = 20
"""Bad lines that are told with their numbers: more would not help a reader, and a broken file has millions."""

NOTES_KEPT = 1000
"""Remarks of the training process that are kept, the first ones and the last, so that a chatty one cannot exhaust
memory."""

OUTRANKS = {row.signature: row.outranks for row in ROWS}

GRAVITY: dict[Family, int] = {"nan": 0, "divergence": 1, "plateau": 2}
"""Which family names the run when several failed: a NaN is final, a divergence may still end in one."""

VERDICTS: dict[Family, Verdict] = {"nan": "nan", "divergence": "divergence", "plateau": "plateau"}


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
        self._fold = Fold()
        self._bad_lines: list[BadLine] = []
        self._bad_count = 0
        self._notes: list[Note] = []
        self._run = ""
        self._found: list[Finding] = []
        self._reduced: tuple[Finding, ...] = ()

    def feed(self, batch: Batch) -> Snapshot:
        """Takes in a batch and returns what is known now."""
        self._bad_count += max(batch.bad_count, len(batch.bad_lines))
        self._bad_lines.extend(batch.bad_lines[: BAD_LINES_KEPT - len(self._bad_lines)])
        for mark in batch.marks:
            self._take(mark)
        for piece, increasing in self._fold.feed(batch):
            self.store.append(piece, increasing or None)
        self.snapshot = self._now()
        return self.snapshot

    def look_at(self, now: float) -> Snapshot:
        """What is known at Unix time `now`, when no record has come: the only way a stall can be seen."""
        self.snapshot = self._now(now)
        return self.snapshot

    def _take(self, mark: Mark) -> None:
        """Keeps what a header or note says."""
        if mark.kind == "header":
            run = mark.fields.get("run")
            self._run = str(run) if run else self._run
        elif mark.kind == "note":
            # The last one always stays: it may say how the run ended.
            del self._notes[NOTES_KEPT - 1 :]
            step = mark.fields.get("step")
            name = str(mark.fields.get("note", ""))
            self._notes.append(Note(step if isinstance(step, int) else None, name, dict(mark.fields)))

    def _now(self, now: float | None = None) -> Snapshot:
        fold, course = self._fold, self._fold.course
        found = [finding for detector in fold.detectors for finding in detector.findings]
        stall = fold.pace.stall(now, course.last_step, course.meta.get("total_steps"))
        if self._found != found + stall:
            self._found = found + stall
            self._reduced = reduced(self._found, OUTRANKS)
        findings = self._reduced
        active = sorted((f for f in findings if f.active), key=lambda f: (-RANK[f.severity], f.onset_step))
        return Snapshot(
            records=course.records,
            bad_count=self._bad_count,
            bad_lines=tuple(self._bad_lines),
            first_step=course.first_step,
            last_step=course.last_step,
            last_time=fold.pace.last_time,
            pace=fold.pace.seconds_per_step,
            verdict=_verdict(findings, JUDGED & self.store.columns.keys()),
            findings=findings,
            lit=tuple(dict.fromkeys(finding.signature for finding in active)),
            series={name: _series(column) for name, column in self.store.columns.items()},
            meta=dict(course.meta),
            run=self._run,
            notes=tuple(self._notes),
            rewinds=tuple(fold.rewinds),
        )


def _series(column: Column) -> Series:
    return Series(
        column.count,
        column.first_step,
        column.last_step,
        column.last,
        column.best,
        column.best_step,
        column.non_finite,
    )


JUDGED = frozenset(("loss", "val_loss", "grad_norm"))
"""Without one of these there is nothing to judge, and nothing that could be called healthy."""


def _verdict(findings: tuple[Finding, ...], judged: AbstractSet[str]) -> Verdict:
    """The family of the gravest finding, active ones first; "watch" for warnings."""
    if not judged:
        return "no_data"
    failures = [finding for finding in findings if finding.severity == "failure"]
    if failures:
        gravest = min(failures, key=lambda finding: (not finding.active, GRAVITY.get(finding.family, 9)))
        return VERDICTS.get(gravest.family, "watch")
    return "watch" if any(finding.severity == "warning" for finding in findings) else "healthy"
