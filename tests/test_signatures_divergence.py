"""The divergence family: what leaves its level, whether it comes back, and what it is called."""

from __future__ import annotations

import math
import random

import pytest

from tests.streams import Change, Metrics, after, both, climb, found, header, healthy, loud, run, watched
from tuimon.monitor import Monitor
from tuimon.record import Batch

CASES: list[tuple[str, Change, int, int]] = [
    ("lr-too-high", climb(400, 1.5, "loss", "grad_norm"), 400, 1),
    ("lr-too-high", climb(400, 1.15, "loss"), 400, 2),
    ("lr-too-high", both(after(400, loss=5.0, grad_norm=2.0), after(399, lr=0.1)), 400, 0),
    ("level-jump", lambda step: {"loss": 1.6 + 0.05 * math.sin(step)} if step >= 400 else {}, 400, 0),
    ("loss-spike", after(400, 403, loss=3.0), 400, 0),
    ("unrecovered-spike", after(350, loss=6.0, grad_norm=40.0), 350, 0),
]


@pytest.mark.parametrize(("signature", "change", "onset", "tolerance"), CASES)
def test_each_shape_has_its_row_and_its_date(signature: str, change: Change, onset: int, tolerance: int) -> None:
    snapshot = watched(run(600, change))
    assert abs(found(snapshot, signature).onset_step - onset) <= tolerance
    assert [one for one in loud(snapshot) if one != "exploding-gradient"] == [signature]


def test_a_spike_closes_when_the_loss_is_back() -> None:
    rows = run(600, after(400, 403, loss=3.0))
    during, later = watched(rows[:403]), watched(rows)
    assert found(during, "loss-spike").active
    finding = found(later, "loss-spike")
    assert (finding.active, finding.ended_step) == (False, 405)
    assert later.lit == ("no-validation",) or "loss-spike" not in later.lit


def test_one_wide_record_is_noise() -> None:
    assert loud(watched(run(600, after(400, 400, loss=3.0)))) == []


def test_a_spike_does_not_move_its_own_baseline() -> None:
    twice = both(after(400, 420, loss=2.5), after(430, 434, loss=2.5))
    snapshot = watched(run(600, twice))
    onsets = [finding.onset_step for finding in snapshot.findings if finding.signature == "loss-spike"]
    assert onsets == [400, 430]


def test_evidence_holds_the_numbers_of_the_run() -> None:
    finding = found(watched(run(600, climb(400, 1.5, "loss", "grad_norm"))), "lr-too-high")
    assert "lr 0.001" in finding.evidence
    assert "grad_norm" in finding.evidence
    assert 402 <= finding.detected_step <= 410


def test_a_raised_learning_rate_is_named() -> None:
    finding = found(watched(run(600, both(after(400, loss=5.0), after(400, lr=0.1)))), "lr-too-high")
    assert "lr 0.001 -> 0.1" in finding.evidence


def test_a_restart_of_the_schedule_is_not_a_spike() -> None:
    def restart(step: int) -> Metrics:
        if step < 100:
            return {"lr": 1e-3}
        if step < 400:
            return {"lr": 1e-4}
        return {"lr": 1e-3, "loss": 0.5 + 0.8 * math.exp(-(step - 400) / 10)}

    assert loud(watched(run(600, restart))) == []


def test_divergence_from_the_first_step_needs_no_baseline() -> None:
    rng = random.Random(1)
    rows = [(step, None, {"loss": 2.3 + 3.0 * (1 - math.exp(-step / 4)) + rng.gauss(0, 0.2)}) for step in range(60)]
    finding = found(watched(rows), "lr-too-high")
    assert finding.onset_step <= 2
    assert finding.detected_step <= 32


def test_a_start_that_comes_back_is_no_divergence() -> None:
    rng = random.Random(1)
    rows = [
        (step, None, {"loss": 6.9 + 10 * math.exp(-((step - 4) ** 2) / 6) - 0.01 * step + rng.gauss(0, 0.05)})
        for step in range(200)
    ]
    assert loud(watched(rows)) == []


def test_a_creep_over_hundreds_of_steps_is_slow_divergence() -> None:
    snapshot = watched(
        run(
            1400,
            lambda step: {"loss": 0.45 + 0.0015 * (step - 600) + 0.03 * math.sin(step * 1.7)} if step > 600 else {},
        )
    )
    finding = found(snapshot, "slow-divergence")
    assert abs(finding.onset_step - 600) <= 130
    assert loud(snapshot) == ["slow-divergence"]


