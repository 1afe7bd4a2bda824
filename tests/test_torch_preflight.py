"""The isolation procedure before a long run."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
from torch import nn  # noqa: E402 -- after the skip

from tuimon import RunWriter  # noqa: E402
from tuimon.torch import preflight  # noqa: E402
from tuimon.torch.preflight import PreflightReport  # noqa: E402


def classes_batch() -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(3)
    return torch.randn(24, 10, generator=generator), torch.randint(0, 5, (24,), generator=generator)


def mlp(*tail: nn.Module) -> nn.Sequential:
    torch.manual_seed(1)
    return nn.Sequential(nn.Linear(10, 64), nn.ReLU(), nn.Linear(64, 5), *tail)


def failed(report: PreflightReport) -> list[str]:
    return [step.name for step in report.steps if step.outcome == "fail"]


def check(model: nn.Module, loss: Any = nn.CrossEntropyLoss(), **rest: Any) -> PreflightReport:  # noqa: B008 -- has no state
    return preflight(model, loss, [classes_batch()], num_classes=5, **rest)


GOOD = {
    "mlp": mlp,
    "dropout": lambda: nn.Sequential(nn.Linear(10, 64), nn.ReLU(), nn.Dropout(0.2), nn.Linear(64, 5)),
    "batch norm": lambda: nn.Sequential(nn.Linear(10, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Linear(64, 5)),
    "layer norm": lambda: nn.Sequential(nn.Linear(10, 64), nn.LayerNorm(64), nn.GELU(), nn.Linear(64, 5)),
    "convolution": lambda: nn.Sequential(
        nn.Unflatten(1, (1, 10)), nn.Conv1d(1, 16, 3), nn.ReLU(), nn.Flatten(), nn.Linear(128, 5)
    ),
}


@pytest.mark.parametrize("name", GOOD)
def test_a_sound_training_passes_every_check(name: str) -> None:
    torch.manual_seed(0)
    model = GOOD[name]()
    report = check(model, optimizer=torch.optim.AdamW(model.parameters()))
    assert failed(report) == []
    assert report.suspects == ()


def test_softmax_before_cross_entropy_cannot_learn_one_batch_by_heart() -> None:
    report = check(mlp(nn.Softmax(-1)))
    assert "one batch can be overfitted" in failed(report)
    assert "loss call" in report.suspects


def test_parameters_missing_from_the_optimizer_are_named() -> None:
    model = mlp()
    report = check(model, optimizer=torch.optim.SGD(model[0].parameters(), lr=0.1))
    assert failed(report) == ["all parameters in the optimizer"]
    assert "2.weight" in str(report)


def test_a_detached_loss_is_found() -> None:
    class Detached(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.net = mlp()

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.net(x).detach()

    report = check(Detached())
    assert "gradients reach every layer" in failed(report)
    assert "wiring of the graph" in report.suspects


def test_a_summed_loss_is_seen_at_initialization() -> None:
    report = check(mlp(), nn.CrossEntropyLoss(reduction="sum"))
    assert "loss at initialization" in failed(report)
    assert "times: a sum over the batch" in str(report)


def test_chance_that_no_seed_controls_is_found() -> None:
    source = random.Random(5)

    def noisy(output: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        return nn.functional.cross_entropy(output * (1 + 1e-3 * source.random()), target)

    report = check(mlp(), noisy)
    assert failed(report) == ["two runs from one seed agree"]
    assert "chance" in report.suspects


def test_nothing_of_the_caller_is_touched() -> None:
    model = GOOD["batch norm"]()
    optimizer = torch.optim.Adam(model.parameters())
    model[0].weight.grad = torch.ones_like(model[0].weight)
    before = {name: value.clone() for name, value in model.state_dict().items()}
    states = torch.get_rng_state(), random.getstate()
    check(model, optimizer=optimizer)
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())
    assert torch.equal(model[0].weight.grad, torch.ones_like(model[0].weight))
    assert model[3].weight.grad is None
    assert not optimizer.state
    assert torch.equal(torch.get_rng_state(), states[0])
    assert random.getstate() == states[1]


def test_each_check_is_noted_in_the_log(tmp_path: Path) -> None:
    with RunWriter(tmp_path / "run.jsonl") as writer:
        report = check(mlp(), writer=writer)
    notes = [json.loads(line) for line in (tmp_path / "run.jsonl").read_text().splitlines()]
    noted = [(line["check"], line["outcome"]) for line in notes if line.get("note") == "preflight"]
    assert noted == [(step.name, step.outcome) for step in report.steps] + [("verdict", "pass")]


def test_no_batches_is_said() -> None:
    with pytest.raises(ValueError, match="at least one batch"):
        preflight(mlp(), nn.CrossEntropyLoss(), [])
