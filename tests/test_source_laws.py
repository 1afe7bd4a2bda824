"""Laws that hold for every structured source: splits do not matter, and no damage leads to more than a message."""

from __future__ import annotations

import itertools
import random
import resource
from collections.abc import Callable
from pathlib import Path

import pytest
import samples
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tuimon.sources import Source, SourceError, open_source
from tuimon.sources.sniff import Head, make, read_head, sniff
from tuimon.sources.tail import Tail

ROWS: list[dict[str, object]] = [
    *samples.losses(12),
    {"step": 13, "loss": float("nan"), "grad_norm": float("inf"), "lr": 3e-4},
    {"step": 14, "val_loss": 2.25},
    {"step": 9, "loss": 1.5, "acc": 0.5},
    *samples.losses(6, first=10),
]
NAMED = [{("train/" + name if name != "step" else name): value for name, value in row.items()} for row in ROWS]
EPOCHS = [{"epoch": 0.1 * (i % 9), "loss": 2.0 - 0.01 * i} for i in range(20)]

ODD = (
    b'{"step": 1, "loss": 2}\n{"step": 2,\n "loss": 2}\n{"step": 3, "loss": 2}{"step": 4, "loss": 2}\n'
    b'{"step": 5, "loss": 2}\n\n{"step": 6, "loss": 2} {"step": 7, "loss": NaN}\n{"step": 8, "l{"step": 9, "loss": 1}\n'
    b'{"step": 10, "loss": 2,}\n  {"step": 11, "loss": 2}\n{"step": 12, "loss": 2}  \n{"step": 13, "note": "a"}\n'
) * 3
"""Lines as accidents leave them: wrapped, glued, torn."""

FORMATS: dict[str, tuple[str, bytes]] = {
    "jsonl": ("log.jsonl", samples.jsonl(ROWS)),
    "jsonl of one's own": ("run.jsonl", b'{"tuimon": 1, "run": "a", "meta": {}}\n' + samples.jsonl(ROWS)),
    "jsonl named otherwise": ("metrics.json", samples.jsonl(NAMED)),
    "jsonl in epochs": ("e.jsonl", samples.jsonl(EPOCHS)),
    "jsonl with accidents": ("odd.jsonl", ODD),
    "csv": ("metrics.csv", samples.csv(ROWS)),
    "csv with semicolons": ("log.csv", samples.csv(EPOCHS, ";", "\r\n")),
    "tfevents": ("events.out.tfevents.1760000000.box", samples.tfevents(ROWS)),
    "wandb": ("run-abc.wandb", samples.wandb_rows(ROWS)),
    "json": ("trainer_state.json", samples.trainer_state(ROWS)),
}
GROWING = [name for name in FORMATS if name != "json"]


def test_the_samples_hold_what_they_should(tmp_path: Path) -> None:
    for name, content in FORMATS.values():
        source = open_source(samples.write(tmp_path, name, content))
        batches = samples.read_all(source)
        source.close()
        assert len(samples.column(batches, "loss")) >= 19, name
        assert not sum(batch.bad_count for batch in batches) or name == "odd.jsonl", name


def _opened_empty(path: Path) -> Source:
    """The source of the file's format, made while the file is empty."""
    entry = sniff(read_head(path))
    path_before = path.read_bytes()
    path.write_bytes(b"")
    source = make(entry, Tail(path), Head(path.name, b""), None, None)
    path.write_bytes(path_before)
    return source


@pytest.mark.parametrize("kind", GROWING)
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(cuts=st.lists(st.integers(0, 3000), max_size=6), limit=st.integers(1, 400), opened=st.booleans())
def test_any_split_of_the_bytes_gives_the_same_records(
    tmp_path_factory: pytest.TempPathFactory, kind: str, cuts: list[int], limit: int, opened: bool
) -> None:
    name, content = FORMATS[kind]
    folder = tmp_path_factory.mktemp("split")
    path = samples.write(folder, name, content)
    # The roles come from what is there when the file is opened: all of it, or nothing.
    whole, piecewise = (open_source(path), open_source(path)) if opened else (_opened_empty(path), _opened_empty(path))
    path.write_bytes(content)
    expected = samples.records(samples.read_all(whole))
    path.write_bytes(b"")
    batches = []
    for low, high in itertools.pairwise([0, *sorted(min(cut, len(content)) for cut in cuts), len(content)]):
        samples.grow(path, content[low:high])
        batches += samples.read_all(piecewise, limit, finish=False)
    batches.append(piecewise.finish())
    whole.close()
    piecewise.close()
    assert samples.records(batches) == expected


