"""The first line: the verdict, which run, how far, how fast, and how the following goes."""

from __future__ import annotations

from tuimon.panels import words
from tuimon.panels.ink import Line, Span, width_of
from tuimon.panels.marks import marks
from tuimon.panels.scene import Scene
from tuimon.panels.sheet import Sheet
from tuimon.panels.verdict import badge, gravest
from tuimon.plain import plain_text

GAP = "  "


class Header(Sheet):
    """One line; what matters least goes first where the width is short."""

    def picture(self, scene: Scene, width: int, height: int) -> list[Line]:
        return [header_line(scene, width)]


def header_line(scene: Scene, width: int) -> Line:
    """The header in at most `width` cells: verdict and onset at the left, the run and its state after them."""
    parts = [part for part in _parts(scene) if part[1].text]
    while len(parts) > 1 and _cells(parts) > width:
        # The largest number is the least needed part.
        parts.remove(max(parts, key=lambda part: part[0]))
    line: list[Span] = []
    for _, span in parts:
        line.append(Span(" " if not line else GAP))
        line.append(span)
    return tuple(line[1:])


def _cells(parts: list[tuple[int, Span]]) -> int:
    return width_of(span for _, span in parts) + len(GAP) * (len(parts) - 1)


def _parts(scene: Scene) -> list[tuple[int, Span]]:
    """(how dispensable, span) from left to right."""
    word, ink = badge(scene)
    finding = gravest(scene)
    mark = getattr(marks(scene.ascii), "recovered" if ink == "note" else ink)
    name = plain_text(scene.snapshot.run or scene.name, 40)
    return [
        (0, Span(f" {mark} {word} ", f"badge-{ink}")),
        (1, Span(f"since step {words.steps(finding.onset_step)}" if finding else "", ink)),
        (4, Span(name, "strong")),
        (2, Span(_progress(scene), "plain")),
        (1, Span(scene.desk.said, "warning")),
        (3, Span(_view(scene), "chosen")),
        (5, Span(words.pace(scene.snapshot.pace), "dim")),
        (3, Span(f"last record {scene.age} ago" if scene.age else "", "warning")),
        (3, _state(scene)),
        (2, Span(scene.hint, "warning")),
        (4, Span(_preflight(scene), "warning")),
        (6, Span(_bad(scene), "warning")),
        (5, Span(scene.choice, "dim")),
        (7, Span(scene.format, "dim")),
    ]


def _preflight(scene: Scene) -> str:
    """The first check before the run that failed."""
    failed = (
        str(note.fields.get("check", ""))
        for note in scene.snapshot.notes
        if note.name == "preflight" and note.fields.get("outcome") == "fail" and note.fields.get("check") != "verdict"
    )
    first = next(failed, "")
    return f"preflight failed: {plain_text(first, 40)}" if first else ""


def _progress(scene: Scene) -> str:
    if scene.snapshot.last_step is None:
        return ""
    total = scene.snapshot.meta.get("total_steps")
    step = f"step {words.steps(scene.snapshot.last_step)}"
    if isinstance(total, (int, float)) and not isinstance(total, bool) and total > 0:
        return f"{step} of {words.short(total)}"
    return step


def _view(scene: Scene) -> str:
    """What was changed about the picture: thin panels have no room to say it, and an unseen log scale misleads."""
    view = scene.view
    low, high = scene.window
    zoomed = view.low is not None or view.high is not None or view.tail is not None
    words_of = {
        f"cursor {words.steps(view.cursor or 0)}": view.cursor is not None,
        f"steps {words.steps(low)} to {words.steps(high)}": zoomed and not scene.desk.paused,
        "log": view.log,
        f"smooth {view.smooth}": view.smooth > 0,
        "val on loss": view.overlay,
    }
    return ", ".join(text for text, changed in words_of.items() if changed)


def _state(scene: Scene) -> Span:
    if scene.desk.paused:
        return Span(f"paused, {words.steps(scene.behind)} behind", "warning")
    usual = scene.status.state in ("live", "polling", "reading")
    return Span(plain_text(scene.status.text, 60), "dim" if usual else "warning")


def _bad(scene: Scene) -> str:
    count = scene.snapshot.bad_count
    if not count:
        return ""
    where = f", no. {scene.snapshot.bad_lines[0].number}" if scene.snapshot.bad_lines else ""
    return f"{words.short(count)} bad line{'s' * (count > 1)}{where}"
