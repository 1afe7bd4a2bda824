"""Code to paste: it compiles, its names are explained, and it tells a broken training from a sound one."""

from __future__ import annotations

import ast
import builtins
import contextlib
import io
import math
import re
import symtable
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tuimon.catalogue import ROWS, snippets
from tuimon.catalogue.procedure import PROCEDURES

PIECES = {name: code for name, code in vars(snippets).items() if name.isupper() and isinstance(code, str)}
MODULES = {"torch", "math"}

Names = dict[str, Any]
Setting = Callable[[Any], Names]


def used() -> set[str]:
    """All code in the table and in the procedures."""
    rows = {check.code for row in ROWS for check in row.checks}
    return {*rows, *(question.code for questions in PROCEDURES.values() for question in questions)} - {""}


def free_names(code: str) -> set[str]:
    """Names that the code takes from outside."""
    table = symtable.symtable(code, "snippet", "exec")
    made = {symbol.get_name() for symbol in table.get_symbols() if symbol.is_assigned() or symbol.is_imported()}
    inner = {child.get_name() for child in table.get_children()}
    loads = {node.id for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Name)}
    local = {
        node.id for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }
    arguments = {node.arg for node in ast.walk(ast.parse(code)) if isinstance(node, ast.arg)}
    return loads - made - inner - local - arguments - set(dir(builtins))


@pytest.mark.parametrize("name", PIECES)
def test_a_piece_compiles_fits_a_terminal_and_its_names_are_explained(name: str) -> None:
    code = PIECES[name]
    compile(code, name, "exec")
    assert max(map(len, code.splitlines())) <= snippets.WIDEST
    assert free_names(code) <= {*snippets.NAMES, *MODULES}


def test_all_code_of_the_table_is_of_these_pieces() -> None:
    pieces = set(PIECES.values())
    again = {snippets.PAIRS.replace("(loader)", "(val_loader)"), snippets.ONE_BATCH.replace("200", "1000")}
    assert used() <= pieces | again
    assert pieces <= used(), "a piece that nothing shows"


def printed(code: str, names: Names) -> str:
    """What pasting the code prints, and the last line of what it raises; `names` are as it leaves them."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        try:
            exec(compile(code, "pasted", "exec"), names)
        except (RuntimeError, KeyError) as error:
            print(type(error).__name__, str(error).splitlines()[0])
    return out.getvalue()


def numbers(text: str) -> list[float]:
    """The numbers in what was printed."""
    return [float(found) for found in re.findall(r"-?\d+\.?\d*(?:e[+-]?\d+)?|nan|inf", text)]


def tiny(torch: Any) -> Names:
    """A sound training, three steps in: three classes that are easy to learn."""
    torch.manual_seed(0)
    nn = torch.nn
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3))
    optimizer = torch.optim.Adam(model.parameters(), 1e-2)
    centres = 3 * torch.randn(3, 4)

    def batches(count: int) -> list[tuple[Any, Any]]:
        labels = [torch.randint(3, (16,)) for _ in range(count)]
        return [(centres[y] + torch.randn(16, 4), y) for y in labels]

    loader, val_loader = batches(6), batches(3)
    names: Names = {
        "torch": torch, "math": math, "model": model, "optimizer": optimizer, "loader": loader, "train_loader": loader,
        "val_loader": val_loader, "loss_fn": nn.functional.cross_entropy, "step": 412, "num_classes": 3,
    }  # fmt: skip
    for batch in loader[:3]:
        step(names, batch)
    forward(names, loader[3])
    names["loss"].backward()
    return names


def forward(names: Names, batch: tuple[Any, Any]) -> None:
    """One forward pass; gradients are cleared before it."""
    names["optimizer"].zero_grad()
    names["batch"] = batch
    names["x"], names["y"] = batch
    names["logits"] = names["model"](names["x"])
    names["loss"] = names["loss_fn"](names["logits"], names["y"])


def step(names: Names, batch: tuple[Any, Any]) -> None:
    """One step of a sound loop."""
    forward(names, batch)
    names["loss"].backward()
    names["optimizer"].step()


# One function per piece: (what it prints in the sound training, what it prints after a planted fault, whether they are
# as its text says). Each begins from a fresh sound training.

Case = Callable[[Any], bool]
CASES: dict[str, Case] = {}


def case(function: Case) -> Case:
    CASES[function.__name__.upper()] = function
    return function


def both(name: str, torch: Any, plant: Callable[[Names], object]) -> tuple[str, str]:
    sound, broken = tiny(torch), tiny(torch)
    first = printed(PIECES[name], sound)
    plant(broken)
    return first, printed(PIECES[name], broken)


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


def test_every_piece_has_its_case() -> None:
    assert set(CASES) == set(PIECES)


@pytest.mark.parametrize("name", CASES)
def test_a_piece_tells_a_broken_training_from_a_sound_one(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    torch = pytest.importorskip("torch")
    monkeypatch.chdir(tmp_path)
    torch.set_num_threads(1)
    assert CASES[name](torch)


@pytest.mark.parametrize("kind", ["tuple", "mapping"])
def test_the_birthplace_is_found_in_models_that_return_no_bare_tensor(kind: str) -> None:
    torch = pytest.importorskip("torch")

    class Part(torch.nn.Module):  # type: ignore[name-defined, misc]
        def forward(self, x: Any) -> Any:
            return (x, (x - 10).log()) if kind == "tuple" else {"a": x, "b": (x - 10).log()}

    class Whole(torch.nn.Module):  # type: ignore[name-defined, misc]
        def __init__(self) -> None:
            super().__init__()
            self.part = Part()
            self.head = torch.nn.Linear(4, 3)

        def forward(self, x: Any) -> Any:
            out = self.part(x)
            return (self.head(out[1] if kind == "tuple" else out["b"]),)

    def loss_fn(out: Any, y: Any) -> Any:
        return torch.nn.functional.cross_entropy(out[0], y)

    names = tiny(torch) | {"model": Whole(), "loss_fn": loss_fn}
    assert "in log of module part" in printed(PIECES["ORIGIN"], names)


def test_a_mean_by_hand_over_no_labels_kills_the_weights_and_the_library_s_does_not() -> None:
    torch = pytest.importorskip("torch")
    y = torch.full((5,), -100)
    by_library, by_hand = torch.randn(5, 4, requires_grad=True), torch.randn(5, 4, requires_grad=True)
    loss = torch.nn.functional.cross_entropy(by_library, y)
    loss.backward()
    assert loss.isnan() and not by_library.grad.any()
    mask = y != -100
    each = torch.nn.functional.cross_entropy(by_hand, y.clamp(min=0), reduction="none")
    ((each * mask).sum() / mask.sum()).backward()
    assert by_hand.grad.isnan().any()
    by_hand.grad = None
    each = torch.nn.functional.cross_entropy(by_hand, y.clamp(min=0), reduction="none")
    ((each * mask).sum() / mask.sum().clamp(min=1)).backward()
    assert not by_hand.grad.any()
