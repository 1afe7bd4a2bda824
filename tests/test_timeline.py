"""The strip under the panels."""

from __future__ import annotations

from screens import ONSET, STEPS, broken, learning, scene_of, text_of, view

from tuimon.panels.timeline import ends, extent, rail


def test_the_strip_spans_the_run_and_marks_every_finding_at_its_place() -> None:
    scene = scene_of(broken())
    strip, names = (text_of(line) for line in rail(scene, 100))
    low, high = extent(scene)
    left, right = ends(scene)
    room = 100 - len(left) - len(right)
    assert strip.index("✗") == len(left) + (ONSET - low) * (room - 1) // (high - low)
    assert "nan-forward" in names
    assert abs(names.index("nan-forward") + 5 - strip.index("✗")) <= 1
    assert len(strip) == len(names) == 100


def test_a_calm_run_has_a_bare_strip() -> None:
    strip, names = (text_of(line) for line in rail(scene_of(learning()), 80))
    assert set(strip.strip()) <= set("1 ─500")
    assert not names.strip()
    assert strip.rstrip().endswith(" 500")


def test_the_window_and_the_cursor_are_shown() -> None:
    strip = text_of(rail(scene_of(learning(), view=view(low=100, high=200, cursor=300)), 100)[0])
    assert "━━━" in strip
    assert strip.index("━") < strip.index("┃")
    plain = text_of(rail(scene_of(learning(), view=view(low=100, high=200, cursor=300), ascii=True), 100)[0])
    assert plain.isascii()


def test_the_right_end_moves_in_hops() -> None:
    highs = {extent(scene_of(learning(steps)))[1] for steps in range(400, 440, 2)}
    assert len(highs) <= 6


def test_the_graver_finding_is_seen_where_two_share_a_cell() -> None:
    scene = scene_of(broken(onset=STEPS))
    assert "✗" in text_of(rail(scene, 13)[0])


def test_without_records_or_room_there_is_a_line_all_the_same() -> None:
    assert rail(scene_of(), 80) == [(), ()]
    for width in range(12):
        assert rail(scene_of(broken()), width)
