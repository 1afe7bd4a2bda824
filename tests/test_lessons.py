"""Lessons: one for each row, with numbers that hold."""

from __future__ import annotations

import math

import pytest

from tuimon.catalogue import BY_SIGNATURE
from tuimon.catalogue.lesson import ALWAYS
from tuimon.catalogue.lessons import LESSONS
from tuimon.valley import walk


def test_every_row_has_its_lesson_and_no_lesson_is_an_orphan() -> None:
    assert LESSONS.keys() == BY_SIGNATURE.keys()


@pytest.mark.parametrize("signature", LESSONS)
def test_a_lesson_is_short(signature: str) -> None:
    lesson = LESSONS[signature]
    assert 0 < len(lesson.why) <= 300
    assert len(lesson.formula) <= 74
    assert len(lesson.example) <= 170
    assert all(0 < len(pitfall) <= 130 for pitfall in (*lesson.pitfalls, *ALWAYS))


def test_growth_past_the_limit_is_what_a_walk_does() -> None:
    positions = walk(2.2, 1.0, steps=20)
    assert "1.2-fold per step, 38-fold in 20" in LESSONS["lr-too-high"].example
    assert round(abs(positions[-1])) == 38


def test_fading_is_counted_by_multiplying() -> None:
    share, steps = 1.0, 0
    while share > 0.5:
        share, steps = share * 0.999, steps + 1
    assert f"half after {steps} steps" in LESSONS["unrecovered-spike"].example


def test_overflow_comes_after_as_many_steps_as_multiplying_takes() -> None:
    value, steps = 1.0, 0
    while value <= 65504:
        value, steps = value * 1.6, steps + 1
    assert f"about {steps} steps" in LESSONS["nan-after-growth"].example


def test_slopes_are_differences() -> None:
    slope = (math.tanh(3 + 1e-6) - math.tanh(3 - 1e-6)) / 2e-6
    assert f"{slope:.3f}" in LESSONS["saturated"].example
    root = (math.sqrt(1e-12 + 1e-18) - math.sqrt(1e-12)) / 1e-18
    assert float(LESSONS["nan-backward"].example.split("slope ")[1].split()[0]) == pytest.approx(root, rel=0.05)


def test_what_every_failure_needs_is_said() -> None:
    said = " ".join([*ALWAYS, *(pitfall for lesson in LESSONS.values() for pitfall in lesson.pitfalls)])
    for needed in (
        "unscale_",
        "Never overwrite the last good checkpoint",
        "One change per experiment",
        "Dump the batch",
    ):
        assert needed in said
