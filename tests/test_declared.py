"""Headers and notes are kept as long as a run is watched: bounded, whatever somebody writes there."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.samples import read_all, write
from tuimon.record import Mark
from tuimon.sources import open_source
from tuimon.sources.declared import MOST_FIELDS, MOST_KEYS, TEXT, Declared, note

WIDE = {f"name {i}": i for i in range(40_000)}
LONG = "x" * 900_000


def marks(folder: Path, *lines: dict[str, object]) -> list[Mark]:
    content = b"".join(json.dumps(line).encode() + b"\n" for line in ({"tuimon": 1}, {"step": 1, "loss": 2}, *lines))
    source = open_source(write(folder, "run.jsonl", content))
    return [mark for batch in read_all(source) for mark in batch.marks][1:]


def test_an_honest_header_and_an_honest_note_stay_as_they_are(tmp_path: Path) -> None:
    header = {
        "tuimon": 1, "run": "a", "started": "2025-11-30",
        "meta": {"num_classes": 20_000, "class_counts": list(range(20_000)), "lr": None, "deep": {"a": [1]}},
    }  # fmt: skip
    told = {"step": 3, "note": "nan_origin", "module": "blocks.3", "shape": [1, 2], "time": 1.7e9}
    found = marks(tmp_path, header, told)
    assert [dict(mark.fields) for mark in found] == [header, told]


HUGE = 10**400


@pytest.mark.parametrize("name", ["num_classes", "clip_norm", "total_steps", "batch_size", "max_steps"])
def test_a_number_that_no_float_can_hold_is_not_declared(tmp_path: Path, name: str) -> None:
    (mark,) = marks(tmp_path, {"tuimon": 1, "meta": {name: HUGE, "lr": 0.1}})
    assert mark.fields["meta"] == {"lr": 0.1}


@pytest.mark.parametrize("counts", [[1e308, 1e308], [HUGE, 1], {"cat": HUGE}])
def test_counts_without_a_sum_are_not_declared(tmp_path: Path, counts: object) -> None:
    (mark,) = marks(tmp_path, {"tuimon": 1, "meta": {"class_counts": counts, "names": ["a", "b"]}})
    assert mark.fields["meta"] == {"names": ["a", "b"]}


def test_a_step_that_no_float_can_hold_is_left_out_of_a_note() -> None:
    assert note({"step": HUGE, "note": "told"}) == {"note": "told"}


def test_a_note_of_any_size_is_cut_and_keeps_its_name_and_step() -> None:
    kept = note({**WIDE, "text": LONG, "list": [LONG], "x" * 500: 1, "step": 3, "note": "told", "time": 1.5})
    assert (kept["step"], kept["note"], kept["time"]) == (3, "told", 1.5)
    assert len(kept) == MOST_FIELDS
    kept = note({"step": 3, "note": "a" * 5000, "text": LONG, "list": [LONG], "x" * 500: 1})
    assert {name: len(value) for name, value in kept.items() if isinstance(value, str)} == {"note": TEXT, "text": TEXT}
    assert kept.keys() == {"step", "note", "text"}


def test_names_that_were_declared_first_stay_and_may_change_their_values() -> None:
    declared = Declared()
    first = declared.header({"tuimon": 1, "run": LONG, "other": LONG, "meta": {"lr": 1, **WIDE, "long": LONG}})
    assert len(first["run"]) == TEXT  # type: ignore[arg-type]
    assert "other" not in first
    assert len(first["meta"]) == MOST_KEYS  # type: ignore[arg-type]
    assert declared.header({"tuimon": 1, "meta": {"lr": 2, "new": 3}})["meta"] == {"lr": 2}
    assert declared.header({"tuimon": 1, "meta": [1, 2]}) == {"tuimon": 1}


FILLING: dict[str, Callable[[int], dict[str, object]]] = {
    "notes": lambda i: {"step": 2, "note": f"a{i}", **{f"f{i}_{k}": k for k in range(40_000)}},
    "headers": lambda i: {"tuimon": 1, "meta": {f"f{i}_{k}": k for k in range(40_000)}},
    "names": lambda i: {"step": i + 2, "loss": 1.0, f"{LONG}{i}": 1.0},
}


@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="asks the kernel for the memory of a process")
@pytest.mark.parametrize("kind", ["headers", "names", pytest.param("notes", marks=pytest.mark.long)])
def test_memory_does_not_grow_with_what_is_declared(tmp_path: Path, kind: str) -> None:
    log = tmp_path / "run.jsonl"
    with log.open("w") as file:
        file.write('{"tuimon": 1}\n{"step": 1, "loss": 2.0}\n')
        file.writelines(json.dumps(FILLING[kind](i)) + "\n" for i in range(100 if kind == "names" else 30))
    code = (
        "import sys; from tuimon.cli import main; main(['diagnose', sys.argv[1]]); "
        "print(next(line for line in open('/proc/self/status') if 'VmHWM' in line))"
    )
    done = subprocess.run([sys.executable, "-c", code, str(log)], capture_output=True, text=True, check=True)
    kilobytes = int(done.stdout.split("VmHWM:")[1].split()[0])
    # Measured 28 MB, and more than 150 MB when everything was kept.
    assert kilobytes < 80_000
