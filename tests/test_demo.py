"""Every synthetic run is what the demo's table says it is, and the Monitor says so too."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tuimon import demo
from tuimon.catalogue import BY_SIGNATURE
from tuimon.monitor import Monitor, Snapshot
from tuimon.sources.opening import open_source

NAMES = tuple(demo.RUNS)
FAILING = tuple(name for name, run in demo.RUNS.items() if run.signature)
HEALTHY = tuple(name for name, run in demo.RUNS.items() if not run.signature)


@cache
def watched(name: str, folder: Path) -> Snapshot:
    """What the Monitor knows after the whole file of a run."""
    run = demo.RUNS[name]
    path = folder / f"{name}.jsonl"
    demo.write(run, path)
    source, monitor = open_source(str(path)), Monitor()
    while True:
        batch = source.read()
        monitor.feed(batch)
        if not batch.more:
            break
    source.close()
    if run.silent and monitor.snapshot.last_time is not None:
        monitor.look_at(monitor.snapshot.last_time + 3600.0)
    return monitor.snapshot


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("demo")


def test_there_is_a_run_for_every_row_and_healthy_ones_that_look_bad() -> None:
    rows = set(BY_SIGNATURE) - {"healthy"}
    assert {run.signature for run in demo.RUNS.values()} - {""} == rows
    assert len(HEALTHY) >= 9


@pytest.mark.parametrize("name", NAMES)
def test_every_line_is_strict_json_and_no_record_is_lost(name: str, folder: Path) -> None:
    def refuse(token: str) -> Any:
        raise AssertionError(f"bare {token}")

    path = folder / f"{name}.lines"
    count = demo.write(demo.RUNS[name], path)
    lines = [json.loads(line, parse_constant=refuse) for line in path.read_text().splitlines()]
    assert "tuimon" in lines[0]
    assert sum("step" in line for line in lines) == count


@pytest.mark.parametrize("name", NAMES)
def test_a_seed_gives_the_same_run_and_another_seed_another(name: str, folder: Path) -> None:
    first, second = folder / f"{name}.1", folder / f"{name}.2"
    demo.write(demo.RUNS[name], first, seed=3)
    demo.write(demo.RUNS[name], second, seed=3)
    assert first.read_bytes() == second.read_bytes()
    if name != "nan-first-step":
        assert [row["loss"] for row in demo.records(demo.RUNS[name], 4)] != [
            row["loss"] for row in demo.records(demo.RUNS[name], 3)
        ]


@pytest.mark.parametrize("name", NAMES)
def test_what_goes_wrong_comes_within_fifteen_seconds_of_the_start_of_the_screen(name: str) -> None:
    run = demo.RUNS[name]
    assert run.calm < len(demo.records(run))
    if run.onset is not None:
        assert (run.onset - run.calm) * demo.SECONDS_PER_STEP <= 15.0


@pytest.mark.parametrize("name", FAILING)
def test_the_row_lights_at_the_step_the_table_states(name: str, folder: Path) -> None:
    run = demo.RUNS[name]
    snapshot = watched(name, folder)
    found = [finding for finding in snapshot.findings if finding.signature == run.signature]
    assert found, f"lit instead: {[(f.signature, f.onset_step) for f in snapshot.findings]}"
    if run.onset is not None:
        assert abs(found[0].onset_step - run.onset) <= run.tolerance, found[0]
        assert found[0].detected_step >= found[0].onset_step


@pytest.mark.parametrize("name", FAILING)
def test_one_cause_lights_no_other_failure(name: str, folder: Path) -> None:
    snapshot = watched(name, folder)
    failures = {f.signature for f in snapshot.findings if f.severity == "failure" and f.active}
    assert failures <= {demo.RUNS[name].signature}


@pytest.mark.parametrize("name", HEALTHY)
def test_healthy_runs_light_neither_failure_nor_warning(name: str, folder: Path) -> None:
    snapshot = watched(name, folder)
    assert [f for f in snapshot.findings if f.severity != "note"] == []
    assert snapshot.verdict == "healthy"
