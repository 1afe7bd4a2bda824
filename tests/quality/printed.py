"""The tally as text and as the Markdown of the README."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tests.quality.judged import GROUP_OF, Judged
from tests.quality.tally import Score, Silence, by_group, by_row, exact_onsets, silence

Table = list[list[str]]


def share(part: int, whole: int) -> str:
    return f"{part / whole:.2f}".removeprefix("0") if whole else "-"


def number(value: float | None) -> str:
    return "-" if value is None else f"{value:.1f}".removesuffix(".0")


def score_cells(name: str, group: str, score: Score) -> list[str]:
    said = ", ".join(f"{row} {count}" for row, count in score.said.most_common(4) if row != name)
    return [
        group,
        name,
        str(score.runs),
        share(score.family, score.runs),
        share(score.exact, score.runs),
        share(score.right, score.runs),
        number(score.onset_error),
        number(score.delay),
        share(score.silent, score.runs),
        said,
    ]


HEAD = [
    "family",
    "row",
    "runs",
    "family found",
    "row found",
    "row or equal",
    "onset error",
    "delay",
    "cannot tell",
    "said instead first",
]


def rows_table(judged: Sequence[Judged]) -> Table:
    groups = by_group(judged)
    table = [HEAD]
    for row, score in by_row(judged).items():
        table.append(score_cells(row, GROUP_OF[row], score))
    for group, score in groups.items():
        table.append([*score_cells("all", group, score)[:-1], ""])
    return table


def silence_lines(quiet: Silence) -> list[str]:
    rate = f"{quiet.per_million:.1f} (at most {quiet.at_most_per_million:.1f} with 95 %)"
    return [
        f"healthy: {quiet.runs} runs, {quiet.steps:,} healthy steps",
        f"false failures: {quiet.failures} in {quiet.failed_runs} healthy runs; {rate} per million healthy steps",
        f"healthy runs with a warning: {quiet.warned_runs} ({quiet.warnings} warnings in all healthy stretches)",
    ]


def onset_lines(judged: Sequence[Judged]) -> list[str]:
    """How well beginnings are dated."""
    exact, dated = exact_onsets(judged)
    growing = by_group(judged).get("divergence", Score())
    error = number(growing.onset_error)
    return [f"NaN onset exact in {exact} of {dated}; divergence onset off by {error} records (median)"]


def healthy_table(judged: Sequence[Judged]) -> Table:
    """Every kind of healthy run, with what was wrongly said of it."""
    kinds: dict[str, list[Judged]] = {}
    for one in judged:
        if one.run.truth.row == "healthy":
            kinds.setdefault(f"{one.run.fault} {one.run.arch}", []).append(one)
    table = [["healthy run", "runs", "failures", "warnings", "said"]]
    for kind, ones in kinds.items():
        wrong = sorted({x.signature for one in ones for x in (*one.false_failures, *one.false_warnings)})
        failed, warned = (
            sum(map(bool, column))
            for column in zip(*((one.false_failures, one.false_warnings) for one in ones), strict=True)
        )
        table.append([kind, str(len(ones)), str(failed), str(warned), ", ".join(wrong)])
    return table


def variants_table(judged: Sequence[Judged]) -> Table:
    table = [
        [
            "logged",
            "runs",
            "divergence",
            "nan",
            "plateau",
            "fit",
            "nan onset exact",
            "divergence onset",
            "false failures",
            "warned runs",
        ]
    ]
    for name in dict.fromkeys(one.variant.name for one in judged):
        ones = [one for one in judged if one.variant.name == name]
        groups, quiet = by_group(ones), silence(ones)
        found = [
            share(groups[g].family, groups[g].runs) if g in groups else "-"
            for g in ("divergence", "nan", "plateau", "fit")
        ]
        onset = groups["divergence"].onset_error if "divergence" in groups else None
        table.append(
            [
                name,
                str(len(ones)),
                *found,
                share(*exact_onsets(ones)),
                number(onset),
                str(quiet.failures),
                f"{quiet.warned_runs}/{quiet.runs}",
            ]
        )
    return table


def aligned(table: Table) -> str:
    widths = [max(len(row[column]) for row in table) for column in range(len(table[0]))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in table]
    return "\n".join([lines[0], "-" * len(lines[0]), *lines[1:]])


def markdown(table: Table) -> str:
    lines = ["| " + " | ".join(row) + " |" for row in table]
    return "\n".join([lines[0], "|" + "---|" * len(table[0]), *lines[1:]])


def complaints(judged: Iterable[Judged]) -> list[str]:
    """One line per run that was judged wrongly: its name, the truth, what was said."""
    lines = []
    for one in judged:
        truth = one.run.truth
        said = [
            f"{x.signature}/{x.severity[0]}@{x.onset_step}-{x.detected_step}"
            for x in one.findings
            if x.severity != "note"
        ]
        where = f"{one.run.name} [{one.variant.name}]"
        if one.false_failures or one.false_warnings:
            kind = "FALSE FAILURE" if one.false_failures else "false warning"
            lines.append(f"{kind} {where} truth {truth.row} planted {truth.planted}: {' '.join(said)}")
        if one.failing and not one.right:
            lines.append(f"missed {where} truth {truth.row}@{truth.onset}: {' '.join(said) or 'nothing'}")
        elif one.failing and one.error and abs(one.error.onset) > 3 and truth.row != "slow-divergence":
            lines.append(f"onset off {one.error.onset:+.0f} {where} truth {truth.row}@{truth.onset}: {' '.join(said)}")
    return lines
