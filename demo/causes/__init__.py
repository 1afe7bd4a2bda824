"""Small real trainings that fail on purpose, one per cause."""

from demo.causes.numbers import CAUSES as NUMBERS
from demo.causes.run import Cause, Run
from demo.causes.speed import CAUSES as SPEED
from demo.causes.wiring import CAUSES as WIRING

CAUSES: dict[str, Cause] = {cause.name: cause for cause in (*SPEED, *NUMBERS, *WIRING)}

__all__ = ["CAUSES", "Cause", "Run"]
