"""Lines that are not quite JSON."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tuimon.sources.loose import quoted, records


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (b'{"loss": NaN, "lr": -Infinity}', {"loss": "NaN", "lr": "-Infinity"}),
        (b'{"loss": nan, "x": [inf, nan]}', {"loss": "nan", "x": ["inf", "nan"]}),
        (b"{'loss': 2.5, 'done': True, 'eval': None}", {"loss": 2.5, "done": True, "eval": None}),
        (b"{'loss': nan, 'note': 'it''s \"so\"'}", None),
        (b"{'note': 'a \"b\" c', 'loss': 1}", {"note": 'a "b" c', "loss": 1}),
        (b"{'note': \"it's\", 'loss': 1}", {"note": "it's", "loss": 1}),
        (b'{"loss": 2.5,}', {"loss": 2.5}),
        (b'{"loss": 2.5},', {"loss": 2.5}),
        (b"{'loss': tensor(0.25, device='cuda:0'), 'n': np.float64(3.5)}", {"loss": 0.25, "n": 3.5}),
        (b"{'loss': tensor(nan)}", {"loss": "nan"}),
        (b'{"note": "loss: NaN, inf}", "loss": 1}', {"note": "loss: NaN, inf}", "loss": 1}),
        (b'{"loss": 1e999}', {"loss": math.inf}),
    ],
)
def test_what_a_line_means_is_read(line: bytes, expected: dict[str, object] | None) -> None:
    if expected is None:
        rows, reason = records(line)
        assert rows == [] and reason.startswith("not JSON")
    else:
        assert records(line) == ([expected], "")


@pytest.mark.parametrize(
    ("line", "steps", "whole"),
    [
        (b'{"step": 1, "loss": 2}{"step": 2, "loss": 1}', [1, 2], True),
        (b'{"step": 1, "loss": 2} {"step": 2, "loss": 1}\t{"step": 3}', [1, 2, 3], True),
        (b'{"step": 1, "loss": 2},{"step": 2, "loss": 1},', [1, 2], True),
        (b'{"step": 1, "loss": NaN}{"step": 2, "loss": "NaN"}', [1, 2], True),
        (b"{'step': 1, 'loss': nan}{'step': 2, 'loss': tensor(2.5)}", [1, 2], True),
        (b'{"tuimon": 1, "run": "a"}{"step": 1, "loss": 2}', [None, 1], True),
        (b'{"step": 1, "note": "a }{ b"}{"step": 2, "loss": 1}', [1, 2], True),
        (b'{"step": 1, "lo{"step": 2, "loss": "NaN"}', [2], False),
        (b'{"step": 1, "loss": 2.{"step": 2, "loss": 1}{"step": 3, "lo', [2], False),
        (b'{"step": 1, "loss": 2}{"step": 2, "lo', [1], False),
        (b'{"step": 1, "loss": 2}Killed', [1], False),
        (b'{"step": 1, "loss": 2}[1, 2]', [1], False),
        (b'{"step": 1, "in": {"loss": 2}, "to', [], False),
        (b'{"step": 1, "lo{"loss": 2}', [], False),
    ],
)
def test_glued_records_are_all_read_and_what_is_torn_is_told(line: bytes, steps: list[object], whole: bool) -> None:
    rows, reason = records(line)
    assert [row.get("step") for row in rows] == steps
    assert (not reason) is whole


def test_a_line_of_torn_records_is_given_up_after_a_few() -> None:
    rows, reason = records(b'{"step": 1, "lo' * 30_000 + b'{"step": 1}')
    assert rows == [] and reason.startswith("not JSON")


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"Traceback (most recent call last):", "not a JSON object"),
        (b"[1, 2]", "not a JSON object"),
        (b'{"step": 1, "lo', "not JSON"),
        (b'{"a":' + b"[" * 200_000, "nested too deeply"),
        (b'{"a": ' + b"9" * 100_000 + b"}", "not JSON"),
        (b"{'a': (1,", "not JSON"),
        (b"{\x1b[31m}", "not JSON"),
    ],
)
def test_a_line_that_means_nothing_says_why(line: bytes, reason: str) -> None:
    rows, said = records(line)
    assert rows == [] and reason in said
    assert said.isprintable() and len(said) <= 80


def test_no_warning_reaches_the_screen(recwarn: pytest.WarningsRecorder) -> None:
    assert records(b"{'a': 0_7if, 'b': 1or 2, '\\d': 3}")[0] == []
    assert not recwarn.list


def test_text_without_bare_words_stays_as_it_is() -> None:
    assert quoted(b'{"loss": "NaN", "name": "canal"}') is None
    assert quoted(b'{"loss": NaN}') == b'{"loss": "NaN"}'


@given(st.dictionaries(st.text(max_size=5), st.none() | st.booleans() | st.floats() | st.text(max_size=9), max_size=4))
def test_json_with_bare_nan_is_read_as_python_would(value: dict[str, object]) -> None:
    read = records(json.dumps(value).encode())[0][0]
    for key, inner in value.items():
        if isinstance(inner, float) and not math.isfinite(inner):
            assert isinstance(read[key], str)
        else:
            assert read[key] == inner


@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_refused(line: bytes) -> None:
    rows, said = records(b"{" + line)
    assert said.isprintable() and (rows or said)
