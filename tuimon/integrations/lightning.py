"""Lightning: `Trainer(..., callbacks=[TuimonCallback("run.jsonl")])`."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

try:
    from lightning.pytorch import Callback
except ImportError:
    from pytorch_lightning import Callback  # the package's former name

from tuimon.writer import RunWriter


class TuimonCallback(Callback):
    """Writes loss, gradient norm and learning rate, and `val_loss` after each validation, on rank 0 only.

    Every `every` optimizer steps the loss and the norms are read, which waits for the device; the default is the
    trainer's `log_every_n_steps`. `val_loss` is taken from what the module logs under `val_name`.

    Args:
        path: the log.
        every: optimizer steps between records.
        val_name: name under which the module logs its validation loss.
        meta: what the diagnosis can use, such as num_classes or objective.
    """

    def __init__(
        self,
        path: str | Path = "run.jsonl",
        *,
        every: int | None = None,
        val_name: str = "val_loss",
        meta: dict[str, Any] | None = None,
    ) -> None:
        self.path, self.every, self.val_name, self.meta = path, every, val_name, meta
        self.writer: RunWriter | None = None
        self._norm: float | None = None
        self._written = -1

    def on_train_start(self, trainer: Any, pl_module: Any) -> None:
        """Opens the log; a resumed training goes on in the same file."""
        if not trainer.is_global_zero:
            return
        declared = {"clip_norm": trainer.gradient_clip_val, "precision": str(trainer.precision)}
        self.writer = RunWriter(self.path, meta={**declared, **(self.meta or {})})
        self.every = self.every or trainer.log_every_n_steps

    def on_before_optimizer_step(self, trainer: Any, pl_module: Any, optimizer: Any) -> None:
        """Measures the global L2 norm of the gradients, before clipping."""
        if self._due(trainer.global_step + 1):
            norms = [float(p.grad.detach().float().norm()) for p in pl_module.parameters() if p.grad is not None]
            self._norm = math.hypot(*norms) if norms else None

    def on_train_batch_end(self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: int) -> None:
        """One record per optimizer step that is due; with gradient accumulation, the loss of its last batch."""
        step = trainer.global_step
        if self.writer is None or step == self._written or not self._due(step):
            return
        loss = outputs.get("loss") if isinstance(outputs, dict) else outputs
        lr = trainer.optimizers[0].param_groups[0]["lr"] if trainer.optimizers else None
        self.writer.log(step, loss=loss, grad_norm=self._norm, lr=lr)
        self._norm, self._written = None, step

    def on_validation_end(self, trainer: Any, pl_module: Any) -> None:
        """Writes the validation loss at the current step."""
        value = trainer.callback_metrics.get(self.val_name)
        if self.writer is not None and value is not None and not trainer.sanity_checking:
            self.writer.log(trainer.global_step, val_loss=value)

    def on_train_end(self, trainer: Any, pl_module: Any) -> None:
        """Closes the log."""
        if self.writer is not None:
            self.writer.close()
            self.writer = None

    def on_exception(self, trainer: Any, pl_module: Any, exception: BaseException) -> None:
        """Closes the log, which says that the training was aborted."""
        if self.writer is not None:
            self.writer.__exit__(type(exception), exception, exception.__traceback__)
            self.writer = None

    def _due(self, step: int) -> bool:
        return self.writer is not None and self.every is not None and step % self.every == 0