def mutate(content: bytes, chance: random.Random) -> bytes:
    """One to four accidents: cut, splice, flip, duplicate, insert."""
    text = bytearray(content)
    for _ in range(chance.randint(1, 4)):
        if not text:
            break
        a, b = sorted(chance.randrange(len(text) + 1) for _ in range(2))
        kind = chance.randrange(5)
        if kind == 0:
            del text[a:b]
        elif kind == 1:
            text[a:a] = text[b : b + 50]
        elif kind == 2:
            text[min(a, len(text) - 1)] ^= 1 << chance.randrange(8)
        elif kind == 3:
            text[b:b] = text[a : min(b, a + 200)]
        else:
            text[a:a] = chance.choice(
                [b"\0", b"\xff\xfe", b"NaN", b"{", b'"', b"\n", b"\r", b"1e999", b"\x1b[2J", b","]
            )
    return bytes(text)


def survive(path: Path, content: bytes, key: str) -> None:
    """Reads a damaged file both ways: as what it was, and as what it looks like."""
    path.write_bytes(content)
    for forced in (key, None):
        said, batches = "", []
        try:
            source = open_source(path, format=forced)
            batches = samples.read_all(source, 4096)
            said = source.describe()
            source.close()
        except SourceError as error:
            said = str(error)
        assert said.isprintable()
        for batch in batches:
            assert all(len(column) == len(batch) for column in batch.columns.values())
            assert all(type(step) is int for step in batch.steps)
            assert all(name.isprintable() for name in batch.columns)
            assert all(line.reason.isprintable() for line in batch.bad_lines)


def fuzz(folder: Path, kind: str, count: int, seed: int) -> None:
    name, content = FORMATS[kind]
    key = open_source(samples.write(folder, name, content)).format
    chance = random.Random(seed)
    for _ in range(count):
        survive(folder / name, mutate(content, chance), key)


@pytest.mark.parametrize("kind", list(FORMATS))
def test_damage_leads_to_a_message_at_most(tmp_path: Path, kind: str) -> None:
    fuzz(tmp_path, kind, 150, 7)


@pytest.mark.long
@pytest.mark.parametrize("kind", list(FORMATS))
def test_much_damage_leads_to_a_message_at_most(tmp_path: Path, kind: str) -> None:
    fuzz(tmp_path, kind, 500, 8)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    fuzz(tmp_path, kind, 19_500, 9)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 64 << 10


HOSTILE: dict[str, Callable[[], bytes]] = {
    "deep.jsonl": lambda: b'{"step": 1, "loss": 2}\n{"a": ' + b"[" * 200_000 + b"]" * 200_000 + b"}\n",
    "deep objects.jsonl": lambda: b'{"step": 1, "loss": 2}\n' + b'{"a":' * 200_000 + b"1" + b"}" * 200_000 + b"\n",
    "wide.jsonl": lambda: b'{"step": 1, "loss": 2, ' + b", ".join(b'"m%d": 1' % i for i in range(10_000)) + b"}\n",
    "wide.csv": lambda: (
        b"step,loss," + b",".join(b"m%d" % i for i in range(10_000)) + b"\n1,2" + b",1" * 10_000 + b"\n"
    ),
    "long line.jsonl": lambda: b'{"step": 1, "loss": 2}\n{"a": "' + b"x" * 5_000_000 + b'"}\n',
    "huge numbers.jsonl": lambda: b'{"step": 1, "loss": 2}\n{"step": ' + b"9" * 5000 + b', "loss": 1e99999}\n',
    "repeated keys.jsonl": lambda: b'{"step": 1, "loss": 9, "loss": 2}\n',
}


@pytest.mark.parametrize("name", list(HOSTILE))
def test_absurd_input_is_read_as_far_as_it_makes_sense(tmp_path: Path, name: str) -> None:
    source = open_source(samples.write(tmp_path, name, HOSTILE[name]()))
    batches = samples.read_all(source)
    assert samples.column(batches, "loss")[0] == (1, 2.0)
    assert max(len(batch.columns) for batch in batches) <= 512
    if "wide" in name:
        assert "left out" in source.describe()
    if "deep" in name or "line" in name:
        assert sum(batch.bad_count for batch in batches) == 1
