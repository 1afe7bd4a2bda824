"""Code about the loop, the rate and the numbers, each in a sound and in a broken training."""

from __future__ import annotations

import math
from typing import Any

import pytest

from tests.pasted import PIECES, Names, both, case, forward, numbers, printed, tiny


@case
def rate(torch: Any) -> bool:
    first, after = both("RATE", torch, lambda names: names["optimizer"].param_groups[0].update(lr=0.5))
    return "[0.01]" in first and "[0.5]" in after and first.startswith("412")


@case
def state(torch: Any) -> bool:
    def fresh(names: Names) -> None:
        names["optimizer"] = torch.optim.Adam(names["model"].parameters())

    first, after = both("STATE", torch, fresh)
    return (first, after) == ("4 of 4\n", "0 of 4\n")


@case
def summed(torch: Any) -> bool:
    def fault(names: Names) -> None:
        names["loss_fn"] = torch.nn.CrossEntropyLoss(reduction="sum")

    first, after = both("SUMMED", torch, fault)
    return [round(numbers(text)[0], 3) for text in (first, after)] == [1.0, 2.0]


@case
def modes(torch: Any) -> bool:
    first, after = both("MODES", torch, lambda names: names["model"][1].eval())
    return (first, after) == ("[]\n", "['1']\n")


@case
def sizes(torch: Any) -> bool:
    def fault(names: Names) -> None:
        with torch.no_grad():
            names["model"][2].weight.mul_(100)
        forward(names, names["batch"])

    first, after = (numbers(text) for text in both("SIZES", torch, fault))
    return after[1] > 30 * first[1] and after[2] > 10 * first[2]


@case
def batch(torch: Any) -> bool:
    def fault(names: Names) -> None:
        names["x"][3] *= 1000

    first, after = (numbers(text) for text in both("BATCH", torch, fault))
    kept = torch.load("batch-412.pt")
    return after[-1] > 100 * first[-1] and first[1:3] == [16, 4] and float(kept[0].abs().max()) > 100


@case
def second_moments(torch: Any) -> bool:
    def saved(names: Names) -> None:
        torch.save({"optimizer": names["optimizer"].state_dict()}, "good.pt")

    def fault(names: Names) -> None:
        saved(names)
        for p in names["model"].parameters():
            p.grad.mul_(1e4)
        names["optimizer"].step()

    saved(tiny(torch))
    first, after = (numbers(text) for text in both("SECOND_MOMENTS", torch, fault))
    return first[0] == first[1] and after[0] > 1000 * after[1]


@case
def layer_norms(torch: Any) -> bool:
    def fault(names: Names) -> None:
        forward(names, names["batch"])
        hidden = names["model"][0](names["x"]).sigmoid()
        names["loss"] = names["loss_fn"](names["model"][2](1e-6 * hidden), names["y"])
        names["loss"].backward()

    first, after = both("LAYER_NORMS", torch, fault)
    norms = [{line.split()[1]: float(line.split()[0]) for line in text.splitlines()} for text in (first, after)]
    ratios = [each["0.weight"] / each["2.bias"] for each in norms]
    return len(norms[0]) == 4 and ratios[0] > 1e-2 and ratios[1] < 1e-5


@case
def keep(torch: Any) -> bool:
    names = tiny(torch)
    printed(PIECES["KEEP"], names)
    before = names["model"](names["x"])
    with torch.no_grad():
        names["model"][0].weight.fill_(math.nan)
    saved = torch.load("safe-412.pt")
    names["model"].load_state_dict(saved["model"])
    names["optimizer"].load_state_dict(saved["optimizer"])
    return bool(torch.equal(before, names["model"](names["x"])))


@case
def clipped(torch: Any) -> bool:
    def plant(names: Names) -> None:
        names["loss"] = 100 * names["loss_fn"](names["model"](names["x"]), names["y"])
        names["loss"].backward()

    sound = tiny(torch)
    plant(sound)
    torch.nn.utils.clip_grad_norm_(sound["model"].parameters(), 1.0)
    first, after = numbers(printed(PIECES["CLIPPED"], sound)), numbers(both("CLIPPED", torch, plant)[1])
    return first[1] <= 1.001 and after[1] > 1.5


def rates(names: Names) -> list[float]:
    return [group["lr"] for group in names["optimizer"].param_groups]


def turned(name: str, torch: Any, factor: float) -> bool:
    """The rate of every group is turned, not only of the first; where it was the limit, the walk calms down."""
    names = tiny(torch)
    names["optimizer"].add_param_group({"params": [torch.zeros(2, requires_grad=True)], "lr": 0.4})
    printed(PIECES[name], names)
    return [round(lr, 6) for lr in rates(names)] == [round(0.01 * factor, 6), round(0.4 * factor, 6)]


