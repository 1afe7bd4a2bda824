"""One row of the table in full, as lines: what `tuimon explain` prints and the screen shows."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Sequence

from tuimon.catalogue import BY_SIGNATURE, Row
from tuimon.catalogue.lesson import ALWAYS, Lesson
from tuimon.catalogue.now import AFRESH, NOW, dated
from tuimon.catalogue.snippets import NAMES
from tuimon.plain import plain_text
from tuimon.signatures.finding import Finding

_INDENT = "  "

LIVE = frozenset(("model", "optimizer", "scaler", "logits", "loss", "x", "batch"))
"""Names in the code that a training has only while it runs."""


def explanation(
    row: Row,
    lesson: Lesson,
    width: int,
    *,
    picture: Sequence[str] = (),
    findings: Sequence[Finding] = (),
    remarks: Sequence[str] = (),
) -> Iterator[str]:
    """The row as lines of at most `width` columns; lines of code may be longer, so that they can be pasted.

    Args:
        row: the row of the table.
        lesson: why it happens.
        width: columns, at least 24.
        picture: lines of the drawn curve.
        findings: of a run, that lit this row; their numbers come first.
        remarks: what else can be said in numbers about that run.
    """
    yield f"{row.signature} ({row.family}, {row.severity})"
    if findings:
        yield from _section("in this run", [*(_told(finding) for finding in findings), *remarks], width)
    onset = findings[-1].onset_step if findings else None
    yield from _section("now", [_now(row, findings), *_terms(row, onset)], width)
    yield from _section("what is seen", [row.symptom], width)
    yield from picture
    yield from _section("why it happens", [lesson.why], width)
    yield from (_INDENT * 2 + line for line in (lesson.formula,) if line)
    yield from _filled([lesson.example] if lesson.example else [], width)
    yield from _section("what separates it", [row.separator, *_neighbours(row), *_needed(row, findings)], width)
    if row.checks:
        yield from _section("causes, likeliest first", [f"- {cause}" for cause in row.causes], width)
        yield from _section("check, in this order, before anything is changed", _afresh(row), width)
        for number, check in enumerate(row.checks, 1):
            yield from _filled([f"{number}. {dated(check.look, onset)}"], width, hang=3)
            yield from (_INDENT * 3 + line for line in check.code.splitlines())
            yield from _filled([check.expect], width, _INDENT + "   ")
        yield from _filled(_names_in(" ".join(check.code for check in row.checks)), width)
        yield from _section("then", [dated(row.fix, onset)], width)
    pitfalls = [*lesson.pitfalls, *(ALWAYS if row.severity == "failure" else ())]
    if pitfalls:
        yield from _section("pitfalls", [f"- {dated(pitfall, onset)}" for pitfall in pitfalls], width)


def _now(row: Row, findings: Sequence[Finding]) -> str:
    """What to do at once, with the onset of the finding that is shown last."""
    text = dated(NOW[row.signature], findings[-1].onset_step if findings else None)
    over = findings and not any(finding.active for finding in findings)
    return f"It is over now. Should it come again: {text[:1].lower()}{text[1:]}" if over else text


def _terms(row: Row, onset: int | None) -> Iterator[str]:
    """The word that stands in these texts for a step, where its number is not known."""
    texts = NOW[row.signature], row.fix, row.known_at, *(check.look for check in row.checks)
    if onset is None and "the onset" in " ".join(texts):
        yield "(The onset is the step at which it began.)"


def _afresh(row: Row) -> list[str]:
    """Where code is pasted when nothing runs any more."""
    live = any(LIVE.intersection(re.findall(r"\w+", check.code)) for check in row.checks if not _takes(check.code))
    return [AFRESH] if "stop" in NOW[row.signature].lower() and live else []


def _takes(code: str) -> bool:
    """Whether a piece of code takes its batches itself, and asks no more than them."""
    return "(loader))" in code or "(each))" in code or "(val_loader))" in code


def _told(finding: Finding) -> str:
    where = f", in {finding.module} {finding.op}".rstrip() if finding.module or finding.op else ""
    over = "" if finding.active else ", over now"
    return plain_text(f"- since step {finding.onset_step}{over}: {finding.evidence}{where}", 400)


def _neighbours(row: Row) -> Iterator[str]:
    if row.confused_with:
        yield "Its neighbours:"
    for signature in row.confused_with:
        yield f"- {signature}: {BY_SIGNATURE[signature].separator}"


def _names_in(code: str) -> list[str]:
    """What names in the code stand for, where that is not plain."""
    words = set(re.findall(r"\w+", code))
    told = [f"{name}: {meaning}" for name, meaning in NAMES.items() if meaning and name in words]
    return [f"In the code: {'; '.join(told)}."] if told else []


def _needed(row: Row, findings: Sequence[Finding]) -> Iterator[str]:
    if row.needs:
        # In a run it is known already.
        yield f"Needs {', '.join(row.needs)}" + ("." if findings else f"; known {row.known_at}.")


def _section(title: str, texts: list[str], width: int) -> Iterator[str]:
    yield ""
    yield title.upper()
    yield from _filled(texts, width)


def _filled(texts: list[str], width: int, indent: str = _INDENT, hang: int = 0) -> Iterator[str]:
    for text in texts:
        deeper = indent + " " * (2 if text.startswith("- ") else hang)
        yield from textwrap.wrap(
            text, width, initial_indent=indent, subsequent_indent=deeper, break_long_words=False, break_on_hyphens=False
        )
