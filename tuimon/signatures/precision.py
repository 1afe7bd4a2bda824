"""Half precision: a loss scaler that can find no scale."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence

from tuimon.formulas import fp16_headroom
from tuimon.signatures.course import Course
from tuimon.signatures.finding import Finding
from tuimon.signatures.growth import short
from tuimon.signatures.nan_break import CALIBRATION
from tuimon.signatures.stretch import Detector, Stretch

HALVINGS = 3
"""Halvings of the loss scale within the window that are no calibration: one in 2000 steps is usual."""

WINDOW = 100
"""Records in which they must fall."""

SKIPPED = 3
"""Steps skipped in a row that a fitting scale does not skip."""

LEAST = 1.0
"""Loss scale at which scalers stop: below it the gradients do not fit at all."""

SCALES = ("loss_scale", "loss scale", "scale", "grad_scale", "amp_scale")
SKIPS = ("skipped", "skipped_steps", "overflow")
SCALER_METRICS = frozenset(SCALES + SKIPS)


def is_half(course: Course) -> bool:
    """The header declares fp16."""
    return "16" in str(course.meta.get("precision", "")).replace("bf16", "")


class HalfPrecisionRange(Detector):
    """Gradients that do not fit in half precision: the loss scale keeps halving, or steps are skipped in a row.

    Three halvings within 100 records, three skips (or non-finite gradients under a loss scaler) in a row, or a scale at
    its minimum; not in the first 100 records, in which the scaler searches. Needs loss_scale or skipped in the log, or
    precision fp16 in the header.
    """

    def __init__(self) -> None:
        self._scale: float | None = None
        self._halvings: deque[tuple[int, int]] = deque(maxlen=HALVINGS)
        self._scaled = False
        self._gn: float | None = None
        self._skips = 0
        self._first_skip = 0
        self._last_total: float | None = None
        self._found: Finding | None = None

    def update(self, stretch: Stretch) -> None:
        """Exits at once on logs without a scaler."""
        if self._found is not None:
            return
        unscaled = stretch.names.isdisjoint(SCALER_METRICS)
        half = not (unscaled and stretch.finite) and is_half(stretch.course)
        if unscaled and (stretch.finite or not (half or self._scaled)):
            self._skips = 0 if stretch.gn.values else self._skips
            return
        scales = next((stretch.columns[name] for name in SCALES if name in stretch.columns), None)
        skips = next((stretch.columns[name] for name in SKIPS if name in stretch.columns), None)
        gns, losses = stretch.columns.get("grad_norm"), stretch.columns.get("loss")
        for i, step in enumerate(stretch.steps):
            record = stretch.index + i
            if scales is not None and (scale := scales[i]) is not None:
                self._take_scale(record, step, scale)
            skipped, gn = (None if column is None else column[i] for column in (skips, gns))
            self._scaled = self._scaled or skipped is not None or self._scale is not None
            if losses is not None and (loss := losses[i]) is not None and not math.isfinite(loss):
                # A NaN that has reached the loss is in the weights or in the batch: no scale mends that.
                self._skips = 0
                continue
            self._take_skip(record, step, skipped, gn if half or self._scaled else None)

    def _take_scale(self, record: int, step: int, scale: float) -> None:
        before, self._scale = self._scale, scale
        if before is None or record < CALIBRATION or not scale < before:
            return
        self._halvings.append((record, step))
        if scale < LEAST:
            self._find(step, step, f"loss scale {short(before)} -> {short(scale)}, its minimum")
        elif len(self._halvings) == HALVINGS and record - self._halvings[0][0] <= WINDOW:
            first = self._halvings[0][1]
            self._find(first, step, f"loss scale halved {HALVINGS} times in steps {first}-{step}, now {short(scale)}")

    def _take_skip(self, record: int, step: int, skipped: float | None, gn: float | None) -> None:
        if skipped is not None and self._last_total is not None and skipped > 1 and skipped >= self._last_total:
            hit = skipped > self._last_total  # the log counts skips
        else:
            hit = skipped is not None and skipped > 0
        self._last_total = skipped if skipped is not None else self._last_total
        if gn is not None and math.isfinite(gn):
            self._gn = gn
        hit = hit or (gn is not None and not math.isfinite(gn))
        if not hit:
            if skipped is not None or gn is not None:
                self._skips = 0
            return
        self._skips += 1
        if self._skips == 1:
            self._first_skip = step
        if self._skips >= SKIPPED and record >= CALIBRATION:
            self._find(self._first_skip, step, f"{self._skips} steps skipped in a row from {self._first_skip}")

    def _find(self, onset: int, step: int, why: str) -> None:
        if self._gn and self._scale and self._gn > 0.0 and self._scale > 0.0:
            why += f"; {fp16_headroom(self._gn, self._scale):.1f} bits of headroom at grad_norm {short(self._gn)}"
        if self._found is None:
            self._found = Finding("fp16-range", "nan", "failure", onset, step, True, why)

    @property
    def findings(self) -> Sequence[Finding]:
        """At most one."""
        return (self._found,) if self._found is not None else ()
