"""The few formulas behind the table, as functions, so that texts state no number that nobody computed (stdlib)."""

from __future__ import annotations

import math

FP16_MAX = 65504.0
"""Largest finite half-precision number: (2 - 2**-10) * 2**15 (IEEE 754 binary16)."""

FP16_TINY = 2.0**-24
"""Smallest positive half-precision number; what is below half of it becomes 0 (IEEE 754 binary16)."""


def uniform_loss(classes: int) -> float:
    """Cross-entropy in nats of a classifier that gives each of `classes` the same probability: ln C."""
    return math.log(classes)


def effective_classes(level: float) -> float:
    """How many equally likely classes a cross-entropy of `level` nats amounts to: exp(level), the perplexity."""
    return math.exp(level)


def softmax_floor(classes: int) -> float:
    """The least cross-entropy in nats that probabilities passed as logits can reach: ln(e + C - 1) - 1.

    The best possible "logits" are then 1 for the right class and 0 for the others.
    """
    return math.log(math.e + classes - 1) - 1


def logit_spread(initial_loss: float, classes: int) -> float:
    """Standard deviation of initial logits that explains an initial loss above ln C: sqrt(2 (L0 - ln C)).

    For independent Gaussian logits and many classes (C >= 100); 0 where the loss is not above ln C.
    """
    return math.sqrt(max(2 * (initial_loss - uniform_loss(classes)), 0.0))


def half_life(beta: float) -> int:
    """Steps after which a running mean with weight `beta` on its past, 0 < beta < 1, has lost half of what it held."""
    return math.ceil(math.log(0.5) / math.log(beta))


def fp16_headroom(grad_norm: float, scale: float = 1.0) -> float:
    """Bits between a gradient of this size, times the loss scale, and overflow in fp16; negative once it overflows.

    Args:
        grad_norm: a gradient's magnitude, > 0.
        scale: the loss scale, > 0.
    """
    return math.log2(FP16_MAX / (scale * grad_norm))


def largest_stable_lr(lr: float, growth: float, momentum: float = 0.0) -> float:
    """The largest stable learning rate of SGD, from how fast the gradient grows above it.

    On a valley of curvature a, plain SGD multiplies the gradient by 1 - lr * a each step, so |growth| = lr * a - 1 and
    the limit is 2 / a. With heavy-ball momentum b the growth r solves r**2 - (1 + b - lr * a) r + b = 0 on its negative
    root, which gives a = (r + 1) (r + b) / (r * lr) and the limit 2 (1 + b) / a (Polyak, 1964).

    Args:
        lr: the learning rate in use.
        growth: ratio of gradient norms from one step to the next, > 0.
        momentum: heavy-ball momentum, 0 <= momentum < 1.
    """
    curvature = (growth + 1) * (growth + momentum) / (growth * lr)
    return 2 * (1 + momentum) / curvature


def through_layers(factor: float, depth: int, residual: bool = False) -> float:
    """What is left of a gradient after `depth` layers that each multiply it by `factor`.

    With a residual path each layer passes the gradient itself beside its own share. Layers scaled as residual networks
    are at initialisation add (factor / sqrt(depth))**2 to the mean square, so the gradient stays of its own size.
    """
    if residual:
        return float((1 + factor**2 / depth) ** (depth / 2))
    return float(factor**depth)
