"""The same runs judged by the rules and the programs of others."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.quality.corpus import Run
from tests.quality.judged import GROUPS, Judged
from tests.quality.peers import FAILURES, PEERS, WARNINGS, severities, write_logs
from tests.quality.printed import Table, share
from tests.quality.rivals import RULES, Rule


@dataclass(frozen=True)
class Alarms:
    """Names of the runs of which something was said: at least a warning, a failure."""

    loud: set[str]
    failures: set[str]


def of_the_monitor(raw: Sequence[Judged]) -> Alarms:
    loud = {one.run.name for one in raw if any(x.severity != "note" for x in one.findings)}
    return Alarms(loud, {one.run.name for one in raw if any(x.severity == "failure" for x in one.findings)})


def of_a_rule(rule: Rule, runs: Sequence[Run]) -> Alarms:
    """A rule has one kind of alarm: it counts as both."""
    names = {run.name for run in runs if rule(run.columns["loss"][1].astype(float)) is not None}
    return Alarms(names, names)


def of_peers(runs: Sequence[Run]) -> dict[str, Alarms | None]:
    """Every program's answer on the same files."""
    answers: dict[str, Alarms | None] = {}
    with tempfile.TemporaryDirectory() as folder:
        written = write_logs(runs, Path(folder))
        for program in PEERS:
            said = severities(program, Path(folder))
            answers[program] = None
            if said is not None:
                known = {written[file].name: kinds for file, kinds in said.items() if file in written}
                failures = {name for name, kinds in known.items() if kinds & FAILURES}
                answers[program] = Alarms(
                    failures | {name for name, kinds in known.items() if kinds & WARNINGS}, failures
                )
    return answers


HEAD = ["judged by", *GROUPS, "recall", "precision", "healthy alarmed", "as a failure"]


def rivals_table(raw: Sequence[Judged], *, peers: bool) -> Table:
    """Who raised an alarm, of each family's failing runs and of the healthy ones; what was said is not asked."""
    runs = [one.run for one in raw if one.run.truth.row not in ("unclear", "undertrained")]
    said: dict[str, Alarms | None] = {"tuimon": of_the_monitor(raw)}
    said |= {name: of_a_rule(rule, runs) for name, rule in RULES.items()}
    if peers:
        said |= of_peers(runs)
    return [HEAD, *([name, *rival_cells(runs, alarms)] for name, alarms in said.items())]


def rival_cells(runs: Sequence[Run], alarms: Alarms | None) -> list[str]:
    if alarms is None:
        return ["not installed", *[""] * (len(HEAD) - 2)]
    cells, hits, failing = [], 0, 0
    for rows in GROUPS.values():
        names = [run.name for run in runs if run.truth.row in rows]
        found = sum(name in alarms.loud for name in names)
        cells.append(share(found, len(names)))
        hits, failing = hits + found, failing + len(names)
    healthy = {run.name for run in runs if run.truth.row == "healthy"}
    wrong = len(healthy & alarms.loud)
    counts = [f"{wrong} of {len(healthy)}", str(len(healthy & alarms.failures))]
    return [*cells, share(hits, failing), share(hits, hits + wrong), *counts]
