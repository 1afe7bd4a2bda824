"""Several runs in a folder, several losses in a log: the list, the switch, and what is left behind."""

from __future__ import annotations

import argparse
import math
import os
import threading
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import samples
from screens import Screen, batch, learning, texts

from tuimon.app.following import Place
from tuimon.app.messages import Arrived, StatusChanged
from tuimon.app.monitor_app import MonitorApp, Options
from tuimon.app.runs import RunsScreen
from tuimon.commands import watch
from tuimon.follow import Status
from tuimon.monitor import Snapshot
from tuimon.panels.runs import Shelf, runs_lines
from tuimon.sources import SourceError
from tuimon.sources.later import Later
from tuimon.sources.opening import open_run, open_source
from tuimon.sources.runs import Run, find_runs
from tuimon.survey import LARGEST, Listing, Standing, Survey, continues, standing_of

# Processes, threads and terminals of a busy machine: a second look before it counts.
pytestmark = pytest.mark.flaky(reruns=2)

PATIENCE = 20.0
"""Seconds after which a condition that did not come true fails the test."""

NOW = 1.7e9
LOSSES = [
    {"step": i, "train/loss": 2 / i, "train/loss_box": 1 / i, "train/loss_cls": 3 / i, "lr": 0.1} for i in range(1, 60)
]


def folder_of(folder: Path, **contents: bytes) -> Path:
    """Files written one hour after each other, the first one last; the last "_" is the dot of the ending."""
    for age, (name, content) in enumerate(contents.items()):
        path = samples.write(folder, ".".join(name.rsplit("_", 1)), content)
        os.utime(path, (NOW - 3600 * age, NOW - 3600 * age))
    return folder


def grow(path: Path, content: bytes) -> None:
    with path.open("ab") as file:
        file.write(content)


def place_of(path: Path, *arguments: str) -> Place:
    """What `tuimon watch` would open."""
    parser = argparse.ArgumentParser()
    watch.configure(parser)
    args = parser.parse_args([str(path), *arguments])
    return Place(args.file, **watch._open(args, 0))


def run_at(path: Path) -> Run:
    return next(run for run in find_runs(path.parent) if run.path in (str(path), str(path.parent)))


async def until(shown: Screen, condition: Callable[[], Any]) -> None:
    patience = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < patience, shown.text
        await shown.pilot.pause(0.01)
    await shown.settle()


@asynccontextmanager
async def watching(path: Path, *arguments: str, size: tuple[int, int] = (120, 40)) -> AsyncIterator[Screen]:
    """The app on a real file or folder, once it has read something or says what it waits for."""
    place = place_of(path, *arguments)
    app = MonitorApp(Options(name=path.name), place, clock=lambda: NOW + 60)
    async with app.run_test(size=size) as pilot:
        shown = Screen(app, pilot)
        await until(shown, lambda: app.known().records or app.status.state != "reading")
        yield shown


def records(shown: Screen) -> int:
    return shown.app.known().records


# The list.


async def test_the_list_has_every_run_with_step_and_verdict_newest_first(tmp_path: Path) -> None:
    rows = samples.losses(300)
    broken = [{**row, "loss": "NaN", "grad_norm": "NaN"} if i > 200 else row for i, row in enumerate(rows)]
    folder_of(
        tmp_path, a_csv=samples.csv(rows), b_jsonl=samples.jsonl(broken), c_log=b"step 7 loss 2.5\nstep 8 loss 2.4\n"
    )
    async with watching(tmp_path) as shown:
        await until(shown, lambda: records(shown) == 300)
        assert "a.csv" in shown.header
        await shown.press("o")
        await until(shown, lambda: "..." not in shown.text and "c.log" in shown.text)
        listed = [line.split() for line in shown.lines if ".csv" in line or ".jsonl" in line or ".log" in line]
        assert [row[:4] for row in listed] == [
            ["›✓", "a.csv", "CSV", "step"],
            ["✗", "b.jsonl", "JSON", "Lines"],
            ["✓", "c.log", "text", "log"],
        ]
        assert [row[row.index("step") + 1 : row.index("step") + 3] for row in listed] == [
            ["300", "HEALTHY"],
            ["300", "NaN"],
            ["8", "HEALTHY"],
        ]
        assert [" ".join(row[-2:]) for row in listed] == ["HEALTHY shown", "61 min", "2 h"]
        assert "loss <- loss, grad_norm <- grad_norm, lr <- lr" in shown.text


