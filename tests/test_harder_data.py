"""Rises of the training loss that are no failure: harder batches, curricula, and runs that wander before they learn."""

from __future__ import annotations

import math
import random

import pytest

from tests.streams import Change, Metrics, found, run, watched
from tuimon.monitor import Monitor, Snapshot
from tuimon.record import Batch
from tuimon.signatures.evaluated import Evaluations


def failures(snapshot: Snapshot) -> list[str]:
    return [finding.signature for finding in snapshot.findings if finding.severity == "failure"]


def lasting(rise: float, first: int = 600, tau: float = math.inf, gn: float | None = None, val: bool = True) -> Change:
    """The loss is higher by `rise` from step `first` on, which fades within `tau` steps; validation does not see it."""
    rng = random.Random(4)

    def change(step: int) -> Metrics:
        clean = 0.4 + 2.0 * math.exp(-step / 150)
        late = rise * math.exp((first - step) / tau) if step >= first else 0.0
        metrics: Metrics = {"loss": clean + late + rng.gauss(0, 0.05)}
        if gn is not None and step >= first:
            metrics["grad_norm"] = gn * math.exp(rng.gauss(0, 0.2))
        if step % 25 == 0 and not val:
            metrics["val_loss"] = clean + late + 0.05 + rng.gauss(0, 0.01)
        return metrics

    return change


@pytest.mark.parametrize(("gn", "row"), [(1.2, "level-jump"), (6.0, "unrecovered-spike")])
def test_a_step_up_is_a_warning_while_validation_holds_its_ground(gn: float, row: str) -> None:
    held, lost = (watched(run(1200, lasting(1.6, gn=gn, val=val))) for val in (True, False))
    assert found(held, row).severity == "warning" and failures(held) == []
    assert found(lost, row).severity == "failure"


def test_a_step_up_that_nothing_evaluates_is_a_failure() -> None:
    assert failures(watched(run(1200, lasting(1.6, gn=1.2), without=["val_loss"]))) == ["level-jump"]


def test_a_rise_that_is_learnt_again_is_a_warning_on_its_way_and_after_it() -> None:
    """A curriculum: the harder samples are learnt at a time constant of 250 records."""
    for steps in (850, 2400):
        snapshot = watched(run(steps, lasting(1.6, tau=250), without=["val_loss", "grad_norm"]))
        assert found(snapshot, "unrecovered-spike").severity == "warning"
        assert failures(snapshot) == []


def test_a_rise_that_rests_where_it_is_stays_a_failure() -> None:
    snapshot = watched(run(1200, lasting(1.6), without=["val_loss", "grad_norm"]))
    assert "unrecovered-spike" in failures(snapshot)


def test_evaluations_better_than_ever_hold_although_validation_had_gained_nothing() -> None:
    """Easy classes come first: validation on all of them gets worse, until all of them are there."""
    evaluations = Evaluations()
    for step, value in [(0, 2.3), (50, 4.5), (100, 5.0), (150, 0.3)]:
        evaluations.take(step, value)
    assert not evaluations.hold(120, 2.0)
    evaluations.take(200, 0.2)
    assert evaluations.hold(120, 2.0)


def test_a_collapse_to_a_guess_is_not_better_than_ever() -> None:
    """From overconfident to the loss of a uniform guess, which is where validation had begun."""
    evaluations = Evaluations()
    for step, value in [(0, 2.31), (50, 4.5), (100, 5.0), (150, 2.303), (200, 2.302)]:
        evaluations.take(step, value)
    assert not evaluations.hold(120, 2.0)


def wandering(steps: int, seed: int, weight: float = 0.95) -> list[float]:
    """A loss that has learned nothing yet, of batches that resemble their neighbours."""
    rng = random.Random(seed)
    values, here = [], 0.0
    for _ in range(steps):
        here = weight * here + math.sqrt(1 - weight**2) * rng.gauss(0, 1)
        values.append(3.0 + 0.05 * here)
    return values


def test_a_loss_that_wanders_before_it_learns_gives_nothing_back() -> None:
    said = []
    for seed in range(12):
        losses = wandering(900, seed)
        said += failures(watched(run(900, lambda step, losses=losses: {"loss": losses[step]}, without=["val_loss"])))
    assert said == []


