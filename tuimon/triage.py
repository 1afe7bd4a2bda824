"""Where an isolation stands: which questions are answered, and what is left to suspect."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from tuimon.catalogue.procedure import PROCEDURES, Question, procedure_of
from tuimon.files import write_whole
from tuimon.monitor import Snapshot
from tuimon.signatures.finding import RANK

Answer = Literal["yes", "no"]

LARGEST_STATE = 64 * 1024
"""Bytes of kept state that are read: a hundred times what it can hold."""


@dataclass(frozen=True, slots=True)
class Triage:
    """One isolation.

    Attributes:
        procedure: a key of PROCEDURES.
        lit: the signature it was chosen for, empty without.
        answers: question key -> answer by hand.
        noted: question key -> answer by a preflight check in the log; an answer by hand goes first.
        seen: the numbers of the finding it was chosen for; not yet fit for a terminal.
    """

    procedure: str
    lit: str = ""
    answers: Mapping[str, Answer] = field(default_factory=dict)
    noted: Mapping[str, Answer] = field(default_factory=dict)
    seen: str = ""

    @property
    def questions(self) -> tuple[Question, ...]:
        """In the order in which they are asked."""
        return PROCEDURES[self.procedure]

    def answer(self, key: str) -> Answer | None:
        """The answer to a question, None while it is open."""
        return self.answers.get(key, self.noted.get(key))

    def answered(self, key: str, answer: Answer | None) -> Triage:
        """The same with one answer by hand changed; None takes it back."""
        rest = {name: value for name, value in self.answers.items() if name != key}
        return replace(self, answers=rest if answer is None else {**rest, key: answer})

    @property
    def named(self) -> tuple[str, ...]:
        """What a "no" has named as the cause."""
        found = (name for q in self.questions if self.answer(q.key) == "no" for name in q.accuses)
        return tuple(dict.fromkeys(found))

    @property
    def suspects(self) -> tuple[str, ...]:
        """What this procedure can name and no "yes" has ruled out yet; what a "no" named stays."""
        cleared = {name for q in self.questions if self.answer(q.key) == "yes" for name in q.clears} - {*self.named}
        every = dict.fromkeys(name for q in self.questions for name in (*q.clears, *q.accuses))
        return tuple(name for name in every if name not in cleared)

    @property
    def next_open(self) -> Question | None:
        """The first question without an answer."""
        return next((q for q in self.questions if self.answer(q.key) is None), None)


def triage_of(snapshot: Snapshot | None, procedure: str | None = None) -> Triage:
    """The isolation for what is lit in a run, with what its preflight notes have answered already.

    Notes are nothing to isolate: with nothing graver it is the procedure of a plateau, which is also the one to go
    through before a run.

    Args:
        snapshot: of the run, None without one.
        procedure: a key of PROCEDURES, instead of the one for the gravest finding.
    """
    findings = sorted(
        (found for found in (snapshot.findings if snapshot else ()) if found.severity != "note"),
        key=lambda finding: (not finding.active, -RANK[finding.severity], finding.onset_step),
    )
    named = [(found, procedure_of(found.signature, found.family)) for found in findings]
    leading, own = next(((found, own) for found, own in named if procedure in (None, own)), (None, "plateau"))
    chosen = procedure or own
    outcomes = {
        str(note.fields.get("check")): str(note.fields.get("outcome"))
        for note in (snapshot.notes if snapshot else ())
        if note.name == "preflight"
    }
    words: dict[str, Answer] = {"pass": "yes", "fail": "no"}
    noted = {q.key: words[outcomes[q.preflight]] for q in PROCEDURES[chosen] if outcomes.get(q.preflight, "") in words}
    if leading is None:
        return Triage(chosen, noted=noted)
    return Triage(chosen, leading.signature, noted=noted, seen=f"since step {leading.onset_step}: {leading.evidence}")


def state_path(file: str) -> Path:
    """Where the answers about a run are kept: beside it."""
    return Path(f"{file.rstrip(os.sep)}.triage.json")


def load(path: Path, triage: Triage) -> Triage:
    """`triage` with the answers kept at `path`; unknown or damaged content is left out."""
    try:
        with path.open("rb") as file:
            kept = json.loads(file.read(LARGEST_STATE))
    except (OSError, ValueError, RecursionError):
        return triage
    for name in ("answers", triage.procedure):
        kept = kept.get(name) if isinstance(kept, dict) else None
    if not isinstance(kept, dict):
        return triage
    answers = {q.key: kept[q.key] for q in triage.questions if kept.get(q.key) in ("yes", "no")}
    return replace(triage, answers=answers)


def save(path: Path, triage: Triage) -> None:
    """Keeps the answers, beside those of other procedures.

    Raises:
        OSError: the place cannot be written.
    """
    kept: dict[str, object] = {}
    for name in PROCEDURES:
        other = load(path, Triage(name))
        if other.answers:
            kept[name] = dict(other.answers)
    kept[triage.procedure] = dict(triage.answers)
    write_whole(path, json.dumps({"tuimon_triage": 1, "answers": kept}, indent=1) + "\n")
