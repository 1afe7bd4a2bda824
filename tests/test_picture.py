"""The README's picture of the screen."""

from __future__ import annotations

import asyncio
import html
import re
import xml.etree.ElementTree as ET

import pytest

from demo.picture import TARGET, picture


def text_of(svg: str) -> str:
    return html.unescape(" ".join(re.findall(r"<text[^>]*>([^<]*)</text>", svg))).replace("\xa0", " ")


@pytest.mark.parametrize("kept", [True, False], ids=["in the repository", "taken again"])
def test_the_picture_shows_the_nan_its_step_and_the_first_check(kept: bool) -> None:
    svg = TARGET.read_text(encoding="utf-8") if kept else asyncio.run(picture())
    ET.fromstring(svg)
    text = text_of(svg)
    for words in (
        "since step 612",
        "nan-forward",
        "began at step 612, 88 steps ago",
        "Stop the run",
        "isfinite()",
        "q",
        "quit",
    ):
        assert words in text
    assert "×××" in text
    assert "http" not in re.sub(r'xmlns(:\w+)?="[^"]*"', "", svg).replace("https://www.textualize.io", "")
