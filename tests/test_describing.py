"""What an input was taken for."""

from __future__ import annotations

from tuimon.sources.columns import Columns
from tuimon.sources.describing import describe


def said(columns: dict[str, list[object]], count: int, **roles: str) -> str:
    found = Columns(roles)
    found.learn(columns, count)
    found.batch(columns, count)
    return describe("CSV", found)


def test_format_records_interval_and_roles_are_said() -> None:
    columns: dict[str, list[object]] = {
        "iter": [20 * i for i in range(1, 1191)],
        "train/loss": [2.0] * 1190,
        "lr": [0.1] * 1190,
    }
    assert said(columns, 1190) == (
        "CSV, 1,190 records every 20 steps; step <- iter; loss <- train/loss, lr <- lr; no validation"
    )


def test_one_record_is_one_record() -> None:
    assert (
        said({"step": [5], "loss": [2.0], "val_loss": [2.5]}, 1) == "CSV, 1 record; loss <- loss, val_loss <- val_loss"
    )


def test_a_log_without_a_loss_says_what_is_there() -> None:
    assert said({"step": [5], "return": [2.0], "length": [50.0]}, 1) == "CSV, 1 record; no loss among return, length"


def test_a_log_without_any_metric_says_so() -> None:
    assert said({"step": [5], "phase": ["train"]}, 1) == "CSV, 1 record; no loss among the metrics: there are none"


def test_other_losses_are_counted() -> None:
    columns: dict[str, list[object]] = {"step": [5], "loss_cls": [2.0], "loss_box": [1.0], "loss_mask": [1.0]}
    assert said(columns, 1).endswith("loss <- loss_cls; no validation; 2 other losses to choose from")


def test_names_from_the_file_carry_no_control_characters() -> None:
    assert said({"\x1bstep": [5], "train/loss\x1b[2J": [2.0]}, 1).isprintable()
