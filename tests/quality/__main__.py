"""`python -m tests.quality`: train what is missing, judge, print."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from tests.quality.comparison import rivals_table
from tests.quality.corpus import SEEDS, generate
from tests.quality.derived import derived_table
from tests.quality.judging import judged_part
from tests.quality.printed import (
    aligned,
    complaints,
    healthy_table,
    markdown,
    onset_lines,
    rows_table,
    silence_lines,
    variants_table,
)
from tests.quality.tally import silence
from tests.quality.variants import RAW


def arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.quality", description=__doc__)
    parser.add_argument("--part", choices=("tune", "report"), default="report", help="which architectures and seeds")
    parser.add_argument("--seeds", type=int, default=SEEDS, help="seeds of each training (default %(default)s)")
    parser.add_argument("--cache", type=Path, help="where trained runs are kept (default: the user's cache folder)")
    parser.add_argument("--jobs", type=int, default=2, help="processes that train and judge")
    parser.add_argument("--only", default="", help="faults or rows, comma-separated")
    parser.add_argument("--cached", action="store_true", help="train nothing; judge what the cache holds")
    parser.add_argument("--markdown", type=Path, help="write the tables there")
    parser.add_argument("--findings", type=Path, help="write one line per wrongly judged run there")
    parser.add_argument("--no-variants", action="store_true", help="only the raw log of every run")
    parser.add_argument("--no-peers", action="store_true", help="do not call other programs")
    return parser


def main() -> int:
    options = arguments().parse_args()
    if not options.cached:
        generate(options.part, options.seeds, options.cache, options.jobs, options.only)
    start = time.perf_counter()
    judged = judged_part(
        options.part, options.seeds, options.cache, options.jobs, options.only, variants=not options.no_variants
    )
    took = time.perf_counter() - start
    raw = [one for one in judged if one.variant == RAW]
    runs = [one.run for one in raw]
    if not runs:
        print("no runs", file=sys.stderr)
        return 2
    unclear = sum(run.truth.row == "unclear" for run in runs)
    steps = sum(run.steps for run in runs)
    lines = [f"part {options.part}: {len(runs)} runs, {steps:,} steps, {unclear} unclear; judged in {took:.0f} s"]
    tables = {
        "Rows (raw log, every step)": rows_table(raw),
        "Healthy runs": healthy_table(raw),
        f"The same runs by others (any alarm; tuimon: warning or failure; {RAW.name} log)": rivals_table(
            raw, peers=not options.no_peers
        ),
    }
    tables["Rows about the log, made from the plain healthy runs"] = derived_table(runs)
    if not options.no_variants:
        tables["Ways of logging"] = variants_table(judged)
    lines += [*silence_lines(silence(raw)), *onset_lines(raw)]
    print("\n".join(lines))
    for title, table in tables.items():
        print(f"\n{title}\n{aligned(table)}")
    if options.markdown:
        parts = [f"### {title}\n\n{markdown(table)}\n" for title, table in tables.items()]
        options.markdown.write_text("\n".join([*(f"{line}  " for line in lines), "", *parts]))
    if options.findings:
        options.findings.write_text("\n".join(complaints(judged)) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
