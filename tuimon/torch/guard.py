"""What every training loop should do around its optimizer step, in two lines."""

from __future__ import annotations

import atexit
import math
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import torch

from tuimon.torch.evidence import Evidence, Writer
from tuimon.torch.layers import LayerStatistics
from tuimon.torch.readout import Readout

SCALER_PATIENCE = 3
"""A loss scaler overflows on purpose now and then; so many overflows in a row with a finite loss are not that."""


class NonFiniteError(ArithmeticError):
    """Loss or gradient went non-finite and the guard was told to raise. `step` says when."""

    def __init__(self, step: int, message: str) -> None:
        super().__init__(message)
        self.step = step


@dataclass(slots=True)
class _Pending:
    """A step whose numbers are on their way, and what is needed if they turn out bad."""

    step: int
    readout: Readout
    lr: float
    metrics: Mapping[str, Any]
    batch: Any = None
    rng: Mapping[str, Any] | None = field(default=None, repr=False)


class Guard:
    """Unscales, clips, checks, steps, logs; skips what would poison the weights and keeps the evidence.

        guard = Guard(model, optimizer, writer, clip_norm=1.0)
        for inputs, targets in batches:
            optimizer.zero_grad()
            loss = loss_fn(model(inputs), targets)
            guard.check_loss(loss, (inputs, targets))
            loss.backward()                    # with a scaler: scaler.scale(loss).backward()
            guard.step()                       # instead of unscale_, clip_grad_norm_, optimizer.step and scaler.update

    Each step logs `loss`, `grad_norm` (the global L2 norm before clipping), `lr`, `skipped` (steps skipped so far) and,
    with a scaler, `loss_scale`.

    Skipping needs to know, and knowing costs a wait for the device:

    * check="step": one wait a step (the norm's `.item()`); a bad step is skipped exactly.
    * check="deferred": no wait. The numbers go to pinned memory and are logged when they have arrived, in order, a few
      steps late, at the latest in `close`. Bad gradients are zeroed on the device, so that momentum and weight decay
      still act in that step; it counts as skipped once known. At most `in_flight` batches are held by reference
      meanwhile, and when that many are on their way the guard waits for the oldest.

    At the first bad step of a row of them the crime scene (batch, step, generator states, last finite metrics, weights)
    is saved, atomically, at most `most_scenes` times in a run and `most_scene_bytes` each. With `loss_fn`, the batch is
    run again at once and the birthplace of the NaN goes into the log.

    Args:
        model: its parameters are clipped.
        optimizer: stepped.
        writer: a `tuimon.RunWriter`.
        clip_norm: as for clip_grad_norm_; None measures without clipping.
        scaler: a torch.amp.GradScaler; None without.
        check: "step" or "deferred".
        on_nonfinite: "skip" goes on, "raise" raises NonFiniteError, "stop" sets `should_stop`.
        scenes: folder for crime scenes; next to the log by default.
        layers_every: layer statistics every so many steps, 0 for never (see `LayerStatistics` for the cost).
        loss_fn: as for `find_origin`.
        first_step: number of the first step, for resumed runs.

    Raises:
        ValueError: `check` or `on_nonfinite` is none of the words above.
    """

    def __init__(
        self,
        model: torch.nn.Module,
        optimizer: torch.optim.Optimizer,
        writer: Writer,
        clip_norm: float | None = 1.0,
        scaler: Any = None,
        *,
        check: Literal["step", "deferred"] = "step",
        on_nonfinite: Literal["skip", "raise", "stop"] = "skip",
        scenes: str | Path | None = None,
        most_scenes: int = 3,
        most_scene_bytes: int = 1 << 30,
        layers_every: int = 0,
        loss_fn: Callable[..., Any] | None = None,
        first_step: int = 0,
        in_flight: int = 4,
    ) -> None:
        if check not in ("step", "deferred"):
            raise ValueError(f"check is 'step' or 'deferred', not {check!r}")
        if on_nonfinite not in ("skip", "raise", "stop"):
            raise ValueError(f"on_nonfinite is 'skip', 'raise' or 'stop', not {on_nonfinite!r}")
        self.model, self.optimizer, self.writer = model, optimizer, writer
        self.scaler = scaler if scaler is not None and scaler.is_enabled() else None
        self.clip_norm = math.inf if clip_norm is None else float(clip_norm)
        self.check, self.on_nonfinite = check, on_nonfinite
        self.evidence = Evidence(model, writer, loss_fn, scenes, most_scenes, most_scene_bytes)
        self.step_number = first_step
        self.skipped = 0
        self.should_stop = False
        self.last_finite: dict[str, float] = {}
        self.layers = LayerStatistics(model, layers_every, first_step) if layers_every else None
        width = 3 if self.scaler else 2
        self._readouts = deque(Readout(width) for _ in range(in_flight if check == "deferred" else 1))
        self._pending: deque[_Pending] = deque()
        self._loss: torch.Tensor | None = None
        self._batch: Any = None
        self._rng: Mapping[str, Any] | None = None
        self._bad_in_a_row = 0
        atexit.register(self.close)

    @property
    def saved_scenes(self) -> Sequence[Path]:
        """The crime scenes saved so far."""
        return self.evidence.scenes

    def check_loss(self, loss: torch.Tensor, batch: Any = None) -> None:
        """Takes note of this step's loss and of the batch it came from. Does not wait.

        Args:
            loss: shape (), on any device; unscaled.
            batch: what goes into the crime scene, held by reference until its step is known to be good.
        """
        self._loss, self._batch = loss.detach(), batch

    def step(self, **metrics: Any) -> bool:
        """Does the optimizer step, unless the loss or a gradient is not finite, and logs it with `metrics`.

        Returns:
            Whether the optimizer stepped. In deferred mode this is not known yet and the answer is True.

        Raises:
            NonFiniteError: with on_nonfinite="raise"; in deferred mode a few steps late.
            RuntimeError: `check_loss` was not called before.
        """
        if self._loss is None:
            raise RuntimeError("call check_loss(loss, batch) before step()")
        if self.scaler is not None:
            self.scaler.unscale_(self.optimizer)
        measure_layers = self.layers is not None and self.layers.due(self.step_number)
        if measure_layers:
            self.layers.before_step()  # type: ignore[union-attr]
        norm = torch.nn.utils.clip_grad_norm_(self.model.parameters(), self.clip_norm)
        pending = self._send(norm, metrics)
        stepped = self._step_if_sound(norm, pending) if self.check == "step" else self._step_masked(norm)
        if self.scaler is not None:
            self.scaler.update()
        if measure_layers:
            pending.metrics = {**metrics, **self.layers.after_step()}  # type: ignore[union-attr]
        self.step_number += 1
        if self.layers is not None:
            self.layers.expect(self.step_number)
        self._loss = self._batch = None
        # Taken after the step, so that it is the state which the next forward pass starts from.
        self._rng = {"torch": torch.get_rng_state()}
        if norm.is_cuda:
            self._rng["cuda"] = torch.cuda.get_rng_state_all()
        self._settle(wait=self.check == "step")
        return stepped

    def close(self) -> None:
        """Waits for what is on its way, logs it, removes the hooks. The writer stays open."""
        atexit.unregister(self.close)
        if self.layers is not None:
            self.layers.close()
        failed: NonFiniteError | None = None
        while self._pending:
            try:
                self._settle_oldest()
            except NonFiniteError as error:  # noqa: PERF203 -- raised once all is logged
                failed = failed or error
        if failed is not None:
            raise failed

    def __enter__(self) -> Guard:  # noqa: PYI034 -- typing.Self is Python 3.11
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _send(self, norm: torch.Tensor, metrics: Mapping[str, Any]) -> _Pending:
        if not self._readouts:
            self._settle_oldest()
        readout = self._readouts.popleft()
        assert self._loss is not None
        scalars = [self._loss.to(norm.device), norm]
        if self.scaler is not None:
            scalars.append(_scale_of(self.scaler, norm.device))
        readout.send(scalars)
        lr = float(self.optimizer.param_groups[0]["lr"])
        pending = _Pending(self.step_number, readout, lr, metrics, self._batch, self._rng)
        self._pending.append(pending)
        return pending

    def _step_if_sound(self, norm: torch.Tensor, pending: _Pending) -> bool:
        # The one wait of this mode: the loss was queued before the norm, so it has arrived once the norm has.
        sound = math.isfinite(norm.item()) and math.isfinite(pending.readout.read()[0])
        if sound:
            # Not scaler.step: it would wait a second time to learn what the norm has just told.
            self.optimizer.step()
        else:
            self.optimizer.zero_grad(set_to_none=True)
        return sound

    def _step_masked(self, norm: torch.Tensor) -> bool:
        assert self._loss is not None
        bad = ~(torch.isfinite(norm) & torch.isfinite(self._loss.to(norm.device)))
        for parameter in self.model.parameters():
            if parameter.grad is not None:
                parameter.grad.masked_fill_(bad.to(parameter.grad.device), 0.0)
        self.optimizer.step()
        return True

    def _settle(self, wait: bool) -> None:
        while self._pending and (wait or self._pending[0].readout.arrived()):
            self._settle_oldest()

    def _settle_oldest(self) -> None:
        """Logs the oldest step on its way; if it was bad, keeps the evidence."""
        pending = self._pending.popleft()
        values = dict(zip(("loss", "grad_norm", "loss_scale"), pending.readout.read(), strict=False))
        self._readouts.append(pending.readout)
        values["lr"] = pending.lr
        sound = math.isfinite(values["loss"]) and math.isfinite(values["grad_norm"])
        self.skipped += not sound
        self.writer.log(pending.step, **values, skipped=self.skipped, **pending.metrics)
        if sound:
            self._bad_in_a_row = 0
            self.last_finite = values
            return
        self._bad_in_a_row += 1
        scaling = self.scaler is not None and math.isfinite(values["loss"])
        if self._bad_in_a_row == (SCALER_PATIENCE if scaling else 1):
            self.evidence.keep(pending.step, pending.batch, pending.rng, self.last_finite)
        if not scaling:
            self._react(pending.step, values)

    def _react(self, step: int, values: Mapping[str, float]) -> None:
        if self.on_nonfinite == "stop":
            self.should_stop = True
        elif self.on_nonfinite == "raise":
            where = f"; scene saved in {self.saved_scenes[-1]}" if self.saved_scenes else ""
            raise NonFiniteError(step, f"step {step}: loss {values['loss']}, grad_norm {values['grad_norm']}{where}")


def _scale_of(scaler: Any, device: torch.device) -> torch.Tensor:
    """The scaler's scale as a tensor: its public reader waits for the device, its own tensor does not."""
    scale = getattr(scaler, "_scale", None)
    if isinstance(scale, torch.Tensor):
        return scale.to(device)
    return torch.tensor(float(scaler.get_scale()), device=device)