async def test_enter_watches_the_chosen_run_from_its_start_and_follows_it(tmp_path: Path) -> None:
    folder_of(tmp_path, new_csv=samples.csv(samples.losses(40)), old_jsonl=samples.jsonl(samples.losses(90)))
    async with watching(tmp_path) as shown:
        await shown.press("plus", "left", "o")
        await until(shown, lambda: "old.jsonl" in shown.text)
        await shown.press("j", "enter")
        await until(shown, lambda: records(shown) == 90)
        assert not isinstance(shown.app.screen, RunsScreen)
        assert "old.jsonl" in shown.header
        assert "step 90" in shown.header
        assert shown.app.scene.window == (1, 90)
        grow(tmp_path / "new.csv", b"41,2.0,1.0,0.1\n")
        grow(tmp_path / "old.jsonl", samples.jsonl(samples.losses(5, first=91)))
        await until(shown, lambda: records(shown) == 95)
        assert shown.app.known().last_step == 95


async def test_q_and_enter_on_the_present_run_change_nothing(tmp_path: Path) -> None:
    folder_of(tmp_path, a_csv=samples.csv(samples.losses(9)), b_csv=samples.csv(samples.losses(7)))
    async with watching(tmp_path) as shown:
        generation = shown.app.generation
        await shown.press("o", "enter", "o", "j", "q", "o", "escape")
        assert not isinstance(shown.app.screen, RunsScreen)
        assert shown.app.generation == generation


async def test_a_double_click_watches_a_run(tmp_path: Path) -> None:
    folder_of(tmp_path, a_csv=samples.csv(samples.losses(9)), b_csv=samples.csv(samples.losses(7)))
    async with watching(tmp_path) as shown:
        await shown.press("o")
        await until(shown, lambda: "b.csv" in shown.text)
        await shown.click(5, next(y for y, line in enumerate(shown.lines) if "b.csv" in line), times=2)
        await until(shown, lambda: records(shown) == 7)


async def test_the_list_survives_every_size(tmp_path: Path) -> None:
    folder_of(tmp_path, a_csv=samples.csv(samples.losses(9)), b_csv=samples.csv(samples.losses(7)))
    async with watching(tmp_path) as shown:
        await shown.press("o")
        await until(shown, lambda: "b.csv" in shown.text)
        for size in ((1, 1), (2, 60), (200, 2), (17, 5), (40, 10), (120, 40)):
            await shown.resize(*size)
            assert [len(line) for line in shown.lines] == [size[0]] * size[1]
        await shown.click(5, 20)
        assert shown.lines[2].startswith("›✓ a.csv"), "a click below the list chooses nothing"


async def test_a_single_file_lists_its_neighbours_when_asked(tmp_path: Path) -> None:
    folder_of(tmp_path, a_csv=samples.csv(samples.losses(9)), b_csv=samples.csv(samples.losses(7)))
    async with watching(tmp_path / "b.csv") as shown:
        assert not shown.app.listing.runs
        await shown.press("o")
        await until(shown, lambda: "a.csv" in shown.text)
        await shown.press("k", "enter")
        await until(shown, lambda: records(shown) == 9)


# What is left behind.


async def test_what_an_earlier_input_had_posted_is_not_fed_to_the_new_run(tmp_path: Path) -> None:
    folder_of(tmp_path, a_csv=samples.csv(samples.losses(9)), b_csv=samples.csv(samples.losses(7)))
    async with watching(tmp_path) as shown:
        earlier = shown.app.generation
        shown.app.turn_to(run_at(tmp_path / "b.csv"))
        shown.app.post_message(Arrived(batch(learning(50)), earlier))
        await until(shown, lambda: (records(shown), shown.app.status.state) == (7, "live"))
        shown.app.post_message(StatusChanged(Status("trouble", "of yesterday"), earlier))
        await shown.settle()
        assert records(shown) == 7
        assert "of yesterday" not in shown.text


