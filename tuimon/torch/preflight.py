"""The isolation procedure before a long run: cheapest and most decisive first, on copies."""

from __future__ import annotations

import contextlib
import copy
import math
import random
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Literal

import torch
from torch import nn

from tuimon.torch.tree import call_model, is_finite

LR = 1e-3
"""Adam at 1e-3 overfits one batch of nearly every sound model within 1,000 steps; it says nothing on the run's lr."""
OVERFIT_STEPS = 1000
OVERFIT_SHARE = 0.1
"""One batch counts as learnt once its loss has lost nine tenths of what it could lose."""
INITIAL_SLACK = 0.5
"""Nats around ln C: initial logits of unit spread already cost about 0.5."""
SEED_STEPS = 5

SUSPECTS = ("data and labels", "loss call", "wiring of the graph", "optimizer", "regularization", "number range",
            "initialization", "chance")  # fmt: skip


@dataclass(frozen=True, slots=True)
class Step:
    """One check: its name, how it ended, the numbers behind it, and the suspects that it clears when it passes."""

    name: str
    outcome: Literal["pass", "fail", "skipped"]
    told: str
    clears: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PreflightReport:
    """What the checks said, in order. `suspects` is what no passed check has cleared."""

    steps: tuple[Step, ...] = field(default_factory=tuple)

    @property
    def passed(self) -> bool:
        """Whether no check failed."""
        return all(step.outcome != "fail" for step in self.steps)

    @property
    def suspects(self) -> tuple[str, ...]:
        """What is left to suspect; empty when every check passed."""
        if self.passed:
            return ()
        cleared = {name for step in self.steps if step.outcome == "pass" for name in step.clears}
        return tuple(name for name in SUSPECTS if name not in cleared)

    def __str__(self) -> str:
        sign = {"pass": "ok  ", "fail": "FAIL", "skipped": "-   "}
        lines = [f"{sign[step.outcome]} {step.name}: {step.told}" for step in self.steps]
        left = ", ".join(self.suspects)
        lines.append(f"left to suspect: {left}" if left else "nothing left to suspect from these checks")
        return "\n".join(lines)


def preflight(
    model: nn.Module,
    loss_fn: Callable[..., Any],
    batches: Iterable[Any],
    *,
    num_classes: int | None = None,
    optimizer: torch.optim.Optimizer | None = None,
    writer: Any = None,
    overfit_steps: int = OVERFIT_STEPS,
) -> PreflightReport:
    """Checks a training before it costs a night.

    Works on copies: weights, gradients, buffers and generator states of the caller are bit-identical afterwards.

    In order: all trainable parameters are in the optimizer and get a gradient; a second backward doubles the gradients
    (nothing clears them in between); the loss at initialization against ln C; one batch can be overfitted; the same
    with dropout and weight decay off if that failed; the same in fp32 if it was not; two runs from one seed agree.

    Args:
        model, loss_fn: as for `find_origin`.
        batches: batches of the training, of which the first two are used.
        num_classes: C of a classification by cross-entropy; without it the initial loss is only checked to be finite.
        optimizer: checked to hold every trainable parameter; never stepped.
        writer: a `tuimon.RunWriter`; each check is noted in the log.
        overfit_steps: most steps for the overfitting checks.

    Raises:
        ValueError: `batches` is empty.
        TypeError: a batch is neither a pair nor a mapping, or the loss is not one number.
    """
    with _generators_kept():
        chosen = list(islice(iter(batches), 2))
        if not chosen:
            raise ValueError("preflight needs at least one batch")
        trial = _Trial(copy.deepcopy(model), loss_fn, chosen[0], overfit_steps)
        steps = [
            _in_optimizer(model, optimizer),
            trial.gradients(),
            trial.backward_twice(),
            trial.initial_loss(num_classes),
            *trial.overfit(),
            trial.seeds(),
        ]
    report = PreflightReport(tuple(steps))
    if writer is not None:
        for step in report.steps:
            writer.note(None, "preflight", check=step.name, outcome=step.outcome, told=step.told)
        writer.note(None, "preflight", check="verdict", outcome="pass" if report.passed else "fail",
                    told=", ".join(report.suspects))  # fmt: skip
    return report


