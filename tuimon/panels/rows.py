"""Which rows of the table are shown, in which order and in which state; no drawing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from tuimon.catalogue import ROWS, Row
from tuimon.panels.scene import Scene
from tuimon.signatures.finding import RANK, Finding, Severity

State = Literal["lit", "recovered", "dark"]


@dataclass(frozen=True, slots=True)
class Entry:
    """One row of the table as it stands now.

    Attributes:
        row: from the catalogue.
        findings: that lit it, oldest onset first; empty for a dark row.
        state: lit; recovered (it was lit, and is over); dark.
        open: its text is shown under it.
        chosen: the one that keys act on.
    """

    row: Row
    findings: tuple[Finding, ...]
    state: State
    open: bool
    chosen: bool

    @property
    def finding(self) -> Finding | None:
        """The one to tell about: the active one that began first, else the last that was."""
        active = [finding for finding in self.findings if finding.active]
        return active[0] if active else self.findings[-1] if self.findings else None

    @property
    def severity(self) -> Severity:
        return self.finding.severity if self.finding else self.row.severity


def entries(scene: Scene) -> list[Entry]:
    """Lit rows, gravest first; then those that were lit; then the rest in the catalogue's order."""
    snapshot, desk = scene.snapshot, scene.desk
    by_signature: dict[str, list[Finding]] = {}
    for finding in snapshot.findings:
        by_signature.setdefault(finding.signature, []).append(finding)
    lit = {signature: place for place, signature in enumerate(snapshot.lit)}
    pattern = desk.pattern.lower()
    rows = [row for row in ROWS if pattern in f"{row.signature} {row.family} {row.symptom}".lower()]
    found: list[Entry] = []
    for row in rows:
        findings = tuple(by_signature.get(row.signature, ()))
        state: State = "lit" if row.signature in lit else "recovered" if findings else "dark"
        found.append(Entry(row, findings, state, False, False))
    found.sort(key=lambda entry: _rank(entry, lit))
    chosen = desk.row if any(entry.row.signature == desk.row for entry in found) else ""
    return [
        Entry(
            entry.row,
            entry.findings,
            entry.state,
            _is_open(entry, scene),
            entry.row.signature == chosen if chosen else place == 0,
        )
        for place, entry in enumerate(found)
    ]


def _rank(entry: Entry, lit: dict[str, int]) -> tuple[int, int, int]:
    if entry.state == "lit":
        return 0, -RANK[entry.severity], lit[entry.row.signature]
    return (1 if entry.state == "recovered" else 2), 0, 0


def _is_open(entry: Entry, scene: Scene) -> bool:
    """Failures and warnings open by themselves; notes do not push them off a small screen."""
    signature = entry.row.signature
    if signature in scene.desk.opened:
        return True
    return entry.state == "lit" and entry.severity != "note" and signature not in scene.desk.closed