def threads() -> int:
    return sum(thread.name in ("tuimon-follower", "tuimon-survey") for thread in threading.enumerate())


def descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="counts descriptors in /proc")
async def test_switching_to_and_fro_leaks_neither_threads_nor_descriptors(tmp_path: Path) -> None:
    folder_of(
        tmp_path,
        a_csv=samples.csv(samples.losses(9)),
        b_jsonl=samples.jsonl(samples.losses(7)),
        **{"d/trainer_state_json": samples.trainer_state(samples.losses(5))},
    )
    async with watching(tmp_path) as shown:
        await shown.press("o")
        await until(shown, lambda: len(shown.app.listing.standings) == 2)
        await shown.press("q")
        await until(shown, lambda: threads() == 2)
        before = descriptors()
        everything = threading.active_count()
        for _ in range(5):
            for name, count in (("b.jsonl", 7), ("d/trainer_state.json", 5), ("a.csv", 9)):
                shown.app.turn_to(run_at(tmp_path / name))
                await until(shown, lambda count=count: records(shown) == count)  # type: ignore[misc]
        await until(shown, lambda: (threads(), threading.active_count()) == (2, everything))
        await until(shown, lambda: descriptors() <= before)
    assert shown.app._follower is not None
    # The screen does not wait for it, but it ends.
    shown.app._follower._thread.join(PATIENCE)
    assert not shown.app._follower._thread.is_alive()


async def test_a_storm_of_switches_ends_with_the_last_one(tmp_path: Path) -> None:
    folder_of(tmp_path, a_csv=samples.csv(samples.losses(3000)), b_csv=samples.csv(samples.losses(2000)))
    async with watching(tmp_path) as shown:
        for _ in range(10):
            for name in ("b.csv", "a.csv", "b.csv"):
                shown.app.turn_to(run_at(tmp_path / name))
        await until(shown, lambda: shown.app.known().last_step == 2000)
        await until(shown, lambda: threads() == 2)
        assert records(shown) == 2000


# Several losses.


async def test_c_takes_the_next_loss_and_keeps_the_view(tmp_path: Path) -> None:
    path = samples.write(tmp_path, "m.csv", samples.csv(LOSSES))
    async with watching(path) as shown:
        await until(shown, lambda: records(shown) == 59)
        assert "loss <- train/loss, 2 others (c)" in shown.header
        await shown.press("plus", "left", "y")
        view = shown.desk.view
        seen = []
        for _ in range(3):
            generation = shown.app.generation
            await shown.press("c")
            await until(shown, lambda: records(shown) == 59)
            assert shown.app.generation == generation + 1
            seen.append((shown.app.taken.loss, round(shown.app.known().series["loss"].last or math.nan, 4)))
            assert f"loss <- {seen[-1][0]}, 2 others (c)" in shown.header
        assert sorted(seen) == [
            ("train/loss", round(2 / 59, 4)),
            ("train/loss_box", round(1 / 59, 4)),
            ("train/loss_cls", round(3 / 59, 4)),
        ]
        assert seen[-1][0] == "train/loss"
        assert shown.desk.view == view


async def test_what_the_command_line_maps_is_followed_and_kept(tmp_path: Path) -> None:
    rows = [{**row, "other": 5.0} for row in LOSSES]
    path = samples.write(tmp_path, "m.csv", samples.csv(rows))
    async with watching(path, "--map", "loss=train/loss_cls", "--map", "grad_norm=other") as shown:
        await until(shown, lambda: records(shown) == 59)
        assert shown.app.taken.loss == "train/loss_cls"
        await shown.press("c")
        await until(shown, lambda: records(shown) == 59)
        assert shown.app.taken.loss != "train/loss_cls"
        assert shown.app.known().series["grad_norm"].last == 5.0


