"""Code about the network, the data and the log, each in a sound and in a broken training."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from tests.pasted import PIECES, Names, both, case, forward, numbers, printed, step, tiny


@case
def real_loss(torch: Any) -> bool:
    def fault(names: Names) -> None:
        names["loss"] = names["loss"] * math.nan

    first, after = both("REAL_LOSS", torch, fault)
    return math.isfinite(numbers(first)[1]) and after == "412 nan\n"


@case
def broken_state(torch: Any) -> bool:
    def fault(names: Names) -> None:
        with torch.no_grad():
            names["model"][2].weight[0, 0] = math.inf

    first, after = both("BROKEN_STATE", torch, fault)
    return (first, after) == ("[]\n", "['2.weight']\n")


@case
def bad_evaluations(torch: Any) -> bool:
    def empty(names: Names) -> None:
        names["val_loader"][1][1].fill_(-100)

    def none(names: Names) -> None:
        names["val_loader"].clear()

    first, one = both("BAD_EVALUATIONS", torch, empty)
    return (first, one, both("BAD_EVALUATIONS", torch, none)[1]) == ("3 []\n", "3 [1]\n", "0 []\n")


@case
def graph(torch: Any) -> bool:
    def cut(names: Names) -> None:
        names["loss"] = names["loss"].detach()

    first, after = both("GRAPH", torch, cut)
    frozen = both("GRAPH", torch, lambda names: names["model"].requires_grad_(False))[1]
    return (first, after, frozen.split()[-1]) == ("True\n4\n", "False\n4\n", "0")


@case
def no_gradient(torch: Any) -> bool:
    def cut(names: Names) -> None:
        names["optimizer"].zero_grad()
        hidden = names["model"][0](names["x"]).relu().detach()
        names["loss_fn"](names["model"][2](hidden), names["y"]).backward()

    first, after = both("NO_GRADIENT", torch, cut)
    return (first, after) == ("[]\n", "['0.weight', '0.bias']\n")


@case
def moves(torch: Any) -> bool:
    first, after = both("MOVES", torch, lambda names: names["optimizer"].zero_grad())
    return numbers(first)[0] > 1e-4 and numbers(after) == [0.0]


@case
def not_held(torch: Any) -> bool:
    def replaced(names: Names) -> None:
        names["model"][2] = torch.nn.Linear(8, 3)

    first, after = both("NOT_HELD", torch, replaced)
    return (first, after) == ("[]\n", "['2.weight', '2.bias']\n")


@case
def one_batch(torch: Any) -> bool:
    def end(cut: bool) -> float:
        names = tiny(torch)
        if cut:
            names["loss_fn"] = lambda out, y: torch.nn.functional.cross_entropy(out.detach() + 0 * out, y)
        printed(PIECES["ONE_BATCH"], names)
        assert len(names["loader"]) == 200
        for batch in names["loader"]:
            step(names, batch)
        return float(names["loss"])

    return end(False) < 0.05 and end(True) > 0.3


@case
def pairs(torch: Any) -> bool:
    def shuffled(names: Names) -> None:
        x, y = names["loader"][0]
        names["loader"][0] = (x, y.roll(1))

    first, after = (text.splitlines() for text in both("PAIRS", torch, shuffled))
    labels, inputs = ([line.partition(" ")[place] for line in first] for place in (0, 2))
    return (
        len(first) == 10
        and [line.partition(" ")[2] for line in after] == inputs
        and [line.partition(" ")[0] for line in after] != labels
    )


@case
def spreads(torch: Any) -> bool:
    def constant(names: Names) -> None:
        names["x"] = names["x"] * 0

    def dead(names: Names) -> None:
        with torch.no_grad():
            names["model"][0].bias.fill_(-100)

    first, same = (numbers(text) for text in both("SPREADS", torch, constant))
    no_answer = numbers(both("SPREADS", torch, dead)[1])
    return min(first) > 0.1 and max(same) < 1e-6 and no_answer[0] < 1e-6 and no_answer[1] > 0.1


@case
def probabilities(torch: Any) -> bool:
    def fault(names: Names) -> None:
        names["logits"] = names["logits"].softmax(-1)

    first, after = (numbers(text) for text in both("PROBABILITIES", torch, fault))
    return first[0] < 0 <= after[0] and all(math.isclose(total, 1, rel_tol=1e-5) for total in after[1:])


@case
def dead_units(torch: Any) -> bool:
    def fault(names: Names) -> None:
        with torch.no_grad():
            names["model"][0].bias[:6] = -100

    first, after = (numbers(text) for text in both("DEAD_UNITS", torch, fault))
    images = tiny(torch)
    images.update(model=torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3), torch.nn.ReLU()), x=torch.randn(4, 3, 6, 6))
    images["model"][0].bias.data[:2] = -100
    return first[0] <= 0.25 and after[0] >= 0.75 and numbers(printed(PIECES["DEAD_UNITS"], images)) == [0.25]


@case
def far_out(torch: Any) -> bool:
    def bent(layer: Any, scale: float) -> float:
        names = tiny(torch)
        names["model"][1] = layer
        names["x"] = torch.randn(64, 4) * scale
        return numbers(printed(PIECES["FAR_OUT"], names))[0]

    bends = (torch.nn.Tanh(), torch.nn.Sigmoid())
    return all(bent(bend, 0.1) < 0.05 and bent(bend, 100) > 0.5 for bend in bends)


@case
def both_sets(torch: Any) -> bool:
    def fault(names: Names) -> None:
        names["val_loader"][0][0].add_(10)

    def gap(text: str) -> float:
        train, val = (numbers(line)[0] for line in text.splitlines())
        return abs(train - val)

    first, after = both("BOTH_SETS", torch, fault)
    return gap(first) < 2 and gap(after) > 6


@case
def evaluated_alike(torch: Any) -> bool:
    """With dropout on in training alone, the training loss is the higher one; evaluated alike it is not."""
    names = tiny(torch)
    names["model"].insert(2, torch.nn.Dropout(0.9))
    train, val = numbers(printed(PIECES["EVALUATED_ALIKE"], names))
    with_dropout = [float(names["loss_fn"](names["model"](x), y)) for x, y in names["train_loader"]]
    return sum(with_dropout) / len(with_dropout) > max(train, val) and abs(train - val) < 0.3


@case
def leaked(torch: Any) -> bool:
    def fault(names: Names) -> None:
        names["val_loader"].append(names["train_loader"][1])

    return both("LEAKED", torch, fault) == ("0\n", "16\n")


@case
def initial(torch: Any) -> bool:
    def told(change: Callable[[Names], object]) -> list[float]:
        names = tiny(torch)
        with torch.no_grad():
            names["model"][2].weight.mul_(0.01)
            names["model"][2].bias.zero_()
        change(names)
        forward(names, names["batch"])
        return numbers(printed(PIECES["INITIAL"], names))

    def loud(names: Names) -> None:
        with torch.no_grad():
            names["model"][2].weight.mul_(1e4)

    first = told(lambda names: None)
    added = told(lambda names: names.update(loss_fn=torch.nn.CrossEntropyLoss(reduction="sum")))
    wide = told(loud)
    return (
        math.isclose(first[0], first[1], rel_tol=0.05)
        and math.isclose(added[0] / added[1], added[2], rel_tol=0.05)
        and first[3] < 1 < wide[3]
    )


@case
def norm(torch: Any) -> bool:
    class Run:
        def log(self, step: int, **fields: Any) -> None:
            print(step, float(fields["grad_norm"]))

    def logged(broken: bool) -> str:
        names = tiny(torch) | {"run": Run()}
        if broken:
            names["model"][0].weight.grad.fill_(math.nan)
        return printed(PIECES["NORM"], names)

    return 0 < numbers(logged(False))[1] < 100 and logged(True) == "412 nan\n"


@case
def preflight(torch: Any) -> bool:
    def cut(names: Names) -> None:
        names["loss_fn"] = lambda out, y: torch.nn.functional.cross_entropy(out.detach(), y)

    first, after = both("PREFLIGHT", torch, cut)
    return "FAIL" not in first and "FAIL gradients reach every layer: the loss is detached" in after


@case
def seeded(torch: Any) -> bool:
    def drawn(code: str) -> float:
        printed(code, {"torch": torch})
        return float(torch.rand(1))

    return drawn(PIECES["SEEDED"]) == drawn(PIECES["SEEDED"]) and drawn("") != drawn("")
