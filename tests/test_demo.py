"""Every synthetic run is what the demo's table says it is, and the Monitor says so too."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import threading
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from tuimon import demo
from tuimon.catalogue import BY_SIGNATURE
from tuimon.cli import main
from tuimon.commands import demo as command
from tuimon.commands.demo import SHORT_LIST
from tuimon.demo.script import Player
from tuimon.monitor import Monitor, Snapshot
from tuimon.sources.opening import open_source

NAMES = tuple(demo.RUNS)
FAILING = tuple(name for name, run in demo.RUNS.items() if run.signature)
HEALTHY = tuple(name for name, run in demo.RUNS.items() if not run.signature)


@cache
def watched(name: str, folder: Path) -> Snapshot:
    """What the Monitor knows after the whole file of a run."""
    path = folder / f"{name}.jsonl"
    demo.write(demo.RUNS[name], path)
    return read_by_monitor(path, demo.RUNS[name])


def read_by_monitor(path: Path, run: demo.DemoRun) -> Snapshot:
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
    assert sum("step" in line and "note" not in line for line in lines) == count
    assert (lines[-1].get("note") == "end") is not demo.RUNS[name].silent


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


@pytest.mark.parametrize("name", FAILING)
def test_the_row_lights_within_fifteen_seconds_of_the_start_of_the_screen(name: str, folder: Path) -> None:
    run = demo.RUNS[name]
    path = folder / f"{name}.live"
    demo.write(run, path)
    shown = 1 + run.calm + round(15.0 / demo.SECONDS_PER_STEP)
    path.write_text("".join(path.read_text().splitlines(keepends=True)[:shown]))
    assert run.signature in {finding.signature for finding in read_by_monitor(path, run).findings}


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


# The command


def test_what_is_written_carries_even_times(tmp_path: Path) -> None:
    demo.write(demo.RUNS["healthy-rl-critic"], tmp_path / "run.jsonl")
    times = [json.loads(line)["time"] for line in (tmp_path / "run.jsonl").read_text().splitlines()[1:]]
    assert {round(b - a, 3) for a, b in pairwise(times)} == {demo.SECONDS_PER_STEP}


def test_the_calm_part_stands_in_the_file_before_the_rest_is_played(tmp_path: Path) -> None:
    run = demo.RUNS["resumed"]
    player = Player(run, tmp_path / "run.jsonl", speed=1000.0)
    before = (tmp_path / "run.jsonl").read_text().splitlines()
    assert len(before) == 1 + run.calm
    times = [json.loads(line)["time"] for line in before[1:]]
    assert times == sorted(times)
    player.play()
    lines = [json.loads(line) for line in (tmp_path / "run.jsonl").read_text().splitlines()]
    assert [line["step"] for line in lines if "loss" in line] == [int(row["step"]) for row in demo.records(run)]
    assert [i for i, line in enumerate(lines) if "note" in line] == [len(lines) - 1], "a crash has no last words"
    assert sum("tuimon" in line for line in lines) == 2, "the resumed process writes a header of its own"


def test_a_player_that_is_stopped_writes_no_more(tmp_path: Path) -> None:
    player = Player(demo.RUNS["healthy"], tmp_path / "run.jsonl", speed=0.01)
    player.stop()
    player.play()
    assert len((tmp_path / "run.jsonl").read_text().splitlines()) == 1 + demo.RUNS["healthy"].calm


def test_the_list_names_every_run_and_the_short_list_only_such(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo", "--list"]) == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == list(demo.RUNS)
    assert set(SHORT_LIST) <= set(demo.RUNS)


def test_an_unknown_name_is_told_with_the_nearest(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo", "nan-foward\x1b[31m"]) == 2
    said = capsys.readouterr().err
    assert "nan-forward?" in said
    assert "\x1b" not in said


def test_write_makes_a_file_and_never_adds_to_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "run.jsonl"
    assert main(["demo", "loss-spike", "--write", str(path)]) == 0
    size = path.stat().st_size
    assert main(["demo", "loss-spike", "--write", str(path)]) == 2
    assert main(["demo", "loss-spike", "--write", str(tmp_path / "no" / "run.jsonl")]) == 2
    assert path.stat().st_size == size
    assert "file exists" in capsys.readouterr().err


def test_without_a_terminal_it_prints_what_diagnose_says(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo"]) == 0
    assert "nan-forward since step 612" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("answer", "name"), [("2\n", SHORT_LIST[1]), ("\n", SHORT_LIST[0]), ("healthy\n", "healthy"), ("q\n", None)]
)
def test_the_short_list_takes_a_number_a_name_or_nothing(
    answer: str, name: str | None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "answer").write_text(answer)
    with open(tmp_path / "answer", encoding="utf-8") as typed:
        monkeypatch.setattr("sys.stdin", typed)
        assert command._choose(demo.RUNS) == name


def test_the_screen_watches_a_real_file_that_is_gone_afterwards(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[argparse.Namespace] = []

    def run(args: argparse.Namespace) -> int:
        seen.append(args)
        assert len(Path(args.file).read_text().splitlines()) > demo.RUNS["lr-too-high"].calm
        raise KeyboardInterrupt

    monkeypatch.setattr("tuimon.commands.watch.run", run)
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    assert main(["demo", "lr-too-high", "--ascii"]) == 130
    assert seen[0].ascii and not seen[0].light and seen[0].format is None
    assert not Path(seen[0].file).parent.exists()
    assert "tuimon-demo" not in {thread.name for thread in threading.enumerate()}


def test_once_prints_one_picture_of_the_whole_run(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo", "nan-forward", "--once"]) == 0
    assert "612" in capsys.readouterr().out


@pytest.mark.long
@pytest.mark.parametrize("name", NAMES)
def test_twenty_other_seeds_say_the_same(name: str, tmp_path: Path) -> None:
    run = demo.RUNS[name]
    astray = []
    for seed in range(1, 21):
        path = tmp_path / f"{seed}.jsonl"
        demo.write(run, path, seed)
        findings = read_by_monitor(path, run).findings
        loud = {f.signature for f in findings if f.severity != "note"}
        onsets = [f.onset_step for f in findings if f.signature == run.signature]
        near = run.onset is None or any(abs(onset - run.onset) <= run.tolerance for onset in onsets)
        if (run.signature and not (onsets and near)) or (not run.signature and loud):
            astray.append((seed, loud, onsets))
    assert astray == []


@pytest.mark.parametrize("script", ["demo/digits.py", "demo/fail.py"])
def test_a_real_training_without_torch_says_how_to_install_it(script: str) -> None:
    root = Path(__file__).parents[1]
    without = (
        "import runpy, sys; sys.modules['torch'] = None; sys.path.insert(0, '.'); "
        f"sys.argv = [{script!r}, '--help']; runpy.run_path({script!r}, run_name='__main__')"
    )
    done = subprocess.run([sys.executable, "-c", without], cwd=root, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "needs torch" in done.stderr
    assert "pip install" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_real_training_is_diagnosed_and_what_is_missing_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("torch")
    monkeypatch.chdir(Path(__file__).parents[1])
    assert main(["demo", "--real", "zero-by-zero"]) == 0
    told = capsys.readouterr().out
    assert "nan-forward" in told
    assert "step 150" in told
    assert main(["demo", "--real", "no-such-cause"]) == 2
    assert "no-such-cause" in capsys.readouterr().err
    assert main(["demo", "--real"]) == 2
    assert "--list" in capsys.readouterr().err
    monkeypatch.chdir(tmp_path)
    assert main(["demo", "--real", "zero-by-zero"]) == 2
    assert "checkout" in capsys.readouterr().err
