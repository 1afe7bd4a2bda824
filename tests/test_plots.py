"""Static pictures: nothing that a log can hold stops them, and every step that matters is marked."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from screens import INF, NAN, Row, broken, learning

from tuimon.cli import main
from tuimon.plots import Onset, Subject, subject, svg, terminal
from tuimon.store import Column
from tuimon.writer import RunWriter

SVG = "{http://www.w3.org/2000/svg}"


def column(values: Sequence[float], name: str = "loss", steps: Sequence[int] | None = None) -> Column:
    made = Column(name)
    for step, value in zip(steps or range(len(values)), values, strict=True):
        made.append(step, value)
    return made


def drawn(
    values: Sequence[float], count: int = 120, onsets: Sequence[Onset] = (), log: bool = False, smooth: int = 0
) -> Subject:
    return subject(column(values), onsets, (0, max(len(values) - 1, 0)), count, log=log, smooth=smooth)


AWKWARD = {
    "nothing but NaN": [NAN] * 5,
    "nothing but infinities": [INF, -INF],
    "one point": [2.5],
    "two equal points": [1.0, 1.0],
    "a constant": [3e-4] * 200,
    "a constant 0": [0.0] * 50,
    "negative": [-1.0, -5.0, -2.0],
    "as large as numbers go": [1e300, -1e300, 1.7e308, -1.7e308, 1.0],
    "as small as numbers go": [5e-324, 1e-300, 0.0],
    "a loss with one outlier": [1.0 + 0.01 * i for i in range(100)] + [25_237.0] + [1.0] * 50,
    "gaps": [1.0, NAN, 2.0, INF, 3.0, NAN, NAN, 1.0],
}


@pytest.mark.parametrize("log", [False, True])
@pytest.mark.parametrize("smooth", [0, 10])
@pytest.mark.parametrize("values", AWKWARD.values(), ids=AWKWARD)
def test_no_values_stop_a_picture_or_make_it_another_size(values: list[float], log: bool, smooth: int) -> None:
    each = drawn(values, log=log, smooth=smooth)
    lines = terminal([each], 70, 14).splitlines()
    assert len(lines) >= 14
    assert max(map(len, lines)) <= 70
    ET.fromstring(svg([each], "run"))


def test_a_metric_without_points_is_an_empty_picture() -> None:
    each = subject(Column("loss"), (), (0, 10), 50)
    assert "loss" in terminal([each], 60, 10)
    ET.fromstring(svg([each], "run"))
    ET.fromstring(svg([], "run"))


@settings(max_examples=60, deadline=None)
@given(st.lists(st.floats(), min_size=1, max_size=60), st.booleans(), st.integers(0, 30))
def test_every_place_lies_within_the_picture(values: list[float], log: bool, smooth: int) -> None:
    each = drawn(values, count=20, log=log, smooth=smooth)
    for x, y in (point for stroke in [*each.strokes(), *each.mean_strokes()] for point in stroke):
        assert 0 <= x <= 1
        assert 0 <= y <= 1
    ET.fromstring(svg([each], "run"))


def test_a_spike_of_one_step_survives_any_reduction() -> None:
    values = [1.0] * 20_000
    values[7_777] = 1.9
    each = drawn(values, count=80)
    assert max(y for stroke in each.strokes() for _, y in stroke) > 0.85


def test_nan_interrupts_the_curve_and_is_marked_where_it_stands() -> None:
    each = drawn([1.0, 1.1, NAN, 1.2, 1.3], count=5)
    assert [[round(x, 2) for x, _ in stroke] for stroke in each.strokes()] == [[0.0, 0.25], [0.75, 1.0]]
    assert each.nan_places() == [0.5]
    text = terminal([each], 60, 12)
    assert "×" in text
    assert "1 non-finite" in text


def test_an_outlier_is_marked_with_its_value_and_does_not_flatten_the_curve() -> None:
    each = drawn(AWKWARD["a loss with one outlier"])
    assert each.scale.high < 10
    assert "beyond the axis: 25.2k" in terminal([each], 80, 14)


def test_a_log_axis_keeps_what_is_positive_and_marks_the_rest() -> None:
    each = drawn([1.0, 10.0, -1.0, 100.0], log=True)
    assert each.scale.log
    assert len(each.strokes()) == 2
    assert [value for _, above, value in each.outliers() if not above] == ["-1.00"]


def test_the_newest_pass_wins_where_a_run_was_rewound() -> None:
    made = column([1.0, 1.0, 1.0, 1.0, 2.0, 2.0], steps=[0, 1, 2, 3, 2, 3])
    each = subject(made, (), (0, 3), 4)
    assert [piece.last for piece in each.slices] == [1.0, 1.0, 2.0, 2.0]


def test_the_mean_goes_through_the_middle_of_noise_and_skips_nan() -> None:
    values = [1.0 + (-1) ** i * 0.5 for i in range(400)]
    values[200] = NAN
    each = drawn(values, count=100, smooth=50)
    assert all(value == pytest.approx(1.0, abs=0.1) for value in each.smooth[30:] if value is not None)


def test_onsets_stand_at_their_steps_with_their_names() -> None:
    each = drawn([1.0] * 101, onsets=[Onset(25, "nan-forward", "failure"), Onset(500, "outside", "warning")])
    text = terminal([each], 80, 12)
    assert "▲ nan-forward began at step 25" in text
    assert "outside" not in text
    line = next(e for e in ET.fromstring(svg([each], "run")).iter(f"{SVG}line") if e.get("stroke-dasharray"))
    assert float(line.get("x1", 0)) == pytest.approx(64 + 0.25 * (900 - 80), abs=1)
    assert "nan-forward, step 25" in svg([each], "run")


def test_labels_of_onsets_close_to_each_other_do_not_overlap() -> None:
    onsets = [Onset(step, f"signature-{step}", "warning") for step in (50, 52, 54, 99)]
    tree = ET.fromstring(svg([drawn([1.0] * 100, onsets=onsets)], "run"))
    labels = [e for e in tree.iter(f"{SVG}text") if "signature" in (e.text or "")]
    assert len(labels) == 4
    for a in labels:
        for b in labels:
            if a is not b and a.get("y") == b.get("y"):
                first, second = sorted((a, b), key=lambda e: float(e.get("x", 0)))
                assert float(first.get("x", 0)) + 5 * len(first.text or "") < float(second.get("x", 0))
    assert all(float(e.get("x", 0)) + 6 * len(e.text or "") <= 900 for e in labels)


def test_an_svg_is_vectors_and_text_on_white_of_the_size_asked_for() -> None:
    tree = ET.fromstring(svg([drawn([1.0, 2.0]), drawn([2.0, 1.0])], "two", 900, 500))
    assert (tree.get("width"), tree.get("height")) == ("900", "500")
    assert next(tree.iter(f"{SVG}rect")).get("fill") == "#ffffff"
    assert {e.tag.removeprefix(SVG) for e in tree.iter()} <= {
        "svg",
        "rect",
        "text",
        "line",
        "polyline",
        "path",
        "title",
    }
    for each in tree.iter(f"{SVG}polyline"):
        for x, y in (pair.split(",") for pair in each.get("points", "").split()):
            assert 0 <= float(x) <= 900
            assert 0 <= float(y) <= 500


def test_names_from_a_log_are_text_and_nothing_else() -> None:
    name = "\x1b[31m<script>&\u202e\x00"
    each = subject(column([1.0, 2.0], name), [Onset(1, name, "failure")], (0, 1), 10)
    text = terminal([each], 60, 10)
    assert text.replace("\n", "").isprintable()
    picture = svg([each], "<b>\"&'")
    ET.fromstring(picture)
    assert "<script>" not in picture
    assert picture.replace("\n", "").isprintable()


def test_colours_only_when_asked_for() -> None:
    each = drawn([1.0, 2.0, NAN])
    assert "\x1b" not in terminal([each], 60, 10)
    assert "\x1b" in terminal([each], 60, 10, color=True)


def test_one_picture_leaves_nothing_in_the_next() -> None:
    plain = drawn([1.0, 2.0, 3.0])
    alone = terminal([plain], 60, 10)
    terminal([drawn(AWKWARD["gaps"], onsets=[Onset(3, "x", "failure")], log=True)], 90, 30)
    assert terminal([plain], 60, 10) == alone


# The command.


def written(path: Path, rows: Sequence[Row]) -> str:
    with RunWriter(path) as log:
        for step, _, metrics in rows:
            log.log(step, **{name: value for name, value in metrics.items() if value is not None})
    return str(path)


def test_plot_prints_every_role_that_the_log_has(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plot", written(tmp_path / "run.jsonl", broken()), "--width", "80", "--height", "60"]) == 0
    out = capsys.readouterr().out
    for name in ("loss", "val_loss", "grad_norm", "lr"):
        assert re.search(rf"^{name}  last", out, re.MULTILINE)
    assert out.count("nan-forward began at step 412") == 4
    assert max(map(len, out.splitlines())) <= 80


def test_plot_writes_an_svg(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out.svg"
    run = written(tmp_path / "run.jsonl", broken())
    assert main(["plot", run, "--metric", "loss", "--metric", "grad_norm", "--smooth", "20", "--svg", str(out)]) == 0
    text = out.read_text()
    ET.fromstring(text)
    assert "verdict nan" in text
    assert "nan-forward, step 412" in text
    assert "loss, grad_norm" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["run.jsonl", "--metric", "los"], "no metric is called los; loss?"),
        (["absent.jsonl"], "absent.jsonl: no such file"),
        (["empty.jsonl"], "nothing to draw"),
        (["run.jsonl", "--svg", "no/such/folder.svg"], "no such file"),
        (["run.jsonl", *["--metric", "loss"] * 13], "too many"),
    ],
)
def test_what_cannot_be_drawn_is_one_line_and_exit_2(
    arguments: list[str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    written(tmp_path / "run.jsonl", learning(20))
    (tmp_path / "empty.jsonl").touch()
    assert main(["plot", *arguments]) == 2
    told = capsys.readouterr().err
    assert said in told
    assert told.count("\n") == 1


def test_extra_metrics_are_drawn_when_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = written(tmp_path / "run.jsonl", learning(60, extra=2))
    assert main(["plot", run, "--metric", "layer_1/norm", "--log"]) == 0
    assert "layer_1/norm  last" in capsys.readouterr().out


def test_a_log_named_by_mistake_is_not_drawn_over(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = tmp_path / "run.jsonl"
    log.write_text('{"step": 1, "loss": 2.0}\n{"step": 2, "loss": 1.5}\n')
    before = log.read_text()
    assert main(["plot", str(log), "--svg", str(log)]) == 2
    assert log.read_text() == before
    assert "not written" in capsys.readouterr().err
    picture = tmp_path / "run.svg"
    assert main(["plot", str(log), "--svg", str(picture)]) == 0
    assert main(["plot", str(log), "--svg", str(picture)]) == 0
