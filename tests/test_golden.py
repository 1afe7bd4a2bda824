"""Logs of format 1, written by hand: whatever later versions write, these must be read as they are read here."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from tests.samples import column, read_all
from tuimon.cli import main
from tuimon.monitor import Monitor, Snapshot
from tuimon.record import Batch
from tuimon.sources import Source, open_source

GOLDEN = Path(__file__).parent / "golden"


def read(name: str) -> tuple[Snapshot, list[Batch], Source]:
    source = open_source(GOLDEN / f"{name}.jsonl")
    batches = read_all(source)
    monitor = Monitor()
    for batch in batches:
        monitor.feed(batch)
    source.close()
    return monitor.snapshot, batches, source


def bad_lines(batches: list[Batch]) -> list[int]:
    return [line.number for batch in batches for line in batch.bad_lines]


def test_a_log_as_the_writer_has_always_written_it() -> None:
    run, batches, source = read("first")
    assert (run.run, run.records, run.first_step, run.last_step) == ("night", 7, 0, 5)
    assert dict(run.meta) == {
        "num_classes": 10, "precision": "bf16", "clip_norm": 1.0, "optimizer": "AdamW", "batch_size": 128,
        "total_steps": 2000,
    }  # fmt: skip
    assert repr(column(batches, "loss")) == "[(0, 2.3114), (1, 2.3087), (2, 2.2951), (3, 2.2903), (4, nan), (5, 1.0)]"
    assert column(batches, "grad_norm")[4:] == [(4, math.inf), (5, -math.inf)]
    assert column(batches, "val_loss") == [(3, 2.2988)]
    assert column(batches, "tokens_per_second") == [(2, 18233.5)]
    assert run.last_time == 1764536653.588
    assert source.describe().startswith("tuimon log, 7 records")
    assert run.verdict == "nan"


def test_without_a_header_and_without_times() -> None:
    run, batches, source = read("no_header")
    assert column(batches, "loss") == [(10, 0.75), (20, 0.5), (30, 0.25)]
    assert (run.run, run.last_time, run.bad_count) == ("", None, 0)
    assert source.describe().startswith("JSON Lines, 3 records every 10 steps")


def test_a_header_again_is_a_resume_with_or_without_steps_that_repeat() -> None:
    run, batches, _ = read("resumed")
    assert [step for step, _ in column(batches, "loss")] == [1, 2, 3, 2, 3, 4]
    assert run.rewinds == (2,)
    assert run.meta["batch_size"] == 64
    assert [(f.signature, f.onset_step) for f in run.findings if f.signature == "resumed"] == [
        ("resumed", 2), ("resumed", 4),
    ]  # fmt: skip


def test_bare_tokens_are_values_and_null_is_missing() -> None:
    run, batches, _ = read("bare_tokens")
    assert repr([value for _, value in column(batches, "loss")]) == "[2.0, nan, nan, nan]"
    assert [value for _, value in column(batches, "grad_norm")] == [1.0, math.inf, -math.inf, math.inf, 0.5]
    assert (run.run, run.bad_count, run.verdict) == ("bare", 0, "nan")


def test_fields_that_nobody_knows_do_no_harm() -> None:
    run, batches, _ = read("unknown_fields")
    assert column(batches, "loss") == [(1, 2.5), (2, 2.25), (3, 2.0)]
    assert column(batches, "memory/allocated") == [(1, 3.5), (2, 3.75)]
    assert (run.run, run.bad_count) == ("odd", 0)
    assert run.meta["num_classes"] == 10


def test_every_kind_of_note() -> None:
    run, batches, _ = read("notes")
    assert [(note.step, note.name) for note in run.notes] == [
        (None, "preflight"), (2, "checkpoint"), (3, "nan_origin"), (3, "aborted"), (3, "end"),
    ]  # fmt: skip
    assert run.notes[3].fields["error"] == "FloatingPointError"
    assert len(column(batches, "loss")) == run.records == 4
    (nan,) = [finding for finding in run.findings if finding.family == "nan"]
    assert (nan.module, nan.op, nan.onset_step) == ("blocks.3.attn", "softmax", 3)


def test_a_log_after_accidents() -> None:
    run, batches, _ = read("accidents")
    assert [step for step, _ in column(batches, "loss")] == [1, 2, 3, 4]
    assert bad_lines(batches) == [4]
    assert run.run == "cut"


def test_a_newer_format_is_said_to_be_newer_and_read_as_far_as_it_is_known(
    capsys: pytest.CaptureFixture[str],
) -> None:
    run, batches, source = read("newer")
    assert repr(column(batches, "loss")) == "[(1, 2.5), (2, 2.25), (3, nan)]"
    assert (run.run, run.bad_count, run.verdict) == ("tomorrow", 0, "nan")
    assert source.describe().startswith("tuimon log in format 2 (newer than this program; what it knows is read)")
    assert main(["diagnose", str(GOLDEN / "newer.jsonl")]) == 1
    assert "newer than this program" in capsys.readouterr().out
    assert main(["diagnose", str(GOLDEN / "newer.jsonl"), "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["records"] == 3


@pytest.mark.parametrize("version", ["0", "1", "-3", "true", "null", '"2"', "1e400", "2.5", "[]", "{}", "9" * 400])
def test_a_version_that_is_none_is_no_news(tmp_path: Path, version: str) -> None:
    (tmp_path / "run.jsonl").write_text(f'{{"tuimon": {version}}}\n{{"step": 1, "loss": 2}}\n')
    source = open_source(tmp_path / "run.jsonl")
    assert column(read_all(source), "loss") == [(1, 2.0)]
    assert source.describe().startswith("tuimon log, 1 record")
