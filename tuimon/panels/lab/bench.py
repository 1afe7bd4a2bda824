"""The values that stand on the lab's bench, and the keys that turn them. No drawing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from tuimon.estimate import Estimate
from tuimon.valley import limit

SHARE = 0.05
"""One press moves the learning rate by this share of its limit, so that the flip is met exactly."""

PAGES = ("one valley", "two valleys", "warmup", "depth")


@dataclass(frozen=True, slots=True)
class Bench:
    """What the figure is drawn from.

    Attributes:
        page: index into PAGES.
        lr, curvature, momentum: of the valley; the learning rate's limit follows from the other two.
        spread: how many times flatter the second valley is.
        early: how many times steeper the valley is in the first step than later.
        ramp: steps of warmup, of 200.
        factor, depth: what each layer multiplies a gradient by, and how many there are.
        origin: where the first values come from and how sure they are, empty for the textbook's.
    """

    page: int = 0
    lr: float = 0.35
    curvature: float = 4.0
    momentum: float = 0.0
    spread: float = 50.0
    early: float = 8.0
    ramp: int = 100
    factor: float = 0.9
    depth: int = 50
    origin: str = ""

    @property
    def limit(self) -> float:
        """The learning rate from which this valley's steps grow."""
        return limit(self.curvature, self.momentum)


def bench_of(found: Estimate) -> Bench:
    """The bench at the values of a run, as far as they are known."""
    if found.curvature is None:
        return Bench(origin=found.words)
    return Bench(lr=found.lr, curvature=found.curvature, momentum=min(found.momentum, 0.9), origin=found.words)


Turn = Callable[[Bench], Bench]


class Knob(NamedTuple):
    """One pair of keys that turns one value.

    Attributes:
        pages: where it does something.
        less, more: names of the keys.
        word: what they turn.
        down, up: what they do to the bench.
    """

    pages: tuple[int, ...]
    less: str
    more: str
    word: str
    down: Turn
    up: Turn


def _rate(ticks: int) -> Turn:
    def turn(bench: Bench) -> Bench:
        share = round(bench.lr / bench.limit / SHARE) + ticks
        return replace(bench, lr=min(max(share, 1), 80) * SHARE * bench.limit)

    return turn


def _times(name: str, factor: float, low: float, high: float) -> Turn:
    def turn(bench: Bench) -> Bench:
        # Three digits, so that as many presses back lead back.
        value = float(f"{getattr(bench, name) * factor:.3g}")
        turned: dict[str, Any] = {name: min(max(value, low), high)}
        return replace(bench, **turned)

    return turn


def _plus(name: str, amount: float, low: float, high: float) -> Turn:
    def turn(bench: Bench) -> Bench:
        value = round(getattr(bench, name) + amount, 4)
        return replace(bench, **{name: type(getattr(bench, name))(min(max(value, low), high))})

    return turn


KNOBS = (
    Knob((0, 1, 2), "step-back", "step-forward", "lr", _rate(-1), _rate(1)),
    Knob((0,), "row-down", "row-up", "a", _times("curvature", 0.8, 1e-6, 1e9), _times("curvature", 1.25, 1e-6, 1e9)),
    Knob((1,), "row-down", "row-up", "spread", _times("spread", 0.5, 1, 1e4), _times("spread", 2, 1, 1e4)),
    Knob((2,), "row-down", "row-up", "early a", _times("early", 0.5, 1, 1e3), _times("early", 2, 1, 1e3)),
    Knob(
        (0, 1),
        "momentum-down",
        "momentum-up",
        "momentum",
        _plus("momentum", -0.1, 0, 0.9),
        _plus("momentum", 0.1, 0, 0.9),
    ),
    Knob((2,), "zoom-out", "zoom-in", "warmup", _plus("ramp", -10, 0, 200), _plus("ramp", 10, 0, 200)),
    Knob((3,), "step-back", "step-forward", "factor", _plus("factor", -0.05, 0.05, 2), _plus("factor", 0.05, 0.05, 2)),
    Knob((3,), "row-down", "row-up", "layers", _plus("depth", -5, 5, 200), _plus("depth", 5, 5, 200)),
)


def turned(bench: Bench, name: str) -> Bench:
    """The bench after the key of this name; unchanged where it turns nothing on this page."""
    for knob in KNOBS:
        if bench.page in knob.pages and name in (knob.less, knob.more):
            return (knob.down if name == knob.less else knob.up)(bench)
    return bench
