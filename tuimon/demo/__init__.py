"""Synthetic training runs that fail on purpose, one or more per row of the table, and healthy ones that look bad.

Each is seeded and made the way the failure makes a real curve: a power law with noise in proportion, a real schedule,
evaluations every so many steps, and one thing that goes wrong at a step the table states. Standard library only.
"""

from __future__ import annotations

from tuimon.demo import divergence, fit, healthy, nan, plateau
from tuimon.demo.curve import DemoRun, Fields, Rows
from tuimon.demo.script import SECONDS_PER_STEP, Script, records, write

__all__ = ["RUNS", "SECONDS_PER_STEP", "DemoRun", "Fields", "Rows", "Script", "records", "write"]

RUNS: dict[str, DemoRun] = {run.name: run for module in (nan, divergence, plateau, fit, healthy) for run in module.RUNS}
