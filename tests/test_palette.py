"""The colours: on the cube, legible, and the same in the first picture as on the screen."""

from __future__ import annotations

import pytest

from tuimon.panels.palette import DARK, LIGHT, PALETTES, SIXTEEN, Colours, code_of

TEXT = [name for name in Colours._fields if name != "badge"]


def luminance(colour: str) -> float:
    """Relative luminance as the Web Content Accessibility Guidelines define it."""
    parts = [int(colour[start : start + 2], 16) / 255 for start in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize(("colours", "ground"), [(DARK, "#1c1c1c"), (LIGHT, "#ffffff")], ids=["dark", "light"])
def test_every_ink_is_legible_on_its_ground(colours: Colours, ground: str) -> None:
    for name in TEXT:
        colour = getattr(colours, name)
        if colour.startswith("#"):
            assert contrast(colour, ground) >= (3.9 if name in ("loss", "axis", "faint") else 4.3), name


@pytest.mark.parametrize("colours", [DARK, LIGHT], ids=["dark", "light"])
@pytest.mark.parametrize("ink", ["failure", "warning", "note", "healthy"])
def test_the_verdict_is_legible_on_its_badge(colours: Colours, ink: str) -> None:
    assert contrast(colours.badge, getattr(colours, ink)) >= 4.3


@pytest.mark.parametrize("name", PALETTES)
def test_every_colour_has_a_code(name: str) -> None:
    for colour in PALETTES[name]:
        assert code_of(colour)


def test_codes_are_those_of_the_256_colours() -> None:
    assert code_of("#9e9e9e") == "38;5;247"
    assert code_of("#808080") == "38;5;244"
    assert code_of("#ff5f5f") == "38;5;203"
    assert code_of("#ffffff") == "38;5;231"
    assert (code_of("ansi_cyan"), code_of("ansi_bright_blue"), code_of("ansi_default")) == ("36", "94", "39")


def test_sixteen_colours_are_the_terminals_own() -> None:
    assert all(colour.startswith("ansi_") for colour in SIXTEEN)
