"""What is prepared once for all detectors is what each would have found by itself."""

from __future__ import annotations

import math
import random
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from tuimon.pyramid import FAN, Pyramid, extremes
from tuimon.signatures.piece import Piece, Points
from tuimon.signatures.recent import Recent
from tuimon.stats import sample_of

VALUES = st.lists(st.integers(-20, 20).map(float), min_size=20, max_size=110)
CELLS = st.one_of(st.none(), st.floats(allow_nan=True, width=32))


@given(VALUES, st.lists(st.integers(1, 32), min_size=1, max_size=6), st.sets(st.integers(0, 90), max_size=3))
def test_a_sample_does_not_depend_on_how_its_values_came(
    values: list[float], cuts: list[int], excluded: set[int]
) -> None:
    recent = Recent(64)
    for step in excluded:
        recent.exclude(step, step, "loss")
    start = 0
    while start < len(values):
        end = min(len(values), start + 32)
        edges = sorted({start, end, *(start + cut for cut in cuts if start + cut < end)})
        for low, high in pairwise(edges):
            recent.extend(Points(range(low, high), values[low:high]))
        assert recent.renew().ordered == sorted(values[start:end])
        first = max(0, end - 64)
        calm = [value for step, value in enumerate(values[first:end], first) if step not in excluded]
        assert recent.sample() == sample_of(calm)
        start = end


@given(st.lists(st.tuples(CELLS, CELLS), min_size=1, max_size=40), st.data())
def test_a_piece_knows_its_finite_values_and_where_they_end(
    rows: list[tuple[float | None, float | None]], data: st.DataObject
) -> None:
    losses, rates = zip(*rows, strict=True)
    piece = Piece(range(len(rows)), {"loss": losses, "lr": rates})
    start = data.draw(st.integers(0, len(rows) - 1))
    end = data.draw(st.integers(start + 1, len(rows)))
    for role, column in (("loss", losses), ("lr", rates)):
        points = piece.roles[role].between(start, end, piece.steps[start:end])
        there = [i for i in range(start, end) if column[i] is not None and math.isfinite(column[i])]
        assert list(points.steps) == there
        assert list(points.values) == [column[i] for i in there]
        assert points.low == min(points.values, default=0.0)
        assert points.high == max(points.values, default=0.0)
    bad = [value is not None and not math.isfinite(value) for value in losses]
    assert piece.is_finite(start, end) == (not any(bad[start:end]))
    changes = {i for i in range(1, len(bad)) if bad[i] != bad[i - 1]}
    assert piece.edges - {0, len(bad)} == changes


def test_groups_of_groups_are_the_groups_of_their_points() -> None:
    rng = random.Random(1)
    values = [rng.gauss(0, 1) for _ in range(FAN**4)]
    for place in (3, 700, 701, 4000):
        values[place] = math.nan
    values[1234] = -math.inf
    at_once, in_parts = Pyramid(), Pyramid()
    at_once.grow(values)
    for start in range(0, len(values), 24):
        in_parts.grow(values[start : start + 24])
    for _ in range(200):
        low, high = sorted(rng.sample(range(FAN**3 + 1), 2))
        truth = extremes(values[low * FAN : high * FAN])
        assert at_once.groups(low, high) == truth
        assert in_parts.groups(low, high) == truth
