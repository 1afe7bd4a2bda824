"""`python -m tests.quality`: train what is missing, judge, print."""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from tests.quality.corpus import SEEDS, Run, generate, load
from tests.quality.judged import GROUPS, Judged, judge_run
from tests.quality.peers import PEERS, alarms, write_logs
from tests.quality.printed import (
    Table,
    aligned,
    complaints,
    healthy_table,
    markdown,
    rows_table,
    share,
    silence_lines,
    variants_table,
)
from tests.quality.rivals import RULES
from tests.quality.tally import silence
from tests.quality.variants import RAW, VARIANTS

FAMILIES = tuple(GROUPS)


def arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.quality", description=__doc__)
    parser.add_argument("--part", choices=("tune", "report"), default="report", help="which architectures and seeds")
    parser.add_argument("--seeds", type=int, default=SEEDS, help="seeds of each training (default %(default)s)")
    parser.add_argument("--cache", type=Path, help="where trained runs are kept (default: the user's cache folder)")
    parser.add_argument("--jobs", type=int, default=2, help="processes that train")
    parser.add_argument("--only", default="", help="faults or rows, comma-separated")
    parser.add_argument("--cached", action="store_true", help="train nothing; judge what the cache holds")
    parser.add_argument("--markdown", type=Path, help="write the tables there")
    parser.add_argument("--findings", type=Path, help="write one line per wrongly judged run there")
    parser.add_argument("--no-variants", action="store_true", help="only the raw log of every run")
    parser.add_argument("--no-peers", action="store_true", help="do not call other programs")
    return parser


def judged_runs(runs: Sequence[Run], variants: bool) -> tuple[list[Judged], list[Judged]]:
    """Every run as it was logged, and each run once more in one of the other variants, in turn."""
    raw = [judge_run(run) for run in runs]
    if not variants:
        return raw, []
    # Nine variants and twenty seeds share no factor with the order of the runs: every fault meets every variant.
    return raw, [judge_run(run, VARIANTS[1 + index % (len(VARIANTS) - 1)]) for index, run in enumerate(runs)]


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
    table = [["judged by", *FAMILIES, "recall", "precision", "healthy runs alarmed"]]
    for name, alarmed in said.items():
        table.append([name, *rival_cells(scored, alarmed)])
    return table


def rival_cells(scored: Sequence[Run], alarmed: set[str] | None) -> list[str]:
    if alarmed is None:
        return ["not installed", *[""] * (len(FAMILIES) + 2)]
    cells, hits, failing = [], 0, 0
    for rows in GROUPS.values():
        names = [run.name for run in scored if run.truth.row in rows]
        found = sum(name in alarmed for name in names)
        cells.append(share(found, len(names)))
        hits, failing = hits + found, failing + len(names)
    healthy = [run.name for run in scored if run.truth.row == "healthy"]
    wrong = sum(name in alarmed for name in healthy)
    return [*cells, share(hits, failing), share(hits, hits + wrong), f"{wrong} of {len(healthy)}"]


def main() -> int:
    options = arguments().parse_args()
    if not options.cached:
        generate(options.part, options.seeds, options.cache, options.jobs, options.only)
    named = set(options.only.split(",")) - {""}
    runs = [x for x in load(options.part, options.seeds, options.cache) if not named or named & {x.fault, x.truth.row}]
    if not runs:
        print("no runs", file=sys.stderr)
        return 2
    start = time.perf_counter()
    raw, varied = judged_runs(runs, not options.no_variants)
    took = time.perf_counter() - start
    unclear = sum(run.truth.row == "unclear" for run in runs)
    steps = sum(run.steps for run in runs)
    lines = [f"part {options.part}: {len(runs)} runs, {steps:,} steps, {unclear} unclear; judged in {took:.0f} s"]
    tables = {
        "Rows (raw log, every step)": rows_table(raw),
        "Healthy runs": healthy_table(raw),
        f"The same runs by others (any alarm; tuimon: warning or failure; {RAW.name} log)": rivals_table(
            runs, raw, not options.no_peers
        ),
    }
    if varied:
        tables["Ways of logging"] = variants_table([*raw, *varied])
    lines += silence_lines(silence(raw))
    print("\n".join(lines))
    for title, table in tables.items():
        print(f"\n{title}\n{aligned(table)}")
    if options.markdown:
        parts = [f"### {title}\n\n{markdown(table)}\n" for title, table in tables.items()]
        options.markdown.write_text("\n".join([*(f"{line}  " for line in lines), "", *parts]))
    if options.findings:
        options.findings.write_text("\n".join(complaints([*raw, *varied])) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
