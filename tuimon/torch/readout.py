"""Numbers on their way from the device to the log without stopping the device."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch


class Readout:
    """One reused slot of host memory that device scalars are copied into.

    On a CUDA device the slot is pinned, the copy is queued behind the kernels that compute the scalars, and an event
    says when it has arrived. On the CPU the copy is there at once.
    """

    def __init__(self, width: int) -> None:
        self._width = width
        self._host: torch.Tensor | None = None
        self._event: Any = None

    def send(self, scalars: Sequence[torch.Tensor]) -> None:
        """Queues the copy of `width` zero-dimensional tensors. Does not wait."""
        packed = torch.stack([scalar.detach().reshape(()).to(torch.float64) for scalar in scalars])
        if self._host is None:
            self._host = torch.empty(self._width, dtype=torch.float64, pin_memory=packed.is_cuda)
        self._host.copy_(packed, non_blocking=True)
        if packed.is_cuda:
            self._event = self._event or torch.cuda.Event()
            self._event.record()

    def arrived(self) -> bool:
        """Whether `read` would return without waiting."""
        return self._event is None or bool(self._event.query())

    def read(self) -> list[float]:
        """The values; waits for the copy if it is still on its way."""
        if self._event is not None:
            self._event.synchronize()
        return [] if self._host is None else self._host.tolist()
