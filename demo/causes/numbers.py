"""Causes in the numbers: the makers of NaN, and the narrow range of fp16."""

from __future__ import annotations

import time
from collections.abc import Callable

import torch
from torch import nn

from demo.causes.run import CLASSES, WIDTH, Batch, Cause, Clusters, Run, constant, fit, mlp
from tuimon.torch import Guard

BAD = 150
"""Step of the batch that breaks it."""


class ShareOfSum(nn.Module):
    """Divides by the sum: 0/0 where a row is all zeros."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Rows that sum to one."""
        x = x.abs()
        return x / x.sum(-1, keepdim=True)


class ByHandSoftplus(nn.Module):
    """log(1 + e^x) - log(1 + e^-x) by hand: equal to x, until e^x overflows on both sides."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Inf minus inf for |x| > 88 in fp32."""
        return torch.exp(x.square()) - torch.exp(x.square()) + x


class ByHandDeviation(nn.Module):
    """Normalises with the square root of E[x^2] - E[x]^2: below zero by rounding once the mean is far from zero."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Rows of unit deviation."""
        variance = x.square().mean(-1, keepdim=True) - x.mean(-1, keepdim=True).square()
        return (x - x.mean(-1, keepdim=True)) / torch.sqrt(variance)


class Distance(nn.Module):
    """Appends the distance between neighbours: the derivative of a square root at zero is infinite."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """The same shape, shifted by the distance of each row to the next one."""
        apart = (x - x.roll(1, 0)).square().sum(-1, keepdim=True)
        return x + 0.01 * torch.sqrt(apart)


def log_of_softmax(logits: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """Cross-entropy in two steps: log(0) when a probability underflows."""
    return -torch.log(torch.softmax(logits, -1))[torch.arange(len(target)), target].mean()


def _spoilt(change: Callable[[torch.Tensor], torch.Tensor]) -> Callable[[int, Batch], Batch]:
    return lambda step, batch: (change(batch[0].clone()), batch[1]) if step == BAD else batch


def _zero_row(x: torch.Tensor) -> torch.Tensor:
    x[3] = 0.0
    return x


def _huge_row(x: torch.Tensor) -> torch.Tensor:
    x[3] *= 1e3
    return x


def _twin_rows(x: torch.Tensor) -> torch.Tensor:
    x[4] = x[3]
    return x


def _nan_value(x: torch.Tensor) -> torch.Tensor:
    x[3, 7] = float("nan")
    return x


def _offset(x: torch.Tensor) -> torch.Tensor:
    return x * 1e-4 + 300.0


def _adam(run: Run, model: nn.Module, **rest: object) -> None:
    fit(run, model, torch.optim.Adam(model.parameters()), lr=constant(2e-3), **rest)  # type: ignore[arg-type]


def zero_by_zero(run: Run) -> None:
    """A sample of zeros meets a division by its sum."""
    _adam(run, nn.Sequential(ShareOfSum(), mlp()), tamper=_spoilt(_zero_row))


def inf_minus_inf(run: Run) -> None:
    """A sample a thousand times too large meets a hand-written function."""
    _adam(run, nn.Sequential(nn.Linear(WIDTH, WIDTH), ByHandSoftplus(), mlp()), tamper=_spoilt(_huge_row))


def log_zero(run: Run) -> None:
    """The same sample meets log(softmax(x))."""
    spoil = _spoilt(_huge_row)

    def confidently_wrong(step: int, batch: Batch) -> Batch:
        x, y = spoil(step, batch)
        return x, (y + 5 * (step == BAD)) % CLASSES

    _adam(run, mlp(), tamper=confidently_wrong, loss_fn=log_of_softmax)


def sqrt_negative(run: Run) -> None:
    """A batch far from zero meets a variance computed by subtraction."""
    _adam(run, nn.Sequential(ByHandDeviation(), mlp()), tamper=_spoilt(_offset))


def sqrt_at_zero(run: Run) -> None:
    """Two equal samples side by side: the forward pass is fine, the backward pass divides by zero."""
    _adam(run, nn.Sequential(nn.Linear(WIDTH, WIDTH), Distance(), mlp()), tamper=_spoilt(_twin_rows))


def nan_batch(run: Run) -> None:
    """One NaN in the data."""
    _adam(run, mlp(), tamper=_spoilt(_nan_value))


def masked_batch(run: Run) -> None:
    """Every label of one batch is padding: a mean over nothing."""

    def all_padding(step: int, batch: Batch) -> Batch:
        return (batch[0], torch.full_like(batch[1], -100)) if step == BAD else batch

    _adam(run, mlp(), tamper=all_padding)


def adam_epsilon(run: Run) -> None:
    """Weights in fp16: Adam's 1e-8 rounds to zero there, and a weight without gradient becomes 0/0."""
    model = mlp().half()
    optimizer = torch.optim.Adam(model.parameters(), eps=1e-8, foreach=False)
    fit(
        run,
        model,
        optimizer,
        lr=constant(1e-3),
        loss_fn=lambda out, y: nn.functional.cross_entropy(out.float(), y),
        task=HalfClusters(run),
        precision="fp16",
    )


