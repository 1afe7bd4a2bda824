"""A whole part judged, stack by stack, in several processes."""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from itertools import repeat
from multiprocessing import get_context
from pathlib import Path

from tests.quality.architectures import Part
from tests.quality.corpus import SEEDS, cached, open_stack
from tests.quality.judged import Judged, judge_run
from tests.quality.recipes import PLANTINGS
from tests.quality.variants import VARIANTS


def judged_stack(number: int, stack: tuple[Part, str, str, range, Path], variants: bool) -> list[Judged]:
    """The runs of a stack as they were logged, and each once more in one of the other variants, in turn."""
    judged = []
    for index, run in enumerate(open_stack(*stack)):
        lean = replace(run, hidden={})
        judged.append(judge_run(lean))
        if variants:
            # Twenty seeds over nine variants: every fault meets every variant.
            judged.append(judge_run(lean, VARIANTS[1 + (number + index) % (len(VARIANTS) - 1)]))
    return judged


def judged_part(
    part: Part, seeds: int = SEEDS, folder: Path | None = None, jobs: int = 2, only: str = "", *, variants: bool = True
) -> list[Judged]:
    """All runs of a part that the cache holds, in the corpus's order; `only` names faults and rows."""
    named = set(only.split(",")) - {""}
    rows = {planting.name: planting.row for planting in PLANTINGS}
    chosen = [x for x in cached(part, seeds, folder) if not named or named & {x[1], rows[x[1]]}]
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        answers = pool.map(judged_stack, range(len(chosen)), chosen, repeat(variants))
        return [judged for answer in answers for judged in answer]
