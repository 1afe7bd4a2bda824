"""Which step a record belongs to."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from tuimon.sources.steps import Steps, whole

Column = Sequence[float | None]


def assigned(columns: dict[str, Column], learned: bool = True, forced: str | None = None) -> list[int | None]:
    """Steps of all records, where those with a loss are measured."""
    count = len(next(iter(columns.values())))
    steps = Steps(forced)
    if learned:
        steps.learn(columns, count, "loss")
    losses = columns.get("loss", [1.0] * count)
    return steps.assign(columns, count, lambda: [value is not None for value in losses])


@pytest.mark.parametrize("learned", [True, False])
@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        ({"step": [3, 6, 9], "loss": [1, 1, 1]}, [3, 6, 9]),
        ({"step": [3.0, 6.0, 2.0], "loss": [1, 1, 1]}, [3, 6, 2]),
        ({"step": [3, None, 9], "loss": [1, 1, 1]}, [3, 3, 9]),
        ({"epoch": [0, 1, 2], "loss": [1, 1, 1]}, [0, 1, 2]),
        ({"epoch": [0, 1, 0], "loss": [1, 1, 1]}, [0, 1, 0]),
        ({"loss": [1, 1, 1]}, [0, 1, 2]),
        ({"loss": [1, None, 1]}, [0, None, 1]),
        ({"step": [1, float("nan"), 3], "loss": [1, 1, 1]}, [1, 1, 3]),
        ({"step": [1, 1e30, 3], "loss": [1, 1, 1]}, [1, 1, 3]),
    ],
)
def test_a_record_gets_the_step_that_the_log_means(
    columns: dict[str, Column], expected: list[int | None], learned: bool
) -> None:
    assert assigned(columns, learned) == expected


def test_the_iterations_are_taken_when_the_loggers_own_counter_disagrees() -> None:
    assert assigned({"_step": [0, 1, 2], "iter": [0, 250, 500], "loss": [3, 2, 1]}) == [0, 250, 500]


def test_validation_counted_in_epochs_stays_beside_training_counted_in_iterations() -> None:
    columns: dict[str, Column] = {
        "iter": [40, 80, None, 120, None],
        "step": [40, 80, 1, 120, 2],
        "loss": [3, 2, None, 1, None],
        "acc": [None, None, 0.5, None, 0.6],
    }
    assert assigned(columns) == [40, 80, 80, 120, 120]


def test_a_counter_that_starts_again_in_every_epoch_goes_on_across_them() -> None:
    columns: dict[str, Column] = {
        "epoch": [1, 1, 2, 2, 3],
        "iter": [50, 100, 50, 100, 50],
        "loss": [5, 4, 3, 2, 1],
    }
    assert assigned(columns) == [50, 100, 150, 200, 250]


def test_a_resumed_epoch_takes_the_steps_it_had_before() -> None:
    columns: dict[str, Column] = {
        "epoch": [1, 1, 2, 2, 3, 2, 2],
        "iter": [50, 100, 50, 100, 50, 50, 100],
        "loss": [5, 4, 3, 2, 1, 3, 2],
    }
    assert assigned(columns) == [50, 100, 150, 200, 250, 150, 200]


def test_records_of_a_fractional_epoch_are_numbered_and_go_back_where_it_does() -> None:
    epochs: Column = [0.25, 0.5, 0.75, 1.0, 0.5, 0.75, 1.0, 1.25]
    assert assigned({"epoch": epochs, "loss": [1] * 8}) == [0, 1, 2, 3, 1, 2, 3, 4]


def test_epochs_that_turn_out_to_be_fractions_stop_being_steps() -> None:
    assert assigned({"epoch": [0.0, 0.1, 0.2], "loss": [1, 1, 1]}, learned=False) == [0, 1, 2]


def test_many_records_an_epoch_are_numbered() -> None:
    assert assigned({"epoch": [1, 1, 1, 2, 2, 2], "loss": [6, 5, 4, 3, 2, 1]}) == [0, 1, 2, 3, 4, 5]


def test_what_stands_before_the_first_step_is_configuration() -> None:
    columns: dict[str, Column] = {"step": [None, 1, 2], "loss": [None, 2, 1], "batch_size": [64, None, None]}
    assert assigned(columns) == [None, 1, 2]


def test_the_users_choice_is_taken() -> None:
    assert assigned({"step": [1, 2], "tokens": [100, 200], "loss": [2, 1]}, forced="tokens") == [100, 200]


def test_the_usual_distance_is_known_and_said_where_it_comes_from() -> None:
    steps = Steps()
    columns: dict[str, Column] = {"iteration": [1000, 1020, 1040, 1041], "loss": [1, 1, 1, 1]}
    steps.learn(columns, 4, "loss")
    steps.assign(columns, 4, lambda: [True] * 4)
    assert steps.interval == 20
    assert steps.describe() == "step <- iteration"


@pytest.mark.parametrize(("value", "step"), [(3.0, 3), (None, None), (float("inf"), None), (-1.0, -1), (2.0**60, None)])
def test_only_exact_finite_numbers_are_steps(value: float | None, step: int | None) -> None:
    assert whole(value) == step
