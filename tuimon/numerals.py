"""Numbers as a person reads them: values, steps, and ticks for axes (stdlib only)."""

from __future__ import annotations

import math

_MANTISSAS = (1.0, 2.0, 2.5, 5.0, 10.0)
_IN_A_DECADE = ((1, 2, 3, 4, 5, 6, 7, 8, 9), (1, 2, 5), (1, 3))


def value_text(value: float | None, digits: int = 4) -> str:
    """`value` in at most `digits` + 4 characters; trailing zeros stay, so that a live value does not change its width.

    Missing is "-", non-finite values are "nan", "inf" and "-inf".
    """
    if value is None:
        return "-"
    if not math.isfinite(value):
        return "nan" if value != value else ("inf" if value > 0 else "-inf")
    size = abs(value)
    if size == 0:
        return "0"
    if 1e-3 <= size < 9999.5:
        text = f"{value:#.{digits}g}"
        return text.rstrip(".") if "e" not in text else f"{value:.0f}"
    if 9999.5 <= size < 999_950:
        return f"{value / 1e3:.{max(digits, 3)}g}k"
    if 999_950 <= size < 999_950_000:
        return f"{value / 1e6:.{max(digits, 3)}g}M"
    return _exponent(value, digits)


def step_text(step: int) -> str:
    """A step, exactly when that is short: 950, 2412, 25k, 1.25M; above a million to three decimals."""
    size = abs(step)
    if size >= 10**12:
        return _exponent(float(step), 4)
    for unit, letter in ((10**9, "G"), (10**6, "M"), (10**3, "k")):
        if size >= unit and (unit > 10**3 or step % 10 == 0):
            return f"{step / unit:.3f}".rstrip("0").rstrip(".") + letter if unit > 10**3 else _thousands(step)
    return str(step)


def _thousands(step: int) -> str:
    return f"{step / 1000:.2f}".rstrip("0").rstrip(".") + "k"


def _exponent(value: float, digits: int) -> str:
    mantissa, _, exponent = f"{value:.{max(digits - 1, 0)}e}".partition("e")
    if "." in mantissa:
        mantissa = mantissa.rstrip("0").rstrip(".")
    return f"{mantissa}e{int(exponent)}"


def nice_step(rough: float) -> float:
    """The smallest of 1, 2, 2.5, 5 times a power of ten that is not under `rough` > 0."""
    power = math.floor(math.log10(rough)) if rough > 0 else 0
    # Two factors, because 10.0 ** -320 is zero while the product still is a number.
    unit = 10.0 ** max(power, -300)
    return next((factor * unit for factor in _MANTISSAS if factor * unit >= rough * (1 - 1e-9)), rough)


def ticks(low: float, high: float, count: int) -> list[tuple[float, str]]:
    """At most about `count` round values from low to high (finite, low < high), each with its label."""
    if count < 1 or not high > low:
        return [(low, value_text(low))]
    step = nice_step((high - low) / max(count, 1))
    first = math.ceil(low / step - 1e-6)
    last = math.floor(high / step + 1e-6)
    if not (last - first) <= 4 * count:
        return [(low, value_text(low)), (high, value_text(high))]
    return [(k * step, tick_text(k * step, step)) for k in range(first, last + 1)]


def log_ticks(low: float, high: float, count: int) -> list[tuple[float, str]]:
    """About `count` values from low to high (both > 0): of each decade as many as have room, at least the powers."""
    bottom, top = math.log10(low), math.log10(high)
    decades = range(math.floor(bottom), math.ceil(top) + 1)
    for factors in _IN_A_DECADE if len(decades) <= count + 2 else ():
        fine = [
            (factor * 10.0**p, power_text(p) if factor == 1 else value_text(factor * 10.0**p, 1))
            for p in decades
            for factor in factors
            if -320 < p < 308 and low * (1 - 1e-9) <= factor * 10.0**p <= high * (1 + 1e-9)
        ]
        if 2 <= len(fine) <= count:
            return fine
    stride = max(1, math.ceil((top - bottom) / max(count, 1)))
    powers = [p for p in range(math.ceil(bottom - 1e-9), math.floor(top + 1e-9) + 1) if p % stride == 0]
    if len(powers) >= 2:
        return [(10.0**p, power_text(p)) for p in powers]
    # Over less than half a decade equal distances look equal; over more, only the ends are left to say.
    return ticks(low, high, count) if top - bottom < 0.5 else [(low, value_text(low, 2)), (high, value_text(high, 2))]


def power_text(power: int) -> str:
    """10 ** power, written out where that is short."""
    return {-2: "0.01", -1: "0.1", 0: "1", 1: "10", 2: "100", 3: "1k", 4: "10k"}.get(power, f"1e{power}")


def tick_text(value: float, step: float) -> str:
    """An axis label with exactly the digits that tell it from its neighbours `step` apart."""
    if abs(value) < step * 1e-6:
        return "0"
    size = max(abs(value), step)
    if size >= 1e9 or size < 1e-2:
        return _exponent(value, 1 + max(0, round(math.log10(size) - math.log10(step) + 0.7)))
    unit, letter = next(((u, c) for u, c in ((1e6, "M"), (1e4, "k")) if size >= u), (1.0, ""))
    unit = 1e3 if letter == "k" else unit
    decimals = max(0, -math.floor(math.log10(step / unit) + 1e-9))
    # 2.5 needs one decimal more than its power of ten says.
    if round(step / unit * 10**decimals, 6) % 1:
        decimals += 1
    text = f"{value / unit:.{decimals}f}"
    return (text.rstrip("0").rstrip(".") if letter and "." in text else text) + letter


def step_ticks(low: int, high: int, count: int) -> list[int]:
    """At most about `count` round steps from low to high."""
    step = max(1, round(nice_step(max(high - low, 1) / max(count, 1))))
    return list(range(-(-low // step) * step, high + 1, step))
