"""Numbers and times as a person reads them."""

from __future__ import annotations

import math

AGES = (30, 60, 120, 180, 300, 600, 900, 1200, 1800, 2700, 3600, 7200, 10800, 21600, 43200, 86400)
"""Seconds at which the words for an age change: a clock that ticks costs bytes and says nothing new."""


def steps(step: int) -> str:
    """A step in full with thousands apart: "412", "76,980"."""
    return f"{step:,}"


def short(count: float) -> str:
    """A count in at most about four characters: "412", "77k", "1.2M"."""
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(count) >= size:
            return f"{count / size:.3g}{letter}" if abs(count) < 1000 * size else f"{count / size:.0f}{letter}"
    return f"{count:.3g}" if count != int(count) else str(int(count))


def factor(ratio: float) -> str:
    """A growth factor: "x1.8", "x25k"."""
    return f"x{ratio:.1f}" if ratio < 10 else f"x{short(round(ratio))}"


def span(seconds: float) -> str:
    """A duration with one unit: "40 s", "12 min", "3 h", "2 days", "3 years"."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 90 * 60:
        return f"{seconds / 60:.0f} min"
    if seconds < 36 * 3600:
        return f"{seconds / 3600:.0f} h"
    return f"{seconds / 86400:.0f} days" if seconds < 730 * 86400 else f"{seconds / 31_557_600:.0f} years"


def age(seconds: float, pace: float | None) -> str:
    """How long ago the last record was written; empty while that is usual for a run of this pace (seconds per step)."""
    if seconds < max(AGES[0], 10 * (pace or 0)):
        return ""
    known = max((mark for mark in AGES if mark <= seconds), default=AGES[0])
    return span(known if seconds < 2 * AGES[-1] else seconds // 86400 * 86400)


def pace(seconds_per_step: float | None) -> str:
    """Steps per second, or seconds per step where that reads better; two digits, so that it rarely changes."""
    if not seconds_per_step or not math.isfinite(seconds_per_step) or seconds_per_step < 0:
        return ""
    if seconds_per_step > 1:
        return (
            f"{span(float(f'{seconds_per_step:.2g}'))}/step"
            if seconds_per_step >= 10
            else f"{seconds_per_step:.1f} s/step"
        )
    rate = float(f"{1 / seconds_per_step:.2g}")
    return f"{short(rate)} steps/s"