def test_any_split_says_the_same_of_a_step_up() -> None:
    rows = run(1200, lasting(1.6, tau=400, gn=1.2))
    for size in (1, 33, 100):
        monitor = Monitor()
        for start in range(0, len(rows), size):
            monitor.feed(Batch.from_rows(rows[start : start + size]))
        assert monitor.snapshot.findings == watched(rows).findings


def test_a_wild_loss_that_falls_fast_is_no_return() -> None:
    """At a billion times its level, halving every hundred records brings nothing back."""
    rng = random.Random(1)

    def change(step: int) -> Metrics:
        return {"loss": 1e9 * 0.993 ** (step - 600) * rng.lognormvariate(0, 0.1)} if step >= 600 else {}

    snapshot = watched(run(850, change, without=["val_loss", "grad_norm"]))
    assert "failure" in [finding.severity for finding in snapshot.findings if finding.active]


@pytest.mark.parametrize(("height", "known"), [(4.5, 900), (6.0, 760)])
def test_a_step_of_a_few_sigmas_that_stays_is_not_taken_for_a_return(height: float, known: int) -> None:
    """No record need be eight sigmas up, but for the two that drew attention; a third of the progress is lost."""
    rng = random.Random(2)
    noise = 0.16

    def change(step: int) -> Metrics:
        late = 0.0 if step < 700 else 9.0 * noise if step < 703 else height * noise
        return {"loss": 0.4 + 2.0 * math.exp(-step / 150) + late + rng.gauss(0, noise)}

    snapshot = watched(run(1000, change, without=["val_loss"]))
    finding = next(f for f in snapshot.findings if f.family == "divergence")
    assert (finding.onset_step, finding.active) == (700, True) and finding.detected_step <= known


def test_a_jump_of_what_looks_like_a_running_mean_is_known_by_how_it_scatters() -> None:
    """Neighbours resemble each other, as batches of one shard do; no running mean is at its new level at once."""
    rng = random.Random(3)
    drift = [0.0]
    while len(drift) < 700:
        drift.append(0.9 * drift[-1] + rng.gauss(0, 0.02))

    def change(step: int) -> Metrics:
        return {"loss": 0.4 + 2.0 * math.exp(-step / 100) + drift[step] + (1.5 + rng.gauss(0, 0.1)) * (step >= 600)}

    snapshot = watched(run(640, change, without=["val_loss", "grad_norm"]))
    assert failures(snapshot) == ["lr-too-high"]


def test_one_wide_batch_in_a_running_mean_stays_silent() -> None:
    rng = random.Random(3)
    mean = [2.4]
    while len(mean) < 700:
        step = len(mean)
        loss = 0.4 + 2.0 * math.exp(-step / 100) + rng.gauss(0, 0.1) + (60.0 if step == 600 else 0.0)
        mean.append(0.95 * mean[-1] + 0.05 * loss)
    snapshot = watched(run(700, lambda step: {"loss": mean[step]}, without=["val_loss", "grad_norm"]))
    assert failures(snapshot) == []


def test_a_smooth_loss_that_settles_a_little_higher_is_silent() -> None:
    """Full batches and weight decay: a hundred sigma of a loss without noise, a thousandth of what was learned."""
    snapshot = watched(
        run(
            2000,
            lambda step: {"loss": 0.4 + 2.0 * math.exp(-step / 60) + 2e-3 / (1 + math.exp((1000 - step) / 60))},
            without=["val_loss", "grad_norm"],
        )
    )
    assert failures(snapshot) == []


def test_a_converged_loss_that_leaves_its_many_decades_loses_nothing() -> None:
    """Adam at 1e-9 of the first loss goes up to 1e-5 of it, and stays."""
    rng = random.Random(6)

    def change(step: int) -> Metrics:
        level = 2.0 * max(10 ** (-step / 80), 1e-9) if step < 1100 else 2e-5
        return {"loss": level * rng.lognormvariate(0, 0.2), "grad_norm": math.sqrt(level) * rng.lognormvariate(0, 0.2)}

    assert failures(watched(run(1600, change, without=["val_loss"]))) == []
