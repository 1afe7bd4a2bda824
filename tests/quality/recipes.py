"""The corpus as a table: which faults are planted in which trainings, and which healthy trainings look bad."""

from __future__ import annotations

from tests.quality.architectures import Part
from tests.quality.failing import DIVERGENCE, FIT, NAN, PLATEAU
from tests.quality.healthy import LOOKS_BAD, ORDINARY
from tests.quality.planting import Planting
from tests.quality.training import Recipe

PLANTINGS: tuple[Planting, ...] = (*DIVERGENCE, *NAN, *PLATEAU, *FIT, *ORDINARY, *LOOKS_BAD)


def recipes(part: Part) -> list[Recipe]:
    """All recipes of a part, in the table's order."""
    return [recipe for planting in PLANTINGS for recipe in planting.recipes(part)]
