"""Descent in a valley: formulas against the walk itself."""

from __future__ import annotations

import math
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tuimon import valley

rates = st.floats(0.01, 3.0)
momenta = st.floats(0.0, 0.95)


@given(rates, momenta)
def test_the_walk_shrinks_below_the_limit_and_grows_above_it(share: float, momentum: float) -> None:
    if abs(share - 1) < 0.02:
        return
    curvature = 4.0
    lr = share * valley.limit(curvature, momentum)
    positions = valley.walk(lr, curvature, momentum, steps=3000)
    escaped = len(positions) < 3001
    late = math.inf if escaped else max(map(abs, positions[-50:]))
    assert (late > 1) == (share > 1)
    assert (valley.regime(lr, curvature, momentum) == "blows up") == (share > 1)
    assert (abs(valley.multiplier(lr, curvature, momentum)) > 1) == (share > 1)


def test_without_momentum_the_multiplier_is_one_minus_lr_times_curvature() -> None:
    positions = valley.walk(0.3, 2.0, steps=5)
    assert valley.multiplier(0.3, 2.0) == pytest.approx(1 - 0.3 * 2.0)
    assert [after / before for before, after in pairwise(positions)] == pytest.approx([0.4] * 5)


def test_the_long_run_ratio_of_a_momentum_walk_is_the_multiplier() -> None:
    positions = valley.walk(1.2, 4.0, 0.5, steps=80)
    assert positions[-1] / positions[-2] == pytest.approx(valley.multiplier(1.2, 4.0, 0.5).real, rel=1e-6)


@pytest.mark.parametrize(
    ("lr", "momentum", "name"),
    [(0.2, 0.0, "creeps"), (0.5, 0.0, "creeps"), (1.5, 0.0, "bounces"), (2.0, 0.0, "blows up"), (0.5, 0.9, "swings")],
)
def test_each_regime_has_its_walk(lr: float, momentum: float, name: str) -> None:
    assert valley.regime(lr, 1.0, momentum) == name
    signs = [math.copysign(1, position) for position in valley.walk(lr, 1.0, momentum, steps=12)]
    flips = sum(one != other for one, other in pairwise(signs))
    assert flips == {"creeps": 0, "bounces": 12, "blows up": 12}.get(name, flips)


def test_a_walk_that_leaves_stops_while_its_loss_is_a_number() -> None:
    positions = valley.walk(9.0, 1.0, steps=5000)
    assert len(positions) < 5001
    assert all(map(math.isfinite, valley.losses(positions, 1.0)))


def test_a_rate_that_only_the_late_valley_bears_needs_a_warmup() -> None:
    curvatures = valley.softening(early=50.0, late=2.0, steps=200, time_constant=20)
    peak = 0.5 * valley.limit(2.0)
    rough = valley.losses(valley.walk(peak, curvatures, steps=200), curvatures)
    gentle = valley.losses(valley.walk(valley.warmup(peak, 200, 150), curvatures, steps=200), curvatures)
    assert max(rough) > 1e6 * rough[0]
    assert max(gentle) <= gentle[0]
    assert gentle[-1] < 1e-6


def test_a_warmup_of_no_steps_starts_at_the_peak_and_a_ramp_ends_there() -> None:
    assert valley.warmup(0.4, 3, 0) == [0.4] * 3
    assert valley.warmup(0.4, 4, 2) == pytest.approx([0.2, 0.4, 0.4, 0.4])