def _in_optimizer(model: nn.Module, optimizer: torch.optim.Optimizer | None) -> Step:
    name = "all parameters in the optimizer"
    if optimizer is None:
        return Step(name, "skipped", "no optimizer given")
    held = {id(p) for group in optimizer.param_groups for p in group["params"]}
    missing = [path for path, p in model.named_parameters() if p.requires_grad and id(p) not in held]
    if missing:
        return Step(name, "fail", f"{len(missing)} are not, first {missing[0]}; they will never move")
    return Step(name, "pass", f"{len(held)} tensors", ("optimizer",))


class _Trial:
    """The checks that run the model; each starts from the initial weights."""

    def __init__(self, model: nn.Module, loss_fn: Callable[..., Any], batch: Any, overfit_steps: int) -> None:
        self.model, self.loss_fn, self.batch, self.overfit_steps = model, loss_fn, batch, overfit_steps
        self.start = copy.deepcopy(model.state_dict())

    def _reset(self, seed: int = 0) -> None:
        self.model.load_state_dict(self.start)
        self.model.zero_grad(set_to_none=True)
        torch.manual_seed(seed)

    def _loss(self) -> torch.Tensor:
        return call_model(self.model, self.loss_fn, self.batch)

    def gradients(self) -> Step:
        """Every trainable parameter gets a gradient, and none of them is NaN or exactly zero everywhere."""
        name = "gradients reach every layer"
        self._reset()
        loss = self._loss()
        if not loss.requires_grad:
            return Step(name, "fail", "the loss is detached from the parameters")
        loss.backward()
        trainable = [(path, p) for path, p in self.model.named_parameters() if p.requires_grad]
        without = [path for path, p in trainable if p.grad is None or not p.grad.count_nonzero()]
        broken = [path for path, p in trainable if p.grad is not None and not is_finite(p.grad)]
        if broken:
            return Step(name, "fail", f"gradient of {broken[0]} is not finite on the first batch")
        if without:
            return Step(name, "fail", f"{len(without)} of {len(trainable)} tensors get none, first {without[0]}")
        return Step(name, "pass", f"{len(trainable)} tensors", ("wiring of the graph",))

    def backward_twice(self) -> Step:
        """Gradients add up until they are cleared: the second backward must double them."""
        name = "a second backward doubles the gradients"
        self._reset()
        norms = []
        for _ in range(2):
            torch.manual_seed(0)
            loss = self._loss()
            if not loss.requires_grad:
                return Step(name, "skipped", "no gradients")
            loss.backward()
            norms.append(_grad_norm(self.model))
        if not all(map(math.isfinite, norms)) or norms[0] == 0:
            return Step(name, "skipped", "no finite gradients")
        ratio = norms[1] / norms[0]
        # Batch statistics and low precision move the ratio a little; clearing inside the model would make it 1.
        told = f"norm {norms[0]:.3g}, then {norms[1]:.3g} ({ratio:.2f} times): call zero_grad once per step"
        return Step(name, "pass" if 1.7 < ratio < 2.3 else "fail", told)

    def initial_loss(self, num_classes: int | None) -> Step:
        """At initialization a classifier knows nothing, and its cross-entropy is ln C."""
        name = "loss at initialization"
        self._reset()
        with torch.no_grad():
            loss = self._loss().item()
        if not math.isfinite(loss):
            return Step(name, "fail", f"{loss} before any step")
        if num_classes is None:
            return Step(name, "skipped", f"{loss:.4g}; num_classes not given, so nothing to compare with")
        want = math.log(num_classes)
        told = f"{loss:.3f}, ln {num_classes} = {want:.3f}"
        if abs(loss - want) <= INITIAL_SLACK:
            # No proof of the loss call: softmax before cross-entropy starts at ln C as well.
            return Step(name, "pass", told, ("initialization",))
        if loss > 2 * want:
            told += f" ({loss / want:.1f} times: a sum over the batch would give the batch size)"
        return Step(name, "fail", told)

    def overfit(self) -> Iterator[Step]:
        """One batch must be learnt by heart; if it is not, once more without regularization, then in fp32."""
        told, learnt = self._overfit_once()
        everything = ("data and labels", "loss call", "wiring of the graph", "number range", "regularization")
        yield Step("one batch can be overfitted", "pass" if learnt else "fail", told, everything)
        if learnt:
            return
        self.model.eval()
        told, learnt = self._overfit_once()
        self.model.train()
        yield Step("the same without dropout and batch statistics", "pass" if learnt else "fail", told, everything[:4])
        if learnt or all(p.dtype == torch.float32 for p in self.model.parameters()):
            return
        narrow = self.model
        self.model = copy.deepcopy(narrow).float()
        told, learnt = self._overfit_once()
        self.model = narrow
        yield Step("the same in fp32", "pass" if learnt else "fail", told, ("data and labels", "loss call"))

    def _overfit_once(self) -> tuple[str, bool]:
        self._reset()
        trainable = [p for p in self.model.parameters() if p.requires_grad]
        if not trainable:
            return "no trainable parameter", False
        adam = torch.optim.Adam(trainable, lr=LR)
        first = last = math.nan
        for step in range(self.overfit_steps):
            adam.zero_grad()
            loss = self._loss()
            last = loss.item()
            first = last if step == 0 else first
            if not math.isfinite(last):
                return f"{last} at step {step}", False
            if not loss.requires_grad:
                return "the loss is detached from the parameters", False
            if last <= OVERFIT_SHARE * first:
                return f"{first:.3g} -> {last:.3g} in {step} steps", True
            loss.backward()
            adam.step()
        return f"{first:.3g} -> {last:.3g} in {self.overfit_steps} steps of Adam at {LR}", False

    def seeds(self) -> Step:
        """Two runs from one seed agree step by step, or no later comparison means anything."""
        name = "two runs from one seed agree"
        walks = []
        for _ in range(2):
            self._reset(seed=1)
            trainable = [p for p in self.model.parameters() if p.requires_grad]
            sgd = torch.optim.SGD(trainable, lr=LR) if trainable else None
            losses = []
            for _ in range(SEED_STEPS):
                loss = self._loss()
                losses.append(loss.item())
                if sgd is not None and loss.requires_grad:
                    sgd.zero_grad()
                    loss.backward()
                    sgd.step()
            walks.append(losses)
        for step, (a, b) in enumerate(zip(*walks, strict=True)):
            if a != b and not (a != a and b != b):
                return Step(name, "fail", f"they part at step {step}: {a:.9g} and {b:.9g}")
        return Step(name, "pass", f"{SEED_STEPS} steps identical", ("chance",))


def _grad_norm(model: nn.Module) -> float:
    grads = [p.grad.detach().float().norm() for p in model.parameters() if p.grad is not None]
    return torch.stack(grads).norm().item() if grads else 0.0


@contextlib.contextmanager
def _generators_kept() -> Iterator[None]:
    """States of the generators of torch, its devices, Python and (if loaded) numpy as they were before."""
    python, numpy = random.getstate(), sys.modules.get("numpy")
    numpy_state = numpy.random.get_state() if numpy is not None else None
    devices = list(range(torch.cuda.device_count())) if torch.cuda.is_available() else []
    try:
        with torch.random.fork_rng(devices=devices):
            yield
    finally:
        random.setstate(python)
        if numpy is not None:
            numpy.random.set_state(numpy_state)
