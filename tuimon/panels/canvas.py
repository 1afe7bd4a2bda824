"""Rows of cells under construction."""

from __future__ import annotations

from tuimon.braille import BLANK, Picture


class Canvas:
    """Rows of cells that text is put into."""

    def __init__(self, width: int, height: int) -> None:
        self.width = width
        self._text = [[" "] * width for _ in range(height)]
        self._ink = [[BLANK] * width for _ in range(height)]

    def put(self, x: int, y: int, text: str, ink: str) -> int:
        """Writes text and returns the column behind it; what does not fit is cut."""
        if 0 <= y < len(self._text) and 0 <= x < self.width:
            text = text[: self.width - x]
            self._text[y][x : x + len(text)] = text
            self._ink[y][x : x + len(text)] = ink * len(text)
        return x + len(text)

    def at(self, x: int, y: int) -> str:
        """The character in a cell."""
        return self._text[y][x]

    def lay(self, x: int, y: int, picture: Picture) -> None:
        """Puts a picture at x, y."""
        for row, (text, ink) in enumerate(zip(picture.rows, picture.inks, strict=True), y):
            self._text[row][x : x + len(text)] = text
            self._ink[row][x : x + len(ink)] = ink

    def picture(self) -> Picture:
        """What has been written."""
        return Picture(tuple(map("".join, self._text)), tuple(map("".join, self._ink)))
