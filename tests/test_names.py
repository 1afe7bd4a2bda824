"""Names to roles."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tuimon.sources.names import (
    LONGEST_NAME,
    candidates,
    choose,
    clean,
    is_epoch,
    is_squared,
    match,
    order_times,
    rank_step,
    words,
)

LOSSES = """
    loss train_loss train/loss lm_loss total_loss train_loss_step train_loss_epoch Loss xent nll_loss trl
    Loss/train metrics/loss loss_metrics/global_avg_loss trainLoss epoch_loss batch_loss running_loss
    train/total_loss loss/total train/box_loss actor/pg_loss metrics/train/LanguageCrossEntropy train-logloss
    train/CrossEntropyLoss reduced_train_loss train/value_loss cross_entropy
""".split()
VALIDATIONS = """
    val_loss val eval_loss test_loss val/loss tel validation_loss eval/loss valid_loss dev_loss Loss/val valLoss
    val/box_loss validation/epoch_loss validation_metrics/loss loss/test
""".split()
GRAD_NORMS = """
    grad_norm norm grad_norm_square gnorm total_grad_norm train/grad_norm GradNorm gradient_norm actor/grad_norm
    grad_norm/total gradients/norm l2_norm/grad/global grad/norm/total grad_2.0_norm_total optim/total_grad_norm
""".split()
RATES = "lr learning_rate train_lr lr/pg0 rate x/lr0 lr-AdamW train/learning_rate LearningRate lr-Adam/pg1 lr_0".split()
NONE = """
    loss_scale loss_weight best_val_loss valid_best_loss grad/norm_gamma grad_norm/layer.0.weight
    norm/avg_shift_k max_loss loss__MIN num_loss_terms accuracy val_accuracy eval_runtime lr_decay max_grad_norm
    min_lr train/reward perplexity epoch step time mfu loss_std
""".split()


@pytest.mark.parametrize(
    ("names", "role"),
    [(LOSSES, "loss"), (VALIDATIONS, "val_loss"), (GRAD_NORMS, "grad_norm"), (RATES, "lr"), (NONE, None)],
)
def test_the_usual_names_play_their_roles_and_lookalikes_play_none(names: list[str], role: str | None) -> None:
    found = {name: matched.role if (matched := match(name)) else None for name in names}
    assert found == dict.fromkeys(names, role)


@pytest.mark.parametrize("name", ["lm loss", "validation loss", "learning rate", "grad norm", "total loss"])
def test_blanks_are_as_good_as_underscores(name: str) -> None:
    spoken, written = match(name), match(name.replace(" ", "_"))
    assert spoken is not None and written is not None
    assert spoken.role == written.role


def test_an_exported_chart_is_known_by_the_metric_behind_the_name_of_its_run() -> None:
    assert words("night-3 val sweep - train_loss") == ("train", "loss")
    matched = match("night-3 val sweep - train_loss")
    assert matched is not None and matched.role == "loss"
    assert match("night-3 - train_loss__MAX") is None


@pytest.mark.parametrize(
    ("names", "role", "expected"),
    [
        (["train_loss", "loss"], "loss", "loss"),
        (["loss_cls", "loss_box", "total_loss"], "loss", "total_loss"),
        (["train_policy_loss", "train/value_loss", "train/loss"], "loss", "train/loss"),
        (["train_loss_bbox_unscaled", "train_loss_bbox"], "loss", "train_loss_bbox"),
        (["loss_a", "loss_b"], "loss", "loss_a"),
        (["test_loss", "eval_loss", "val_loss"], "val_loss", "val_loss"),
        (["val_accuracy", "test_loss"], "val_loss", "test_loss"),
        (["lr/pg1", "lr/pg0"], "lr", "lr/pg0"),
        (["norm", "grad_norm"], "grad_norm", "grad_norm"),
        (["val_head_loss", "val_tail_loss", "tail_loss"], "val_loss", "val_tail_loss"),
        (["val_loss", "val_tail_loss", "tail_loss"], "val_loss", "val_tail_loss"),
    ],
)
def test_of_several_names_the_surest_is_chosen(names: list[str], role: str, expected: str) -> None:
    assert choose(dict.fromkeys(names, 10))[role] == expected


@pytest.mark.parametrize(("per_step", "per_epoch", "expected"), [(80, 50, "epoch"), (80, 30, "step"), (5, 0, "step")])
def test_the_mean_of_an_epoch_is_taken_unless_it_is_much_rarer(per_step: int, per_epoch: int, expected: str) -> None:
    counts = {"train_loss_step": per_step, "train_loss_epoch": per_epoch}
    assert choose(counts)["loss"] == f"train_loss_{expected}"


def test_a_name_without_a_value_is_no_candidate() -> None:
    assert candidates({"loss": 0, "lm_loss": 3}) == {"loss": ["lm_loss"]}


@pytest.mark.parametrize(
    ("better", "worse"),
    [("step", "epoch_step"), ("global_step", "_step"), ("iter", "_step"), ("total_timesteps", "n_updates")],
)
def test_names_of_the_step_are_ranked(better: str, worse: str) -> None:
    first, second = rank_step(better), rank_step(worse)
    assert first is not None
    assert second is None or first < second


@pytest.mark.parametrize("name", ["total_steps", "max_steps", "epoch", "loss", "time_per_step", "steps_per_second"])
def test_what_only_talks_of_steps_is_no_step(name: str) -> None:
    assert rank_step(name) is None


def test_epochs_times_and_squares_are_known() -> None:
    assert is_epoch("Epoch") and is_epoch("train/epoch") and not is_epoch("epoch_time")
    assert order_times(["loss", "Timestamp", "time"]) == ["time", "Timestamp"]
    assert is_squared("grad_norm_square") and not is_squared("grad_norm")


@given(st.text(max_size=300))
def test_a_cleaned_name_is_one_printable_bounded_line(name: str) -> None:
    shown = clean(name)
    assert shown and shown.isprintable() and len(shown) <= LONGEST_NAME


@given(st.text(max_size=300))
def test_no_name_whatsoever_raises(name: str) -> None:
    match(name)
    rank_step(name)
    is_epoch(name)


def test_escape_sequences_do_not_survive_cleaning() -> None:
    assert clean("lo\x1b[31mss") == "loss"


def test_validation_is_that_of_the_loss_that_was_asked_for() -> None:
    counts = dict.fromkeys(("train/loss", "train/loss_box", "val/loss", "val/loss_box"), 9)
    assert choose(counts)["val_loss"] == "val/loss"
    assert choose(counts, "train/loss_box") == {"loss": "train/loss_box", "val_loss": "val/loss_box"}
