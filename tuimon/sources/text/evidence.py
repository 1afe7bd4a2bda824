"""Whether a layout is that of a record: it comes again and again, with another step each time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from tuimon.record import number
from tuimon.sources.text.naming import split_words
from tuimon.sources.text.plan import Plan
from tuimon.sources.text.steps import integer

NEAR = 100
"""Lines behind a step within which the other lines of its record stand; Coqui prints 45."""


class Here(NamedTuple):
    """Where the log stands: the step, whether records have steps of their own, records so far, lines since a step."""

    step: int | None
    counted: bool
    records: int
    since: int


def is_sure(known: Plan, numbers: Sequence[str], counted: bool) -> bool:
    """Whether one line is enough: a step beside a loss, or a loss of some precision and nothing else."""
    if not known.measures:
        return "lr" in known.roles and known.step is not None and not known.local and counted
    if known.step is not None or known.epoch is not None or known.summary:
        shown = [numbers[i] for i, name in zip(known.indexes, known.names, strict=True) if is_loss(name)]
        return any(not text.isdigit() for text in shown) or not shown
    return (known.pure or known.val) and is_precise(known, numbers, 3)


def is_precise(known: Plan, numbers: Sequence[str], decimals: int) -> bool:
    """Whether a loss of the line has so many digits behind the point that nobody wrote it by hand."""
    return any(
        _decimals(numbers[i]) >= decimals for i, name in zip(known.indexes, known.names, strict=True) if is_loss(name)
    )


def moves(known: Plan, numbers: Sequence[str], here: Here) -> bool:
    """Whether a layout that comes again comes with another step. Settles whether an unnamed number is the step."""
    assert known.first is not None
    before, first, _ = known.first
    if known.step is not None:
        return numbers[known.step] != first[known.step]
    fraction = any("." in numbers[i] or not numbers[i][-1:].isdigit() for i in known.indexes)
    if known.epoch is not None:
        return numbers != first or known.dictionary
    if not known.measures:
        return (known.dictionary and fraction) or _accompanies(known, here)
    moved = here.step is not None and here.step != before
    if not moved and not here.counted and _guess_moves(known, numbers, first):
        return True
    known.guess = None
    return fraction and numbers != first and (moved or not here.counted)


def _guess_moves(known: Plan, numbers: Sequence[str], first: Sequence[str]) -> bool:
    """Whether the number that may be the step went up."""
    if known.guess is None or "." in first[known.guess] + numbers[known.guess]:
        return False
    old, new = integer(first[known.guess]), integer(numbers[known.guess])
    return old is not None and new is not None and new > old


def _accompanies(known: Plan, here: Here) -> bool:
    """Whether numbers without a step or a loss come once with each step, soon behind it: one line of a longer record.

    Configurations and generated text come at any time, or several times in one step.
    """
    assert known.first is not None
    before, first, count = known.first
    if known.seen < 0:
        return False
    if not here.records or here.step is None or here.since > NEAR or (before is not None and here.step <= before):
        known.seen = -1
        return False
    known.first = (here.step, first, count)
    known.seen += 1
    # A trainer that was started three times shows its settings three times.
    return known.seen >= (1 if "lr" in known.roles else 3)


def values(numbers: Sequence[str], indexes: Sequence[int]) -> list[float | None]:
    """The numbers at `indexes` as floats."""
    try:
        return [float(numbers[i]) for i in indexes]
    except ValueError:
        return [_value(numbers[i]) for i in indexes]


def _value(text: str) -> float | None:
    try:
        return number(text.replace(",", ""))
    except ValueError:
        return None


def is_loss(name: str) -> bool:
    """Whether a metric of this name is, or holds, a loss or a norm."""
    parts = split_words(name)
    return "loss" in parts or "losses" in parts or not {"val", "trl", "tel", "norm", "xent", "nll"}.isdisjoint(parts)


def _decimals(text: str) -> int:
    """Digits behind the point; many for what is not finite, none where there is no number."""
    if text[-1:].isalpha():
        return 0 if text.lower() in ("none", "null", "n/a") else 9
    return len(text.partition(".")[2])
