"""A learning rate that is not finite: the first field to go where a schedule divides by zero."""

from __future__ import annotations

import math

from tuimon.signatures.stretch import Stretch


class Rate:
    """Whether the last learning rate was finite, and since when it is not."""

    def __init__(self) -> None:
        self._since: int | None = None
        self._value = 0.0

    def pass_over(self, stretch: Stretch) -> None:
        """Takes in a stretch; exits at once where every record has a finite learning rate."""
        if "lr" not in stretch.names or (self._since is None and len(stretch.lr.values) == len(stretch)):
            return
        for step, value in zip(stretch.steps, stretch.logged("lr"), strict=True):
            self.take(step, value)

    def take(self, step: int, value: float | None) -> None:
        """Takes in the learning rate of one record, None where there is none."""
        if value is None:
            return
        if math.isfinite(value):
            self._since = None
        elif self._since is None:
            self._since, self._value = step, value

    @property
    def told(self) -> str:
        """What there is to say of it, empty when the last one was finite."""
        if self._since is None:
            return ""
        return f"lr {'inf' if math.isinf(self._value) else 'NaN'} at {self._since}; "
