"""A validation loss that is not finite while the training is well."""

from __future__ import annotations

import math
from collections.abc import Sequence

from tuimon.signatures.finding import Finding, Severity
from tuimon.signatures.stretch import Detector, Stretch

SURE = 2
"""Evaluations in a row that are no accident of one validation batch."""


class NonFiniteValidation(Detector):
    """A validation loss that is not finite while the training loss is: the evaluation is at fault.

    One evaluation is a warning, two in a row (or one in a run that logs nothing else) a failure; dated at the first
    one. What is evaluated while the training loss is not finite is left to the rows of the training. Errs where the
    training loss is filtered: then the gradient norm tells.
    """

    def __init__(self) -> None:
        self._since: int | None = None
        self._known = self._last = 0
        self._count = 0
        self._row = 0
        self._sure = False
        self._over: int | None = None
        self._train = False
        self._broken = False

    def update(self, stretch: Stretch) -> None:
        """Exits at once on stretches without a non-finite value while nothing is open."""
        if stretch.finite and not self._row:
            if stretch.loss.values:
                self._train, self._broken = True, False
            return
        for step, loss, value in zip(stretch.steps, stretch.logged("loss"), stretch.logged("val_loss"), strict=True):
            if loss is not None:
                self._broken = not math.isfinite(loss)
                self._train = self._train or not self._broken
            if value is None:
                continue
            if math.isfinite(value):
                self._over = step if self._row else self._over
                self._row = 0
            elif not self._broken:
                self._bad(step)

    def _bad(self, step: int) -> None:
        self._row += 1
        self._count += 1
        self._last, self._over = step, None
        if self._since is None:
            self._since = self._known = step
        if self._row >= SURE and not self._sure:
            self._known, self._sure = step, True

    @property
    def findings(self) -> Sequence[Finding]:
        """At most one: since when, how often, and whether it is so now."""
        if self._since is None:
            return ()
        severity: Severity = "failure" if self._sure or not self._train else "warning"
        why = f"val_loss non-finite in {self._count} evaluation{'s' * (self._count > 1)} from {self._since}"
        why += f" to {self._last}" if self._count > 1 else ""
        why += ", the training loss is finite" if self._train else ""
        return (
            Finding("nan-val-only", "nan", severity, self._since, self._known, self._over is None, why, self._over),
        )
