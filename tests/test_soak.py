"""A day and more of training in a few minutes: a real file, the follower, the screen, a clock that runs ahead."""

from __future__ import annotations

import asyncio
import gc
import json
import math
import os
import random
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import psutil
import pytest

from tests.samples import grow
from tuimon.app.following import Place
from tuimon.app.monitor_app import MonitorApp, Options
from tuimon.record import plain
from tuimon.sources import Source, open_source
from tuimon.sources.runs import Run

ROOT = Path(__file__).parents[1]
PIECE = 200
"""Lines that come at once: ten seconds of a training at 20 steps a second."""

KEYS = tuple("plus minus 0 left right home end tab y s n e E escape space space".split())


class Training:
    """A run that goes on for days: it learns, has bursts of NaN, resumes from checkpoints, and its log is rotated.

    Attributes:
        written: records so far.
        time: Unix time of the next record.
    """

    def __init__(self, log: Path) -> None:
        self.log, self.written, self.time = log, 0, 1.7e9
        self._chance = random.Random(1)
        self._step = 0
        self._put({"tuimon": 1, "run": "soak", "meta": {"num_classes": 10}})

    def _put(self, *rows: Mapping[str, object]) -> None:
        grow(self.log, "".join(json.dumps(row) + "\n" for row in rows).encode())

    def piece(self, number: int) -> None:
        """Writes the next PIECE records, with an accident now and then."""
        chance = self._chance
        if number % 40 == 39:
            self._step = max(0, self._step - 300)
            self._put({"tuimon": 1, "run": "soak"})
        if number % 90 == 89:
            os.replace(self.log, self.log.with_suffix(".old"))
            self._put({"tuimon": 1, "run": "soak"})
        if number % 70 == 69:
            self.time += 3600.0
        burst = number % 25 == 24
        rows = []
        for i in range(PIECE):
            self._step += 1
            self.time += 0.05
            loss = 0.4 + 2.0 * math.exp(-self._step / 5000) + chance.gauss(0, 0.03)
            row: dict[str, object] = {"step": self._step, "time": round(self.time, 3), "lr": 3e-4}
            row["loss"] = plain(math.nan if burst and i < 20 else loss)
            row["grad_norm"] = abs(chance.gauss(1, 0.1))
            if self._step % 50 == 0:
                row["val_loss"] = loss + 0.1
            rows.append(row)
        self._put(*rows)
        self.written += PIECE


async def day(log: Path, pieces: int) -> dict[str, object]:
    """Watches a training, presses keys, and takes the measure of this process at 10 % and at the end."""
    training = Training(log)

    def opened(_: Run | None, roles: Mapping[str, str]) -> Source:
        return open_source(log, roles=roles)

    app = MonitorApp(Options(fps=60), Place(str(log), opened), clock=lambda: training.time + 1)
    chance = random.Random(2)
    measures = []
    keys = 0
    async with app.run_test(size=(120, 40)) as pilot:
        for number in range(pieces):
            training.piece(number)
            while app.known().records < training.written:  # noqa: ASYNC110 - the app must turn
                await asyncio.sleep(0.005)
            if number % 5 == 0:
                keys += 1
                await pilot.press(chance.choice(KEYS))
            if number in (pieces // 10, pieces // 2, pieces - 1):
                gc.collect()
                measures.append((psutil.Process().memory_info().rss, len(gc.get_objects()), training.written))
        # The log changes hands by other names: nothing was lost and nothing came twice.
        records, rewinds = app.known().records, len(app.known().rewinds)
    return {"measures": measures, "records": records, "written": training.written, "rewinds": rewinds, "keys": keys}


def soak(tmp_path: Path, pieces: int) -> dict[str, object]:
    code = (
        "import asyncio, json; from pathlib import Path; from tests.test_soak import day; "
        f"print(json.dumps(asyncio.run(day(Path({str(tmp_path / 'run.jsonl')!r}), {pieces}))))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1])  # type: ignore[no-any-return]


def judge(found: dict[str, object]) -> None:
    (early, objects, some), _, (late, more, all_) = found["measures"]  # type: ignore[misc]
    assert found["records"] == found["written"]
    # What is kept of a record: step and value of four metrics, half as much again for what is drawn from.
    kept = (all_ - some) * 4 * 16 * 1.5
    assert late - early < kept + (16 << 20), found
    # The screen, the findings and the queues hold no more than in the beginning.
    assert more - objects < 20_000, found


def test_an_hour_in_seconds_loses_no_record(tmp_path: Path) -> None:
    found = soak(tmp_path, 100)
    assert found["records"] == found["written"] == 100 * PIECE


@pytest.mark.long
def test_a_day_and_more_loses_no_record_and_memory_stays_flat(tmp_path: Path) -> None:
    found = soak(tmp_path, 2500)
    print(found)
    judge(found)
