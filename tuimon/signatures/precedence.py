"""One cause lights one row: which findings stay dark because a graver one already says it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

from tuimon.signatures.finding import RANK, Finding


def reduced(findings: Sequence[Finding], outranks: Mapping[str, tuple[str, ...]]) -> tuple[Finding, ...]:
    """The findings that no other one outranks, oldest onset first.

    A finding hides those that its row outranks, when it is at least as grave and both hold at some step: a spike that
    was over before a divergence began is another event and stays. Of two failures of one row that hold together, as two
    detectors may say them, the first in order stays, known when the first of them was.
    """
    once = _once(findings)
    kept = [
        _from_its_beginning(finding, findings)
        for finding in once
        if not any(
            finding.signature in outranks.get(other.signature, ())
            and RANK[other.severity] >= RANK[finding.severity]
            and _overlap(finding, other)
            for other in findings
        )
    ]
    return tuple(sorted(kept, key=lambda finding: (finding.onset_step, finding.detected_step, finding.signature)))


def _once(findings: Sequence[Finding]) -> list[Finding]:
    """Every failure, and every divergence, once: the graver, else the first in order."""
    kept: list[Finding] = []
    for finding in findings:
        place = next((i for i, other in enumerate(kept) if _same(other, finding)), None)
        if place is None:
            kept.append(finding)
            continue
        told = finding if RANK[finding.severity] > RANK[kept[place].severity] else kept[place]
        known = min(finding.detected_step, kept[place].detected_step)
        active = kept[place].active or finding.active  # one that is over for one of them goes on for the other
        ended = None if active else told.ended_step
        kept[place] = replace(told, detected_step=max(known, told.onset_step), active=active, ended_step=ended)
    return kept


def _same(one: Finding, other: Finding) -> bool:
    """Two detectors say the same of the same steps."""
    both_fail = one.severity == other.severity == "failure"
    return one.signature == other.signature and (both_fail or one.family == "divergence") and _overlap(one, other)


def _from_its_beginning(finding: Finding, findings: Sequence[Finding]) -> Finding:
    """A NaN that ends a divergence began where the divergence did, however long ago that was."""
    if finding.signature != "nan-after-growth":
        return finding
    earlier = [
        other
        for other in findings
        if other.family == "divergence" and other.severity == "failure" and other.onset_step < finding.onset_step
        if other.ended_step is None
    ]
    if not earlier:
        return finding
    first = min(earlier, key=lambda other: other.onset_step)
    told = f"{finding.evidence}; {first.signature} since {first.onset_step}"
    return replace(finding, onset_step=first.onset_step, evidence=told)


def _overlap(one: Finding, other: Finding) -> bool:
    return one.onset_step < _end(other) and other.onset_step < _end(one)


def _end(finding: Finding) -> float:
    if finding.active or finding.ended_step is None:
        return math.inf
    return max(finding.ended_step, finding.onset_step + 1)
