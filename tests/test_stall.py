"""When a silent run is called stalled."""

from __future__ import annotations

import pytest

from tuimon.monitor import Monitor
from tuimon.record import Batch, Mark


def run(last: int, **meta: object) -> Monitor:
    monitor = Monitor()
    steps = range(last - 200, last + 1)
    rows = [(step, 1e9 + step, {"loss": 1.0 + step % 3}) for step in steps]
    monitor.feed(Batch.from_rows(rows, marks=(Mark(0, "header", {"meta": meta}),)))
    return monitor


def lit(monitor: Monitor, last: int) -> bool:
    return "stalled-run" in monitor.look_at(1e9 + last + 3600).lit


def test_an_hour_of_silence_is_a_stall_where_steps_took_a_second() -> None:
    assert lit(run(500), 500)
    assert not any(f.signature == "stalled-run" for f in run(500).look_at(1e9 + 505).findings)


@pytest.mark.parametrize(("last", "stalled"), [(997, True), (998, True), (999, False), (1000, False)])
def test_a_run_that_reached_its_declared_last_step_has_ended_and_not_stalled(last: int, stalled: bool) -> None:
    assert lit(run(last, total_steps=1000), last) is stalled


@pytest.mark.parametrize("total", ["1000", None, 0, -5, float("nan")])
def test_a_declared_length_that_is_no_length_hides_no_stall(total: object) -> None:
    assert lit(run(2000, total_steps=total), 2000)


@pytest.mark.parametrize(("days", "stalled"), [(3, True), (8, False)])
def test_a_log_of_last_week_is_an_old_one(days: int, stalled: bool) -> None:
    """A weekend's hang is told on Monday; of a log that is older nobody expects a record."""
    assert ("stalled-run" in run(500).look_at(1e9 + 500 + 86_400 * days).lit) is stalled
