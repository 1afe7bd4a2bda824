"""Hugging Face Trainer: `Trainer(..., callbacks=[TuimonCallback()])`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from transformers import TrainerCallback

from tuimon.writer import RunWriter

ROLES = {"loss": "loss", "eval_loss": "val_loss", "grad_norm": "grad_norm", "learning_rate": "lr"}
"""The Trainer's name -> the log's name; what else it logs goes in under its own name."""

SUMMARY = frozenset(("train_loss", "train_runtime", "train_samples_per_second", "train_steps_per_second", "total_flos"))
"""One line at the end of the training that describes the whole of it, not its last step."""


class TuimonCallback(TrainerCallback):
    """Writes what the Trainer logs, on the main process only.

    The Trainer replaces a non-finite loss by an average of earlier ones unless `logging_nan_inf_filter=False` is among
    its arguments: set that, or a NaN is seen in grad_norm alone. The log says so when the filter is on.

    Args:
        path: the log; `run.jsonl` in the Trainer's output folder by default.
        meta: what the diagnosis can use, such as num_classes or objective.
    """

    def __init__(self, path: str | Path | None = None, meta: dict[str, Any] | None = None) -> None:
        self.path, self.meta = path, meta
        self.writer: RunWriter | None = None

    def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Opens the log; a resumed training goes on in the same file."""
        if not state.is_world_process_zero:
            return
        declared = {
            "total_steps": state.max_steps,
            "batch_size": args.per_device_train_batch_size * args.gradient_accumulation_steps * args.world_size,
            "precision": "bf16" if args.bf16 else "fp16" if args.fp16 else "fp32",
            "clip_norm": args.max_grad_norm,
            "optimizer": str(getattr(args.optim, "value", args.optim)),
        }
        path = self.path if self.path is not None else Path(args.output_dir) / "run.jsonl"
        self.writer = RunWriter(path, meta={**declared, **(self.meta or {})})
        if args.logging_nan_inf_filter:
            self.writer.note(
                state.global_step, "nan_filter", told="logging_nan_inf_filter=True hides a NaN of the loss"
            )

    def on_log(self, args: Any, state: Any, control: Any, logs: dict[str, Any] | None = None, **_: Any) -> None:
        """One record per log call."""
        if self.writer is None or not logs:
            return
        metrics = {ROLES.get(name, name): value for name, value in logs.items() if name not in SUMMARY}
        if metrics:
            self.writer.log(state.global_step, **metrics)

    def on_save(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Notes the checkpoint, so that the screen can name the last one before a failure."""
        if self.writer is not None:
            path = Path(args.output_dir) / f"checkpoint-{state.global_step}"
            self.writer.note(state.global_step, "checkpoint", path=str(path))

    def on_train_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Closes the log."""
        if self.writer is not None:
            self.writer.close()
            self.writer = None
