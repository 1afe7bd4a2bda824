"""What each layer is doing: gradient and weight norms, update ratio, dead units, saturation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import nn

RECTIFIERS = (nn.ReLU, nn.ReLU6, nn.LeakyReLU, nn.PReLU, nn.RReLU, nn.Threshold)
SATURATION_EDGE: dict[type[nn.Module], tuple[float, float]] = {
    # Outputs past these bounds pass back less than about 6 % of the largest slope: 1 - 0.97^2, and 4 * 0.985 * 0.015.
    nn.Tanh: (-0.97, 0.97),
    nn.Hardtanh: (-0.97, 0.97),
    nn.Sigmoid: (0.015, 0.985),
    nn.Hardsigmoid: (0.015, 0.985),
}


class LayerStatistics:
    """Per-layer numbers every `every` steps, as extra metrics named `<what>/<layer>` in the order of named_modules.

    * `grad_norm/<layer>`: L2 norm of the gradients of the layer's own parameters, before clipping.
    * `weight_norm/<layer>`: L2 norm of those parameters.
    * `update_ratio/<layer>`: L2 norm of the step's change of the parameters over `weight_norm` (about 1e-3 is usual).
    * `dead_fraction/<layer>`: share of a rectifier's units that are zero or below for every sample of the batch.
    * `saturation/<layer>`: share of a tanh's or sigmoid's outputs so far out that almost no gradient passes.

    Units are the last dimension, or dimension 1 of outputs with four or more dimensions (images). Activations called as
    functions (`F.relu`) are not modules and are not seen. On a measured step the device is waited for once, and the
    parameters are copied once; other steps cost one comparison per activation module.

    Raises:
        ValueError: `every` < 1.
    """

    def __init__(self, model: nn.Module, every: int, first_step: int = 0) -> None:
        if every < 1:
            raise ValueError("every must be at least 1")
        self.every = every
        self._layers = {
            name or "model": parameters
            for name, module in model.named_modules()
            if (parameters := [p for p in module.parameters(recurse=False) if p.requires_grad])
        }
        self._sent: dict[str, torch.Tensor] = {}
        self._before: dict[str, list[torch.Tensor]] = {}
        self._watching = self.due(first_step)
        looked_at: tuple[type[nn.Module], ...] = (*RECTIFIERS, *SATURATION_EDGE)
        self._hooks = [
            module.register_forward_hook(self._hook(name or "model", module))
            for name, module in model.named_modules()
            if isinstance(module, looked_at)
        ]

    def due(self, step: int) -> bool:
        """Whether `step` is measured."""
        return step % self.every == 0

    def expect(self, step: int) -> None:
        """Tells which step the next forward pass belongs to."""
        self._watching = self.due(step)

    def before_step(self) -> None:
        """Reads the gradients and keeps the weights; call after backward, before clipping."""
        for name, parameters in self._layers.items():
            grads = [p.grad for p in parameters if p.grad is not None]
            if grads:
                self._sent[f"grad_norm/{name}"] = _norm(grads)
            self._sent[f"weight_norm/{name}"] = _norm(parameters)
            self._before[name] = [p.detach().clone() for p in parameters]

    def after_step(self) -> dict[str, float]:
        """The metrics of this step; call after the optimizer stepped. Waits for the device once."""
        for name, parameters in self._layers.items():
            change = _norm([p.detach() - old for p, old in zip(parameters, self._before[name], strict=True)])
            self._sent[f"update_ratio/{name}"] = change / self._sent[f"weight_norm/{name}"].clamp_min(1e-30)
        self._before.clear()
        names, scalars = list(self._sent), list(self._sent.values())
        self._sent = {}
        if not scalars:
            return {}
        home = scalars[0].device
        return dict(zip(names, torch.stack([s.to(home) for s in scalars]).tolist(), strict=True))

    def close(self) -> None:
        """Removes the hooks from the model."""
        for hook in self._hooks:
            hook.remove()
        self._hooks.clear()

    def _hook(self, name: str, module: nn.Module) -> Callable[..., None]:
        edge = SATURATION_EDGE.get(type(module))

        def look(_module: nn.Module, _inputs: Any, output: torch.Tensor) -> None:
            if not self._watching or not isinstance(output, torch.Tensor) or output.numel() == 0:
                return
            out = output.detach()
            if edge is None:
                units = 1 if out.ndim >= 4 else out.ndim - 1
                others = [d for d in range(out.ndim) if d != units]
                alive = (out > 0).any() if out.ndim == 0 else (out > 0).amax(dim=others) if others else out > 0
                self._sent[f"dead_fraction/{name}"] = 1.0 - alive.float().mean()
            else:
                self._sent[f"saturation/{name}"] = ((out < edge[0]) | (out > edge[1])).float().mean()

        return look


def _norm(tensors: list[Any]) -> torch.Tensor:
    """L2 norm over all elements of the tensors, shape ()."""
    whole: torch.Tensor = torch.linalg.vector_norm(
        torch.stack([torch.linalg.vector_norm(t.detach().float()) for t in tensors])
    )
    return whole
