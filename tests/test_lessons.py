"""Lessons: one for each row, and every number and formula in them against a computation that does not use it."""

from __future__ import annotations

import math
import random
import re
import struct
from collections.abc import Callable

import pytest

from tuimon.catalogue import BY_SIGNATURE, ROWS, Row
from tuimon.catalogue.lesson import ALWAYS
from tuimon.catalogue.lessons import LESSONS
from tuimon.valley import walk

NUMBER = re.compile(r"(?<![\w.])-?(?:\d[\d,]*\.?\d*|\.\d+)(?:e[+-]?\d+)?")


def numbers(text: str) -> list[str]:
    """The numbers in a text, as they are written."""
    return [found.rstrip(".,") for found in NUMBER.findall(text)]


def cross_entropy(logits: list[float], target: int = 0) -> float:
    return math.log(sum(math.exp(value) for value in logits)) - logits[target]


def blind(classes: int) -> float:
    return cross_entropy([0.0] * classes)


def twice(classes: int) -> float:
    return cross_entropy([1.0] + [0.0] * (classes - 1))


def halved_after(beta: float) -> int:
    share, steps = 1.0, 0
    while share > 0.5:
        share, steps = share * beta, steps + 1
    return steps


def multiplied(factor: float, times: int) -> float:
    value = 1.0
    for _ in range(times):
        value *= factor
    return value


def bits_of_room(gradient: float) -> float:
    """Doublings until fp16 has no room, by its own rounding; the last one in part."""
    count = 0
    while gradient * 2 <= 65504:
        gradient, count = gradient * 2, count + 1
    return count + math.log2(65504 / gradient)


def spread_of(loss: float, classes: int) -> float:
    """Standard deviation of Gaussian logits that cost this loss, by drawing them."""
    rng = random.Random(3)
    rows = [[rng.gauss(0, 1) for _ in range(classes)] for _ in range(120)]
    low, high = 0.0, 6.0
    for _ in range(30):
        middle = (low + high) / 2
        mean = sum(cross_entropy([middle * value for value in row], i) for i, row in enumerate(rows)) / len(rows)
        low, high = (middle, high) if mean < loss else (low, middle)
    return low


def slope(function: Callable[[float], float], at: float, width: float = 1e-6) -> float:
    return (function(at + width) - function(at - width)) / (2 * width)


def growth_until(limit: float, factor: float) -> int:
    value, steps = 1.0, 0
    while value <= limit:
        value, steps = value * factor, steps + 1
    return steps


def limit_of(lr: float, growth: float) -> float:
    """The rate at which a walk neither shrinks nor grows, in the valley where it grows so at `lr`."""
    curvature = (1 + growth) / lr
    rates = [rate / 1000 for rate in range(1, 1000)]
    return next(rate for rate in rates if abs(walk(rate, curvature, steps=50)[-1]) >= 1)


# Numbers of each example in order: a string is given, all else is computed here; what is drawn by lot with its room.
EXAMPLES: dict[str, list[str | float | tuple[float, float]]] = {
    "lr-too-high": ["10", abs(walk(2.2, 1.0, steps=1)[1]), abs(walk(2.2, 1.0, steps=20)[-1]), "20", "1.5", ".1",
                    limit_of(0.1, 1.5)],
    "slow-divergence": ["512", 512 / 2**7],
    "loss-spike": [".999", sum(multiplied(0.999, k) for k in range(9000)), ".95", sum(0.95**k for k in range(900))],
    "unrecovered-spike": [".999", halved_after(0.999), ".95", halved_after(0.95)],
    "exploding-gradient": ["80", "1", 80 * 1 / 80, "80"],
    "oscillation": ["95", walk(1.9, 1.0, steps=1)[1], 100 * (1 - abs(walk(1.9, 1.0, steps=1)[1]))],
    "gradients-accumulate": ["32", sum(1 for _ in range(32))],
    "nan-after-growth": [abs(walk(2.6, 1.0, steps=1)[1]), "1", growth_until(65504, 1.6)],
    "nan-backward": ["1e-12", 1 / (2 * math.sqrt(1e-12)), "0"],
    "fp16-range": ["1", "2", "12", bits_of_room(2.0**12), "65504", struct.unpack("e", b"\x01\x00")[0]],
    "lr-too-low": ["1e-6", "1", "10,000", sum(1e-6 for _ in range(10_000))],
    "uniform-prediction": ["2", blind(2), "10", blind(10), "1000", blind(1000)],
    "prior-prediction": ["2.10", multiplied(math.e ** 0.1, 21)],
    "double-softmax": ["2", twice(2), "10", twice(10), "100", twice(100)],
    "vanishing-gradient": [".9", multiplied(0.9, 10), "10", multiplied(0.9, 50), "50"],
    "saturated": ["0.97", slope(math.tanh, math.atanh(0.97)), 1 / slope(math.tanh, math.atanh(0.97))],
    "initial-loss-off": ["1000", blind(1000), "9", (spread_of(9.0, 1000), 0.15)],
}  # fmt: skip