def test_full_batches_just_under_the_limit_oscillate() -> None:
    rows = [(step, None, {"loss": 0.3 + 0.02 * (-1) ** step + 0.001 * math.sin(step)}) for step in range(400)]
    assert found(watched(rows), "oscillation").onset_step == 0


def test_the_noise_of_batches_is_no_oscillation() -> None:
    rng = random.Random(2)
    rows = [(step, None, {"loss": 1.0 + rng.gauss(0, 0.1)}) for step in range(6000)]
    assert "oscillation" not in [finding.signature for finding in watched(rows).findings]


def test_spikes_that_come_more_often_are_one_more_row() -> None:
    spikes = [500, 1500, 2000, 2040, 2080, 2120, 2160]
    change = both(*[after(at, at + 3, loss=4.0) for at in spikes])
    snapshot = watched(run(2400, change))
    assert found(snapshot, "spikes-more-frequent").onset_step == 2000


@pytest.mark.parametrize(
    ("meta", "lights"), [({"objective": "cross_entropy"}, True), ({"num_classes": 10}, True), ({}, False)]
)
def test_a_loss_below_its_minimum_needs_a_declared_objective(meta: dict[str, object], lights: bool) -> None:
    snapshot = watched(run(500, lambda step: {"loss": 0.5 - 0.01 * step}), header(**meta))
    assert ("below-floor" in loud(snapshot)) is lights
    if lights:
        assert found(snapshot, "below-floor").onset_step == 51


def test_running_means_light_no_spike_rows() -> None:
    value, rng, rows = 2.3, random.Random(3), []
    for step in range(800):
        value += 0.05 * (2.0 + rng.gauss(0, 0.1) + (25.0 if step == 400 else 0.0) - value)
        rows.append((step, None, {"loss": value}))
    assert loud(watched(rows)) == []


def test_a_spike_among_the_first_records_must_dwarf_them() -> None:
    losses = [7.6, 7.4, 7.0, 6.1, 5.0, 4.1, 3000.0, 900.0, 3.9, 3.5]
    rows = [(500 * (i + 1), None, {"loss": loss}) for i, loss in enumerate(losses)]
    assert found(watched(rows), "loss-spike").onset_step == 3500
    assert loud(watched([(s, t, m) for s, t, m in rows if s not in {3500, 4000}])) == []


def wild(step: int) -> Metrics:
    """Clipped steps that are far too long: the loss jumps about, a hundred times above where it began."""
    return {"loss": 0.8 if step == 0 else 80.0 * math.exp(random.Random(step).gauss(0, 0.9))}


@pytest.mark.parametrize("every", [1, 10])
def test_a_loss_that_jumps_about_far_above_its_beginning_diverged(every: int) -> None:
    rows = [row for row in run(400, wild) if row[0] % every == 0]
    finding = found(watched(rows), "lr-too-high")
    assert (finding.onset_step, finding.severity) == (every, "failure")


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize("weight", [0.0, 0.95])
def test_a_first_loss_that_was_a_lucky_draw_is_no_level(seed: int, weight: float) -> None:
    rng = random.Random(seed)
    value, rows = None, []
    for step in range(600):
        # The lucky one is 2.5 sigma down; the noise of a diffusion loss spans two decades.
        drawn = 0.3 * math.exp(rng.gauss(0, 1.0) if step else -2.5)
        value = drawn if value is None else weight * value + (1 - weight) * drawn
        rows.append((step, None, {"loss": value}))
    marks = [header(loss_smoothing=weight)] if weight else []
    said = watched(rows, *marks).findings
    assert [finding.evidence for finding in said if "from the start" in finding.evidence] == []


def test_a_creep_that_ends_in_leaps_stays_told() -> None:
    def creeps(step: int) -> Metrics:
        level = 0.6 if step < 600 else 0.6 + 0.02 * math.exp((step - 600) / 110)
        return {"loss": level * math.exp(random.Random(step).gauss(0, 0.2 if step < 1100 else 0.9))}

    early, late = (watched(run(steps, creeps, without=("val_loss",))) for steps in (1000, 1500))
    first, last = found(early, "slow-divergence"), found(late, "slow-divergence")
    assert first.detected_step == last.detected_step
    assert (last.active, last.onset_step) == (True, first.onset_step)


def test_a_creep_that_comes_back_is_over() -> None:
    def hill(step: int) -> Metrics:
        height = 0.8 * math.exp(-(((step - 900) / 150) ** 2))
        return {"loss": 0.6 + height + random.Random(step).gauss(0, 0.05)}

    assert "slow-divergence" in watched(run(900, hill, without=("val_loss",))).lit
    assert "slow-divergence" not in watched(run(1500, hill, without=("val_loss",))).lit


