"""The lab's pages as lines: the values, what they amount to, and two pictures. Pure."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from tuimon.formulas import through_layers
from tuimon.numerals import value_text
from tuimon.panels.footer import hints
from tuimon.panels.ink import Line, Span, wrap
from tuimon.panels.keys import ALL, Keys, in_ascii, spelled
from tuimon.panels.lab.bench import KNOBS, PAGES, Bench
from tuimon.panels.plot import bins_of, plotted
from tuimon.scale import Scale
from tuimon.store import Bin
from tuimon.valley import limit, losses, multiplier, regime, softening, walk, warmup

STEPS = 60
"""Steps of a walk: enough that 5 % past the limit is seen to grow, few enough to be seen one by one."""

LONG = 200
"""Steps of the warmup page: three time constants of the softening and some rest."""

DECADES = 12
"""What lies further from the start than a float can tell apart (2**-52) is rounding or long lost."""

WORDS = {
    "creeps": "creeps: stays on one side, a little lower every step",
    "bounces": "bounces: crosses to the other side every step, still lower each time",
    "swings": "swings: momentum carries it through and back, lower each time",
    "blows up": "blows up: lands higher every step, and nothing brings it back",
}
AT_LIMIT = "stands at the limit: lands just as high every step, and never comes down"

SHOWN = {
    "vanishes": "The global gradient norm does not show it: it is that of the last layers.",
    "explodes": "The global gradient norm shows it: it is that of the first layers.",
    "arrives": "All layers learn.",
}
"""What the one norm that is usually logged says about it."""

Page = Callable[[Bench, int, int, bool], list[Line]]


def figure(bench: Bench, width: int, height: int, ascii_only: bool = False, keys: Keys = ALL) -> list[Line]:
    """The whole picture in `width` x `height` cells; `keys` as the user wants them."""
    tabs: list[Span] = [Span(" lab ", "strong")]
    for number, name in enumerate(PAGES):
        tabs.append(Span(f" {number + 1} {name} ", "chosen" if number == bench.page else "dim"))
    head: list[Line] = [tuple(tabs)]
    if bench.origin:
        head += [(Span(f" {text}", "note"),) for text in wrap(bench.origin, width - 2)[:2]]
    keys = in_ascii(keys) if ascii_only else keys
    caps = {key.name: key.cap.partition(" ")[0] for key in keys}
    knobs = "  ".join(f"{caps[knob.less]} {caps[knob.more]} {knob.word}" for knob in KNOBS if bench.page in knob.pages)
    rest = spelled("1-4 Tab page  {whole-run} start again  {quit} back", keys)
    foot: Line = (Span(f" {hints(f'{knobs}  {rest}', width - 1)}", "key"),)
    body = (_one_valley, _two_valleys, _warmup, _depth)[bench.page](bench, width, height - len(head) - 1, ascii_only)
    body = body[: max(height - len(head) - 1, 0)]
    body += [()] * (height - len(head) - 1 - len(body))
    return [*head, *body, foot]


def _said(text: str, width: int, ink: str = "plain") -> list[Line]:
    return [(Span(f" {line}", ink),) for line in wrap(text, max(width - 2, 10))]


def _two(left: tuple[str, list[str]], right: tuple[str, list[str]], width: int) -> list[Line]:
    """Two titled pictures side by side."""
    half = width // 2
    lines: list[Line] = [(Span(f" {left[0]}"[: half - 1].ljust(half), "dim"), Span(f" {right[0]}", "dim"))]
    lines += [(Span(one.ljust(half)), Span(other)) for one, other in zip(left[1], right[1], strict=True)]
    return lines


def _one_valley(bench: Bench, width: int, height: int, ascii_only: bool) -> list[Line]:
    factor = multiplier(bench.lr, bench.curvature, bench.momentum)
    name = regime(bench.lr, bench.curvature, bench.momentum)
    word = AT_LIMIT if math.isclose(abs(factor), 1.0, rel_tol=1e-9) else WORDS[name]
    positions = walk(bench.lr, bench.curvature, bench.momentum, steps=STEPS)
    values = losses(positions, bench.curvature)
    formula = "1 - lr*a" if not bench.momentum else "factor per step"
    value = f"{factor.real:+.3f}" if not factor.imag else f"{abs(factor):.3f}, turning"
    said = [
        *_said(
            f"lr {value_text(bench.lr, 3)}, curvature a {value_text(bench.curvature, 3)}, "
            f"momentum m {bench.momentum:.1f}; limit {'2(1+m)/a' if bench.momentum else '2/a'} = "
            f"{value_text(bench.limit, 3)}, lr at {bench.lr / bench.limit:.0%}",
            width,
        ),
        *_said(f"{formula} = {value}. It {word}", width, "failure" if name == "blows up" else "healthy"),
        *_ruler(bench, width, ascii_only),
    ]
    rows = height - len(said) - 1
    half = width // 2
    return [
        *said,
        *_two(
            ("the valley a*x^2/2 and the walk", _valley_picture(bench, positions, half - 1, rows, ascii_only)),
            (f"loss over {STEPS} steps, log", _loss_picture(values, half - 1, rows, ascii_only)),
            width,
        ),
    ]


def _ruler(bench: Bench, width: int, ascii_only: bool) -> list[Line]:
    """Where the learning rate stands between 0 and twice its limit; the flip is in the middle."""
    room = max(width - 4, 20)
    middle = room // 2
    cells = list(("-" if ascii_only else "─") * room)
    cells[middle] = "|" if ascii_only else "┃"
    labels = [(0, "0")]
    if not bench.momentum:
        cells[middle // 2] = "|" if ascii_only else "│"
        labels.append((middle // 2, "1/a"))
    labels.append((middle, "2/a" if not bench.momentum else "2(1+m)/a"))
    place = min(round(bench.lr / bench.limit * middle), room - 1)
    cells[place] = "O" if ascii_only else "●"
    under = [" "] * (room + 8)
    for start, text in labels:
        under[start : start + len(text)] = text
    beyond = "blows up"
    under[middle + 12 : middle + 12 + len(beyond)] = beyond
    track = "".join(cells)
    return [
        (Span("  "), Span(track[:middle], "healthy"), Span(track[middle:], "failure")),
        (Span("  " + "".join(under)[:room], "dim"),),
    ]


def _valley_picture(bench: Bench, positions: Sequence[float], width: int, rows: int, ascii_only: bool) -> list[str]:
    reach = min(max(abs(position) for position in positions), 3.0) * 1.1
    dots = max(2 * (width - 8), 2)
    places = [reach * (2 * x / (dots - 1) - 1) for x in range(dots)]
    curve = bins_of(losses(places, bench.curvature))
    points = [Bin(None, None, None, 0, 0)] * dots
    for position in positions:
        if abs(position) <= reach:
            height = bench.curvature * position * position / 2
            points[round((position / reach + 1) / 2 * (dots - 1))] = Bin(height, height, height, 0, 0)
    scale = Scale(0.0, bench.curvature * reach * reach / 2)
    return plotted(curve, scale, width, rows, ascii_only, points=points)


def _loss_picture(
    values: Sequence[float | None], width: int, rows: int, ascii_only: bool, behind: Sequence[float] = ()
) -> list[str]:
    """Loss per step on a log axis of at most DECADES to either side of where it began."""
    shown = [value for value in (*values, *behind) if value is not None and value > 0]
    first = max(values[0] or 0.0, 1e-9)
    high = min(max(shown, default=1.0), first * 10.0**DECADES)
    low = max(min(shown, default=0.1), first / 10.0**DECADES)
    scale = Scale(low if low < high else high / 10, high, True)
    return plotted(bins_of(values), scale, width, rows, ascii_only, behind=bins_of(behind))


def _two_valleys(bench: Bench, width: int, height: int, ascii_only: bool) -> list[Line]:
    flat = bench.curvature / bench.spread
    said = [
        *_said(
            f"lr {value_text(bench.lr, 3)} for both; curvature a {value_text(bench.curvature, 3)} of the steep one, "
            f"{value_text(flat, 3)} of the flat one; momentum {bench.momentum:.1f}",
            width,
        )
    ]
    for word, curvature in (("steep", bench.curvature), ("flat", flat)):
        size = abs(multiplier(bench.lr, curvature, bench.momentum))
        state = regime(bench.lr, curvature, bench.momentum)
        said += _said(
            f"{word}: {state}, distance x {size:.4f} per step; {_halving(size)}",
            width,
            "failure" if size > 1 else "plain",
        )
    said += _said(
        f"One rate is bounded by the steep valley ({value_text(bench.limit, 3)}) and slow in the flat one. Scaled for "
        f"each parameter (as Adam does, roughly), lr*a is the same in both.",
        width,
        "dim",
    )
    rows = height - len(said) - 1
    half = width // 2
    steep = losses(walk(bench.lr, bench.curvature, bench.momentum, steps=STEPS), bench.curvature)
    slow = losses(walk(bench.lr, flat, bench.momentum, steps=STEPS), flat)
    scaled = losses(walk(bench.lr * bench.spread, flat, bench.momentum, steps=STEPS), flat)
    return [
        *said,
        *_two(
            ("one rate: steep; the flat one dotted", _loss_picture(steep, half - 1, rows, ascii_only, slow)),
            ("rate scaled: both are alike", _loss_picture(steep, half - 1, rows, ascii_only, scaled)),
            width,
        ),
    ]


def _halving(size: float) -> str:
    if size >= 1:
        return "never halves"
    steps = math.ceil(math.log(0.5) / math.log(size)) if size > 0 else 0
    return f"halves in {steps} step{'s' * (steps > 1)}" if steps else "there in one step"


def _warmup(bench: Bench, width: int, height: int, ascii_only: bool) -> list[Line]:
    steep = bench.curvature * bench.early
    curvatures = softening(steep, bench.curvature, LONG, LONG / 6)
    ramp = warmup(bench.lr, LONG, bench.ramp)
    full = warmup(bench.lr, LONG, 0)
    over = [step for step in range(LONG) if full[step] >= limit(curvatures[step])]
    over_ramped = [step for step in range(LONG) if ramp[step] >= limit(curvatures[step])]
    rough = losses(walk(full, curvatures, steps=LONG), curvatures)
    gentle = losses(walk(ramp, curvatures, steps=LONG), curvatures)
    top = rough[0] * 10.0**DECADES
    said = [
        *_said(
            f"lr {value_text(bench.lr, 3)}; curvature a {value_text(steep, 3)} in the first step, "
            f"{value_text(bench.curvature, 3)} later; warmup {bench.ramp} steps",
            width,
        ),
        *_said(
            f"lr*a in the first step {value_text(bench.lr * steep, 3)} (limit 2), with warmup "
            f"{value_text(ramp[0] * steep, 3)}. Over the limit for {len(over)} steps, with warmup {len(over_ramped)}.",
            width,
            "failure" if over_ramped else "healthy",
        ),
        *_said(
            f"Highest loss {_highest(rough, top)}, with warmup {_highest(gentle, top)}. A network is "
            "steepest in its first steps: a rate that is right later is too high there.",
            width,
            "dim",
        ),
    ]
    rows = height - len(said) - 1
    half = width // 2
    return [
        *said,
        *_two(
            (f"loss over {LONG} steps, log: full rate", _loss_picture(_until(rough, top), half - 1, rows, ascii_only)),
            (f"with a warmup of {bench.ramp}", _loss_picture(_until(gentle, top), half - 1, rows, ascii_only)),
            width,
        ),
    ]


def _lost(values: Sequence[float], top: float) -> int | None:
    """The step from which the loss is past the top of its picture, None if it never is."""
    return next((step for step, value in enumerate(values) if value > top), None)


def _highest(values: Sequence[float], top: float) -> str:
    step = _lost(values, top)
    return value_text(max(values), 3) if step is None else f"past {value_text(top, 3)} from step {step} on"


def _until(values: Sequence[float], top: float) -> list[float | None]:
    """The walk as far as it means something: once lost, a network has left the valley, and the curve ends."""
    step = _lost(values, top)
    return [*values] if step is None else [*values[: step + 1], *[None] * (LONG - step)]


def _depth(bench: Bench, width: int, height: int, ascii_only: bool) -> list[Line]:
    plain = [through_layers(bench.factor, layer) for layer in range(bench.depth + 1)]
    across = [through_layers(bench.factor, layer, residual=True) for layer in range(1, bench.depth + 1)]
    arriving = [1.0, *across]
    end = plain[-1]
    word = "vanishes" if end < 0.01 else "explodes" if end > 100 else "arrives"
    said = [
        *_said(
            f"Each of n = {bench.depth} layers multiplies the gradient by f = {bench.factor:.2f}: "
            f"{bench.factor:.2f}^{bench.depth} = {value_text(end, 3)}, the gradient {word}",
            width,
            "failure" if word != "arrives" else "healthy",
        ),
        *_said(
            f"With a residual path around each, (1 + f^2/n)^(n/2) = {value_text(across[-1], 3)}: it arrives whatever "
            f"the depth. {SHOWN[word]}",
            width,
            "dim",
        ),
    ]
    rows = height - len(said) - 1
    half = width // 2
    return [
        *said,
        *_two(
            ("share left after each layer, log", _loss_picture(plain, half - 1, rows, ascii_only)),
            (
                "with residual paths, by depth",
                plotted(bins_of(arriving), Scale(0.0, max(*arriving, 2.0)), half - 1, rows, ascii_only),
            ),
            width,
        ),
    ]
