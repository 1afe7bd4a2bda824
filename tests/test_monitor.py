"""The fold: what the Monitor says does not depend on how the run was read, and holds for every kind of log."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tuimon.monitor import Monitor, Snapshot
from tuimon.record import Batch, Mark
from tuimon.signatures import course

Row = tuple[int, float | None, dict[str, float | None]]
NAN, INF = math.nan, math.inf


def calm(count: int, seed: int = 0, start: int = 0) -> list[Row]:
    """A run that learns: exponential fall with noise, all four roles, an evaluation every 25 steps."""
    rng = random.Random(seed)
    rows: list[Row] = []
    for step in range(start, start + count):
        loss = 0.4 + 2.0 * math.exp(-step / 150) + rng.gauss(0, 0.05)
        metrics: dict[str, float | None] = {"loss": loss, "grad_norm": math.exp(rng.gauss(0, 0.2)), "lr": 1e-3}
        if step % 25 == 0:
            metrics["val_loss"] = 0.45 + 2.0 * math.exp(-step / 150) + rng.gauss(0, 0.01)
        rows.append((step, 1000.0 + step * 0.5, metrics))
    return rows


def seen(rows: Sequence[Row], marks: Sequence[Mark] = ()) -> Snapshot:
    return Monitor().feed(Batch.from_rows(rows, marks=tuple(marks)))


def lit(snapshot: Snapshot) -> list[tuple[str, str, int]]:
    return [(f.signature, f.severity, f.onset_step) for f in snapshot.findings if f.severity != "note"]


def split_feed(batch: Batch, cuts: Sequence[int]) -> Snapshot:
    if not len(batch):
        return Monitor().feed(batch)
    monitor, edges = Monitor(), sorted({0, *cuts, len(batch)})
    snapshot = monitor.snapshot
    for low, high in zip(edges, edges[1:], strict=False):
        snapshot = monitor.feed(batch.slice(low, high))
    return snapshot


def told(snapshot: Snapshot) -> list[str]:
    """All that a Snapshot says, comparable where NaN is not."""
    said = {name: getattr(snapshot, name) for name in Snapshot.__slots__}
    return [f"{name}={sorted(value.items()) if name == 'series' else value!r}" for name, value in said.items()]


def spiky(seed: int) -> list[Row]:
    """Losses and gradient norms jump for a while, together or one before the other; an evaluation in every line."""
    rng = random.Random(seed)
    rows = calm(900, seed)
    left = {"loss": 0, "grad_norm": 0}
    for step, _, metrics in rows:
        for name, rest in left.items():
            left[name] = rng.randint(1, 12) if not rest and rng.random() < 0.02 else max(rest - 1, 0)
            metrics[name] = (metrics[name] or 0.0) + (20.0 if left[name] else 0.0)
        metrics["val_loss"] = 0.45 + 2.0 * math.exp(-step / 150) + rng.gauss(0, 0.01)
    return rows


@pytest.mark.parametrize("seed", range(6))
def test_a_run_full_of_jumps_read_line_by_line_is_the_run_read_at_once(seed: int) -> None:
    batch = Batch.from_rows(spiky(seed))
    at_once = told(split_feed(batch, ()))
    assert told(split_feed(batch, range(len(batch)))) == at_once
    assert told(split_feed(batch, range(0, len(batch), 7))) == at_once


@pytest.mark.parametrize("seed", range(4))
def test_an_old_run_whose_baselines_are_renewed_seldom_is_the_same_read_line_by_line(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows, rng = spiky(seed), random.Random(seed)
    rows += [(900 + step, time, metrics) for step, time, metrics in calm(1500, seed)]
    for step in rng.sample(range(700, 2400), 3):
        rows[step][2]["loss"] = NAN
    for _, _, metrics in rows[rng.randrange(800, 2400) :]:
        metrics["lr"] = 2e-3
    batch = Batch.from_rows(rows)
    seldom = told(split_feed(batch, ()))
    monkeypatch.setattr(course, "YOUNGER", 1)
    at_once = told(split_feed(batch, ()))
    assert at_once != seldom, "the runs are too short to grow old"
    assert told(split_feed(batch, range(len(batch)))) == at_once
    assert told(split_feed(batch, range(0, len(batch), 7))) == at_once


VALUES = st.one_of(
    st.none(),
    st.floats(0.1, 3.0),
    st.sampled_from([NAN, INF, -INF, 0.0, 1e30, 1e-30, -1.0, 0.693147, 2.302585]),
)


MARKS: dict[str, tuple[Any, dict[str, object]]] = {
    "header": ("header", {"run": "a", "meta": {"num_classes": 10, "optimizer": "sgd"}}),
    "note": ("note", {"note": "nan_origin", "module": "m"}),
    "end": ("note", {"step": 3, "note": "end"}),
    "restart": ("restart", {}),
}


@st.composite
def wild_batches(draw: st.DrawFn) -> Batch:
    """Runs with everything in them: rewinds, repeated steps, gaps, non-finite values, marks; calm parts to arm on."""
    rows: list[Row] = []
    step = draw(st.integers(0, 3))
    marks = []
    for part in range(draw(st.integers(1, 5))):
        kind = draw(
            st.sampled_from(
                ("calm", "wild", "climb", "flat", "zero", "back", "header", "note", "end", "restart", "twice")
            )
        )
        if kind in MARKS:
            marks.append(Mark(len(rows), *MARKS[kind]))
        elif kind == "back":
            step = max(0, step - draw(st.integers(1, 80)))
        elif kind == "wild":
            for _ in range(draw(st.integers(1, 40))):
                step += draw(st.sampled_from((0, 1, 1, 1, 1, 7, -1)))
                metrics = {name: draw(VALUES) for name in ("loss", "val_loss", "grad_norm", "lr", "loss_scale")}
                rows.append((step, None, metrics))
        else:
            count = draw(st.integers(20, 120))
            for i, (at, time, metrics) in enumerate(calm(count, seed=part, start=step + 1)):
                if kind == "climb" and i > count // 2:
                    metrics = metrics | {"loss": 3.0 * 1.3 ** (i - count // 2), "grad_norm": 1.3 ** (i - count // 2)}
                if kind == "flat":
                    metrics = metrics | {"loss": 2.3026, "val_loss": 2.5}
                if kind == "zero":
                    metrics = metrics | {"grad_norm": 0.0}
                rows.append((at, time, metrics))
                if kind == "twice":
                    rows.append((at, time, dict(metrics)))
            step += count
    return Batch.from_rows(rows, marks=tuple(marks))


def in_any_order(batch: Batch, data: st.DataObject) -> None:
    """Cut, doubled and swapped: whatever comes is judged, and the answer may be asked for at any time."""
    monitor = Monitor()
    edges = sorted({0, len(batch), *data.draw(st.lists(st.integers(0, len(batch)), max_size=8))})
    pieces = [batch.slice(low, high) for low, high in zip(edges, edges[1:], strict=False)]
    for piece in data.draw(st.permutations([*pieces, *pieces[:2]])):
        before = monitor.snapshot.records
        snapshot = monitor.feed(piece)
        assert snapshot.records == before + len(piece)
        looked = monitor.look_at(data.draw(st.floats(0, 1e10)))
        assert set(looked.lit) == {finding.signature for finding in looked.findings if finding.active}
        for column in monitor.store.columns.values():
            assert column.count >= column.non_finite >= 0


@given(wild_batches(), st.data())
@settings(max_examples=60, deadline=None)
def test_batches_in_any_order_are_judged(batch: Batch, data: st.DataObject) -> None:
    in_any_order(batch, data)


@pytest.mark.long
@given(wild_batches(), st.data())
@settings(max_examples=4000, deadline=None)
def test_thousands_of_batches_in_any_order_are_judged_and_no_result_depends_on_reads(
    batch: Batch, data: st.DataObject
) -> None:
    in_any_order(batch, data)
    cuts = data.draw(st.lists(st.integers(0, len(batch)), max_size=6))
    assert told(split_feed(batch, cuts)) == told(Monitor().feed(batch))


@given(wild_batches(), st.data())
@settings(max_examples=100, deadline=None)
def test_no_result_depends_on_where_reads_ended(batch: Batch, data: st.DataObject) -> None:
    cuts = data.draw(st.lists(st.integers(0, len(batch)), max_size=6))
    assert told(split_feed(batch, cuts)) == told(Monitor().feed(batch))


@given(wild_batches())
@settings(max_examples=30, deadline=None)
def test_record_by_record_is_the_same_as_all_at_once(batch: Batch) -> None:
    assert told(split_feed(batch, range(1, len(batch)))) == told(Monitor().feed(batch))


def test_high_records_apart_are_no_crowd_however_they_are_read() -> None:
    losses = [1.0 + math.exp(-step / 40) + 0.02 * math.sin(37.0 * step) for step in range(500)]
    for step in (300, 340, 380):
        losses[step] = 1.6
    batch = Batch(range(500), [None] * 500, {"loss": losses})
    at_once, one_by_one = Monitor().feed(batch), split_feed(batch, range(1, 500))
    assert told(one_by_one) == told(at_once)
    assert "loss-spike" not in {finding.signature for finding in at_once.findings}


def test_whether_training_is_broken_is_asked_line_by_line_however_they_are_read() -> None:
    nan = math.nan
    batch = Batch.from_rows(
        [(0, None, {"loss": nan}), (0, None, {"val_loss": nan}), (1, None, {"loss": 1.0, "val_loss": nan})]
    )
    assert told(split_feed(batch, range(1, 3))) == told(Monitor().feed(batch))


def test_a_log_with_nothing_to_judge_is_not_called_healthy() -> None:
    monitor = Monitor()
    snapshot = monitor.feed(Batch.from_rows([(step, None, {"accuracy": 0.1 * step}) for step in range(60)]))
    assert snapshot.records == 60
    assert snapshot.verdict == "no_data"


def test_of_very_many_notes_the_first_ones_and_the_last_are_kept() -> None:
    monitor = Monitor()
    for start in range(0, 3000, 300):
        marks = tuple(Mark(0, "note", {"step": k, "note": "checkpoint"}) for k in range(start, start + 300))
        monitor.feed(Batch(marks=marks))
    steps = [note.step for note in monitor.snapshot.notes]
    assert steps == [*range(999), 2999]
