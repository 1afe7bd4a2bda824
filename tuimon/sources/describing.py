"""The one line that says what an input was taken for."""

from __future__ import annotations

from tuimon.record import ROLES
from tuimon.sources.columns import Columns
from tuimon.sources.names import MOST_METRICS, clean

_MOST_LISTED = 12
"""Metrics named in a message; more do not fit on a screen."""


def describe(title: str, columns: Columns) -> str:
    """What `columns` found so far, in one line without control characters."""
    return "; ".join(part for part in (_amount(title, columns), columns.steps.describe(), *_roles(columns)) if part)


def _amount(title: str, columns: Columns) -> str:
    count = f"{columns.records:,} record{'s' if columns.records != 1 else ''}"
    interval = columns.steps.interval
    counted = columns.steps.kind != "record" and columns.records > 1 and interval and interval > 1
    return f"{title}, {count} every {interval:,} steps" if counted else f"{title}, {count}"


def _roles(columns: Columns) -> list[str]:
    """Role by role: where it comes from, and what is missing."""
    found = [
        f"{role} <- {clean(name)}" + ("" if name in columns.counts or not columns.records else " (not seen yet)")
        for role in ROLES
        if (name := columns.roles.get(role)) is not None
    ]
    parts = [", ".join(found)] if found else []
    if not {"loss", "val_loss"} & set(columns.roles) and columns.records:
        parts.append(f"no loss among {listed(columns)}")
    elif "val_loss" not in columns.roles and columns.records:
        parts.append("no validation")
    other = len(columns.candidates.get("loss", ())) - 1
    if other > 0 and columns.roles.get("loss") in columns.candidates["loss"]:
        parts.append(f"{other} other loss{'es' if other > 1 else ''} to choose from")
    if columns.left_out:
        parts.append(f"{columns.left_out:,} metrics beyond the first {MOST_METRICS} left out")
    return parts


def listed(columns: Columns) -> str:
    """The metrics that are there, by name."""
    names = [clean(name) for name in columns.counts if name not in columns.roles.values()]
    if not names:
        return "the metrics: there are none"
    rest = len(names) - _MOST_LISTED
    return ", ".join(names[:_MOST_LISTED]) + (f" and {rest:,} more" if rest > 0 else "")
