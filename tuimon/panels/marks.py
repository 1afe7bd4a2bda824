"""The signs that stand beside every colour, in two alphabets."""

from __future__ import annotations

from typing import NamedTuple

from tuimon.panels.rows import Entry
from tuimon.signatures.finding import Finding


class Marks(NamedTuple):
    """One alphabet. None of them is an emoji, which some terminals draw two cells wide."""

    failure: str
    warning: str
    note: str
    healthy: str
    recovered: str
    chosen: str
    rule: str
    dot: str
    rail: str
    window: str
    cursor: str


UNICODE = Marks("✗", "▲", "•", "✓", "↺", "›", "─", "·", "─", "━", "┃")
ASCII = Marks("X", "!", "i", "+", "~", ">", "-", "-", "-", "=", "|")


def marks(ascii_only: bool) -> Marks:
    """The alphabet to draw with."""
    return ASCII if ascii_only else UNICODE


def of_finding(finding: Finding, alphabet: Marks) -> tuple[str, str]:
    """Mark and ink of a finding."""
    if not finding.active:
        return alphabet.recovered, "dim"
    return getattr(alphabet, finding.severity), finding.severity


def of_entry(entry: Entry, alphabet: Marks) -> tuple[str, str]:
    """Mark and ink of a row of the table."""
    if entry.row.signature == "healthy" and entry.state == "lit":
        return alphabet.healthy, "healthy"
    if entry.state == "lit":
        return getattr(alphabet, entry.severity), entry.severity
    return (alphabet.recovered, "dim") if entry.state == "recovered" else (" ", "faint")
