"""JSON Lines."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import samples

from tuimon.sources import open_source
from tuimon.sources.jsonl import JsonLines
from tuimon.sources.tail import Tail


def read(folder: Path, content: bytes, **chosen: object) -> tuple[list[samples.Record], JsonLines]:
    path = samples.write(folder, "log.jsonl", content)
    source = JsonLines(Tail(path), head=content, **chosen)  # type: ignore[arg-type]
    return samples.records(samples.read_all(source)), source


def test_our_own_lines_with_header_and_note_become_records_and_marks(tmp_path: Path) -> None:
    content = (
        b'{"tuimon": 1, "run": "night", "started": "2025-11-30", "meta": {"num_classes": 10}}\n'
        b'{"step": 1, "time": 1764512345.5, "loss": 2.5}\n'
        b'{"step": 2, "note": "nan_origin", "module": "blocks.3", "op": "softmax"}\n'
        b'{"step": 2, "time": 1764512346.0, "loss": "NaN", "grad_norm": "Infinity"}\n'
        b'{"tuimon": 1, "run": "night"}\n'
        b'{"step": 2, "loss": 2.25}\n'
    )
    source = open_source(samples.write(tmp_path, "run.jsonl", content))
    batch = source.read()
    assert source.format == "tuimon"
    assert list(batch.steps) == [1, 2, 2]
    assert list(batch.times) == [1764512345.5, 1764512346.0, None]
    assert repr(list(batch.columns["loss"])) == "[2.5, nan, 2.25]"
    assert [(mark.row, mark.kind) for mark in batch.marks] == [(0, "header"), (1, "note"), (2, "header")]
    assert batch.marks[0].fields["meta"] == {"num_classes": 10}
    assert batch.marks[1].fields["module"] == "blocks.3"


@pytest.mark.parametrize("word", ['"NaN"', "NaN", "nan", '"nan"', '"-nan"', "-NaN", '"nanxxx"'])
def test_nan_is_a_value_however_it_is_written(tmp_path: Path, word: str) -> None:
    found, _ = read(tmp_path, f'{{"step": 1, "loss": 2.5}}\n{{"step": 2, "loss": {word}}}\n'.encode())
    assert found[1] == (2, None, (("loss", "nan"),))


@pytest.mark.parametrize("word", ["null", '"N/A"', '"None"', '""'])
def test_what_stands_for_nothing_is_missing(tmp_path: Path, word: str) -> None:
    found, _ = read(tmp_path, f'{{"step": 1, "loss": 2.5}}\n{{"step": 2, "loss": {word}, "lr": 1}}\n'.encode())
    assert found[1] == (2, None, (("lr", "1.0"),))


def test_a_bad_line_is_counted_with_its_number_and_the_others_are_read(tmp_path: Path) -> None:
    path = samples.write(
        tmp_path,
        "log.jsonl",
        b'{"step": 1, "loss": 2}\n\nWARNING: hot\n{"step": 2, "lo{"step": 3}\n{"step": 4, "loss": 1}\n',
    )
    batch = JsonLines(Tail(path)).read()
    assert list(batch.steps) == [1, 3, 4]
    assert [line.number for line in batch.bad_lines] == [3, 4]
    assert batch.bad_lines[0].reason == "not a JSON object"
    assert batch.bad_lines[1].reason.startswith("only in part: not JSON: ")
    assert batch.bad_count == 2


def test_glued_records_are_all_read_whatever_else_is_in_the_chunk(tmp_path: Path) -> None:
    glued = b'{"step": 1, "loss": 2}{"step": 2, "loss": 1}\n{"step": 3, "loss": 1} {"step": 4, "loss": 1}\n'
    for rest in (b"", b"what\n", b"\n", b'{"step": 5, "loss": NaN}\n'):
        source = JsonLines(Tail(samples.write(tmp_path, "log.jsonl", glued + rest)))
        batch = source.read()
        assert list(batch.steps)[:4] == [1, 2, 3, 4]
        assert [line.number for line in batch.bad_lines] == ([3] if rest == b"what\n" else [])


def test_of_many_bad_lines_only_some_are_described_but_all_are_counted(tmp_path: Path) -> None:
    path = samples.write(tmp_path, "log.jsonl", b"what\n" * 500 + b'{"step": 4, "loss": 1}\n')
    batch = JsonLines(Tail(path)).read()
    assert (batch.bad_count, len(batch.bad_lines)) == (500, 20)


def test_one_level_of_nesting_is_flattened_and_lists_are_left_out(tmp_path: Path) -> None:
    found, _ = read(tmp_path, b'{"step": 1, "train": {"loss": 2.5, "deep": {"x": 1}}, "boxes": [1, 2]}\n')
    assert found == [(1, None, (("loss", "2.5"),))]


def test_keys_that_come_later_are_read_too(tmp_path: Path) -> None:
    rows = [*samples.losses(300), {"step": 301, "eval_loss": 2.0, "acc": 0.5}, *samples.losses(300, first=302)]
    found, source = read(tmp_path, samples.jsonl(rows))
    assert len(found) == 601
    assert found[300] == (301, None, (("acc", "0.5"), ("val_loss", "2.0")))
    assert source.roles["val_loss"] == "eval_loss"


def test_numbers_in_words_are_numbers_and_other_words_are_none(tmp_path: Path) -> None:
    found, _ = read(tmp_path, b'{"step": "7", "loss": "0.5", "elapsed": "0:00:26", "phase": "train", "ok": true}\n')
    assert found == [(7, None, (("loss", "0.5"),))]


def test_a_summary_under_another_name_does_not_mix_with_the_loss(tmp_path: Path) -> None:
    rows = [*samples.losses(5), {"step": 5, "train_loss": 2.2, "train_runtime": 80.0}]
    path = samples.write(tmp_path, "log.jsonl", samples.jsonl(rows))
    batches = samples.read_all(open_source(path))
    assert len(samples.column(batches, "loss")) == 5
    assert samples.column(batches, "train_loss") == [(5, 2.2)]


def test_a_configuration_line_is_no_record(tmp_path: Path) -> None:
    rows: list[dict[str, object]] = [
        {"event": "config", "lr": 1e-2, "batch_size": 32},
        {"event": "step", "step": 1, "train/loss": 2.0},
    ]
    found, _ = read(tmp_path, samples.jsonl(rows))
    assert found == [(1, None, (("loss", "2.0"),))]


def test_two_appended_runs_go_back_in_step(tmp_path: Path) -> None:
    found, _ = read(tmp_path, samples.jsonl([*samples.losses(4), *samples.losses(3)]))
    assert [step for step, *_ in found] == [1, 2, 3, 4, 1, 2, 3]


def test_a_truncated_log_starts_again_with_a_mark(tmp_path: Path) -> None:
    path = samples.write(tmp_path, "log.jsonl", samples.jsonl(samples.losses(5)))
    source = open_source(path)
    samples.read_all(source)
    path.write_bytes(b'{"step": 1, "train_loss": 9}\n')
    batch = source.read()
    assert [mark.kind for mark in batch.marks] == ["restart"]
    assert (list(batch.steps), dict(batch.columns)) == ([1], {"loss": [9.0]})
    assert source.describe().startswith("JSON Lines, 1 record")


def test_a_torn_last_line_is_not_bad_even_at_the_end(tmp_path: Path) -> None:
    found, source = read(tmp_path, b'{"step": 1, "loss": 2}\n{"step": 2, "lo')
    assert [step for step, *_ in found] == [1]
    assert source.bad_count == 0


def test_a_last_line_without_its_newline_is_read_at_the_end(tmp_path: Path) -> None:
    found, _ = read(tmp_path, b'{"step": 1, "loss": 2}\n{"step": 2, "loss": 1}')
    assert [step for step, *_ in found] == [1, 2]


@pytest.mark.parametrize("end", ["\r\n", "\r", "\n\n"])
def test_every_line_end_does(tmp_path: Path, end: str) -> None:
    text = end.join(json.dumps(row) for row in samples.losses(9)) + end
    found, _ = read(tmp_path, text.encode())
    assert len(found) >= 8


def test_a_key_that_no_slot_can_have_is_read_all_the_same(tmp_path: Path) -> None:
    rows: list[dict[str, object]] = [{"step": i, "loss": 2.0, 'a"b\\c\n': 1.0} for i in range(3)]
    found, _ = read(tmp_path, samples.jsonl(rows))
    assert found[2] == (2, None, (('a"b\\c', "1.0"), ("loss", "2.0")))


def test_keys_that_never_settle_do_not_slow_down_or_fill_the_memory(tmp_path: Path) -> None:
    rows: list[dict[str, object]] = [{"step": i, "loss": 2.0, f"key{i}": 1.0} for i in range(3000)]
    found, source = read(tmp_path, samples.jsonl(rows))
    assert len(found) == 3000
    assert source.columns.left_out == 3000 - 511
