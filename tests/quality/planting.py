"""One line of the corpus's table: a fault or a kind of healthy run, and the trainings that it is planted in."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from tests.quality.architectures import ARCHITECTURES, Part
from tests.quality.faults import Fault
from tests.quality.training import Recipe


@dataclass(frozen=True)
class Planting:
    """One fault (or one kind of healthy run), the trainings that it is planted in, and what should then light.

    Attributes:
        name: of the fault, unique.
        row: the row that should light; "healthy" when none may.
        places: "architecture optimizer" pairs of both parts, separated by commas.
        fault: builder of the fault.
        recipe: fields of the Recipe that differ from its defaults.
        times: factor on the learning rate of the architecture.
        network, world: keywords of the builders.
    """

    name: str
    row: str
    places: str
    fault: Callable[[], Fault] = Fault
    recipe: dict[str, Any] = field(default_factory=dict)
    times: float = 1.0
    network: dict[str, Any] = field(default_factory=dict)
    world: dict[str, Any] = field(default_factory=dict)

    def recipes(self, part: Part) -> Iterator[Recipe]:
        """The trainings of one part."""
        for place in self.places.split(", "):
            arch, optimizer = place.split()
            built = ARCHITECTURES[arch]
            if built.part == part:
                recipe = Recipe(
                    self.name,
                    self.row,
                    arch,
                    built.build(**self.network),
                    built.data(**self.world),
                    self.fault,
                    optimizer,
                    self.times * built.rates[optimizer],
                    batch=built.batch,
                )
                yield replace(recipe, **self.recipe)
