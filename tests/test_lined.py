"""The frame of a source that reads lines."""

from __future__ import annotations

from pathlib import Path

import samples

from tuimon.record import BadLine
from tuimon.sources.base import MOST_BAD
from tuimon.sources.lined import LineSource, Parsed
from tuimon.sources.rows import in_columns
from tuimon.sources.tail import Chunk, Tail


class AtLines(LineSource):
    """A format of twenty lines: "@412 train_loss 2.301"."""

    format, title = "at", "@ lines"

    def parse(self, chunk: Chunk) -> Parsed:
        rows: list[dict[str, object]] = []
        bad = []
        for number, line in chunk.lines():
            step, *words = line.split() or [""]
            if step.startswith("@") and len(words) % 2 == 0:
                rows.append({"step": step[1:], **dict(zip(words[::2], words[1::2], strict=True))})
            else:
                bad.append(BadLine(number, "no @step"))
        return Parsed(in_columns(rows), len(rows), bad_lines=bad)


TEXT = b"@1 train_loss 2.5\n@2 train_loss nan norm 1.5\n@2 validation_loss 2.75\n"


def test_a_new_format_gets_roles_steps_and_a_description(tmp_path: Path) -> None:
    source = AtLines(Tail(samples.write(tmp_path, "log", TEXT)), head=TEXT)
    batches = samples.read_all(source)
    assert repr(samples.column(batches, "loss")) == "[(1, 2.5), (2, nan)]"
    assert samples.column(batches, "val_loss") == [(2, 2.75)]
    assert samples.column(batches, "grad_norm") == [(2, 1.5)]
    assert source.describe() == "@ lines, 3 records; loss <- train_loss, val_loss <- validation_loss, grad_norm <- norm"


def test_only_some_bad_lines_are_described_but_all_are_counted(tmp_path: Path) -> None:
    source = AtLines(Tail(samples.write(tmp_path, "log", b"what\n" * 50 + TEXT)))
    batch = source.read()
    assert (len(batch.bad_lines), batch.bad_count, source.bad_count) == (MOST_BAD, 50, 50)
    assert batch.bad_lines[-1] == BadLine(MOST_BAD, "no @step")


def test_after_a_restart_roles_are_chosen_anew(tmp_path: Path) -> None:
    path = samples.write(tmp_path, "log", TEXT)
    source = AtLines(Tail(path), head=TEXT)
    source.read()
    path.write_bytes(b"@1 aux_loss 9\n@1 total_loss 2\n")
    batch = source.read()
    assert [mark.kind for mark in batch.marks] == ["restart"]
    assert source.roles == {"loss": "total_loss"}
    assert samples.column([batch], "loss") == [(1, 2.0)]


def test_the_head_counts_for_nothing_but_names(tmp_path: Path) -> None:
    source = AtLines(Tail(samples.write(tmp_path, "log", TEXT)), head=b"bad\n" + TEXT)
    assert (source.bad_count, source.columns.records) == (0, 0)
    assert len(source.read()) == 3


def test_progress_is_that_of_the_file(tmp_path: Path) -> None:
    source = AtLines(Tail(samples.write(tmp_path, "log", TEXT)))
    batch = source.read(20)
    assert (batch.offset, batch.size, batch.more) == (18, len(TEXT), True)
    assert not source.ended
    source.close()
