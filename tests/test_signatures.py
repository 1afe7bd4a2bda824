"""Laws that hold for all detectors together: silence, scale, missing values, the smallest runs."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest

from tests.streams import INF, NAN, Change, Row, after, both, climb, header, healthy, loud, run, watched
from tuimon.catalogue import BY_SIGNATURE
from tuimon.monitor import Monitor
from tuimon.record import Batch
from tuimon.signatures import DETECTORS

HEALTHY = healthy()

# Shapes of the loss that mean the same in any unit: signature -> what happens, at step 400 unless said otherwise.
SHAPES: dict[str, Change] = {
    "nan-forward": after(400, loss=NAN, grad_norm=NAN),
    "nan-backward": both(after(401, loss=NAN, grad_norm=NAN), after(400, 400, grad_norm=NAN)),
    "nan-masked": after(400, loss=0.0, grad_norm=NAN),
    "nan-empty-batch": after(400, 400, loss=NAN, grad_norm=0.0),
    "nan-val-only": lambda step: {"val_loss": NAN} if step >= 400 and step % 25 == 0 else {},
    "inf-first": both(after(400, loss=NAN, grad_norm=NAN), after(400, 400, loss=INF)),
    "lr-too-high": climb(400, 1.5, "loss", "grad_norm"),
    "nan-after-growth": both(climb(400, 1.5, "loss", "grad_norm"), after(420, loss=NAN, grad_norm=NAN)),
    "loss-spike": after(400, 404, loss=4.0, grad_norm=6.0),
    "exploding-gradient": after(400, 406, grad_norm=60.0),
    "zero-gradient": after(400, grad_norm=0.0, loss=0.52),
}


@pytest.mark.parametrize("name", HEALTHY)
def test_a_healthy_run_lights_nothing(name: str) -> None:
    assert loud(watched(HEALTHY[name])) == []


@pytest.mark.parametrize("signature", SHAPES)
@pytest.mark.parametrize(("scale", "shift"), [(1.0, 0.0), (1000.0, 0.0), (1e-3, 0.0), (1.0, 1000.0), (1.0, -50.0)])
def test_the_unit_of_the_loss_does_not_matter(signature: str, scale: float, shift: float) -> None:
    change = SHAPES[signature]
    if signature == "nan-masked" and shift:
        pytest.skip("a filter writes zero, in any unit")
    findings = watched(run(600, change, scale=scale, shift=shift)).findings
    hits = [finding for finding in findings if finding.signature == signature]
    assert hits, [(f.signature, f.evidence) for f in findings]
    assert abs(hits[0].onset_step - 400) <= 1


@pytest.mark.parametrize(
    "name", [name for name in HEALTHY if name not in ("a shelf at ln 2", "grad_norm printed as 0.000")]
)
@pytest.mark.parametrize(("scale", "shift"), [(1000.0, 0.0), (1e-3, 0.0), (1.0, 1000.0), (1.0, -1000.0)])
def test_a_healthy_run_lights_nothing_in_any_unit(name: str, scale: float, shift: float) -> None:
    rows: list[Row] = [
        (s, t, m | {k: v * scale + shift for k in ("loss", "val_loss") if (v := m.get(k)) is not None})
        for s, t, m in HEALTHY[name]
    ]
    assert loud(watched(rows)) == []


def test_every_signature_a_detector_can_say_has_a_row() -> None:
    said = {f.signature for change in SHAPES.values() for f in watched(run(600, change)).findings}
    assert said <= BY_SIGNATURE.keys()


def test_an_empty_run_says_nothing() -> None:
    snapshot = Monitor().feed(Batch())
    assert (snapshot.verdict, snapshot.findings, snapshot.records) == ("no_data", (), 0)


@pytest.mark.parametrize(
    "metrics", [{"loss": 1.0}, {"loss": 0.0, "grad_norm": 0.57}, {"val_loss": 2.0}, {"reward": NAN}]
)
def test_one_record_says_nothing(metrics: dict[str, float | None]) -> None:
    assert loud(watched([(1, None, metrics)])) == []


@pytest.mark.parametrize("detector", DETECTORS)
def test_a_fresh_detector_has_found_nothing(detector: Callable[[], object]) -> None:
    assert list(detector().findings) == []  # type: ignore[attr-defined]


@pytest.mark.parametrize("lacking", ["loss", "val_loss", "grad_norm", "lr"])
def test_no_detector_needs_a_metric_to_survive(lacking: str) -> None:
    for change in SHAPES.values():
        watched(run(500, change, without=(lacking,)))


def test_metrics_without_a_role_may_be_anything() -> None:
    rows = run(300, lambda step: {"reward": NAN if step % 3 else INF, "time_ms": -INF, "dead_fraction/a": NAN})
    assert loud(watched(rows)) == []


@pytest.mark.parametrize("objective", ["rl", "gan", "preference"])
def test_objectives_that_are_not_meant_to_fall_keep_only_the_hard_rows(objective: str) -> None:
    mark = header(objective=objective)
    assert loud(watched(run(600, climb(300, 1.05, "loss")), mark)) == []
    assert "nan-forward" in loud(watched(run(600, SHAPES["nan-forward"]), mark))
    assert "zero-gradient" in loud(watched(run(600, SHAPES["zero-gradient"]), mark))


def test_a_loss_that_changes_its_sign_is_left_alone() -> None:
    wave = run(1500, lambda step: {"loss": math.sin(step / 7.0) * (4.0 if step > 1000 else 1.0)})
    assert loud(watched(wave)) == []


def test_a_resumed_run_with_a_lower_level_is_a_note() -> None:
    first = run(400)
    second = run(100, lambda step: {"loss": 0.2}, start=350)
    snapshot = watched([*first, *second])
    assert loud(snapshot) == []
    assert "resumed" in [finding.signature for finding in snapshot.findings]
    assert snapshot.rewinds == (350,)