def test_every_row_has_its_lesson_and_no_lesson_is_an_orphan() -> None:
    assert LESSONS.keys() == BY_SIGNATURE.keys()


@pytest.mark.parametrize("signature", LESSONS)
def test_a_lesson_is_short(signature: str) -> None:
    lesson = LESSONS[signature]
    assert 0 < len(lesson.why) <= 300
    assert len(lesson.formula) <= 74
    assert len(lesson.example) <= 170
    assert all(0 < len(pitfall) <= 130 for pitfall in (*lesson.pitfalls, *ALWAYS))


@pytest.mark.parametrize("signature", LESSONS)
def test_every_number_of_an_example_is_computed(signature: str) -> None:
    example = LESSONS[signature].example
    wanted = EXAMPLES.get(signature, [])
    assert bool(example) == bool(wanted)
    said = numbers(example.replace("**", " ").replace("beta2", "beta"))
    assert len(said) == len(wanted), said
    for shown, value in zip(said, wanted, strict=True):
        if isinstance(value, str):
            assert shown == value
        else:
            digits = len(shown.partition("e")[0].partition(".")[2])
            value, drawn = value if isinstance(value, tuple) else (value, 0.0)
            room = drawn or 0.51 * 10.0**-digits * 10.0 ** int(shown.partition("e")[2] or 0)
            assert float(shown.replace(",", "")) == pytest.approx(value, abs=room), shown


def noise_floor(lr: float, batch: int) -> float:
    """Mean square distance from the minimum where a noisy descent ends."""
    rng = random.Random(1)
    position, total = 0.0, 0.0
    for _ in range(40_000):
        position -= lr * (position + rng.gauss(0, 1) / math.sqrt(batch))
        total += position * position
    return total / 40_000


def log_grad(x: float) -> float:
    return -math.log(x)


# Each formula, said in numbers by something that does not know it.
FORMULAS: dict[str, Callable[[], bool]] = {
    "lr-too-high": lambda: (
        walk(0.3, 4.0, steps=1)[1] == pytest.approx(1 - 0.3 * 4.0)
        and abs(walk(0.499, 4.0, steps=900)[-1]) < 1 < abs(walk(0.501, 4.0, steps=900)[-1])
    ),
    "slow-divergence": lambda: [_bf16_gap(512.0) / 512, _bf16_gap(1023.0) / 1024] == [1 / 128, 1 / 256],
    "loss-spike": lambda: sum(0.99**k for k in range(3000)) == pytest.approx(1 / (1 - 0.99)),
    "unrecovered-spike": lambda: halved_after(0.99) == math.ceil(math.log(2) / -math.log(0.99)),
    "exploding-gradient": lambda: math.hypot(*(g * min(1, 2 / math.hypot(3, 4)) for g in (3, 4))) == pytest.approx(2),
    "oscillation": lambda: all(a * b < 0 for a, b in zip(walk(0.4, 4.0), walk(0.4, 4.0)[1:], strict=False)),
    "gradients-accumulate": lambda: [sum([1] * t) for t in (1, 5)] == [1, 5],
    "below-floor": lambda: min(log_grad(p / 100) for p in range(1, 101)) == 0,
    "nan-after-growth": lambda: growth_until(1e6, 1.7) == math.ceil(math.log(1e6 / 1) / math.log(1.7)),
    "nan-forward": lambda: all(x != x for x in (math.inf - math.inf, 0 * math.inf)),
    "nan-backward": lambda: slope(math.sqrt, 4.0) == pytest.approx(1 / (2 * math.sqrt(4.0))),
    "nan-empty-batch": lambda: math.isnan(math.inf * 0),
    "fp16-range": lambda: bits_of_room(2.0**10 * 3) == pytest.approx(math.log2(65504 / (2**10 * 3))),
    "inf-first": lambda: _fp32(math.exp(88)) < math.inf == _fp32(math.exp(89)),
    "zero-gradient": lambda: 3.0 - 0.1 * 0 == 3.0,
    "lr-too-low": lambda: all(
        0.5 * 4 * a * a - 0.5 * 4 * b * b <= 0.01 * (4 * a) ** 2
        for a, b in zip(walk(0.01, 4.0), walk(0.01, 4.0)[1:], strict=False)
    ),
    "uniform-prediction": lambda: blind(7) == pytest.approx(math.log(7)),
    "prior-prediction": lambda: -sum(p * math.log(p) for p in (0.25,) * 4) == pytest.approx(math.log(4)),
    "double-softmax": lambda: twice(10) == pytest.approx(math.log(math.e + 10 - 1) - 1),
    "memorising-noise": lambda: cross_entropy([0.0, 5.0, 0.0]) > math.log(3),
    "flat-midway": lambda: (
        noise_floor(0.1, 4) / noise_floor(0.05, 4) == pytest.approx(2, rel=0.1)
        and noise_floor(0.05, 4) / noise_floor(0.05, 16) == pytest.approx(4, rel=0.1)
    ),
    "vanishing-gradient": lambda: multiplied(0.7, 9) == pytest.approx(0.7**9),
    "dead-relu": lambda: slope(lambda x: max(x, 0.0), -1.0) == 0,
    "saturated": lambda: slope(math.tanh, 1.3) == pytest.approx(1 - math.tanh(1.3) ** 2),
    "initial-loss-off": lambda: spread_of(8.0, 1000) == pytest.approx(math.sqrt(2 * (8 - math.log(1000))), rel=0.1),
}


