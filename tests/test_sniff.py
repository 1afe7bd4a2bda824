"""The table of formats."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import samples
from hypothesis import given
from hypothesis import strategies as st

from tuimon.sources import SourceError, open_source
from tuimon.sources.base import LONGEST_LINE
from tuimon.sources.sniff import FORMATS, HEAD, Head, by_key, keys, read_head, sniff

ROWS = samples.losses(4)
TEXT = b"step 1 | loss 2.5000 | lr 3.0e-04\nstep 2 | loss 2.2500 | lr 3.0e-04\n"
DICTS = b"{'loss': 2.5, 'learning_rate': 0.1, 'epoch': 0.1}\n" * 3

EXAMPLES: dict[str, list[tuple[str, bytes]]] = {
    "tfevents": [("events.out.tfevents.1", samples.tfevents(ROWS))],
    "wandb": [("run-1.wandb", samples.wandb_rows(ROWS))],
    "tuimon": [("run.jsonl", b'{"tuimon": 1, "run": "a"}\n'), ("a", b'{"tuimon": 1}\n' + samples.jsonl(ROWS))],
    "json": [
        ("trainer_state.json", samples.trainer_state(ROWS)),
        ("trainer_state.json", samples.trainer_state(ROWS, None)),
        ("history.json", b'{"loss": [2, 1], "val_loss": [3, 2]}'),
        ("list.json", json.dumps(ROWS, indent=2).encode()),
        ("summary.json", b'{\n  "loss": 2.5\n}\n'),
    ],
    "jsonl": [
        ("log.jsonl", samples.jsonl(ROWS)),
        ("log.txt", samples.jsonl(ROWS)),
        ("log.jsonl", b"\xef\xbb\xbf" + samples.jsonl(ROWS)),
        ("log.jsonl", samples.jsonl(ROWS).replace(b"\n", b"\r\n") + b'{"step": 9, "lo'),
        ("log.jsonl", b"starting\n" + samples.jsonl(ROWS)),
        ("log.jsonl", DICTS),
        ("boxes.txt", b'{"train_loss": 2.5, "boxes": [1, 2]}\n{"train_loss": 2.25, "boxes": [2, 3]}\n'),
    ],
    "csv": [
        ("metrics.csv", samples.csv(ROWS)),
        ("anything", samples.csv(ROWS, ";", "\r\n")),
        ("x.tsv", samples.csv(ROWS, "\t")),
        ("metrics.csv", b"step,loss\n"),
        ("loss.csv", b"loss\n2.5\n2.25\n"),
        ("chart.csv", b'"Step","a, b - loss"\n"4","2.5"\n'),
    ],
    "text": [
        ("train.log", TEXT),
        ("train.log", b"Epoch 1, loss: 2.5, acc: 0.5\nEpoch 2, loss: 2.25, acc: 0.6\n"),
        ("out.txt", DICTS),
        ("out.txt", b"\x1b[32mINFO\x1b[0m loss=2.5\r\x1b[K loss=2.4\n"),
        ("out.txt", b"# usage, notes, and more\nprose, with, commas\n"),
        ("readme.md", "Verlust, größer: 2,5\n".encode()),
    ],
}


@pytest.mark.parametrize(("key", "name", "text"), [(key, *example) for key in EXAMPLES for example in EXAMPLES[key]])
def test_a_head_is_told_by_what_is_in_it(key: str, name: str, text: bytes) -> None:
    assert sniff(Head(name, text)).key == key


def test_every_format_of_the_table_has_an_example_and_a_class() -> None:
    assert keys() == [entry.key for entry in FORMATS] and set(keys()) == set(EXAMPLES)
    for entry in FORMATS:
        assert entry.load().__doc__


@pytest.mark.parametrize(
    ("text", "what"),
    [
        (b"\x1f\x8b\x08\0\0", "compressed with gzip: unpack it first"),
        (b"PK\x03\x04\0\0", "a zip archive or a model's weights"),
        (b"\x80\x04\x95", "a Python pickle"),
        ("step,loss\n".encode("utf-16"), "UTF-16 text: convert it"),
        (bytes(range(1, 32)) * 40, "binary and in no known format"),
    ],
)
def test_what_is_no_log_is_named(text: bytes, what: str) -> None:
    with pytest.raises(SourceError, match=what):
        sniff(Head("file", text))


def test_a_message_holds_no_control_characters_of_the_name() -> None:
    with pytest.raises(SourceError) as raised:
        sniff(Head("a\x1b[31m\nb", b"\x1f\x8b"))
    assert str(raised.value).isprintable()


def test_an_unknown_format_is_refused_with_those_there_are() -> None:
    assert by_key("csv").key == "csv"
    with pytest.raises(SourceError, match="no format is called xml; there are tfevents, wandb, tuimon"):
        by_key("xml")


def test_only_the_head_of_a_file_is_read(tmp_path: Path) -> None:
    path = samples.write(tmp_path, "big.log", b"step 1 loss 2\n" * 40_000)
    head = read_head(path)
    assert (head.name, len(head.text)) == ("big.log", HEAD)


@pytest.mark.parametrize("blanks", [HEAD, LONGEST_LINE])
def test_json_lines_behind_a_header_longer_than_the_head_are_json_lines(blanks: int, tmp_path: Path) -> None:
    header = b'{"config": "%s"}\n' % (b"x" * blanks)
    source = open_source(samples.write(tmp_path, "log.jsonl", header + samples.jsonl(ROWS)))
    batch = source.read()
    assert (source.format, list(batch.steps), source.roles["loss"]) == ("jsonl", [1, 2, 3, 4], "loss")
    assert [line.number for line in batch.bad_lines] == ([1] if blanks == LONGEST_LINE else [])


@given(st.binary(max_size=300), st.sampled_from(["a.csv", "a.jsonl", "a.json", "a"]))
def test_any_bytes_are_told_or_refused(text: bytes, name: str) -> None:
    said = ""
    try:
        sniff(Head(name, text))
    except SourceError as error:
        said = str(error)
    assert said.isprintable()