@case
def halve(torch: Any) -> bool:
    def jitter(halved: bool) -> float:
        """Mean change of sign of a walk in a lopsided valley just under its limit."""
        position = torch.tensor([1.0], requires_grad=True)
        optimizer = torch.optim.SGD([position], lr=0.98)
        if halved:
            printed(PIECES["HALVE"], {"optimizer": optimizer})
        losses = []
        for _ in range(30):
            optimizer.zero_grad()
            loss = (position**2 * torch.where(position > 0, 1.0, 1.02)).sum()
            losses.append(loss.item())
            loss.backward()
            optimizer.step()
        return losses[-1] / losses[0]

    return turned("HALVE", torch, 0.5) and jitter(False) > 0.2 and jitter(True) < 1e-3


@case
def tenth(torch: Any) -> bool:
    return turned("TENTH", torch, 0.1)


@case
def tenfold(torch: Any) -> bool:
    return turned("TENFOLD", torch, 10)


@case
def left_over(torch: Any) -> bool:
    sound, broken = tiny(torch), tiny(torch)
    sound["optimizer"].zero_grad()
    named = printed(PIECES["LEFT_OVER"], broken)
    return printed(PIECES["LEFT_OVER"], sound) == "[]\n" and "0.weight" in named and "2.bias" in named


@case
def cross_entropy(torch: Any) -> bool:
    def fault(names: Names) -> None:
        names["loss"] = -names["loss"]

    first, after = (numbers(text) for text in both("CROSS_ENTROPY", torch, fault))
    return math.isclose(first[0], first[1], rel_tol=1e-5) and math.isclose(after[0], -after[1], rel_tol=1e-5)


@case
def finite_batch(torch: Any) -> bool:
    def fault(names: Names) -> None:
        names["x"][2, 1] = math.nan

    first, after = both("FINITE_BATCH", torch, fault)
    return [line.split()[0] for line in first.splitlines()] == ["True"] * 2 and after.startswith("False")


@case
def origin(torch: Any) -> bool:
    class Root(torch.nn.Module):  # type: ignore[name-defined, misc]
        def forward(self, x: Any) -> Any:
            return (x - x).sqrt() + x

    def forward_fault(names: Names) -> None:
        names["model"].append(torch.nn.LogSigmoid())
        names["loss_fn"] = lambda out, y: (out * 1e39).log().mean()

    def backward_fault(names: Names) -> None:
        names["model"].insert(1, Root())

    first, forward_says = both("ORIGIN", torch, forward_fault)
    _, backward_says = both("ORIGIN", torch, backward_fault)
    return (
        "Nothing went non-finite" in first
        and "forward pass" in forward_says
        and "backward pass, in sqrt of module 1" in backward_says
    )


@case
def anomaly(torch: Any) -> bool:
    def fault(names: Names) -> None:
        names["loss_fn"] = lambda out, y: (out - out).square().sum().sqrt() + out.sum()

    first, after = both("ANOMALY", torch, fault)
    return first == "" and "Backward0' returned nan values" in after


@case
def fp32(torch: Any) -> bool:
    def result(loss_fn: Any) -> list[float]:
        names = tiny(torch)
        names["loss_fn"] = loss_fn
        with torch.autocast("cpu", dtype=torch.float16):
            assert not math.isfinite(loss_fn(names["model"](names["x"]), names["y"]).item())
            return numbers(printed(PIECES["FP32"], names))

    def of_range(out: Any, y: Any) -> Any:
        return (out * 3e5).mean() * 1e-5

    def of_arithmetic(out: Any, y: Any) -> Any:
        return (out - out).log().mean() - (out - out).log().mean()

    return all(map(math.isfinite, result(of_range))) and not all(map(math.isfinite, result(of_arithmetic)))


@case
def unmasked(torch: Any) -> bool:
    first, after = both("UNMASKED", torch, lambda names: names["y"].fill_(-100))
    return (first, after) == ("16 of 16\n", "0 of 16\n")


@case
def unscaled(torch: Any) -> bool:
    """The step is as long as the clipped gradient; clipped before unscale_ it is thousands of times shorter."""

    def moved(code: str) -> float:
        names = tiny(torch)
        names["optimizer"] = torch.optim.SGD(names["model"].parameters(), lr=1.0)
        names["scaler"] = torch.amp.GradScaler("cpu", init_scale=2.0**14)
        forward(names, names["batch"])
        names["loss"] = 100 * names["loss"]
        before = [p.detach().clone() for p in names["model"].parameters()]
        said = printed(code, names)
        assert said == "", said
        after = names["model"].parameters()
        return math.sqrt(sum((a - b).square().sum().item() for a, b in zip(before, after, strict=True)))

    lines = PIECES["UNSCALED"].splitlines()
    swapped = "\n".join([lines[0], lines[2], lines[1], *lines[3:]])
    twice = "\n".join([*lines[:2], lines[1], *lines[2:]])
    with pytest.raises(AssertionError, match="unscale_"):
        moved(twice)
    return math.isclose(moved(PIECES["UNSCALED"]), 1.0, rel_tol=1e-3) and moved(swapped) < 1e-3
