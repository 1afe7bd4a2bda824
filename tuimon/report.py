"""A Snapshot as text and as JSON: what `diagnose` prints, and `watch` where there is no terminal."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tuimon.catalogue import BY_SIGNATURE, ROWS
from tuimon.catalogue.now import NOW, dated
from tuimon.monitor import Series, Snapshot
from tuimon.plain import plain_text
from tuimon.record import ROLES, plain
from tuimon.signatures.finding import RANK, Finding

SHOWN_SERIES = 12
"""Metrics in the summary: the four roles and what fits below them on one screen; a run may log thousands."""

SHOWN_BAD_LINES = 5
"""Bad lines named one by one; more of them tell nothing new."""

SHOWN_OTHERS = 10
"""Further onsets of one row that are named; the curve shows them better than a list."""

NAMED_ROWS = 10
"""Rows that are named for a metric that is not logged; the loss alone has more than twenty."""

_LABEL = 12  # columns of the labels at the left ("  grad_norm ")


@dataclass(frozen=True, slots=True)
class Report:
    """A run as it was read.

    Attributes:
        file: the path as the user gave it.
        format: short name of the format it was taken for.
        described: the source's one line for a person.
        snapshot: what is known of the run.
    """

    file: str
    format: str
    described: str
    snapshot: Snapshot

    def document(self) -> dict[str, object]:
        """The report for a program; strict JSON can hold it (non-finite numbers are strings)."""
        snapshot = self.snapshot
        return {
            "file": self.file,
            "format": self.format,
            "records": snapshot.records,
            "bad_lines": snapshot.bad_count,
            "verdict": snapshot.verdict,
            "series": {name: _series_document(series) for name, series in snapshot.series.items()},
            "findings": [_finding_document(finding) for finding in snapshot.findings],
        }

    def text(self, width: int = 80) -> str:
        """The report for a person, in lines of at most `width` columns (code to paste may be longer)."""
        parts = [self._opening(width), *_findings_text(gravest_first(self.snapshot), width)]
        parts += [
            _preflight_text(self.snapshot, width),
            _series_text(self.snapshot),
            self._bad_lines(),
            _missing_text(self.snapshot, width),
        ]
        return "\n\n".join(part for part in parts if part) + "\n"

    def _opening(self, width: int) -> str:
        snapshot = self.snapshot
        steps = "" if snapshot.first_step is None else f", steps {snapshot.first_step} to {snapshot.last_step}"
        bad = f", {_count(snapshot.bad_count, 'bad line')}" if snapshot.bad_count else ""
        return "\n".join(
            (
                plain_text(self.file),
                *textwrap.wrap(plain_text(self.described, 400), width, break_on_hyphens=False),
                f"{_count(snapshot.records, 'record')}{steps}{bad}",
                f"verdict: {verdict_words(snapshot)}",
            )
        )

    def _bad_lines(self) -> str:
        shown = self.snapshot.bad_lines[:SHOWN_BAD_LINES]
        if not shown:
            return ""
        lines = ["bad lines (skipped)"]
        lines += [f"  {plain_text(self.file)}:{bad.number}: {plain_text(bad.reason, 100)}" for bad in shown]
        if self.snapshot.bad_count > len(shown):
            lines.append(f"  and {self.snapshot.bad_count - len(shown):,} more")
        return "\n".join(lines)


def gravest_first(snapshot: Snapshot) -> list[Finding]:
    """The findings in reading order: notes last, what is over after what is active, then by severity and onset."""
    return sorted(
        snapshot.findings,
        key=lambda each: (each.severity == "note", not each.active, -RANK[each.severity], each.onset_step),
    )


def verdict_words(snapshot: Snapshot) -> str:
    """The verdict and, for a person, what it rests on."""
    if snapshot.verdict == "no_data":
        return "no_data: nothing to judge yet"
    if snapshot.verdict == "healthy":
        limit = "which is not a proof" if "loss" in snapshot.series else "but no loss is logged"
        return f"healthy: no failure signature in {_count(snapshot.records, 'record')} ({limit})"
    leading = next(iter(gravest_first(snapshot)), None)
    if leading is None:
        return snapshot.verdict
    word = "watch, a warning and no failure" if snapshot.verdict == "watch" else snapshot.verdict
    return f"{word} ({leading.signature} since step {leading.onset_step})"


def number_text(value: float | None) -> str:
    """A number in at most 10 columns; "-" where there is none."""
    return "-" if value is None else f"{value:.5g}".replace("nan", "NaN")


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


def _strict(value: float | None) -> float | str | None:
    return None if value is None else plain(value)


def _series_document(series: Series) -> dict[str, object]:
    return {
        "count": series.count,
        "first_step": series.first_step,
        "last_step": series.last_step,
        "last": _strict(series.last),
        "best": _strict(series.best),
        "best_step": series.best_step,
        "non_finite": series.non_finite,
    }


def _finding_document(finding: Finding) -> dict[str, object]:
    return {
        "signature": finding.signature,
        "family": finding.family,
        "severity": finding.severity,
        "onset_step": finding.onset_step,
        "detected_step": finding.detected_step,
        "active": finding.active,
        "evidence": finding.evidence,
        "row": finding.row,
    }


def _labelled(label: str, text: str, width: int) -> str:
    return textwrap.fill(
        text,
        width,
        initial_indent=f"  {label}".ljust(_LABEL),
        subsequent_indent=" " * _LABEL,
        break_long_words=False,
        break_on_hyphens=False,
    )


def _findings_text(findings: Sequence[Finding], width: int) -> Iterator[str]:
    """One part for each row that was seen: its gravest finding with checks and fix, the others as a list below."""
    for signature in dict.fromkeys(finding.signature for finding in findings):
        first, *others = (finding for finding in findings if finding.signature == signature)
        lines = [*_finding_lines(first, width)]
        if others:
            steps = ", ".join(str(finding.onset_step) for finding in others[:SHOWN_OTHERS])
            more = f" and {len(others) - SHOWN_OTHERS} more" if len(others) > SHOWN_OTHERS else ""
            lines.insert(2, _labelled("again", f"at step {steps}{more}", width))
        row = BY_SIGNATURE.get(signature)
        symptom = f": {row.symptom}" if row else ""
        yield "\n".join((f"[{first.severity}] {signature}{symptom}", *lines))


def _finding_lines(finding: Finding, width: int) -> Iterator[str]:
    began = f"step {finding.onset_step}, known at step {finding.detected_step}"
    if not finding.active:
        began += ", over" + ("" if finding.ended_step is None else f" at step {finding.ended_step}")
    yield _labelled("began", began, width)
    yield _labelled("evidence", plain_text(finding.evidence, 400), width)
    if finding.place:
        yield _labelled("where", plain_text(finding.place), width)
    row = BY_SIGNATURE.get(finding.row)
    if row and finding.active and finding.severity != "note":
        yield _labelled("now", dated(NOW[row.signature], finding.onset_step), width)
    if row and row.checks:
        yield _labelled("check", dated(row.checks[0].look, finding.onset_step), width)
        yield from (" " * _LABEL + line for line in row.checks[0].code.splitlines())
        yield _labelled("", row.checks[0].expect, width)
    if finding.missing:
        yield _labelled("missing", plain_text(finding.missing, 400), width)
    if row and row.fix and finding.severity != "note":
        yield _labelled("then", dated(row.fix, finding.onset_step), width)
        yield _labelled("more", f"tuimon explain {finding.row}", width)


def _preflight_text(snapshot: Snapshot, width: int) -> str:
    """What the checks before the run said, failed ones with their numbers."""
    checks = [note.fields for note in snapshot.notes if note.name == "preflight"]
    lines = [
        f"  {plain_text(fields.get('check', ''), 60)}: {plain_text(fields.get('outcome', ''), 20)}"
        f" ({plain_text(fields.get('told', ''))})"
        for fields in checks
        if fields.get("check") != "verdict" and fields.get("outcome") != "pass"
    ]
    if not checks:
        return ""
    suspects = [str(fields.get("told", "")) for fields in checks if fields.get("check") == "verdict"]
    left = f"; left to suspect: {plain_text(suspects[-1])}" if suspects and suspects[-1] else ""
    passed = sum(fields.get("outcome") == "pass" and fields.get("check") != "verdict" for fields in checks)
    told = [f"preflight: {_count(passed, 'check')} passed{left}", *lines]
    return "\n".join(textwrap.fill(line, width, subsequent_indent="    ", break_on_hyphens=False) for line in told)


def _series_text(snapshot: Snapshot) -> str:
    if not snapshot.series:
        return ""
    names = [name for name in ROLES if name in snapshot.series]
    names += [name for name in snapshot.series if name not in ROLES]
    lines = [f"{'metric':<18} {'values':>9} {'last step':>10} {'last':>11} {'lowest':>11} {'NaN or inf':>10}"]
    for name in names[:SHOWN_SERIES]:
        series = snapshot.series[name]
        last_step = "-" if series.last_step is None else str(series.last_step)
        lines.append(
            f"{plain_text(name, 18):<18} {series.count:>9,} {last_step:>10} {number_text(series.last):>11} "
            f"{number_text(series.best):>11} {series.non_finite or '-':>10}"
        )
    if len(names) > SHOWN_SERIES:
        lines.append(f"and {_count(len(names) - SHOWN_SERIES, 'more metric')}")
    return "\n".join(lines)


def _missing_text(snapshot: Snapshot, width: int) -> str:
    if not snapshot.records:
        return ""
    lines = []
    for role in ROLES:
        if role not in snapshot.series:
            hidden = [row.signature for row in ROWS if role in row.needs]
            named = ", ".join(hidden) if len(hidden) <= NAMED_ROWS else f"{len(hidden)} of the {len(ROWS)} rows"
            lines.append(_labelled(role, f"needed for {named}", width))
    if not lines:
        return ""
    return "\n".join(("not in this log (--map ROLE=NAME if it has another name)", *lines))
