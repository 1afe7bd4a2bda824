"""What part of the run the panels show, and how: one frozen value, shared by all of them."""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class View:
    """The part of the run on the screen.

    Attributes:
        low, high: first and last step shown. `high` None is live: the picture follows the newest step. `low` None is
            the start of the run.
        tail: while live with `low` None, only about the last `tail` steps (the window moves on in hops, so that an
            appended point does not repaint the picture); None is the whole run.
        log: logarithmic y axes; what is <= 0 is marked at the bottom edge instead of vanishing.
        smooth: 0 for the curve itself, 1 to 3 for ever smoother, the curve itself dimmed behind it.
        cursor: step of the cursor, None without one.
        overlay: the companion's points (validation) over the curve, on one y axis.
        share: one y range for the curve and its companion, without drawing it.
    """

    low: int | None = None
    high: int | None = None
    tail: int | None = None
    log: bool = False
    smooth: int = 0
    cursor: int | None = None
    overlay: bool = False
    share: bool = False

    @property
    def live(self) -> bool:
        """The picture follows the newest step."""
        return self.high is None

    def window(self, first: int, last: int) -> tuple[int, int]:
        """First and last step shown of a run that has the steps `first` to `last`."""
        high = last if self.high is None else self.high
        if self.low is not None:
            return min(self.low, high), high
        if self.tail is not None and self.live:
            return max(first, last - self.tail + 1), last
        return min(first, high), high

    def zoomed(self, first: int, last: int, factor: float) -> View:
        """The same view with `factor` times as many steps: around the cursor if there is one, else with the same end.

        Never under 8 steps; a zoom out past the run is the whole run again.
        """
        low, high = self.window(first, last)
        span = max(8, round((high - low + 1) * factor))
        if span >= last - first + 1:
            return replace(self, low=None, high=None, tail=None)
        if self.cursor is None and self.live:
            return replace(self, low=None, high=None, tail=span)
        middle = (low + high) // 2 if self.cursor is None else self.cursor
        start = min(max(first, middle - span // 2), last - span + 1)
        return replace(self, low=start, high=start + span - 1, tail=None)
