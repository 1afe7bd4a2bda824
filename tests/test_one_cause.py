"""One cause lights one failure row, where two detectors see it."""

from __future__ import annotations

import math
import random

from tests.streams import Metrics, header, loud, run, watched

UNIFORM = math.log(83)


def rising(step: int) -> float | None:
    """A validation loss above that of a uniform guess, and rising."""
    return UNIFORM + 1.0 + 0.002 * step if step % 50 == 0 else None


def test_a_loss_under_its_floor_memorises_nothing() -> None:
    rows = run(600, lambda step: {"loss": 4.0 - 0.5 * step, "grad_norm": 1.0, "val_loss": rising(step)})
    assert loud(watched(rows, header(num_classes=83, objective="cross_entropy"))) == ["below-floor"]


def test_a_loss_that_stands_at_the_prior_memorises_nothing() -> None:
    def flat(step: int) -> Metrics:
        return {"loss": UNIFORM - 0.17 + random.Random(step).gauss(0, 0.01), "val_loss": rising(step)}

    rows = run(800, flat)
    assert loud(watched(rows, header(num_classes=83, objective="cross_entropy"))) == ["prior-prediction"]


def test_a_loss_that_falls_on_from_the_prior_does() -> None:
    def falls(step: int) -> Metrics:
        clean = UNIFORM - 0.17 - 3.0 * (1.0 - math.exp(-max(step - 300, 0) / 200))
        return {"loss": clean + random.Random(step).gauss(0, 0.01), "val_loss": rising(step)}

    rows = run(1200, falls)
    assert loud(watched(rows, header(num_classes=83, objective="cross_entropy"))) == ["memorising-noise"]


def test_weights_stand_still_where_a_scaler_skips_every_step() -> None:
    def skipped(step: int) -> Metrics:
        loss = 2.3 + random.Random(step).gauss(0, 0.05)
        return {"loss": loss, "grad_norm": math.inf, "skipped": 1.0, "val_loss": 2.3179243 if step % 50 == 0 else None}

    assert loud(watched(run(600, skipped))) == ["fp16-range"]