def _bf16_gap(value: float) -> float:
    """Distance from a bf16 number to the next one up: the upper half of the bits of fp32."""
    (bits,) = struct.unpack(">I", struct.pack(">f", value))
    low, high = bits >> 16 << 16, (bits >> 16) + 1 << 16
    return float(struct.unpack(">f", struct.pack(">I", high))[0] - struct.unpack(">f", struct.pack(">I", low))[0])


def _fp32(value: float) -> float:
    try:
        return float(struct.unpack("f", struct.pack("f", value))[0])
    except OverflowError:
        return math.inf


SENTENCES = {"nan-val-only", "frozen-weights", "undertrained"}
"""Rows whose formula says how things hang together, and states nothing that could be computed."""


def test_every_formula_has_its_computation() -> None:
    assert FORMULAS.keys() | SENTENCES == {signature for signature, lesson in LESSONS.items() if lesson.formula}


@pytest.mark.parametrize("signature", FORMULAS)
def test_a_formula_is_what_numbers_do(signature: str) -> None:
    assert FORMULAS[signature]()


def test_numbers_in_the_rows_are_those_of_the_formulas() -> None:
    said = {row.signature: row.separator + " ".join(row.causes) for row in ROWS}
    assert all(f"{twice(classes):.3f}" in said["double-softmax"] for classes in (2, 10, 100))
    assert f"{blind(10):.3f}" in said["uniform-prediction"]
    assert f"leave {multiplied(0.9, 50):.3f}" in said["vanishing-gradient"]
    assert "65504" in said["fp16-range"] and "6e-8" in said["fp16-range"]
    assert f"{struct.unpack('e', bytes((1, 0)))[0]:.0e}" == "6e-08"


def test_saturation_means_the_same_in_the_lesson_the_check_and_the_log() -> None:
    layers = pytest.importorskip("tuimon.torch.layers")
    torch = pytest.importorskip("torch")
    low, high = layers.SATURATION_EDGE[torch.nn.Sigmoid]
    assert layers.SATURATION_EDGE[torch.nn.Tanh] == (-0.97, 0.97)
    code = BY_SIGNATURE["saturated"].checks[0].code
    assert f"({low}, {high})" in code and "(-0.97, 0.97)" in code
    assert "tanh(x) = 0.97" in LESSONS["saturated"].example
    # At both edges the slope is the same share of the steepest.
    assert 4 * high * (1 - high) == pytest.approx(1 - 0.97**2, rel=0.01)


def test_adam_s_eps_is_nothing_in_half_precision() -> None:
    assert struct.unpack("e", struct.pack("e", 1e-8))[0] == 0


def test_what_every_failure_needs_is_said() -> None:
    said = " ".join([*ALWAYS, *(pitfall for lesson in LESSONS.values() for pitfall in lesson.pitfalls)])
    for needed in (
        "unscale_",
        "Never overwrite the last good checkpoint",
        "One change per experiment",
        "Dump the batch",
    ):
        assert needed in said


@pytest.mark.parametrize("jargon", ["sharpness", "z-loss", "qk-norm", "nats", "surer"])
def test_words_of_the_trade_are_avoided_or_explained(jargon: str) -> None:
    explained = {"sharpness": "curvature (sharpness)"}
    for row in ROWS:
        lesson = LESSONS[row.signature]
        checks = [text for check in row.checks for text in (check.look, check.expect)]
        text = " ".join([row.symptom, row.separator, *row.causes, *checks, row.fix, lesson.why, lesson.formula])
        text = " ".join([text, lesson.example, *lesson.pitfalls]).replace(explained.get(jargon, "-"), "")
        assert jargon not in text, row.signature


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.signature)
def test_ln_c_is_explained_in_each_row_that_uses_it(row: Row) -> None:
    text = f"{row.symptom} {row.separator}"
    lesson = LESSONS[row.signature]
    if "ln C" in text or "ln C" in lesson.why + lesson.formula:
        assert "C classes" in text or "classes" in row.separator
