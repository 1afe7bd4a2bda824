"""Where a NaN is born: one batch run again, every operation looked at."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal

import torch
from torch import nn

from tuimon.torch.trace import Birth, Trace, ranges
from tuimon.torch.tree import call_model, is_finite, rebuild, tensors

LOW_PRECISION = (torch.float16, torch.bfloat16)
LOSS = "(loss function)"
"""Stands in place of a module path for operations of the loss function."""
FP32_SAYS = {
    True: " In fp32 the same batch stays finite: a range problem, use bf16 or loss scaling.",
    False: " In fp32 it fails as well: not the number range but the arithmetic.",
    None: "",
}


@dataclass(frozen=True, slots=True)
class Origin:
    """The first non-finite tensor of a step.

    Attributes:
        direction: "forward", "backward", "input" (the batch already holds it), "parameter" (the weights already do), or
            "none" (nothing went non-finite when the batch was run again).
        module: path as in named_modules, "(loss function)", or the name of the tensor in the batch; "" with "none".
        op: the operation, such as "softmax", "log", "sqrt"; for a parameter its own name.
        step: optimizer step, as given.
        line: "file.py:12: code" of the call in the user's program, empty when it is not known.
        ranges: what the operation's inputs looked like, in words and numbers.
        fixed_in_fp32: True: the same batch in fp32 stays finite, so the number range is to blame; False: it does not,
            so the arithmetic is; None: it ran in fp32 (or wider) already.
    """

    direction: Literal["forward", "backward", "input", "parameter", "none"]
    module: str = ""
    op: str = ""
    step: int | None = None
    line: str = ""
    ranges: str = ""
    fixed_in_fp32: bool | None = None

    def __str__(self) -> str:
        when = "" if self.step is None else f"Step {self.step}: "
        if self.direction == "none":
            return f"{when}Nothing went non-finite when the batch was run again; it depends on something not saved."
        if self.direction == "input":
            return f"{when}The batch itself is not finite: {self.module}. {self.ranges}. Clean the data."
        if self.direction == "parameter":
            return (
                f"{when}The weights were already not finite before this batch: {self.op} of module {self.module}. "
                f"{self.ranges}. Look at an earlier step, or go back to the last good checkpoint."
            )
        told = FP32_SAYS[self.fixed_in_fp32]
        line = f", at {self.line}" if self.line else ""
        return (
            f"{when}Born in the {self.direction} pass, in {self.op} of module {self.module}{line}. {self.ranges}.{told}"
        )

    def as_note(self) -> dict[str, Any]:
        """The fields of the log line that lights the NaN row."""
        return {
            "module": self.module,
            "op": self.op,
            "direction": self.direction,
            "line": self.line,
            "ranges": self.ranges,
            "fixed_in_fp32": self.fixed_in_fp32,
        }


def find_origin(
    model: nn.Module,
    loss_fn: Callable[..., Any],
    batch: Any,
    *,
    step: int | None = None,
    autocast: torch.dtype | None = None,
) -> Origin:
    """Runs one batch forward and backward and reports the first tensor that is not finite.

    Gradients, buffers (batch-norm statistics), training mode and generator states of the model are as before
    afterwards. Every operation's result is looked at, so this is for one batch, not for every step.

    Args:
        model: the model, weights as they were before the bad step.
        loss_fn: `loss_fn(model(inputs), targets)` for a pair, `loss_fn(model(**batch), batch)` for a mapping; returns
            one number.
        batch: an (inputs, targets) pair or a mapping of the model's arguments, on the model's device.
        step: optimizer step, only carried along.
        autocast: the dtype the training autocasts to, None without autocast.

    Returns:
        An Origin; `str()` of it is one paragraph.

    Raises:
        TypeError: the batch is neither a pair nor a mapping, or the loss is not one number.
    """
    for name, tensor in tensors(batch):
        if _is_poison(tensor):
            return Origin("input", module=name, op="input", step=step, ranges=ranges([tensor]))
    poisoned = _poisoned(model)
    if poisoned is not None:
        return replace(poisoned, step=step)
    with _undisturbed(model):
        birth = _first_birth(model, loss_fn, batch, autocast)
    if birth is None:
        return Origin("none", step=step)
    low = autocast in LOW_PRECISION or any(p.dtype in LOW_PRECISION for p in model.parameters())
    fixed = _finite_in_fp32(model, loss_fn, batch) if low else None
    return Origin(
        birth.direction, birth.module, birth.op, step=step, line=birth.line, ranges=birth.ranges, fixed_in_fp32=fixed
    )


def _poisoned(model: nn.Module) -> Origin | None:
    for path, module in model.named_modules():
        own = [*module.named_parameters(recurse=False), *module.named_buffers(recurse=False)]
        for name, tensor in own:
            if _is_poison(tensor):
                return Origin("parameter", module=path or "model", op=name, ranges=ranges([tensor]))
    return None


def _is_poison(tensor: torch.Tensor) -> bool:
    """NaN or +inf; a tensor whose only non-finite value is -inf is an additive attention mask."""
    return not is_finite(tensor) and not bool((tensor.detach() < torch.inf).all())


def _first_birth(
    model: nn.Module, loss_fn: Callable[..., Any], batch: Any, autocast: torch.dtype | None
) -> Birth | None:
    device = next((t.device.type for _, t in tensors(batch)), "cpu")
    trace = Trace(model, outside=LOSS)
    with trace, torch.enable_grad():
        with torch.autocast(device, dtype=autocast) if autocast else contextlib.nullcontext():
            loss = call_model(model, loss_fn, batch)
        if is_finite(loss):
            # What was non-finite on the way did not reach the loss (a log of zero behind a `where`); it is to blame
            # only if it comes back in the gradient.
            trace.birth = None
            if loss.requires_grad:
                loss.backward()
    return trace.birth


def _finite_in_fp32(model: nn.Module, loss_fn: Callable[..., Any], batch: Any) -> bool | None:
    try:
        wide = copy.deepcopy(model).float()
    except Exception:  # noqa: BLE001 -- models with handles to the outside cannot be copied: then it stays unknown
        return None
    lifted = rebuild(
        batch, lambda leaf: leaf.float() if isinstance(leaf, torch.Tensor) and leaf.dtype in LOW_PRECISION else leaf
    )
    with _undisturbed(wide):
        loss = call_model(wide, loss_fn, lifted)
        if not is_finite(loss):
            return False
        loss.backward()
        return all(p.grad is None or is_finite(p.grad) for p in wide.parameters())


@contextlib.contextmanager
def _undisturbed(model: nn.Module) -> Iterator[None]:
    """Gradients, buffers and generator states as they were, whatever happens inside."""
    grads = [(p, p.grad) for p in model.parameters()]
    buffers = [(b, b.detach().clone()) for b in model.buffers()]
    devices = sorted({p.device.index for p in model.parameters() if p.is_cuda and p.device.index is not None})
    with torch.random.fork_rng(devices=devices):
        try:
            for parameter, _ in grads:
                parameter.grad = None
            yield
        finally:
            for parameter, grad in grads:
                parameter.grad = grad
            with torch.no_grad():
                for buffer, old in buffers:
                    buffer.copy_(old)
