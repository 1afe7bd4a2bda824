"""Where a NaN is born."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest

torch = pytest.importorskip("torch")
from torch import nn  # noqa: E402 -- after the skip
from torch.nn import functional as F  # noqa: E402, N812 -- its usual name

from tuimon.torch import Origin, find_origin  # noqa: E402

PLANTS: dict[str, tuple[Callable[[torch.Tensor], torch.Tensor], str, str]] = {
    "0/0": (lambda x: (x - x) / (x - x), "forward", "div"),
    "inf-inf": (lambda x: x + (torch.exp(x.abs() * 1e6) - torch.exp(x.abs() * 1e6)), "forward", "exp"),
    "log(0)": (lambda x: torch.log(torch.relu(x)), "forward", "log"),
    "sqrt(-)": (torch.sqrt, "forward", "sqrt"),
    "norm at 0": (lambda x: x + (x * 0).pow(2).sum(-1, keepdim=True).sqrt(), "backward", "sqrt"),
    "sqrt at 0": (lambda x: x + torch.sqrt(torch.relu(x) * 0), "backward", "sqrt"),
    "where over exp": (lambda x: torch.where(x < 0, torch.exp(x * 1e5), x), "backward", "exp"),
}


class Planted(nn.Module):
    def __init__(self, plant: Callable[[torch.Tensor], torch.Tensor]) -> None:
        super().__init__()
        self.inner = nn.Linear(6, 6)
        self.plant = plant

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.plant(self.inner(x))


def model_with(plant: Callable[[torch.Tensor], torch.Tensor], at: int, depth: int = 4) -> nn.Sequential:
    torch.manual_seed(0)
    blocks = [nn.Sequential(nn.Linear(6, 6), nn.Tanh()) for _ in range(depth)]
    blocks[at] = Planted(plant)
    return nn.Sequential(*blocks, nn.Linear(6, 3))


def batch(seed: int = 0) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(5, 6, generator=generator), torch.tensor([0, 1, 2, 0, 1])


@pytest.mark.parametrize("name", PLANTS)
@pytest.mark.parametrize("at", [0, 1, 3])
def test_a_planted_nan_is_attributed_to_its_module_and_operation(name: str, at: int) -> None:
    plant, direction, op = PLANTS[name]
    origin = find_origin(model_with(plant, at), F.cross_entropy, batch(), step=7)
    assert (origin.direction, origin.module, origin.op) == (direction, str(at), op)
    assert f"module {at}" in str(origin)
    assert "Step 7" in str(origin)
    assert "test_torch_origin.py" in origin.line


def test_a_sound_model_has_no_origin() -> None:
    origin = find_origin(model_with(torch.tanh, 1), F.cross_entropy, batch())
    assert origin == Origin("none")
    assert "Nothing went non-finite" in str(origin)


def test_an_attention_mask_of_minus_infinity_is_no_origin() -> None:
    def masked(x: torch.Tensor) -> torch.Tensor:
        return torch.softmax(x.masked_fill(torch.arange(6) > 2, -math.inf), -1)

    assert find_origin(model_with(masked, 2), F.cross_entropy, batch()).direction == "none"


def test_a_row_masked_whole_is_born_in_the_softmax() -> None:
    origin = find_origin(
        model_with(lambda x: torch.softmax(x.masked_fill(x == x, -math.inf), -1), 2), F.cross_entropy, batch()
    )
    assert (origin.direction, origin.module, origin.op) == ("forward", "2", "softmax")


def test_a_nan_in_the_loss_function_is_not_blamed_on_the_model() -> None:
    def loss(output: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        return torch.log(output.sum() * 0 - 1)

    origin = find_origin(model_with(torch.tanh, 0), loss, batch())
    assert (origin.module, origin.op) == ("(loss function)", "log")


def test_a_bad_batch_is_named_and_the_model_is_not_run() -> None:
    inputs, targets = batch()
    inputs[2, 3] = math.inf
    origin = find_origin(model_with(torch.tanh, 0), F.cross_entropy, (inputs, targets))
    assert (origin.direction, origin.module) == ("input", "batch[0]")
    assert "1 of 30 non-finite" in str(origin)


def test_poisoned_weights_are_told_from_a_birth_here() -> None:
    model = model_with(torch.tanh, 0)
    with torch.no_grad():
        model[2][0].weight[0, 0] = math.nan
    origin = find_origin(model, F.cross_entropy, batch())
    assert (origin.direction, origin.module, origin.op) == ("parameter", "2.0", "weight")


def test_a_mapping_batch_goes_in_by_name() -> None:
    class Named(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.head = nn.Linear(6, 3)

        def forward(self, pixels: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
            return F.cross_entropy(self.head(pixels).sqrt(), labels)

    inputs, targets = batch()
    origin = find_origin(Named(), lambda loss, _: loss, {"pixels": inputs, "labels": targets})
    assert (origin.direction, origin.module, origin.op) == ("forward", "model", "sqrt")


def test_fp16_overflow_is_told_from_wrong_arithmetic() -> None:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(6, 6), nn.Linear(6, 3)).half()
    with torch.no_grad():
        model[1].weight.fill_(3e4)
    inputs, targets = batch()
    overflow = find_origin(model, F.cross_entropy, (inputs.half() * 50, targets))
    assert (overflow.module, overflow.op, overflow.fixed_in_fp32) == ("1", "linear", True)
    broken = nn.Sequential(nn.Linear(6, 6), Planted(lambda x: torch.sqrt(-x.abs() - 1))).half()
    assert find_origin(broken, F.cross_entropy, (inputs.half(), targets)).fixed_in_fp32 is False


def test_nothing_of_the_model_is_changed() -> None:
    model = nn.Sequential(nn.Linear(6, 6), nn.BatchNorm1d(6), nn.Dropout(0.5), nn.Linear(6, 3))
    model[0].weight.grad = torch.ones(6, 6)
    state = {name: value.clone() for name, value in model.state_dict().items()}
    rng = torch.get_rng_state()
    find_origin(model, F.cross_entropy, batch())
    assert all(torch.equal(value, state[name]) for name, value in model.state_dict().items())
    assert torch.equal(model[0].weight.grad, torch.ones(6, 6))
    assert model[3].weight.grad is None
    assert torch.equal(torch.get_rng_state(), rng)
    assert not any(module._forward_hooks or module._forward_pre_hooks for module in model.modules())


def test_a_batch_of_another_shape_is_refused() -> None:
    with pytest.raises(TypeError, match="pair or a mapping"):
        find_origin(nn.Linear(6, 3), F.cross_entropy, torch.randn(3, 6))
    with pytest.raises(TypeError, match="one number"):
        find_origin(nn.Linear(6, 3), lambda output, _: output, batch())
