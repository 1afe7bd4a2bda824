"""What a detector says: a signature seen, since when, on which numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Severity = Literal["failure", "warning", "note"]
Family = Literal["nan", "divergence", "plateau", "overfit", "spike", "oscillation", "gradient", "data", "note"]
RANK: dict[Severity, int] = {"failure": 2, "warning": 1, "note": 0}


def place(module: str, *more: str) -> str:
    """A place in a network in words: "module blocks.3, softmax". A bare path may be a mere digit: "0"."""
    named = f"module {module}" if module and not module.startswith("(") else module
    return ", ".join(part for part in (named, *more) if part)


@dataclass(frozen=True, slots=True)
class Finding:
    """A signature seen in a run.

    Attributes:
        signature: name of the shape, the key of its row in the catalogue.
        family: which kind of failure it belongs to.
        severity: failure (the run is lost or will be), warning (look), note (worth knowing).
        onset_step: where it began, which is earlier than where it could be known.
        detected_step: the step of the record that settled it.
        active: still so; False once it is over (a spike that came back).
        evidence: numbers from the run, one plain line.
        ended_step: the step at which it was over, None while active.
        module, op: where in the network, when the training process said so.
        missing: what to log to be surer, empty when nothing is missing.
    """

    signature: str
    family: Family
    severity: Severity
    onset_step: int
    detected_step: int
    active: bool
    evidence: str
    ended_step: int | None = None
    module: str = ""
    op: str = ""
    missing: str = ""

    @property
    def place(self) -> str:
        """Where in the network, in words; empty when the training process did not say."""
        return place(self.module, self.op)

    @property
    def row(self) -> str:
        """Key of the catalogue row that this finding lights."""
        return self.signature
