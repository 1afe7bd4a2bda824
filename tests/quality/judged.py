"""One run through the public path, and what was right or wrong about what was said."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from tests.quality.corpus import Run
from tests.quality.variants import RAW, Variant, batch, logged_columns
from tuimon.monitor import Monitor
from tuimon.record import ROLES
from tuimon.signatures.finding import RANK, Finding

# The three ways in which training breaks, and what is smaller; a family is right when any row of its group was said.
GROUPS: dict[str, tuple[str, ...]] = {
    "divergence": (
        "lr-too-high",
        "level-jump",
        "slow-divergence",
        "loss-spike",
        "unrecovered-spike",
        "spikes-more-frequent",
        "exploding-gradient",
        "oscillation",
        "gradients-accumulate",
        "below-floor",
    ),
    "nan": (
        "nan-after-growth",
        "nan-forward",
        "nan-backward",
        "nan-empty-batch",
        "fp16-range",
        "nan-masked",
        "nan-first-step",
        "nan-val-only",
        "inf-first",
    ),
    "plateau": (
        "zero-gradient",
        "frozen-weights",
        "lr-too-low",
        "uniform-prediction",
        "prior-prediction",
        "double-softmax",
        "memorising-noise",
        "flat-midway",
        "vanishing-gradient",
        "dead-relu",
        "saturated",
    ),
    "fit": ("overfitting", "undertrained", "initial-loss-off"),
}
GROUP_OF = {row: group for group, rows in GROUPS.items() for row in rows}
# Rows whose onset is not the first non-finite value: growth, and a scale that gives way over many steps.
DATED_BY_GROWTH = frozenset({"nan-after-growth", "fp16-range"})
NOTES = frozenset({"undertrained"})  # rows that are said as a note, and no failure


class Error(NamedTuple):
    """How far off a date was: onset in records (positive is late), delay from onset to detection in records."""

    onset: float
    delay: float


@dataclass(frozen=True)
class Judged:
    """What the Monitor said of one run, against the truth.

    Attributes:
        run, variant: what was fed.
        findings: all of the final snapshot.
        said: the row said first among the gravest, "" when nothing above a note was said.
        exact, right: the true row was among the findings; that row or one as right.
        family: a finding above a note of the true family was there.
        onset: step of the record in which this log first shows what happened, None when it never does.
        error: of the finding that was right (for NaN: of its family), None without one or without a true onset.
        false_failures, false_warnings: said of a healthy run, or before the fault was planted.
        healthy_steps: how many steps were healthy.
    """

    run: Run
    variant: Variant
    findings: tuple[Finding, ...]
    said: str
    exact: bool
    right: bool
    family: bool
    onset: int | None
    error: Error | None
    false_failures: tuple[Finding, ...]
    false_warnings: tuple[Finding, ...]
    healthy_steps: int

    @property
    def failing(self) -> bool:
        return self.run.truth.row not in ("healthy", "unclear")


def gravest(findings: tuple[Finding, ...]) -> str:
    """The signature said of a run: of the gravest severity, the earliest detected; "" for notes and nothing."""
    loud = [finding for finding in findings if finding.severity != "note"]
    return min(loud, key=lambda x: (-RANK[x.severity], x.detected_step)).signature if loud else ""


def judge_run(run: Run, variant: Variant = RAW) -> Judged:
    """Feeds the run to a fresh Monitor and compares."""
    findings = tuple(Monitor().feed(batch(run, variant)).findings)
    truth = run.truth
    healthy_until = run.steps if truth.row == "healthy" else truth.planted or 0
    allowed = truth.accept if truth.row == "healthy" else frozenset()
    early = [x for x in findings if x.detected_step < healthy_until and x.signature not in allowed]
    after = tuple(finding for finding in findings if finding.detected_step >= healthy_until)
    exact = [finding for finding in after if finding.signature == truth.row]
    right = exact or [finding for finding in after if finding.signature in truth.rows]
    group, onset = GROUP_OF.get(truth.row), logged_onset(run, variant)
    groups = {GROUP_OF.get(row) for row in truth.rows}
    family = [x for x in after if GROUP_OF.get(x.signature) in groups and (x.severity != "note" or truth.row in NOTES)]
    # A sparse log cannot tell NaN rows apart (all fields go in one record), but it can date them.
    told = right or (family if group == "nan" else [])
    return Judged(
        run,
        variant,
        findings,
        gravest(after),
        bool(exact),
        bool(right),
        bool(family) and group is not None,
        onset,
        dated(run, variant, told[0], onset) if told else None,
        tuple(finding for finding in early if finding.severity == "failure"),
        tuple(finding for finding in early if finding.severity == "warning"),
        healthy_until,
    )


def first_bad_record(run: Run, variant: Variant) -> int | None:
    """Step of the first record of this log that holds a non-finite value of a role."""
    columns = logged_columns(run, variant)
    bad = [steps[~np.isfinite(values)] for name, (steps, values) in columns.items() if name in ROLES]
    return min((int(steps[0]) for steps in bad if len(steps)), default=None)


def logged_onset(run: Run, variant: Variant) -> int | None:
    """Where this log first shows what happened: its first non-finite value, else its first record from the onset on."""
    truth = run.truth
    if truth.onset is None:
        return None
    if GROUP_OF.get(truth.row) == "nan" and truth.row not in DATED_BY_GROWTH:
        return first_bad_record(run, variant)
    steps = logged_columns(run, variant)["loss"][0]
    later = steps[steps >= truth.onset]
    return int(later[0]) if len(later) else truth.onset


def dated(run: Run, variant: Variant, finding: Finding, onset: int | None) -> Error | None:
    """Onset error and delay of a right finding, in logged records; growth before an overflow counts as right."""
    if onset is None:
        return None
    wanted = [onset] if run.truth.growth is None else [onset, run.truth.growth]
    late = min((finding.onset_step - step for step in wanted), key=abs)
    return Error(late / variant.interval, (finding.detected_step - onset) / variant.interval)
