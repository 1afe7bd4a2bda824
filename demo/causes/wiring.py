"""Causes in the wiring: labels, graph, optimizer, layers."""

from __future__ import annotations

import torch
from torch import nn

from demo.causes.run import CLASSES, WIDTH, Batch, Cause, Clusters, Run, constant, fit, mlp


def shuffled_labels(run: Run) -> None:
    """Inputs and labels lose each other in every batch: the best answer is a constant."""

    def shuffle(_: int, batch: Batch) -> Batch:
        return batch[0], batch[1][torch.randperm(len(batch[1]), generator=run.generator)]

    model = mlp()
    fit(run, model, torch.optim.Adam(model.parameters()), lr=constant(1e-3), tamper=shuffle)


def noise_labels(run: Run) -> None:
    """Labels shuffled once in a small data set: learnt by heart, and val only rises."""
    task = Clusters(run, samples=256)
    task.train = (task.train[0], task.train[1][torch.randperm(256, generator=run.generator)])
    model = mlp()
    fit(run, model, torch.optim.Adam(model.parameters()), lr=constant(3e-3), task=task)


def detached(run: Run) -> None:
    """The output is wrapped into a new tensor on the way to the loss, which cuts the graph."""

    def loss_fn(out: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        return nn.functional.cross_entropy(out.detach().clone().requires_grad_(), target)

    model = mlp()
    fit(run, model, torch.optim.Adam(model.parameters()), lr=constant(1e-3), loss_fn=loss_fn)


def not_in_optimizer(run: Run) -> None:
    """The model was replaced after the optimizer had been built."""
    optimizer = torch.optim.Adam(mlp().parameters())
    fit(run, mlp(), optimizer, lr=constant(1e-3))


def zero_grad_missing(run: Run) -> None:
    """Gradients of all steps so far add up."""
    model = mlp()
    fit(run, model, torch.optim.SGD(model.parameters(), lr=1.0), lr=constant(1e-4), clear=False)


def double_softmax(run: Run) -> None:
    """Softmax in the model, cross-entropy in the loss, which applies it again."""
    model = mlp()
    model.append(nn.Softmax(-1))
    fit(run, model, torch.optim.Adam(model.parameters()), lr=constant(3e-3))


def dead_relu(run: Run) -> None:
    """A hand-written update pushes the biases of a layer down at every step, below every input in the end."""
    model = mlp()
    layer: nn.Linear = model[2]  # type: ignore[assignment]

    def sink(*_: object) -> None:
        with torch.no_grad():
            layer.bias.sub_(0.05)

    hook = layer.register_forward_pre_hook(sink)
    fit(run, model, torch.optim.SGD(model.parameters(), lr=1.0), lr=constant(0.02), layers_every=1)
    hook.remove()


def vanishing(run: Run, residual: bool = False) -> None:
    """Twelve sigmoid layers: each passes on a quarter of the gradient at most."""

    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear = nn.Linear(WIDTH, WIDTH)
            self.bend = nn.Sigmoid()

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            out: torch.Tensor = self.bend(self.linear(x))
            return x + out - 0.5 if residual else out

    model = nn.Sequential(*(Block() for _ in range(12)), head := nn.Linear(WIDTH, CLASSES))
    with torch.no_grad():
        head.weight.mul_(0.1)  # so that both stacks start out knowing nothing, at ln 10
    fit(run, model, torch.optim.SGD(model.parameters(), lr=1.0), lr=constant(0.01), layers_every=5)


def residual(run: Run) -> None:
    """The same stack with a residual path learns."""
    vanishing(run, residual=True)


def saturated(run: Run) -> None:
    """Inputs a hundred times too large for tanh: almost no gradient comes through."""

    def unscaled(_: int, batch: Batch) -> Batch:
        return batch[0] * 100, batch[1]

    model = nn.Sequential(nn.Linear(WIDTH, 64), nn.Tanh(), nn.Linear(64, CLASSES))
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
    fit(run, model, optimizer, lr=constant(0.01), tamper=unscaled, layers_every=1)


CAUSES = (
    Cause("shuffled-labels", "uniform-prediction", "labels shuffled in every batch", shuffled_labels, steps=600),
    Cause("noise-labels", "memorising-noise", "labels shuffled once, 256 samples", noise_labels),
    Cause("detached", "zero-gradient", "the graph is cut before the loss", detached, 0),
    Cause("not-in-optimizer", "frozen-weights", "the optimizer holds another model's parameters", not_in_optimizer),
    Cause("zero-grad-missing", "gradients-accumulate", "zero_grad is never called", zero_grad_missing, 0),
    Cause("double-softmax", "double-softmax", "softmax before cross-entropy", double_softmax, steps=800),
    Cause("dead-relu", "dead-relu", "biases sink below every input", dead_relu),
    Cause("vanishing", "vanishing-gradient", "twelve sigmoid layers", vanishing),
    Cause("residual", "", "the same twelve layers with a residual path", residual),
    Cause("saturated", "saturated", "inputs a hundred times too large for tanh", saturated),
)
