"""Pictures of the whole screen, colours and all; `pytest tests/test_snapshots.py --snapshot-update` takes them anew.

They are few, because each of them changes with every word on the screen: they guard layout and colours. What the screen
says is tested in the other files.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from screens import LIVE, NOW, Row, Screen, broken, flat, growing, learning
from textual.pilot import Pilot

from tuimon.app.monitor_app import MonitorApp, Options
from tuimon.catalogue import ROWS
from tuimon.follow import Status
from tuimon.panels import rows, table

Compare = Callable[..., bool]

PICTURES: dict[str, tuple[list[Row], tuple[int, int], tuple[str, ...], dict[str, Any]]] = {
    "healthy": (learning(), (120, 40), (), {}),
    "diverged": (growing(), (120, 40), (), {}),
    "autopsy": (broken(late_loss=1), (120, 40), ("n",), {}),
    "plateau": (flat(), (120, 40), (), {}),
    "narrow": (broken(), (80, 24), (), {}),
    "ascii": (broken(), (80, 24), ("n",), {"ascii": True}),
    "light": (broken(), (160, 40), ("v",), {"theme": "light"}),
    "tiny": (broken(), (40, 10), (), {}),
    "sixteen": (growing(), (100, 30), ("y",), {"theme": "sixteen"}),
    "help": (learning(), (80, 24), ("question_mark",), {}),
}


@pytest.fixture(autouse=True)
def rows_with_words_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """The catalogue's rows with fixed words, so that a better word there is no other picture here."""
    words = {
        "symptom": "what is seen",
        "causes": ("the likeliest cause", "another one"),
        "fix": "What to do then.",
        "separator": "what tells it from its neighbours",
        "confused_with": (),
    }
    check = replace(
        ROWS[0].checks[0], look="Look at this first.", code="print(x.isfinite().all())", expect="False: it."
    )
    monkeypatch.setattr(table, "NOW", dict.fromkeys(table.NOW, "What to do at once."))
    monkeypatch.setattr(rows, "ROWS", tuple(replace(row, **words, checks=(check,)) for row in ROWS))


@pytest.mark.parametrize("name", PICTURES)
def test_the_screen_looks_like_this(name: str, snap_compare: Compare) -> None:
    run, size, keys, options = PICTURES[name]

    async def show(pilot: Pilot[None]) -> None:
        shown = Screen(app, pilot)
        await shown.tell(LIVE)
        await shown.bring(run, "run-7", num_classes=10, total_steps=2000)
        await shown.press(*keys)

    app = MonitorApp(Options(name="run.jsonl", **options), describe=lambda: "tuimon log", clock=lambda: NOW)
    assert snap_compare(app, terminal_size=size, run_before=show)


def test_the_screen_looks_like_this_while_it_waits(snap_compare: Compare) -> None:
    async def show(pilot: Pilot[None]) -> None:
        await Screen(app, pilot).tell(Status("waiting", "waiting for run.jsonl"))

    app = MonitorApp(Options(name="run.jsonl"), clock=lambda: NOW)
    assert snap_compare(app, terminal_size=(80, 24), run_before=show)
