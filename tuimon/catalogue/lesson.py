"""Why a row happens: the text that `tuimon explain` puts around it. Every number in it is computed."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Lesson:
    """What there is to learn about one signature.

    Attributes:
        why: the mechanism in a few plain sentences.
        formula: the one formula that matters, empty where there is none.
        example: that formula in numbers, empty without.
        pitfalls: what makes it worse or hides it.
    """

    why: str
    formula: str = ""
    example: str = ""
    pitfalls: tuple[str, ...] = ()


ALWAYS = (
    "Never overwrite the last good checkpoint: keep one from before the onset.",
    "One change per experiment, or nobody knows what helped.",
    "Dump the batch and the seeds of a failing step, from the first day on.",
)
"""Pitfalls of every failure, whatever its row."""
