"""What a row looks like: a synthetic run that lights it, drawn small."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from tuimon.braille import FAILURE
from tuimon.catalogue import Row
from tuimon.demo import RUNS, records
from tuimon.demo.curve import DemoRun, Fields
from tuimon.panels.plot import GUTTER, bins_of, plotted
from tuimon.record import ROLES
from tuimon.scale import limits

ROWS = 6
"""Lines of a picture: enough to tell a cliff from a slope, few enough to leave room for the text."""

CURVES = ("loss", "grad_norm", "val_loss")
"""Metrics worth a picture: the learning rate is set, not suffered."""


def specimen(row: Row, width: int, *, ascii_only: bool = False) -> list[str]:
    """The curves that tell this row, side by side, and what they are; empty where no synthetic run lights it."""
    run = next((run for run in RUNS.values() if run.signature == row.signature), None)
    if row.signature == "healthy":
        run = next((run for run in RUNS.values() if not run.signature), None)
    if run is None:
        return []
    rows = records(run)
    names = shown_metrics(row, rows)
    cells = width // len(names)
    pictures = [_picture(run, rows, name, cells - 1, ascii_only) for name in names]
    lines = ["".join(part.ljust(cells) for part in parts).rstrip() for parts in zip(*pictures, strict=True)]
    onset = "" if run.onset is None else f"; it begins at the dotted line, step {run.onset}"
    return [*lines, *textwrap.wrap(f"From tuimon demo {run.name}{onset}.", width, break_on_hyphens=False)]


def shown_metrics(row: Row, rows: Sequence[Fields]) -> list[str]:
    """At most two metrics of the run: the loss, then the one that separates the row from its neighbours."""
    logged = {name for fields in rows for name in fields}
    told = [name for name in ROLES if name in row.separator]
    extras = [name for need in row.needs if need not in ROLES for name in sorted(logged) if _is(need, name)]
    extras.sort(key=lambda name: -round(_swing([fields[name] for fields in rows if name in fields]), 1))
    wanted = ["loss", *extras, *(name for name in (*told, *row.needs, *CURVES) if name in CURVES)]
    wanted = [name for name in wanted if name in logged]
    return list(dict.fromkeys(wanted))[:2] or [next(iter(sorted(logged - {"step"})))]


def _is(need: str, name: str) -> bool:
    """Whether the metric `name` is what a row needs: itself, or "grad_norm/first" for "grad_norm/<layer>"."""
    stem, layer, _ = need.partition("<")
    return name.startswith(stem) if layer else name == need


def _swing(values: Sequence[float]) -> float:
    """How much of its greatest value a metric loses or gains: the layer that it happens to swings most."""
    return (max(values) - min(values)) / (max(map(abs, values)) or 1.0)


def _picture(run: DemoRun, rows: Sequence[Fields], name: str, width: int, ascii_only: bool) -> list[str]:
    steps = [int(fields["step"]) for fields in rows if name in fields]
    curve = bins_of(fields[name] for fields in rows if name in fields)
    begun = next((index for index, step in enumerate(steps) if run.onset is not None and step >= run.onset), None)
    lines = {} if begun is None else {begun: FAILURE}
    picture = plotted(curve, limits([curve]), width, ROWS, ascii_only, lines=lines)
    return [f"{'':{GUTTER}}{name}"[:width], *picture]
