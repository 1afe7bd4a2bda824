"""One demo run after the other: watch it, read what lit and why, go on to the next."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING

from tuimon.commands.asking import ask

if TYPE_CHECKING:
    from tuimon.demo import DemoRun

WIDTH = 78


def take(names: Sequence[str], runs: dict[str, DemoRun], play: Callable[[DemoRun], object]) -> None:
    """Plays the runs in turn, each followed by its lesson, until the user has enough.

    Args:
        names: which runs, in order.
        runs: the demo runs by name.
        play: shows one run until the user quits it.
    """
    for place, name in enumerate(names):
        play(runs[name])
        print(f"\n{lesson(runs[name])}")
        if place + 1 == len(names):
            print(f"\nAll {len(runs)} runs: tuimon demo --list. The whole table: tuimon table.")
            return
        if ask(f"\nEnter for the next one, {names[place + 1]}; q to end: ", "q") == "q":
            return


def lesson(run: DemoRun) -> str:
    """What lights on a run and why, from its diagnosis to the end, in lines of 78 columns."""
    from tuimon.catalogue import BY_SIGNATURE
    from tuimon.catalogue.now import NOW, dated
    from tuimon.commands.diagnose import examine
    from tuimon.demo import write

    with tempfile.TemporaryDirectory(prefix="tuimon-demo-") as place:
        path = Path(place) / "run.jsonl"
        write(run, path)
        snapshot = examine(str(path)).snapshot
    found = next((finding for finding in snapshot.findings if finding.signature == run.signature), None)
    lines = [f"{run.name}: {run.story}"]
    if found is None:
        lines.append(
            f"No failure and no warning in {snapshot.records:,} records, and none should be: it only looks bad."
        )
        return "\n".join(fill(line, WIDTH, break_on_hyphens=False) for line in lines)
    row = BY_SIGNATURE[found.signature]
    lines += [
        f"What lit: {row.signature} ({row.symptom}).",
        f"It began at step {found.onset_step} and was known at step {found.detected_step}: {found.evidence}.",
        f"Told from its neighbours by: {row.separator}.",
        f"Likely causes, in order: {'; '.join(row.causes)}.",
        f"What to do now: {dated(NOW[row.signature], found.onset_step)}",
        f"First check: {dated(row.checks[0].look, found.onset_step)}",
        f"More: tuimon explain {row.signature}",
    ]
    return "\n".join(fill(line, WIDTH, subsequent_indent="  ", break_on_hyphens=False) for line in lines)
