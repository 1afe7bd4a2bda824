"""Every operation of a forward and a backward pass, until one makes something non-finite."""

from __future__ import annotations

import linecache
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import torch
from torch import nn
from torch.overrides import TorchFunctionMode, resolve_name

from tuimon.torch.tree import is_finite, tensors

_OURS = (str(Path(torch.__file__).parent), str(Path(__file__).parent))
_HALF_MAX = 65504.0


MASK_MAKERS = frozenset(
    ("full", "full_like", "new_full", "fill_", "masked_fill", "masked_fill_", "where", "triu", "tril", "tensor")
)
"""Operations that put an infinity where the program asked for one: an attention mask is no failure."""


def kinds(values: list[torch.Tensor]) -> frozenset[str]:
    """Which of "nan" and "inf" occur in the tensors."""
    bad = [t.detach() for t in values if not is_finite(t)]
    nan = any(bool(torch.isnan(t).any()) for t in bad)
    inf = any(bool(torch.isinf(t).any()) for t in bad)
    return frozenset(word for word, present in (("nan", nan), ("inf", inf)) if present)


def is_birth(given: frozenset[str], made: frozenset[str], op: str) -> bool:
    """Whether an operation made the first NaN out of none, or the first infinity out of finite numbers."""
    if "nan" in made:
        return "nan" not in given
    return "inf" in made and not given and op not in MASK_MAKERS


@dataclass(frozen=True, slots=True)
class Birth:
    """One operation that made something non-finite out of what was not."""

    direction: Literal["forward", "backward"]
    module: str
    op: str
    line: str
    ranges: str


@dataclass(frozen=True, slots=True)
class _Call:
    module: str
    op: str
    line: str


class Trace(TorchFunctionMode):
    """While entered, looks at the result of every torch call, and after each at its gradient.

    `birth` is the first operation that made a NaN or an infinity, in the order they ran: the forward pass, then the
    backward pass. An infinity that the program asked for, as in an attention mask, is none. Module paths are those of
    `named_modules`; an operation outside the model has `outside`.
    """

    def __init__(self, model: nn.Module, outside: str) -> None:
        super().__init__()
        self.birth: Birth | None = None
        self._model = model
        self._paths = [outside]
        self._hooks: list[Any] = []
        self._known: set[Any] = set()

    def __enter__(self) -> Trace:  # noqa: PYI034 -- typing.Self is Python 3.11
        for path, module in self._model.named_modules():
            name = path or "model"
            self._hooks.append(module.register_forward_pre_hook(lambda *_, name=name: self._paths.append(name)))
            self._hooks.append(module.register_forward_hook(lambda *_: self._leave(), always_call=True))
        super().__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        super().__exit__(*error)
        for hook in self._hooks:
            hook.remove()
        self._hooks.clear()

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if self.birth is not None:
            return func(*args, **kwargs)
        inputs = [t for _, t in tensors([args, kwargs])]
        # Before the call: an in-place operation overwrites its input.
        given = kinds(inputs)
        told = "" if given else ranges(inputs)
        result = func(*args, **kwargs)
        outputs = [t for _, t in tensors(result)]
        if not outputs:
            return result
        call = _Call(self._paths[-1], _name_of(func), _calling_line())
        if is_birth(given, kinds(outputs), call.op):
            self.birth = Birth("forward", call.module, call.op, call.line, told or "inputs hold infinities, no NaN")
        for output in outputs:
            self._watch(output.grad_fn, call)
        return result

    def _leave(self) -> None:
        self._paths.pop()

    def _watch(self, node: Any, call: _Call) -> None:
        """Hooks the new nodes that one call added to the graph (softmax + nll make one cross_entropy)."""
        waiting = [node]
        while waiting:
            node = waiting.pop()
            if node is None or node in self._known or node.name().endswith("AccumulateGrad"):
                continue
            self._known.add(node)
            self._hooks.append(node.register_hook(self._backward_hook(node.name(), call)))
            waiting.extend(parent for parent, _ in node.next_functions)

    def _backward_hook(self, node_name: str, call: _Call) -> Any:
        op = re.sub(r"Backward\d*$", "", node_name)
        op = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", op).lower()

        def look(grad_inputs: Any, grad_outputs: Any) -> None:
            if self.birth is not None:
                return
            made = [g for g in grad_inputs if g is not None]
            got = [g for g in grad_outputs if g is not None]
            if is_birth(kinds(got), kinds(made), op):
                self.birth = Birth("backward", call.module, op, call.line, f"gradient coming in: {ranges(got)}")

        return look


def ranges(values: list[torch.Tensor]) -> str:
    """The tensors in words: min, max, largest magnitude, share that fp16 cannot hold, NaN and inf counted."""
    told = []
    for tensor in values:
        if not tensor.is_floating_point() or tensor.numel() == 0:
            continue
        flat = tensor.detach().double().flatten()
        finite = flat[torch.isfinite(flat)]
        words = [f"{tuple(tensor.shape)} {str(tensor.dtype).removeprefix('torch.')}"]
        if finite.numel():
            low, high, most = finite.min().item(), finite.max().item(), finite.abs().max().item()
            words.append(f"min {low:.4g} max {high:.4g} abs max {most:.4g}")
            over = (finite.abs() > _HALF_MAX).double().mean().item()
            words += [f"{over:.1%} past fp16"] if over else []
        bad = flat.numel() - finite.numel()
        words += [f"{bad} of {flat.numel()} non-finite"] if bad else []
        told.append(" ".join(words))
    return "; ".join(told[:3]) or "no floating-point input"


def _name_of(func: Any) -> str:
    name = resolve_name(func) or getattr(func, "__name__", str(func))
    return str(name).rsplit(".", 1)[-1].strip("_")


def _calling_line() -> str:
    """The innermost line outside torch and tuimon that is running now."""
    frame = sys._getframe(2)  # noqa: SLF001 -- the cheap and usual way; traceback would read every source line
    while frame is not None:
        file = frame.f_code.co_filename
        if not file.startswith(_OURS) and not file.startswith("<"):
            code = linecache.getline(file, frame.f_lineno).strip()
            return f"{Path(file).name}:{frame.f_lineno}: {code[:100]}"
        frame = frame.f_back  # type: ignore[assignment]
    return ""
