"""Losses outside what their objective allows: a first one far from ln C, one below zero."""

from __future__ import annotations

from collections.abc import Sequence

from tuimon.formulas import logit_spread, uniform_loss
from tuimon.record import Mark
from tuimon.signatures.course import Course
from tuimon.signatures.finding import Finding
from tuimon.signatures.growth import short
from tuimon.signatures.plateau import classes
from tuimon.signatures.stretch import Detector, Stretch
from tuimon.stats import median

OFF = 0.5
"""Nats that the first cross-entropy may lie from ln C: a usual initial layer stays within 0.2."""

SURELY_OFF = 1.5
"""The same of the first loss alone, ten sigma of a batch of 32: the next ones of a sparse log have learned."""

MANY = 100
"""Classes from which the initial loss says how far the initial logits spread."""

SUMMED = 0.1
"""Relative distance within which the first loss over ln C counts as the batch size."""


FIRST_LOSSES = 5
"""Losses whose median must be off as well: the first batch alone may be a hard one."""


class InitialLossOff(Detector):
    """The first cross-entropy is not near ln C: initial logits too wide, the wrong C, or a loss summed over the batch.

    Needs num_classes, an objective that is a cross-entropy or not declared, and a log that begins at the first steps.
    Errs on a fine-tuned head, which starts better than ln C; that is why only a worse start counts.
    """

    def __init__(self) -> None:
        self._points: list[tuple[int, float]] = []
        self._done = False
        self._findings: tuple[Finding, ...] = ()

    def update(self, stretch: Stretch) -> None:
        """Looks at the first five losses."""
        if self._done or not stretch.loss.values:
            return
        self._points.extend(zip(stretch.loss.steps, stretch.loss.values, strict=True))
        del self._points[FIRST_LOSSES:]
        self._done = len(self._points) == FIRST_LOSSES
        if self._done:
            self._judge(stretch.course)

    def _judge(self, course: Course) -> None:
        step, loss = self._points[0]
        count = classes(course)
        objective = str(course.meta.get("objective", "cross_entropy"))
        if count is None or objective != "cross_entropy" or step > 1:
            return
        uniform = uniform_loss(count)
        if loss - uniform <= SURELY_OFF:
            loss = min(loss, median([value for _, value in self._points]))
        if loss - uniform <= OFF:
            return
        why = f"first loss {short(loss)}, ln {count} is {uniform:.4f}"
        batch = course.meta.get("batch_size")
        if isinstance(batch, int) and batch > 1 and abs(loss / uniform / batch - 1) < SUMMED:
            why += f": about {batch} times as much, the batch size"
        elif count >= MANY:
            why += f", as initial logits with a spread of {logit_spread(loss, count):.2g} give"
        self._findings = (Finding("initial-loss-off", "data", "warning", step, self._points[-1][0], True, why),)

    @property
    def findings(self) -> Sequence[Finding]:
        """At most one."""
        return self._findings


class BelowFloor(Detector):
    """A loss under its minimum: a cross-entropy or squared error below zero.

    Only where the objective, or the number of classes, is declared.
    """

    def __init__(self) -> None:
        self._since: int | None = None
        self._value = 0.0

    def update(self, stretch: Stretch) -> None:
        """Exits at once on positive losses."""
        if stretch.loss.low >= 0.0 or self._since is not None:
            return
        meta = stretch.course.meta
        objective = str(meta.get("objective", "cross_entropy" if classes(stretch.course) else ""))
        if objective not in ("cross_entropy", "mse"):
            return
        at = next(i for i, value in enumerate(stretch.loss.values) if value < 0.0)
        self._since, self._value = stretch.loss.steps[at], stretch.loss.values[at]
        self._objective = objective

    def mark(self, mark: Mark, course: Course) -> None:
        """Nothing: what was below its floor stays wrong."""

    @property
    def findings(self) -> Sequence[Finding]:
        """At most one."""
        if self._since is None:
            return ()
        why = f"loss {short(self._value)} at {self._since}, a {self._objective.replace('_', ' ')} is never below 0"
        return (Finding("below-floor", "divergence", "failure", self._since, self._since, True, why),)
