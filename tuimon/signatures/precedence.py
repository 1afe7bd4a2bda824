"""One cause lights one row: which findings stay dark because a graver one already says it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from tuimon.signatures.finding import RANK, Finding


def reduced(findings: Sequence[Finding], outranks: Mapping[str, tuple[str, ...]]) -> tuple[Finding, ...]:
    """The findings that no other one outranks, oldest onset first.

    A finding hides those that its row outranks, when it is at least as grave and both hold at some step: a spike that
    was over before a divergence began is another event and stays.
    """
    kept = [
        finding
        for finding in findings
        if not any(
            finding.signature in outranks.get(other.signature, ())
            and RANK[other.severity] >= RANK[finding.severity]
            and _overlap(finding, other)
            for other in findings
        )
    ]
    return tuple(sorted(kept, key=lambda finding: (finding.onset_step, finding.detected_step, finding.signature)))


def _overlap(one: Finding, other: Finding) -> bool:
    return one.onset_step < _end(other) and other.onset_step < _end(one)


def _end(finding: Finding) -> float:
    if finding.active or finding.ended_step is None:
        return math.inf
    return max(finding.ended_step, finding.onset_step + 1)
