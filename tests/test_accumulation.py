"""Gradient norms of a sum that is never cleared, and those that only look like it."""

from __future__ import annotations

import math
import random
from collections.abc import Callable

import pytest

from tests.streams import found, loud, run, watched
from tuimon.signatures.accumulation import accumulated

STEPS = 64


def grown(shape: Callable[[int], float], noise: float, seed: int = 1, every: int = 1) -> list[str]:
    """What is said of gradient norms of the given shape (of the step, from 1), with log-normal noise."""
    rng = random.Random(seed)
    rows = run(STEPS * every, lambda step: {"grad_norm": shape(step + 1) * math.exp(rng.gauss(0, noise))}, every=every)
    return loud(watched(rows))


def summed(seed: int, turn: float, shrink: float) -> list[float]:
    """Norms of the sum of the gradients so far: a shared direction that fades, and noise that is `turn` times as long.

    In 200 dimensions, as a sum of vectors.
    """
    rng = random.Random(seed)
    total = [0.0] * 200
    norms = []
    for step in range(STEPS):
        share = math.exp(-shrink * step)
        total = [each + share * (i == 0) + rng.gauss(0, turn / math.sqrt(200)) for i, each in enumerate(total)]
        norms.append(math.sqrt(math.fsum(each * each for each in total)))
    return norms


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(("turn", "shrink"), [(0.3, 0.0), (1.0, 0.0), (2.0, 0.0), (0.3, 0.03), (1.0, 0.1)])
def test_a_sum_of_gradients_is_known_by_its_smooth_growth(seed: int, turn: float, shrink: float) -> None:
    norms = summed(seed, turn, shrink)
    finding = found(watched(run(STEPS, lambda step: {"grad_norm": norms[step]})), "gradients-accumulate")
    assert (finding.onset_step, finding.detected_step) == (0, 31)


@pytest.mark.parametrize("seed", range(40))
def test_fresh_gradients_that_grow_are_not_a_sum(seed: int) -> None:
    assert grown(math.sqrt, 0.15, seed) == []


@pytest.mark.parametrize("seed", range(4))
def test_a_network_that_leaves_a_saddle_does_not_sum_its_gradients(seed: int) -> None:
    assert grown(lambda t: 1.05**t, 0.01, seed) == []
    assert grown(lambda t: 1.0 + 0.12 * t, 0.01, seed) == []


def test_a_sum_in_a_sparse_log_is_known_too() -> None:
    assert grown(lambda t: 0.5 * t, 0.02, every=10) == ["gradients-accumulate"]


def test_a_sum_that_turns_when_the_network_has_learned_is_known_by_its_first_half() -> None:
    assert grown(lambda t: 0.2 * min(t, 20) / (1.0 + max(t - 20, 0) / 10), 0.01) == ["gradients-accumulate"]


@pytest.mark.parametrize("seed", range(20))
def test_noisy_gradients_that_grow_for_a_while_are_no_sum(seed: int) -> None:
    assert grown(lambda t: 0.2 * min(t, 16), 0.25, seed) == []


def test_a_rewind_to_before_the_first_record_is_no_sum() -> None:
    assert accumulated([1, *range(2, 17), *range(-1, 15)], [0.1 * t for t in range(1, 33)]) is None
    assert accumulated([40, *range(80, 600, 40), *range(0, 720, 40)], [0.1 * t for t in range(1, 33)]) is None
