"""The NaN family: the first non-finite value is dated exactly, and its row follows from the order of the roles."""

from __future__ import annotations

import pytest

from tests.streams import INF, NAN, Change, Metrics, after, both, climb, found, header, loud, run, watched
from tuimon.record import Mark

BROKEN = after(400, loss=NAN, grad_norm=NAN)

CASES: list[tuple[str, Change, int]] = [
    ("nan-forward", BROKEN, 400),
    ("nan-forward", both(BROKEN, after(400, loss=NAN, grad_norm=INF)), 400),
    ("inf-first", both(BROKEN, after(400, 400, loss=INF)), 400),
    ("nan-backward", both(after(401, loss=NAN, grad_norm=NAN), after(400, 400, grad_norm=NAN)), 400),
    ("nan-backward", after(400, grad_norm=NAN), 400),
    ("nan-masked", after(400, loss=0.0, grad_norm=NAN), 400),
    ("nan-masked", after(400, loss=0.4321, grad_norm=NAN), 400),
    ("nan-empty-batch", after(400, 400, loss=NAN, grad_norm=0.0), 400),
    ("nan-first-step", after(0, loss=NAN, grad_norm=NAN), 0),
    ("nan-after-growth", both(climb(400, 1.4, "loss", "grad_norm"), after(425, loss=NAN, grad_norm=NAN)), 400),
    ("nan-after-growth", both(climb(400, 1.6, "grad_norm"), after(425, loss=NAN, grad_norm=NAN)), 400),
]


@pytest.mark.parametrize(("signature", "change", "onset"), CASES)
def test_each_order_of_breaking_has_its_row_and_its_date(signature: str, change: Change, onset: int) -> None:
    snapshot = watched(run(600, change))
    finding = found(snapshot, signature)
    assert abs(finding.onset_step - onset) <= (4 if signature == "nan-after-growth" else 0)
    assert [one for one in loud(snapshot) if one.startswith("nan") or one == "inf-first"] == [signature]
    assert snapshot.verdict == ("watch" if signature == "nan-empty-batch" else "nan")


def test_the_onset_is_the_same_when_loss_and_gradient_come_in_separate_lines() -> None:
    rows = []
    for step, time, metrics in run(600, BROKEN):
        rows.extend((step, time, {name: metrics[name]}) for name in ("loss", "grad_norm"))
    assert found(watched(rows), "nan-forward").onset_step == 400
    backwards = [rows[i ^ 1] for i in range(len(rows))]  # the gradient norm first
    assert found(watched(backwards), "nan-forward").onset_step == 400


def test_eight_writers_of_the_same_lines_count_as_one() -> None:
    rows = [row for row in run(500, BROKEN) for _ in range(8)]
    snapshot = watched(rows)
    assert found(snapshot, "nan-forward").onset_step == 400
    assert snapshot.series["loss"].count == 500


def test_a_young_run_that_explodes_is_growth_not_a_bad_batch() -> None:
    losses = [2.3, 2.9, 7.0, 40.0, 900.0, 4e4, INF, NAN, NAN]
    rows = [(step, None, {"loss": loss}) for step, loss in enumerate(losses)]
    finding = found(watched(rows), "nan-after-growth")
    assert (finding.onset_step, finding.severity) == (1, "failure")


def test_a_gradient_alone_is_enough_when_the_loss_field_is_dropped() -> None:
    rows = run(600, lambda step: {"loss": None, "grad_norm": NAN} if step >= 400 else {})
    assert found(watched(rows), "nan-forward").onset_step == 400


def test_without_a_gradient_norm_the_row_says_what_to_log() -> None:
    finding = found(watched(run(600, BROKEN, without=("grad_norm",))), "nan-forward")
    assert "grad_norm" in finding.missing


def test_a_note_from_the_training_process_names_the_module() -> None:
    note = Mark(405, "note", {"step": 400, "note": "nan_origin", "module": "blocks.3.attn", "op": "softmax"})
    finding = found(watched(run(600, BROKEN), note), "nan-forward")
    assert (finding.module, finding.op) == ("blocks.3.attn", "softmax")
    assert "blocks.3.attn" in finding.evidence


def test_a_skipped_step_is_not_a_lost_run() -> None:
    snapshot = watched(run(600, after(400, 400, grad_norm=INF)))
    assert loud(snapshot) == []


