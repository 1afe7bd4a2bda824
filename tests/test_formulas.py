"""The formulas behind the table, each against a small exact computation."""

from __future__ import annotations

import math
import random
import struct

import pytest

from tuimon import formulas


def cross_entropy(logits: list[float], target: int) -> float:
    return math.log(sum(math.exp(value) for value in logits)) - logits[target]


@pytest.mark.parametrize("classes", [2, 10, 100])
def test_equal_logits_cost_the_uniform_loss_and_amount_to_that_many_classes(classes: int) -> None:
    loss = cross_entropy([0.7] * classes, 0)
    assert formulas.uniform_loss(classes) == pytest.approx(loss)
    assert formulas.effective_classes(loss) == pytest.approx(classes)


@pytest.mark.parametrize("classes", [2, 10, 100])
def test_a_perfect_answer_through_two_softmaxes_costs_the_floor(classes: int) -> None:
    assert formulas.softmax_floor(classes) == pytest.approx(cross_entropy([1.0] + [0.0] * (classes - 1), 0))


def test_the_initial_spread_is_found_again_from_the_loss_of_random_logits() -> None:
    rng = random.Random(5)
    classes, spread = 400, 1.5
    losses = [cross_entropy([rng.gauss(0, spread) for _ in range(classes)], 0) for _ in range(200)]
    assert formulas.logit_spread(sum(losses) / len(losses), classes) == pytest.approx(spread, rel=0.1)
    assert formulas.logit_spread(0.0, classes) == 0


def test_half_precision_ends_where_struct_says_it_ends() -> None:
    assert struct.unpack("e", struct.pack("e", formulas.FP16_MAX))[0] == 65504
    with pytest.raises(OverflowError):
        struct.pack("e", formulas.FP16_MAX + 16)
    assert struct.unpack("e", struct.pack("e", formulas.FP16_TINY))[0] > 0
    assert struct.unpack("e", struct.pack("e", formulas.FP16_TINY / 2))[0] == 0
    assert formulas.fp16_headroom(formulas.FP16_MAX) == 0
    assert formulas.fp16_headroom(1.0, scale=2 * formulas.FP16_MAX) == -1


@pytest.mark.parametrize(("momentum", "lr"), [(0.0, 0.25), (0.0, 0.6), (0.5, 0.4), (0.9, 0.6)])
def test_the_largest_stable_rate_is_found_from_the_growth_of_an_exact_descent(momentum: float, lr: float) -> None:
    curvature = 10.0
    weight, velocity, gradients = 1.0, 0.0, []
    for _ in range(60):
        gradient = curvature * weight
        gradients.append(gradient)
        velocity = momentum * velocity + gradient
        weight -= lr * velocity
    growth = abs(gradients[-1] / gradients[-2])
    assert growth > 1
    assert formulas.largest_stable_lr(lr, growth, momentum) == pytest.approx(2 * (1 + momentum) / curvature, rel=1e-3)


def test_plain_layers_multiply_and_residual_layers_keep_the_gradient_alive() -> None:
    product = 1.0
    for _ in range(50):
        product *= 0.9
    assert formulas.through_layers(0.9, 50) == pytest.approx(product)
    assert formulas.through_layers(1.5, 50) > 1e8
    assert 0.5 < formulas.through_layers(0.9, 50, residual=True) < 2
    assert 0.5 < formulas.through_layers(1.5, 50, residual=True) < 4
