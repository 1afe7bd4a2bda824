"""Lines of spans, and where two of them differ."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tuimon.panels.ink import Line, Span, changed, fit

SPANS = st.builds(Span, st.text("ab\u4e2d", max_size=6), st.sampled_from(("plain", "dim")))
LINES = st.lists(SPANS, max_size=6).map(lambda spans: fit(tuple(spans), 24))


def cells(line: Line) -> list[tuple[str, str]]:
    """Every cell with its ink, a wide character twice."""
    return [(character, ink) for text, ink in line for character in text for _ in range(1 + (character == "\u4e2d"))]


@given(LINES, LINES, st.integers(0, 3))
def test_the_pieces_hold_every_cell_that_differs(old: Line, new: Line, shared: int) -> None:
    new = fit((*old[:shared], *new[shared:]), 24)
    before, after = cells(old), cells(new)
    assert len(before) == len(after) == 24
    pieces = changed(old, new)
    covered = {x for left, width in pieces for x in range(left, left + width)}
    assert {x for x in range(24) if before[x] != after[x]} <= covered <= set(range(24))
    assert all(before[x] != after[x] for left, width in pieces for x in (left, left + width - 1))


def test_a_span_that_changed_in_the_middle_is_looked_at_alone() -> None:
    old = (Span(" HEALTHY "), Span("step 2,001"), Span("  live", "dim"))
    new = (Span(" HEALTHY "), Span("step 2,002"), Span("  live", "dim"))
    assert changed(old, new) == [(18, 1)]
