"""Batches as they come: tensors inside pairs, lists, mappings."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import torch

DEEPEST = 32
"""Nesting past this is not followed: a batch that contains itself must not hang the training."""


def tensors(batch: Any, name: str = "batch", depth: int = DEEPEST) -> Iterator[tuple[str, torch.Tensor]]:
    """Every tensor of a batch with a name a person can read, such as `batch["input_ids"]` or `batch[0]`."""
    if isinstance(batch, torch.Tensor):
        yield name, batch
    elif depth and isinstance(batch, Mapping):
        for key, part in batch.items():
            yield from tensors(part, f"{name}[{key!r}]", depth - 1)
    elif depth and isinstance(batch, (list, tuple)):
        for index, part in enumerate(batch):
            yield from tensors(part, f"{name}[{index}]", depth - 1)


def rebuild(batch: Any, change: Callable[[Any], Any], depth: int = DEEPEST) -> Any:
    """The batch with every leaf replaced by `change(leaf)`, out of plain dicts, lists and tuples only."""
    if depth and isinstance(batch, Mapping):
        return {key: rebuild(part, change, depth - 1) for key, part in batch.items()}
    if depth and isinstance(batch, (list, tuple)):
        parts = [rebuild(part, change, depth - 1) for part in batch]
        return tuple(parts) if isinstance(batch, tuple) else parts
    return change(batch)


def is_finite(tensor: torch.Tensor) -> bool:
    """Whether no element is NaN or infinite; integers and truth values always are finite. Waits for the device."""
    if not (tensor.is_floating_point() or tensor.is_complex()) or tensor.numel() == 0 or tensor.is_meta:
        return True
    return bool(torch.isfinite(tensor.detach()).all())


def call_model(model: Callable[..., Any], loss_fn: Callable[..., Any], batch: Any) -> torch.Tensor:
    """Loss of the model on one batch.

    A pair is (inputs, targets): `loss_fn(model(inputs), targets)`. A mapping is passed by name, `model(**batch)`, and
    the loss function gets (output, batch), which is how models that return their own loss are measured.

    Raises:
        TypeError: the batch is neither a pair nor a mapping.
    """
    if isinstance(batch, Mapping):
        return _scalar(loss_fn(model(**batch), batch))
    if isinstance(batch, Sequence) and len(batch) == 2:
        inputs, targets = batch
        return _scalar(loss_fn(model(inputs), targets))
    raise TypeError("a batch is an (inputs, targets) pair or a mapping of the model's arguments")


def _scalar(loss: Any) -> torch.Tensor:
    if not isinstance(loss, torch.Tensor) or loss.numel() != 1:
        raise TypeError("the loss function must return one number as a tensor")
    return loss.reshape(())
