"""The network of demo/digits.py, trained on real digits, fails as it says: each fault lights its own row."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("torch")
pytest.importorskip("sklearn")

from demo.digits import FAULT_STEP, SETTINGS, train
from tuimon.commands.diagnose import examine

ROWS = {  # fault -> the row it lights, and the onset where the fault has a moment
    "none": ("", None),
    "lr-too-high": ("lr-too-high", FAULT_STEP + 1),
    "nan-batch": ("nan-forward", FAULT_STEP),
    "log-zero": ("nan-forward", None),
    "sqrt-zero": ("nan-backward", FAULT_STEP),
    "val-nan": ("nan-val-only", 0),
    "shuffled-labels": ("memorising-noise", 0),
    "constant-inputs": ("uniform-prediction", 0),
    "frozen": ("frozen-weights", 0),
    "detached": ("zero-gradient", 0),
    "lr-too-low": ("lr-too-low", 0),
    "double-softmax": ("double-softmax", None),
    "accumulate": ("gradients-accumulate", 0),
    "overfit": ("overfitting", None),
    "crash": ("", None),  # only a clock can tell
}


def test_every_fault_has_a_row() -> None:
    assert set(ROWS) == set(SETTINGS)


QUICK = {"none", "lr-too-high", "nan-batch", "log-zero", "val-nan", "shuffled-labels", "crash"}
"""The sound one, one of each family, and those of which demo/causes has no like; the others take a minute."""


@pytest.mark.parametrize(
    "fault", [fault if fault in QUICK else pytest.param(fault, marks=pytest.mark.long) for fault in SETTINGS]
)
def test_a_fault_lights_its_own_row_and_no_other_failure(fault: str, tmp_path: Path) -> None:
    row, onset = ROWS[fault]
    train(fault, str(tmp_path / "run.jsonl"))
    snapshot = examine(str(tmp_path / "run.jsonl")).snapshot
    loud = {finding.signature: finding for finding in snapshot.findings if finding.severity != "note"}
    assert set(loud) == ({row} if row else set())
    if onset is not None:
        assert loud[row].onset_step == onset