class HalfClusters(Clusters):
    """Inputs in fp16, with a feature that is always zero, as one-hot columns often are."""

    def __init__(self, run: Run) -> None:
        super().__init__(run)
        for x in (self.train[0], self.val[0]):
            x[:, 0] = 0.0
        self.val = (self.val[0].half(), self.val[1])

    def batch(self) -> Batch:
        """One minibatch."""
        x, y = super().batch()
        return x.half(), y


class Amplified(nn.Module):
    """Multiplies by a factor and divides again: harmless in fp32, past 65504 in fp16."""

    def __init__(self) -> None:
        super().__init__()
        self.factor = 1.0

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """The same numbers, by way of larger ones; their gradient goes the same way."""
        return Detour.apply(x, self.factor)


class Detour(torch.autograd.Function):
    """Identity whose gradient passes through fp16 multiplied by a factor, as a long sum in half precision does."""

    @staticmethod
    def forward(ctx: object, x: torch.Tensor, factor: float) -> torch.Tensor:
        """The input."""
        ctx.factor = factor  # type: ignore[attr-defined]
        return x.clone()

    @staticmethod
    def backward(ctx: object, grad: torch.Tensor) -> tuple[torch.Tensor, None]:
        """The gradient, through fp16."""
        factor = ctx.factor  # type: ignore[attr-defined]
        return (grad * factor).half().float() / factor, None


def fp16_scaler(run: Run) -> None:
    """With loss scaling: from one step on, gradients overflow at every scale, and the scale runs down."""
    model = mlp(gate := Amplified())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0**12, growth_interval=500)
    task = Clusters(run)
    with (
        run.open(num_classes=CLASSES, objective="cross_entropy", precision="fp16") as writer,
        Guard(model, optimizer, writer, clip_norm=None, scaler=scaler, most_scenes=0) as guard,
    ):
        for step in range(run.steps):
            gate.factor = 1e12 if step >= BAD else 1.0
            x, y = task.batch()
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(x), y)
            guard.check_loss(loss, (x, y))
            scaler.scale(loss).backward()
            guard.step()
            if run.pace:
                time.sleep(run.pace)


def fp16_no_scaler(run: Run) -> None:
    """Without loss scaling: gradients below 6e-8 round to zero and nothing moves."""
    gate = Amplified()
    gate.factor = 1e-9
    model = nn.Sequential(mlp(), gate)
    fit(run, model, torch.optim.SGD(model.parameters(), lr=1.0), lr=constant(0.05), precision="fp16")


CAUSES = (
    Cause("zero-by-zero", "nan-forward", f"0/0 at step {BAD}", zero_by_zero, BAD, ("0", "div", "forward")),
    Cause("inf-minus-inf", "nan-forward", f"inf - inf at step {BAD}", inf_minus_inf, BAD, ("1", "exp", "forward")),
    Cause("log-zero", "inf-first", f"log(0) at step {BAD}", log_zero, BAD, ("(loss function)", "log", "forward")),
    Cause("sqrt-negative", "nan-forward", f"sqrt(-) at {BAD}", sqrt_negative, BAD, ("0", "sqrt", "forward")),
    Cause("sqrt-at-zero", "nan-backward", f"d sqrt(0) at {BAD}", sqrt_at_zero, BAD, ("1", "sqrt", "backward")),
    Cause(
        "nan-batch",
        "nan-forward",
        f"one NaN in the batch of step {BAD}",
        nan_batch,
        BAD,
        ("batch[0]", "input", "input"),
    ),
    Cause("masked-batch", "nan-empty-batch", f"all labels are padding at step {BAD}", masked_batch, BAD),
    Cause("adam-epsilon", "nan-forward", "Adam's epsilon is 0 in fp16", adam_epsilon, 1),
    Cause("fp16-scaler", "fp16-range", f"gradients past fp16 from step {BAD}", fp16_scaler, BAD),
    Cause("fp16-no-scaler", "zero-gradient", "gradients under fp16, no loss scaling", fp16_no_scaler, 0),
)
