"""What the keys do: functions from the scene to the next desk. No widget, no state."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from tuimon.panels.autopsy import first_bad_step, records
from tuimon.panels.desk import Desk
from tuimon.panels.rows import entries
from tuimon.panels.scene import Scene
from tuimon.panels.view import View

STRIDES = 60
"""Key presses of the cursor across a window: about one per cell of a panel."""

MOST_UNDER = 3
"""Metrics under an enlarged one: four in all are as many as have axes of their own at 80x24."""

CLOSE_UP = 32
"""Steps across in the autopsy, so that each has a cell of its own in the narrowest full panel."""


def move(name: str, scene: Scene) -> Desk:
    """The desk after the move `name`.

    Raises:
        KeyError: there is no such move.
    """
    fresh = replace(scene, desk=replace(scene.desk, said="")) if scene.desk.said else scene
    return MOVES[name](fresh)


def at(scene: Scene, step: int) -> Desk:
    """Cursor on `step`; the window follows when the step lies outside of it."""
    step = max(scene.first, min(step, scene.last))
    view = replace(scene.view, cursor=step)
    low, high = scene.window
    if not low <= step <= high:
        span = high - low
        # A third from the left: what led to a step matters as much as what followed.
        start = max(scene.first, min(step - span // 3, scene.last - span))
        view = replace(view, low=start, high=start + span, tail=None)
    return replace(scene.desk, view=view)


def zoom(scene: Scene, factor: float, around: int | None = None) -> Desk:
    """`factor` times as many steps across, around a step or where the view chooses."""
    view = scene.view
    if around is None:
        return replace(scene.desk, view=view.zoomed(scene.first, scene.last, factor))
    zoomed = replace(view, cursor=around).zoomed(scene.first, scene.last, factor)
    return replace(scene.desk, view=replace(zoomed, cursor=view.cursor))


def _stride(scene: Scene, direction: int) -> Desk:
    low, high = scene.window
    here = min(scene.cursor, high)
    return at(scene, here + direction * max(1, (high - low) // STRIDES))


def _row(scene: Scene, direction: int) -> Desk:
    """The next row of what stands there: of the table, of the records, or the next metric where one is enlarged."""
    if scene.desk.mode == "autopsy":
        near = records(scene.columns, scene.cursor, 1, 1, scene.last).steps
        beyond = [step for step in near if (step - scene.cursor) * direction > 0]
        return at(scene, beyond[0]) if beyond else scene.desk
    if scene.desk.mode == "large":
        names = [name for page in scene.pages for name in page if name in scene.columns]
        place = names.index(scene.desk.metric) if scene.desk.metric in names else 0
        return replace(scene.desk, metric=names[(place + direction) % len(names)]) if names else scene.desk
    rows = entries(scene)
    if not rows:
        return scene.desk
    place = next(number for number, entry in enumerate(rows) if entry.chosen)
    return replace(scene.desk, row=rows[max(0, min(place + direction, len(rows) - 1))].row.signature)


def _finding(scene: Scene, direction: int) -> Desk:
    """The next finding in time, round the end; its row is chosen too, and the table shown that holds it."""
    found = sorted(scene.snapshot.findings, key=lambda finding: (finding.onset_step, finding.signature))
    if not found:
        return replace(scene.desk, said="no findings in this run")
    here = next(
        (
            number
            for number, finding in enumerate(found)
            if finding.onset_step == scene.view.cursor and finding.signature == scene.desk.row
        ),
        None,
    )
    if here is not None and len(found) == 1 and scene.desk.mode == "run":
        return replace(at(scene, found[0].onset_step), said="the only finding")
    if here is not None:
        finding = found[(here + direction) % len(found)]
    elif scene.view.cursor is None:
        finding = found[0 if direction > 0 else -1]
    else:
        later = [finding for finding in found if finding.onset_step >= scene.cursor]
        earlier = [finding for finding in found if finding.onset_step < scene.cursor]
        finding = (later or found)[0] if direction > 0 else (earlier or found)[-1]
    return replace(_closed(at(scene, finding.onset_step)), row=finding.signature)


def _closed(desk: Desk) -> Desk:
    """Without the autopsy, whose records are not what is looked at any more."""
    return replace(desk, mode="run", before=None) if desk.mode == "autopsy" else desk


def _rewind(scene: Scene) -> Desk:
    rewinds = sorted(set(scene.snapshot.rewinds))
    if not rewinds:
        return replace(scene.desk, said="the log never went back")
    here = -1 if scene.view.cursor is None else scene.cursor
    return at(scene, next((step for step in rewinds if step > here), rewinds[0]))


def _pause(scene: Scene) -> Desk:
    desk = scene.desk
    if desk.held is not None:
        return replace(desk, view=replace(desk.held, cursor=desk.view.cursor), held=None)
    low, high = scene.window
    return replace(desk, view=replace(desk.view, low=low, high=high, tail=None), held=desk.view)


def _live(scene: Scene) -> Desk:
    desk, view = scene.desk, scene.view
    before = desk.held or desk.before or view
    view = replace(view, low=None, high=None, tail=before.tail, cursor=None)
    return replace(_closed(desk), view=view, held=None)


def _autopsy(scene: Scene) -> Desk:
    desk = scene.desk
    onset = first_bad_step(scene.columns)
    before = desk.before if desk.mode == "autopsy" else desk.view
    if onset is None:
        return replace(desk, mode="autopsy", before=before)
    low = max(scene.first, onset - CLOSE_UP * 2 // 3)
    view = replace(desk.view, low=low, high=low + CLOSE_UP, tail=None, cursor=onset)
    told = (found for found in scene.snapshot.findings if found.family == "nan" and found.onset_step >= onset)
    row = next((found.signature for found in told if found.active), desk.row)
    return replace(desk, mode="autopsy", view=view, before=before, row=row)


def _back(scene: Scene) -> Desk:
    """Closes what was opened last: a mode, then the filter, the cursor, other metrics, the zoom."""
    desk = scene.desk
    if desk.mode == "autopsy":
        return replace(desk, mode="run", view=desk.before or View(), before=None)
    if desk.mode == "large":
        return replace(desk, mode="run", metric="", under=0)
    if desk.pattern:
        return replace(desk, pattern="", page=0)
    if desk.view.cursor is not None:
        return replace(desk, view=replace(desk.view, cursor=None))
    if desk.page:
        return replace(desk, page=0)
    return _whole(scene)


def _whole(scene: Scene) -> Desk:
    if scene.desk.held is not None:
        # Paused: the whole run as far as it went when the picture was held.
        return replace(scene.desk, view=replace(scene.view, low=scene.first, high=scene.last, tail=None))
    return replace(scene.desk, view=replace(scene.view, low=None, high=None, tail=None))


def _usual(scene: Scene) -> Desk:
    """Everything as it is before a key was pressed, but for the chosen row and what is open in the table."""
    desk = scene.desk
    return Desk(row=desk.row, opened=desk.opened, closed=desk.closed, said="everything as usual again")


def toggled(scene: Scene) -> Desk:
    """The chosen row opened or closed."""
    chosen = next((entry for entry in entries(scene) if entry.chosen), None)
    if chosen is None:
        return scene.desk
    signature, desk = chosen.row.signature, scene.desk
    if chosen.open:
        return replace(desk, row=signature, opened=desk.opened - {signature}, closed=desk.closed | {signature})
    return replace(desk, row=signature, opened=desk.opened | {signature}, closed=desk.closed - {signature})


def _page(scene: Scene) -> Desk:
    """The next four metrics; under an enlarged one, one more each time, and none again after the third."""
    desk = scene.desk
    if desk.mode == "large":
        more = replace(desk, under=desk.under + 1)
        fits = desk.under < MOST_UNDER and len(replace(scene, desk=more).enlarged) > 1 + desk.under
        return more if fits else replace(desk, under=0)
    if len(scene.pages) == 1:
        return replace(desk, said="no other metrics in this log" + (" match the filter" if desk.pattern else ""))
    return replace(desk, page=(desk.page + 1) % len(scene.pages))


def filtered(scene: Scene, pattern: str) -> Desk:
    """Rows and metrics that contain `pattern`; the panels turn to such metrics where there are any beside the roles."""
    found = replace(scene, desk=replace(scene.desk, pattern=pattern, page=0))
    return replace(found.desk, page=1 if pattern and len(found.pages) > 1 else 0)


MOVES: dict[str, Callable[[Scene], Desk]] = {
    "left": lambda scene: _stride(scene, -1),
    "right": lambda scene: _stride(scene, 1),
    "home": lambda scene: at(scene, scene.first),
    "live": _live,
    "row_up": lambda scene: _row(scene, -1),
    "row_down": lambda scene: _row(scene, 1),
    "next_finding": lambda scene: _finding(scene, 1),
    "previous_finding": lambda scene: _finding(scene, -1),
    "rewind": _rewind,
    "pause": _pause,
    "zoom_in": lambda scene: zoom(scene, 0.5),
    "zoom_out": lambda scene: zoom(scene, 2.0),
    "whole": _whole,
    "usual": _usual,
    "log": lambda scene: replace(scene.desk, view=replace(scene.view, log=not scene.view.log)),
    "smooth": lambda scene: replace(scene.desk, view=replace(scene.view, smooth=(scene.view.smooth + 1) % 4)),
    "overlay": lambda scene: replace(
        scene.desk, view=replace(scene.view, overlay=not scene.view.overlay, share=not scene.view.overlay)
    ),
    "page": _page,
    "autopsy": _autopsy,
    "back": _back,
    "toggle": toggled,
}