def test_validation_alone_is_the_evaluation_code() -> None:
    once = watched(run(600, after(400, 400, val_loss=NAN)))
    assert [(f.signature, f.severity) for f in once.findings] == [("nan-val-only", "warning")]
    snapshot = watched(run(600, lambda step: {"val_loss": NAN} if step % 25 == 0 and step >= 400 else {}))
    finding = found(snapshot, "nan-val-only")
    assert (finding.severity, finding.onset_step, finding.detected_step) == ("failure", 400, 425)


def test_a_resumed_run_leaves_its_nan_behind() -> None:
    snapshot = watched([*run(420, after(410, loss=NAN, grad_norm=NAN)), *run(300, start=380)])
    finding = found(snapshot, "nan-forward")
    assert (finding.active, finding.onset_step) == (False, 410)
    assert "nan-forward" not in snapshot.lit


def test_the_detected_step_does_not_move_while_a_run_stays_lost() -> None:
    for change in (case[1] for case in CASES if case[0] != "nan-empty-batch"):
        short, long = watched(run(440, change)), watched(run(900, change))
        dates = [{f.signature: f.detected_step for f in one.findings if f.family == "nan"} for one in (short, long)]
        assert dates[0] == dates[1]


@pytest.mark.parametrize(
    ("change", "onset"),
    [
        (lambda step: {"loss_scale": 65536.0 * 0.5 ** max(0, (step - 400) // 10)}, 410),
        (lambda step: {"loss_scale": 1024.0, "grad_norm": INF if 400 <= step < 406 else 1.0}, 400),
        (lambda step: {"skipped": float(400 <= step < 406)}, 400),
    ],
)
def test_a_scaler_that_finds_no_scale_is_dated_at_its_first_skip(change: Change, onset: int) -> None:
    snapshot = watched(run(600, change), header(precision="fp16"))
    assert found(snapshot, "fp16-range").onset_step == onset
    assert loud(snapshot) == ["fp16-range"]


def test_a_nan_that_keeps_coming_back_is_a_failure() -> None:
    def third(step: int) -> Metrics:
        return {"loss": NAN, "grad_norm": NAN} if 300 <= step < 597 and step % 3 == 0 else {}

    snapshot = watched(run(600, third))
    finding = found(snapshot, "nan-forward")
    assert (finding.severity, finding.onset_step, finding.active) == ("failure", 300, True)
    assert finding.evidence.startswith("loss not finite 99 times in steps 300-594")
    assert loud(snapshot) == ["nan-forward"]
    assert not found(watched(run(900, third)), "nan-forward").active


def test_a_nan_now_and_then_is_a_warning_each_time() -> None:
    snapshot = watched(run(2000, lambda step: {"loss": NAN, "grad_norm": NAN} if step % 300 == 299 else {}))
    assert {finding.severity for finding in snapshot.findings if finding.family == "nan"} == {"warning"}


@pytest.mark.parametrize(
    ("signature", "change"),
    [
        ("nan-empty-batch", after(400, 400, loss=NAN, grad_norm=0.0)),
        ("nan-forward", after(400, 400, loss=NAN)),
        ("nan-forward", after(400, 400, loss=NAN, grad_norm=NAN)),
        ("inf-first", after(400, 400, loss=INF)),
        ("inf-first", after(400, 400, loss=INF, grad_norm=0.0)),
    ],
)
def test_only_a_nan_without_a_gradient_is_an_empty_batch(signature: str, change: Change) -> None:
    finding = found(watched(run(600, change)), signature)
    assert (finding.severity, finding.active, finding.onset_step) == ("warning", False, 400)


@pytest.mark.parametrize(
    ("steps", "severities"), [(1, []), (2, []), (3, ["warning"]), (30, ["warning"]), (40, ["failure"])]
)
def test_an_infinite_gradient_beside_a_finite_loss_may_be_a_skipped_step(steps: int, severities: list[str]) -> None:
    snapshot = watched(run(400 + steps, after(400, grad_norm=INF)))
    said = [finding for finding in snapshot.findings if finding.severity != "note"]
    assert [finding.severity for finding in said] == severities
    assert all("loss_scale" in finding.evidence for finding in said if finding.severity == "warning")
    assert [finding.detected_step for finding in said] == [402 if steps <= 32 else 432] * len(said)