async def test_the_loss_that_was_chosen_with_c_is_forgotten_in_another_run(tmp_path: Path) -> None:
    folder_of(tmp_path, a_csv=samples.csv(LOSSES), b_csv=samples.csv(LOSSES[:30]))
    async with watching(tmp_path) as shown:
        await until(shown, lambda: records(shown) == 59)
        await shown.press("c")
        await until(shown, lambda: records(shown) == 59)
        assert shown.app.taken.loss != "train/loss"
        shown.app.turn_to(run_at(tmp_path / "b.csv"))
        await until(shown, lambda: records(shown) == 30)
        assert shown.app.taken.loss == "train/loss"


async def test_c_stays_with_the_run_that_came_into_an_empty_folder(tmp_path: Path) -> None:
    async with watching(tmp_path) as shown:
        path = samples.write(tmp_path, "a.csv", samples.csv(LOSSES))
        os.utime(path, (NOW, NOW))
        await until(shown, lambda: records(shown) == 59)
        samples.write(tmp_path, "b.csv", samples.csv(LOSSES[:30]))
        assert shown.app._survey is not None
        shown.app._survey.look(deep=False)
        await until(shown, lambda: len(shown.app.listing.runs) == 2)
        await shown.press("c")
        await until(shown, lambda: records(shown) > 0)
        assert (records(shown), shown.app.taken.path) == (59, str(path))


async def test_a_log_with_one_loss_says_so(tmp_path: Path) -> None:
    async with watching(samples.write(tmp_path, "m.csv", samples.csv(samples.losses(9)))) as shown:
        await shown.press("c")
        assert "no other loss in this log" in shown.header
        assert "loss <-" not in shown.header


async def test_a_log_without_a_loss_says_what_there_is(tmp_path: Path) -> None:
    rows: list[dict[str, object]] = [{"step": i, "acc": 0.5, "f1": 0.25, "auc": 0.5, "map": 0.1} for i in range(9)]
    async with watching(samples.write(tmp_path, "m.jsonl", samples.jsonl(rows)), size=(120, 24)) as shown:
        await until(shown, lambda: records(shown) == 9)
        assert "no loss among acc, f1, auc and 1 more (--map loss=NAME)" in shown.header


