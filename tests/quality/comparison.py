"""The same runs judged by the rules and the programs of others."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

from tests.quality.corpus import Run
from tests.quality.judged import GROUPS, Judged
from tests.quality.peers import PEERS, alarms, write_logs
from tests.quality.printed import Table, share
from tests.quality.rivals import RULES


def rivals_table(runs: Sequence[Run], raw: Sequence[Judged], peers: bool) -> Table:
    """Who raised an alarm, of each family's failing runs and of the healthy ones; what was said is not asked."""
    scored = [run for run in runs if run.truth.row not in ("unclear", "undertrained")]
    said: dict[str, set[str] | None] = {
        "tuimon": {one.run.name for one in raw if any(x.severity != "note" for x in one.findings)}
    }
    for name, rule in RULES.items():
        said[name] = {run.name for run in scored if rule(run.columns["loss"][1].astype(float)) is not None}
    if peers:
        with tempfile.TemporaryDirectory() as folder:
            written = write_logs(scored, Path(folder))
            for program in PEERS:
                files = alarms(program, Path(folder))
                said[program] = None if files is None else {written[name].name for name in files if name in written}
    table = [["judged by", *GROUPS, "recall", "precision", "healthy runs alarmed"]]
    for name, alarmed in said.items():
        table.append([name, *rival_cells(scored, alarmed)])
    return table


def rival_cells(scored: Sequence[Run], alarmed: set[str] | None) -> list[str]:
    if alarmed is None:
        return ["not installed", *[""] * (len(GROUPS) + 2)]
    cells, hits, failing = [], 0, 0
    for rows in GROUPS.values():
        names = [run.name for run in scored if run.truth.row in rows]
        found = sum(name in alarmed for name in names)
        cells.append(share(found, len(names)))
        hits, failing = hits + found, failing + len(names)
    healthy = [run.name for run in scored if run.truth.row == "healthy"]
    wrong = sum(name in alarmed for name in healthy)
    return [*cells, share(hits, failing), share(hits, hits + wrong), f"{wrong} of {len(healthy)}"]
