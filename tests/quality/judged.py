"""One run through the public path, and what was right or wrong about what was said."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from tests.quality.corpus import Run
from tests.quality.variants import RAW, Variant, batch, logged_columns
from tuimon.monitor import Monitor
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
        error: of the finding that was right, None without one or without a true onset.
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
    group = GROUP_OF.get(truth.row)
    groups = {GROUP_OF.get(row) for row in truth.rows}
    family = [x for x in after if GROUP_OF.get(x.signature) in groups and (x.severity != "note" or truth.row in NOTES)]
    return Judged(
        run,
        variant,
        findings,
        gravest(after),
        bool(exact),
        bool(right),
        bool(family) and group is not None,
        dated(run, variant, right[0]) if right else None,
        tuple(finding for finding in early if finding.severity == "failure"),
        tuple(finding for finding in early if finding.severity == "warning"),
        healthy_until,
    )


def dated(run: Run, variant: Variant, finding: Finding) -> Error | None:
    """Onset error and delay of a right finding, counted in logged records of the run."""
    truth = run.truth
    if truth.onset is None:
        return None
    columns = logged_columns(run, variant)
    steps = columns["loss"][0]
    logged = steps[steps >= truth.onset]
    # A fault in validation alone is dated by the validation rows; between two logged steps, by the next logged one.
    onset = int(logged[0]) if len(logged) and truth.row != "nan-val-only" else truth.onset
    wanted = [onset]
    if truth.growth is not None:
        growth = steps[steps >= truth.growth]
        wanted.append(int(growth[0]) if len(growth) else truth.growth)
    late = min((finding.onset_step - step for step in wanted), key=abs)
    return Error(late / variant.interval, (finding.detected_step - onset) / variant.interval)
