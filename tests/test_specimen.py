"""The small picture of a row."""

from __future__ import annotations

import pytest

from tuimon.braille import BRAILLE
from tuimon.catalogue import BY_SIGNATURE
from tuimon.demo import RUNS
from tuimon.panels.specimen import ROWS, shown_metrics, specimen

SHOWN = sorted({run.signature for run in RUNS.values() if run.signature} | {"healthy"})


@pytest.mark.parametrize("signature", SHOWN)
@pytest.mark.parametrize("width", [40, 80, 100])
def test_every_row_that_has_a_run_has_a_picture_within_the_width(signature: str, width: int) -> None:
    for ascii_only in (False, True):
        lines = specimen(BY_SIGNATURE[signature], width, ascii_only=ascii_only)
        assert "tuimon demo" in " ".join(lines[ROWS + 1 :]), "where the picture comes from"
        assert max(map(len, lines)) <= width
        assert not ascii_only or "".join(lines).isascii()


def test_the_separating_metric_stands_beside_the_loss() -> None:
    logged = [{"step": 1, "loss": 1.0, "val_loss": 1.0, "grad_norm": 1.0, "lr": 1.0}]
    assert shown_metrics(BY_SIGNATURE["lr-too-high"], logged) == ["loss", "grad_norm"]
    assert shown_metrics(BY_SIGNATURE["overfitting"], logged) == ["loss", "val_loss"]
    assert shown_metrics(BY_SIGNATURE["lr-too-high"], [{"step": 1, "reward": 1.0}]) == ["reward"]


def test_a_nan_is_drawn_and_the_onset_is_named() -> None:
    text = "\n".join(specimen(BY_SIGNATURE["nan-forward"], 80))
    assert BRAILLE.nan in text
    assert f"step {RUNS['nan-forward'].onset}" in text


def test_a_row_without_a_run_has_no_picture(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tuimon.panels.specimen.RUNS", {})
    assert specimen(BY_SIGNATURE["lr-too-high"], 80) == []
