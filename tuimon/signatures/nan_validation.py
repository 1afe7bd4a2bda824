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

    One evaluation is a warning, two in a row (or one in a run that logs nothing else) a failure. Errs where the
    training loss is filtered: then the gradient norm tells.
    """

    def __init__(self) -> None:
        self._since: int | None = None
        self._known = 0
        self._count = 0
        self._over: int | None = None
        self._train = False

    def update(self, stretch: Stretch) -> None:
        """Exits at once on stretches without a non-finite value while nothing is open."""
        self._train = self._train or bool(stretch.loss.values)
        column = stretch.columns.get("val_loss")
        if column is None or (stretch.finite and (self._since is None or self._over is not None)):
            return
        for step, value in zip(stretch.steps, column, strict=True):
            if value is None:
                continue
            if not math.isfinite(value):
                if self._since is None or self._over is not None:
                    self._since, self._count, self._over = step, 0, None
                self._count += 1
                if self._count <= SURE:
                    self._known = step
            elif self._since is not None and self._over is None:
                self._over = step

    @property
    def findings(self) -> Sequence[Finding]:
        """The last time the validation loss was not finite."""
        if self._since is None:
            return ()
        severity: Severity = "failure" if self._count >= SURE or not self._train else "warning"
        why = f"val_loss non-finite in {self._count} evaluation{'s' * (self._count > 1)} from {self._since}"
        why += ", the training loss is finite" if self._train else ""
        return (
            Finding("nan-val-only", "nan", severity, self._since, self._known, self._over is None, why, self._over),
        )
