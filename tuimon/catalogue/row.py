"""What a line of the symptom-to-cause table holds."""

from __future__ import annotations

from dataclasses import dataclass

from tuimon.signatures.finding import Family, Severity


@dataclass(frozen=True, slots=True)
class Check:
    """Something to look at before anything is changed.

    Attributes:
        look: what to do, in one plain sentence.
        code: a line to paste into the training script, empty when there is none.
        expect: what the answer means.
    """

    look: str
    code: str = ""
    expect: str = ""


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table.

    Attributes:
        signature: the shape's name; `Finding.signature` lights this row.
        family: divergence, nan, plateau, or one of the smaller families.
        severity: of its finding, unless the detector says otherwise.
        symptom: what is seen in the curves, a short phrase.
        separator: the logged quantity that tells it from its neighbours.
        causes: likeliest first.
        checks: first one first.
        fix: what to change once the check has confirmed it.
        confused_with: signatures that look alike.
        needs: metrics or meta without which it cannot be known.
        known_at: when it can honestly be known.
        outranks: signatures that stay dark while this one is lit (one cause lights one failure row).
    """

    signature: str
    family: Family
    severity: Severity
    symptom: str
    separator: str
    causes: tuple[str, ...]
    checks: tuple[Check, ...]
    fix: str
    confused_with: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    known_at: str = ""
    outranks: tuple[str, ...] = ()
