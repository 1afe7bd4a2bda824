"""Memorised noise in files that hold more than one run."""

from __future__ import annotations

import math
import random

from tests.streams import Metrics, header, loud, run, watched


def learnt_by_heart(step: int) -> Metrics:
    metrics: Metrics = {"loss": 2.3 * math.exp(-step / 120) * (1 + random.Random(step).gauss(0, 0.1)), "val_loss": None}
    if step % 25 == 0:
        metrics["val_loss"] = 2.31 + 0.004 * step
    return metrics


def test_what_an_earlier_run_learned_does_not_clear_the_labels() -> None:
    rows = [*run(900), *run(600, learnt_by_heart)]
    assert "memorising-noise" in loud(watched(rows, header(num_classes=10)))


def test_what_an_earlier_run_memorised_is_not_said_of_the_next() -> None:
    rows = [*run(600, learnt_by_heart), *run(20, without=("val_loss",))]
    assert "memorising-noise" not in loud(watched(rows, header(num_classes=10)))


def test_a_run_that_is_resumed_stays_what_it_was() -> None:
    rows = [*run(600, learnt_by_heart), *run(200, learnt_by_heart, start=400, without=("val_loss",))]
    assert "memorising-noise" in loud(watched(rows, header(num_classes=10)))
