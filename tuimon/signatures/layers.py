"""Rows that need a statistic per layer: vanishing gradients, dead units, saturated units."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from tuimon.signatures.finding import Finding, Severity
from tuimon.signatures.growth import short
from tuimon.signatures.stretch import Detector, Stretch

VANISHED = 1e-3
"""Gradient norm of the first layer over that of the last below which the first learns nothing: .5^10."""

VANISHED_RECORDS = 10
"""Records in a row in which it must be so."""


def layers(columns: Mapping[str, Sequence[float | None]], *prefixes: str) -> list[str]:
    """Names of the metrics `prefix/layer`, in order of appearance."""
    return [name for name in columns if name.startswith(prefixes)]


class VanishingGradient(Detector):
    """The first layers get almost no gradient: the first norm over the last is below 1e-3, ten records in a row.

    Layers are taken in the order of the log. The global norm does not show this. Errs where that order is not that of
    the network.
    """

    def __init__(self) -> None:
        self._run = 0
        self._since = 0
        self._ratio = 0.0
        self._names = ("", "")
        self._detected: int | None = None

    def update(self, stretch: Stretch) -> None:
        """Exits at once on logs without layers."""
        if not stretch.layered:
            return
        names = layers(stretch.columns, "grad_norm/", "grad_norm_layer/")
        if len(names) < 2:
            return
        first, last = stretch.columns[names[0]], stretch.columns[names[-1]]
        for i, step in enumerate(stretch.steps):
            head, tail = first[i], last[i]
            if head is None or tail is None or not (math.isfinite(head) and math.isfinite(tail)):
                continue
            if tail > 0.0 and head < VANISHED * tail:
                self._run += 1
                if self._run == 1:
                    self._since = step
                self._ratio, self._names = head / tail, (names[0], names[-1])
                if self._run == VANISHED_RECORDS:
                    self._detected = step
            else:
                self._run, self._detected = 0, None

    @property
    def findings(self) -> Sequence[Finding]:
        """At most one, while it lasts."""
        if self._detected is None:
            return ()
        first, last = (name.partition("/")[2] for name in self._names)
        why = f"gradient of {first} is {self._ratio:.1g} of that of {last}, since {self._since}"
        return (
            Finding("vanishing-gradient", "plateau", "failure", self._since, self._detected, True, why, module=first),
        )


HALF = 0.5
"""Share of a layer's units that must be lost."""

ALL = 0.99
"""Share from which a layer passes nothing on, forward or back: what lies before it gets no gradient any more."""

UNIT_RECORDS = 32
"""Batches over which it must be so: a unit that is off in one batch is not dead."""


class LostUnits(Detector):
    """More than half of a layer's units dead (or saturated) over 32 batches, and not recovering.

    Args of the two kinds: the metric's prefixes, the signature, and the word for the evidence.
    """

    prefixes: tuple[str, ...] = ()
    signature = ""
    word = ""
    whole: Severity = "warning"

    def __init__(self) -> None:
        self._runs: dict[str, tuple[int, int, float, float]] = {}
        self._found: Finding | None = None

    def update(self, stretch: Stretch) -> None:
        """Exits at once on logs without layers."""
        if not stretch.layered:
            return
        names = layers(stretch.columns, *self.prefixes)
        for name in names:
            column = stretch.columns[name]
            count, since, start, _ = self._runs.get(name, (0, 0, 0.0, 0.0))
            value = start
            for step, share in zip(stretch.steps, column, strict=True):
                if share is None:
                    continue
                if share <= HALF:
                    count = 0
                    if self._found is not None and self._found.module == name.partition("/")[2]:
                        self._found = None
                    continue
                count += 1
                value = share
                if count == 1:
                    since, start = step, share
                lasting = count == UNIT_RECORDS and share >= 0.9 * start and self._found is None
                if lasting or (count > UNIT_RECORDS and self._is_worse(name, share)):
                    self._find(name.partition("/")[2], since, step, share)
            self._runs[name] = (count, since, start, value)

    def _is_worse(self, name: str, share: float) -> bool:
        """Whether a layer that was found half lost has now gone whole."""
        found = self._found
        layer = name.partition("/")[2]
        return found is not None and found.module == layer and found.severity != self.whole and share >= ALL

    def _find(self, layer: str, since: int, step: int, share: float) -> None:
        why = f"{short(100 * share)} % of the units of {layer} {self.word} since {since}"
        severity = self.whole if share >= ALL else "warning"
        self._found = Finding(self.signature, "plateau", severity, since, step, True, why, module=layer)

    @property
    def findings(self) -> Sequence[Finding]:
        """At most one, for the first layer that it happened to."""
        return (self._found,) if self._found is not None else ()


class DeadUnits(LostUnits):
    """More than half of a layer's rectifiers give zero for every sample, over 32 batches: dead-relu.

    A failure once none of the layer is left, a warning before.
    """

    prefixes = ("dead_fraction/",)
    signature = "dead-relu"
    word = "dead"
    whole = "failure"


class SaturatedUnits(LostUnits):
    """More than half of a layer's tanh or sigmoid units far out, over 32 batches: saturated."""

    prefixes = ("saturation/", "saturated_fraction/", "saturated/")
    signature = "saturated"
    word = "saturated"
