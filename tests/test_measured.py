"""A row's formulas with a run's own numbers, and silence where the run lacks what they need."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from tuimon import demo
from tuimon.commands.diagnose import read_whole
from tuimon.measured import FORMULAS, duration, measured
from tuimon.monitor import Monitor, Note, Snapshot
from tuimon.record import Batch
from tuimon.signatures.finding import Finding
from tuimon.store import Store


def told(name: str, folder: Path) -> list[str]:
    """What is said about the row that a demo run lights."""
    run = demo.RUNS[name]
    demo.write(run, folder / "run.jsonl")
    monitor: Monitor = read_whole(str(folder / "run.jsonl"))[0]
    found = next(each for each in monitor.snapshot.findings if each.signature == run.signature)
    return measured(found, monitor.snapshot, monitor.store)


def store_of(*rows: dict[str, float]) -> Store:
    store = Store()
    store.append(Batch.from_rows([(step, None, dict(row)) for step, row in enumerate(rows)]))
    return store


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("lr-too-high", "The learning rate was 0.00300 there, with no jump"),
        ("level-jump", "The run has gone on for 4"),
        ("vanishing-gradient", "The learning rate was 0.00125 there. 1e-5 from the last"),
        ("uniform-prediction", "ln 10 = 2.303. exp(2.303) = 10"),
        ("double-softmax", "floor for 10 classes ln(e + 9) - 1 = 1.4612"),
        ("initial-loss-off", "The batch size is 64: the loss is a sum."),
        ("lr-too-low", "Sum of lr * grad_norm^2 so far: 0.0027"),
        ("overfitting", "Best val_loss 0.6"),
        ("vanishing-gradient", "0.20 per layer, over 8 layers"),
    ],
)
def test_the_row_s_formula_holds_the_run_s_numbers(name: str, said: str, tmp_path: Path) -> None:
    assert said in " ".join(told(name, tmp_path))


def test_the_budget_is_the_sum_over_all_steps() -> None:
    store = store_of(*({"lr": 0.1, "grad_norm": 2.0} for _ in range(10)))
    found = Finding("lr-too-low", "plateau", "failure", 0, 9, True, "")
    assert any("so far: 4.00 of loss" in line for line in measured(found, Snapshot(last_step=9), store))
    frozen = store_of({"lr": 0.1, "grad_norm": 2.0}, {"lr": 0.0, "grad_norm": 2.0})
    assert any("is 0 now" in line for line in measured(found, Snapshot(last_step=1), frozen))


def test_a_jump_of_the_rate_at_the_onset_is_said_as_a_factor() -> None:
    store = store_of(*({"lr": 1e-3 if step < 5 else 6e-3} for step in range(10)))
    found = Finding("lr-too-high", "divergence", "failure", 5, 9, True, "")
    assert "The learning rate went from 0.00100 to 0.00600 at the onset: 6.00 times." in measured(
        found, Snapshot(last_step=9), store
    )


def test_only_a_checkpoint_from_before_the_onset_is_still_good() -> None:
    notes = tuple(Note(step, "checkpoint", {"path": f"model-{step}.pt\x1b[2J"}) for step in (100, 200, 300))
    found = Finding("nan-forward", "nan", "failure", 250, 250, True, "")
    lines = measured(found, Snapshot(last_step=300, notes=notes, pace=2.0), Store())
    assert lines == [
        "The run has gone on for 50 steps since, about 2 min.",
        "Newest checkpoint from before it: step 200, model-200.pt",
    ]
    late = measured(found, Snapshot(last_step=300, notes=notes[2:]), Store())
    assert late[-1] == "No checkpoint in the log is from before it."


@pytest.mark.parametrize("signature", [*FORMULAS, "no-validation", "nan-forward"])
def test_without_what_a_formula_needs_nothing_is_said(signature: str) -> None:
    found = Finding(signature, "plateau", "failure", 0, 0, True, "")
    assert measured(found, Snapshot(last_step=0), Store()) == []
    broken = store_of({"loss": math.nan, "val_loss": math.nan, "grad_norm/a": math.nan, "grad_norm/b": math.inf})
    assert measured(found, Snapshot(last_step=0, meta={"num_classes": 10}), broken) == []


def test_counts_that_no_float_can_hold_are_not_believed() -> None:
    store = store_of({"loss": 5.0}, {"loss": 4.0})
    for signature in FORMULAS:
        found = Finding(signature, "plateau", "note", 0, 1, True, "")
        declared = {"num_classes": 10**400, "batch_size": 10**400}
        measured(found, Snapshot(last_step=1, meta=declared), store)
        measured(found, Snapshot(last_step=1, meta={**declared, "num_classes": 10}), store)


def test_durations_are_said_as_a_person_says_them() -> None:
    assert [duration(seconds) for seconds in (40, 720, 12600)] == ["40 s", "12 min", "3.5 h"]