async def test_a_pipe_is_not_read_twice(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    writer = os.open(path, os.O_WRONLY)
    try:
        async with watching(path) as shown:
            os.write(writer, samples.csv(LOSSES))
            await until(shown, lambda: records(shown) == 59)
            await shown.press("c")
            assert "a pipe cannot be read again: start with --map loss=NAME" in shown.header
            assert records(shown) == 59
    finally:
        os.close(writer)
        os.close(reader)


# Runs that appear.


async def test_a_run_that_appears_is_hinted_at_until_the_list_was_seen(tmp_path: Path) -> None:
    folder_of(tmp_path, a_jsonl=samples.jsonl(samples.losses(9)))
    async with watching(tmp_path) as shown:
        survey = shown.app._survey
        assert survey is not None
        survey.look(deep=False)
        await until(shown, lambda: len(shown.app.listing.runs) == 1)
        assert "newer run" not in shown.header
        samples.write(tmp_path, "b.csv", samples.csv(samples.losses(7)))
        survey.look(deep=False)
        await until(shown, lambda: "newer run: press o" in shown.header)
        await shown.press("o")
        await until(shown, lambda: "b.csv" in shown.text)
        await shown.press("q")
        assert "newer run" not in shown.header


async def test_a_restart_into_a_second_file_is_followed_and_the_curve_kept(tmp_path: Path) -> None:
    folder_of(tmp_path, **{"slurm-1_jsonl": samples.jsonl(samples.losses(100))})
    async with watching(tmp_path) as shown:
        survey = shown.app._survey
        assert survey is not None
        survey.look(deep=False)
        await until(shown, lambda: shown.app.listing.runs)
        path = samples.write(tmp_path, "slurm-2.jsonl", samples.jsonl(samples.losses(20, first=91)))
        survey.look(deep=False)
        await until(shown, lambda: records(shown) == 120)
        known = shown.app.known()
        assert (known.first_step, known.last_step, known.rewinds) == (1, 110, (91,))
        assert "restarted: going on with slurm-2.jsonl" in shown.header
        grow(path, samples.jsonl(samples.losses(5, first=111)))
        await until(shown, lambda: shown.app.known().last_step == 115)


RUN = Run("/r/version_0/m.csv", "csv", "CSV", 100.0, 10)
SECOND = Run("/r/version_1/m.csv", "csv", "CSV", 200.0, 10)


@pytest.mark.parametrize(
    ("before", "second", "standing", "same"),
    [
        (Snapshot(first_step=1, last_step=500), SECOND, Standing(first_step=451), True),
        (Snapshot(first_step=1, last_step=500), SECOND, Standing(first_step=501), True),
        (Snapshot(first_step=1, last_step=500), SECOND, Standing(first_step=1), False),
        (Snapshot(first_step=1, last_step=500), SECOND, Standing(first_step=9000), False),
        (Snapshot(first_step=1, last_step=500), SECOND, Standing(), False),
        (Snapshot(), SECOND, Standing(first_step=5), False),
        (Snapshot(first_step=1, last_step=500, run="a"), SECOND, Standing(first_step=1, run="a"), True),
        (Snapshot(first_step=1, last_step=500, run="a"), SECOND, Standing(first_step=501, run="b"), False),
        (Snapshot(first_step=1, last_step=500), replace(SECOND, format="text"), Standing(first_step=451), False),
        (Snapshot(first_step=1, last_step=500), replace(SECOND, path="/r/x/m.csv"), Standing(first_step=451), False),
        (Snapshot(first_step=1, last_step=500), replace(SECOND, changed=50.0), Standing(first_step=451), False),
    ],
)
def test_only_a_run_that_goes_on_is_taken_for_a_restart(
    before: Snapshot, second: Run, standing: Standing, same: bool
) -> None:
    assert continues(before, second, standing, RUN) is same


async def test_an_empty_folder_is_waited_in_and_its_first_run_is_shown(tmp_path: Path) -> None:
    async with watching(tmp_path) as shown:
        await until(shown, lambda: "no run in this folder yet, waiting" in shown.header)
        samples.write(tmp_path, "deep/run.csv", samples.csv(samples.losses(6)))
        await until(shown, lambda: records(shown) == 6)
        assert shown.app.taken.path == str(tmp_path / "deep" / "run.csv")
        assert "run.csv" in shown.header


async def test_a_folder_that_is_to_come_is_waited_for(tmp_path: Path) -> None:
    async with watching(tmp_path / "out") as shown:
        await until(shown, lambda: "waiting" in shown.header)
        (tmp_path / "out").mkdir()
        samples.write(tmp_path, "out/run.csv", samples.csv(samples.losses(6)))
        await until(shown, lambda: records(shown) == 6)


def test_a_folder_of_other_things_and_a_file_of_noise_are_refused_in_one_line(tmp_path: Path) -> None:
    samples.write(tmp_path, "notes.txt", b"# A network\n\nIt has a loss.\n")
    noise = samples.write(tmp_path, "model.bin", bytes(range(32)) * 99)
    with pytest.raises(SourceError, match=r"no run in .*: no file there is a log in a known format"):
        place_of(tmp_path)
    with pytest.raises(SourceError, match=r"model\.bin is binary and in no known format"):
        place_of(noise)


# How the others stand.


def opened(run: Run) -> Any:
    return open_run(run)


def test_a_long_run_is_not_read_before_it_is_chosen(tmp_path: Path) -> None:
    path = samples.write(tmp_path, "a.jsonl", samples.jsonl(samples.losses(9)))
    run = find_runs(tmp_path)[0]
    assert standing_of(run, opened).last_step == 9
    assert standing_of(replace(run, size=LARGEST + 1), opened) == Standing(remark="long log")
    path.unlink()
    assert standing_of(run, opened) == Standing(remark="unreadable")


def test_a_log_that_grows_beside_the_shown_one_is_read_only_when_the_list_is_open(tmp_path: Path) -> None:
    folder_of(tmp_path, train_log=b"step 1 loss 2\n" * 9, a1_jsonl=samples.jsonl(samples.losses(9)))
    tries: list[str] = []
    told: list[Listing] = []

    def attempt(run: Run) -> Any:
        tries.append(os.path.basename(run.path))
        return open_run(run)

    survey = Survey(str(tmp_path), told.append, attempt)
    survey.shown = str(tmp_path / "a1.jsonl")
    for _ in range(2):
        grow(tmp_path / "train.log", b"step 2 loss 2\n")
        survey._scan()
        survey._judge()
    assert (tries, told[-1].standings) == ([], {})
    survey._deep = True
    survey._judge()
    assert tries == ["train.log"]
    survey._deep = False
    for _ in range(2):
        samples.write(tmp_path, "a2.jsonl", samples.jsonl(samples.losses(7, first=5)))
        survey._scan()
        survey._judge()
    assert tries == ["train.log", "a2.jsonl"]
    assert told[-1].standings[str(tmp_path / "a2.jsonl")].first_step == 5


def test_a_folder_that_is_one_run_is_opened_as_that_run(tmp_path: Path) -> None:
    samples.write(tmp_path, "events.out.tfevents.1760000000.box", samples.tfevents(samples.losses(4)))
    os.utime(tmp_path / "events.out.tfevents.1760000000.box", (NOW, NOW))
    samples.write(tmp_path, "later/run.csv", samples.csv(samples.losses(9)))
    runs = {run.format: run for run in find_runs(tmp_path)}
    assert open_run(runs["tfevents"]).format == "tfevents"
    assert open_run(runs["csv"]).format == "csv"


def test_what_could_not_be_opened_is_tried_again_only_after_a_change(tmp_path: Path) -> None:
    path = samples.write(tmp_path, "a.log", bytes(range(32)) * 99)
    tries = []

    def attempt() -> Any:
        tries.append(1)
        return open_source(path)

    source = Later(str(path), attempt)
    for _ in range(3):
        with pytest.raises(SourceError, match="binary"):
            source.read()
    assert len(tries) == 1
    path.write_bytes(samples.jsonl(samples.losses(3)))
    assert len(source.read()) == 3
    assert (source.format, source.roles["loss"], len(tries)) == ("jsonl", "loss", 2)
    source.close()


# The picture.


def shelf_of(*names: str, **rest: Any) -> Shelf:
    runs = tuple(Run(f"/r/{name}", "csv", "CSV", NOW - 60, 10) for name in names)
    return Shelf(Listing("/r", runs), shown=f"/r/{names[0]}" if names else "", now=NOW, **rest)


def test_what_is_not_known_yet_is_three_dots() -> None:
    text = texts(runs_lines(shelf_of("a.csv", "b.csv"), "/r/a.csv", 80, 24, False))
    assert text.count("...") == 2


@pytest.mark.parametrize("width", [20, 40, 65, 66, 80, 200])
def test_no_line_of_the_list_is_cut(width: int) -> None:
    shelf = shelf_of(*(f"lightning_logs/version_{number}/metrics.csv" for number in range(40)))
    lines = runs_lines(shelf, shelf.paths[3], width, 20, False)
    assert all(sum(len(span.text) for span in line) <= max(width, 24) for line in lines[2:])


@pytest.mark.parametrize("width", [20, 40, 65, 66, 80, 200])
def test_the_chosen_run_is_always_in_the_window(width: int) -> None:
    names = [f"a-rather-long-name-of-a-folder/{i}/metrics-{i:03}.csv" for i in range(100)]
    shelf = shelf_of(*names, described="CSV; loss <- train/loss")
    for chosen in (0, 1, 50, 98, 99):
        lines = runs_lines(shelf, shelf.paths[chosen], width, 20, False)
        assert len(lines) == 20
        marked = [text for text in texts(lines).splitlines() if text.startswith("›")]
        assert len(marked) == 1
        assert width < 60 or f"metrics-{chosen:03}.csv" in marked[0]


def test_names_of_files_are_only_ever_text() -> None:
    vicious = "\x1b]0;owned\x07\x1b[31mred\x9b2J[b]x[/b].csv"
    text = texts(runs_lines(shelf_of(vicious), f"/r/{vicious}", 100, 24, True))
    assert text.replace("\n", "").isprintable()
    assert "red[b]x[/b].csv" in text


def test_an_input_without_a_folder_says_so() -> None:
    assert "lies in no folder" in texts(runs_lines(Shelf(note="this input lies in no folder"), "", 80, 24, False))