@pytest.mark.parametrize(("folds", "signature"), [(9.0, "level-jump"), (40.0, "unrecovered-spike")])
def test_a_gradient_that_grows_as_the_residuals_do_is_ordinary(folds: float, signature: str) -> None:
    rng = random.Random(5)

    def wrong_targets(step: int) -> Metrics:
        if step < 300:
            return {"loss": 0.02 + rng.gauss(0, 0.002)}
        return {"loss": 2.0 + rng.gauss(0, 0.3), "grad_norm": folds * math.exp(rng.gauss(0, 0.1))}

    assert loud(watched(run(600, wrong_targets))) == [signature]


def test_a_log_with_a_generator_has_no_rule_for_its_loss() -> None:
    def contest(step: int) -> Metrics:
        return {"loss": 1.5 if step < 300 else 4.0, "g_loss": 0.7}

    assert loud(watched(run(600, contest))) == []
    assert loud(watched(run(600, contest, without=("g_loss",)))) != []


def test_two_detectors_that_say_the_same_failure_say_it_once() -> None:
    """The loss is above its start from the first records on, and later leaves that level as well."""
    snapshot = watched(run(400, both(after(1, loss=8.0), after(200, loss=90.0))))
    assert [finding.signature for finding in snapshot.findings if finding.severity == "failure"] == ["lr-too-high"]


def test_a_run_of_few_records_that_breaks_off_upwards_is_told() -> None:
    losses = [2.3, 1.6, 1.1, 0.8, 0.6, 0.5, 0.45, 0.4, 31.0, 44.0, 62.0, 80.0]
    rows = [(epoch, None, {"loss": loss}) for epoch, loss in enumerate(losses, 1)]
    finding = found(watched(rows), "lr-too-high")
    assert (finding.onset_step, finding.detected_step, finding.severity) == (9, 11, "failure")
    assert "0.4 -> 80" in finding.evidence
    back = [*rows, (13, None, {"loss": 0.5}), (14, None, {"loss": 0.4})]
    assert not [one for one in watched(back).findings if one.severity == "failure"]
    assert loud(watched([(step, None, {"loss": -values["loss"]}) for step, _, values in rows])) == []


@pytest.mark.parametrize("name", sorted(healthy()))
def test_at_no_time_a_healthy_run_has_a_failure(name: str) -> None:
    """What is said for a moment is read as well; a plateau that is one until the run leaves it is none of these."""
    monitor, rows = Monitor(), healthy()[name]
    for start in range(0, len(rows), 32):
        said = monitor.feed(Batch.from_rows(rows[start : start + 32])).findings
        assert [f.signature for f in said if f.severity == "failure" and f.family != "plateau"] == []


def test_a_running_mean_that_rises_from_its_first_draw_does_not_diverge() -> None:
    """It begins at one loss, here a lucky one, and needs some hundred records to find the mean."""
    rng = random.Random(4)
    mean = 1.70

    def change(step: int) -> Metrics:
        nonlocal mean
        mean += 0.02 * (1.8 + rng.gauss(0, 0.05) - mean) if step else 0.0
        return {"loss": mean, "val_loss": None}

    assert "slow-divergence" not in loud(watched(run(1500, change), header(loss_smoothing=0.98)))


@pytest.mark.parametrize(("height", "lights"), [(5e-4, False), (5e-3, True)])
def test_a_spike_that_gives_back_a_thousandth_of_the_way_is_none(height: float, lights: bool) -> None:
    """A fit to the last digit jumps by hundreds of its own sigma; told is what can be seen of it."""

    def change(step: int) -> Metrics:
        fit = math.exp(-step / 60) + 1e-6 * (1 + 0.1 * math.sin(step))
        return {"loss": fit + (height if 900 <= step < 910 else 0.0)}

    assert ("loss-spike" in loud(watched(run(1200, change)))) is lights


@pytest.mark.parametrize(("gn", "lights"), [(1.4, False), (40.0, True)])
def test_an_outlier_alone_under_a_bounded_gradient_is_no_spike(gn: float, lights: bool) -> None:
    """Of a Huber loss, a target far out makes a huge loss and the same gradient as its neighbours."""
    assert ("loss-spike" in loud(watched(run(600, after(400, 400, loss=80.0, grad_norm=gn))))) is lights
