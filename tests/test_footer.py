"""The last line."""

from __future__ import annotations

from screens import learning, scene_of, text_of

from tuimon.panels.footer import footer_line
from tuimon.panels.keys import KEYS


def test_every_key_with_a_word_stands_in_a_wide_footer() -> None:
    told = text_of(footer_line(scene_of(learning(), mode="autopsy"), 400))
    for key in KEYS:
        word = "explain" if key.name == "open" else key.word
        assert not key.word or f"  {key.cap.split()[0]} {word}" in f" {told}", key


def test_the_most_needed_keys_stay_and_no_word_is_cut() -> None:
    words = {f"{key.cap.split()[0]} {key.word}" for key in KEYS if key.word}
    for width in range(5, 200):
        told = text_of(footer_line(scene_of(learning()), width))
        assert len(told) <= width
        assert {piece.strip() for piece in told.split("  ") if piece.strip()} <= words
    assert text_of(footer_line(scene_of(learning()), 40)).startswith(" q quit  ? help  n NaN onset")


def test_esc_stands_first_while_something_is_open_and_not_otherwise() -> None:
    for desk in ({"mode": "autopsy"}, {"mode": "large"}, {"pattern": "x"}, {"page": 1}):
        assert text_of(footer_line(scene_of(learning(), **desk), 80)).startswith(" Esc back")
    assert "Esc" not in text_of(footer_line(scene_of(learning()), 400))
