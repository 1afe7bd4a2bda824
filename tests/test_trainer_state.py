"""JSON documents that are rewritten whole."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
import samples

from tuimon.record import Batch
from tuimon.sources import Source, SourceError, open_source
from tuimon.sources.rows import AT_ONCE

HISTORY: list[dict[str, object]] = [
    {"epoch": 0.1, "grad_norm": 1.5, "learning_rate": 5e-5, "loss": 2.5, "step": 10},
    {"epoch": 0.2, "grad_norm": 1.25, "learning_rate": 4e-5, "loss": 2.25, "step": 20},
    {"epoch": 0.2, "eval_loss": 2.375, "eval_runtime": 9.5, "step": 20},
    {"epoch": 0.3, "grad_norm": 1.0, "learning_rate": 3e-5, "loss": 2.0, "step": 30},
]
SUMMARY: dict[str, object] = {"epoch": 0.3, "step": 30, "train_loss": 2.25, "train_runtime": 100.0}


def now(source: Source) -> list[Batch]:
    return samples.read_all(source, finish=False)


def test_a_trainer_state_is_read_with_roles_and_described(tmp_path: Path) -> None:
    source = open_source(samples.write(tmp_path, "trainer_state.json", samples.trainer_state([*HISTORY, SUMMARY])))
    batches = now(source)
    assert samples.column(batches, "loss") == [(10, 2.5), (20, 2.25), (30, 2.0)]
    assert samples.column(batches, "val_loss") == [(20, 2.375)]
    assert samples.column(batches, "train_loss") == [(30, 2.25)]
    assert source.describe() == (
        "Hugging Face trainer_state, 5 records every 10 steps; "
        "loss <- loss, val_loss <- eval_loss, grad_norm <- grad_norm, lr <- learning_rate; 1 other loss to choose from"
    )


def test_a_loss_of_zero_with_a_gradient_of_nan_is_left_as_it_is(tmp_path: Path) -> None:
    text = (
        b'{"log_history": [{"loss": 0.0, "grad_norm": NaN, "step": 5}, {"loss": 0.0, "grad_norm": "nan", "step": 10}]}'
    )
    batches = now(open_source(samples.write(tmp_path, "trainer_state.json", text)))
    assert samples.column(batches, "loss") == [(5, 0.0), (10, 0.0)]
    assert repr(samples.column(batches, "grad_norm")) == "[(5, nan), (10, nan)]"


def test_a_rewritten_state_brings_only_what_is_new(tmp_path: Path) -> None:
    path = samples.write(tmp_path, "trainer_state.json", samples.trainer_state(HISTORY[:2]))
    source = open_source(path)
    now(source)
    samples.replace_atomically(path, samples.trainer_state(HISTORY))
    batches = now(source)
    assert [step for batch in batches for step in batch.steps] == [20, 30]
    assert not [mark for batch in batches for mark in batch.marks]
    assert not any(len(batch) for batch in now(source))


def test_a_state_that_went_back_to_a_checkpoint_goes_on_from_there(tmp_path: Path) -> None:
    path = samples.write(tmp_path, "trainer_state.json", samples.trainer_state(HISTORY))
    source = open_source(path)
    now(source)
    other = {**HISTORY[3], "loss": 1.75}
    samples.replace_atomically(path, samples.trainer_state([*HISTORY[:3], other]))
    batches = now(source)
    assert samples.column(batches, "loss") == [(30, 1.75)]
    assert not [mark for batch in batches for mark in batch.marks]


def test_a_state_of_another_run_starts_again(tmp_path: Path) -> None:
    path = samples.write(tmp_path, "trainer_state.json", samples.trainer_state(HISTORY))
    source = open_source(path)
    now(source)
    samples.replace_atomically(path, samples.trainer_state([{"loss": 9.0, "step": 1}]))
    batches = now(source)
    assert [mark.kind for batch in batches for mark in batch.marks] == ["restart"]
    assert samples.column(batches, "loss") == [(1, 9.0)]


def test_a_state_that_is_being_written_is_not_yet(tmp_path: Path) -> None:
    path = samples.write(tmp_path, "trainer_state.json", samples.trainer_state(HISTORY[:2]))
    source = open_source(path)
    now(source)
    whole = samples.trainer_state(HISTORY)
    path.write_bytes(whole[:200])
    assert not any(len(batch) or batch.bad_count for batch in now(source))
    path.write_bytes(whole)
    assert [step for batch in now(source) for step in batch.steps] == [20, 30]


def test_of_an_output_folder_the_newest_checkpoint_is_followed(tmp_path: Path) -> None:
    first = samples.write(tmp_path, "out/checkpoint-20/trainer_state.json", samples.trainer_state(HISTORY[:2]))
    os.utime(first, (1.7e9, 1.7e9))
    source = open_source(tmp_path / "out")
    assert [step for batch in now(source) for step in batch.steps] == [10, 20]
    second = samples.write(tmp_path, "out/checkpoint-30/trainer_state.json", samples.trainer_state(HISTORY))
    os.utime(second, (1.7e9 + 60, 1.7e9 + 60))
    assert [step for batch in now(source) for step in batch.steps] == [20, 30]
    assert source.format == "json"


def test_a_bare_history_is_a_log_too(tmp_path: Path) -> None:
    source = open_source(samples.write(tmp_path, "log_history.json", json.dumps(HISTORY, indent=1).encode()))
    assert samples.column(now(source), "loss") == [(10, 2.5), (20, 2.25), (30, 2.0)]
    assert source.describe().startswith("JSON list of records, 4 records")


def test_lists_of_values_are_columns(tmp_path: Path) -> None:
    text = b'{"loss": [0.75, 0.5, NaN], "val_loss": [0.875, 0.625, 0.5], "epoch": [0, 1, 2]}'
    batches = now(open_source(samples.write(tmp_path, "history.json", text + b"\n")))
    assert repr(samples.column(batches, "loss")) == "[(0, 0.75), (1, 0.5), (2, nan)]"


def test_a_state_that_was_cut_off_is_read_as_far_as_it_goes(tmp_path: Path) -> None:
    path = samples.write(tmp_path, "trainer_state.json", samples.trainer_state(HISTORY)[:-250])
    source = open_source(path)
    batches = samples.read_all(source)
    assert samples.column(batches, "loss")[:2] == [(10, 2.5), (20, 2.25)]
    assert "cut off" in source.describe()


def test_a_long_history_comes_in_pieces(tmp_path: Path) -> None:
    rows = samples.losses(2 * AT_ONCE + 5)
    batches = now(open_source(samples.write(tmp_path, "trainer_state.json", samples.trainer_state(rows))))
    assert [len(batch) for batch in batches if len(batch)] == [AT_ONCE, AT_ONCE, 5]


@pytest.mark.parametrize("text", [b'{\n "model_type": "bert"\n}\n', b'{\n "tags": {"a": []}\n}\n'])
def test_a_configuration_is_no_log_and_the_message_says_what_it_holds(tmp_path: Path, text: bytes) -> None:
    path = samples.write(tmp_path, "config.json", text)
    with pytest.raises(
        SourceError, match=r"config\.json is JSON, but no log: no log_history and no numbers; its keys are"
    ):
        open_source(path)


def test_a_missing_file_raises_and_is_read_once_it_is_back(tmp_path: Path) -> None:
    path = samples.write(tmp_path, "trainer_state.json", samples.trainer_state(HISTORY[:2]))
    source = open_source(path)
    now(source)
    path.unlink()
    with pytest.raises(FileNotFoundError):
        source.read()
    path.write_bytes(samples.trainer_state(HISTORY))
    assert [step for batch in now(source) for step in batch.steps] == [20, 30]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b'{"epoch": 1, "log_history": [{"loss": 1}]}', "jq -c '.log_history[]' "),
        (b'[\n{"loss": 1}\n]', "jq -c '.[]' "),
        (b'{"loss": [1, 2]}', "Write JSON Lines, one object per step"),
    ],
)
def test_a_document_too_large_to_be_held_is_refused_with_what_to_do(
    text: bytes, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tuimon.sources.trainer_state.LARGEST", len(text) - 1)
    path = samples.write(tmp_path, "my history.json", text)
    with pytest.raises(SourceError, match="too large to be held") as raised:
        open_source(path)
    assert said in str(raised.value)
    if "jq" in said:
        assert f"'{path}' > run.jsonl" in str(raised.value)
