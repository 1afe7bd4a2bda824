"""One break of a run: consecutive steps with a non-finite value, and which row of the table that is."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from tuimon.signatures.finding import Severity
from tuimon.signatures.growth import Growth, short

CALIBRATION = 100
"""Records from the start in which a loss scaler searches its scale: it skips steps, and the run is well."""

SKIPS = 32
"""Skipped steps in a row that such a search can take: 2^32 halved down to 1."""


@dataclass(slots=True)
class LoggedStep:
    """The loss and gradient norm of one optimizer step, merged over its lines; None where not logged (yet)."""

    step: int
    record: int
    loss: float | None = None
    gn: float | None = None

    @property
    def loss_bad(self) -> bool:
        """The loss is logged and not finite."""
        return self.loss is not None and not math.isfinite(self.loss)

    @property
    def gn_bad(self) -> bool:
        """The gradient norm is logged and not finite."""
        return self.gn is not None and not math.isfinite(self.gn)

    def take(self, loss: float | None, gn: float | None) -> None:
        """Merges another line of the step; a non-finite value stays."""
        if loss is not None and not self.loss_bad:
            self.loss = loss
        if gn is not None and not self.gn_bad:
            self.gn = gn


@dataclass(slots=True)
class Break:
    """Consecutive steps with a non-finite loss or gradient norm."""

    first: LoggedStep
    calm: int
    before: str
    growth: Growth | None
    logs_loss: bool
    scaled: bool
    rate: str
    steps: int = 0
    bad_losses: int = 0
    lost: int = 0
    masked: int = 0
    loss_step: int | None = None
    last: LoggedStep = field(default_factory=lambda: LoggedStep(0, 0))
    second: int | None = None
    third: int | None = None
    outlasted: int | None = None
    settled: int | None = None
    over: int | None = None

    @property
    def known(self) -> int:
        """The step that settled what it is."""
        if self.first.loss_bad:
            return self.first.step
        seen = self.second
        if self.first.gn is not None and math.isinf(self.first.gn):
            seen = self.outlasted if self.outlasted is not None else self.third
        return next((step for step in (self.settled, self.loss_step, seen) if step is not None), self.first.step)

    def take(self, step: LoggedStep) -> None:
        """Takes in a completed step."""
        if step.loss_bad:
            self.bad_losses += 1
            self.loss_step = step.step if self.loss_step is None else self.loss_step
        elif step.gn_bad:
            self.lost += step.loss is None and self.logs_loss
            self.masked += step.loss is not None and step.loss in (0.0, self.last.loss)
        elif step.loss is None and (step.gn is None or self.bad_losses):
            return  # nothing of what broke is in this step
        else:
            self.over = step.step
            return
        self.steps += 1
        self.last = step
        if self.steps == 2:
            self.second = step.step
        if self.settled is None and (self.masked == 2 or self.lost == 2):
            self.settled = step.step
        if self.steps == 3:
            self.third = step.step
        if self.steps == SKIPS + 1:
            self.outlasted = step.step


def classify(broken: Break) -> tuple[str, Severity, str]:
    """Signature, severity and evidence of a break; an empty signature says to stay silent."""
    return _of_loss(broken) if broken.first.loss_bad else _of_gradient(broken)


def _of_loss(broken: Break) -> tuple[str, Severity, str]:
    first = broken.first
    kind = "inf" if first.loss is not None and math.isinf(first.loss) else "NaN"
    both = f"loss {kind} and grad_norm {'non-finite' if first.gn_bad else short(first.gn or 0.0)}"
    what = both if first.gn is not None else f"loss {kind}"
    # Only the mean of no element is NaN and leaves a gradient of zero: 0/0 of a sum that nothing went into.
    empty = kind == "NaN" and first.gn in (None, 0.0)
    if broken.over is not None and broken.steps <= 2:
        back = f"{what} at {first.step}, finite again at {broken.over}"
        if empty:
            return "nan-empty-batch", "warning", back
        return "nan-forward" if kind == "NaN" else "inf-first", "warning", back + ": skipped" * first.gn_bad
    if empty and first.gn is not None and broken.steps <= 2:
        return "nan-empty-batch", "warning", f"{what} at {first.step}: the gradient is untouched"
    if not broken.before:
        return "nan-first-step", "failure", f"{what} in the first record"
    if broken.growth is not None:
        return "nan-after-growth", "failure", f"{broken.growth.text} from {broken.growth.onset}, {what} at {first.step}"
    if kind == "inf":
        return (
            "inf-first",
            "failure",
            f"{what} at {first.step} after {broken.calm} calm records: inf came before any NaN",
        )
    together = "together " if first.gn_bad else ""
    return "nan-forward", "failure", f"{what} {together}at {first.step} after {broken.calm} calm records"


def _of_gradient(broken: Break) -> tuple[str, Severity, str]:
    first, step = broken.first, broken.first.step
    kind = "inf" if first.gn is not None and math.isinf(first.gn) else "NaN"
    searching = (
        first.record < CALIBRATION and broken.steps <= SKIPS and (broken.scaled or kind == "inf" or not broken.calm)
    )
    if broken.masked >= 2:
        loss = short(broken.last.loss or 0.0)
        return (
            "nan-masked",
            "failure",
            f"grad_norm {kind} since {step} while the loss reads {loss}: filtered by the logger",
        )
    if broken.bad_losses:
        if broken.growth is not None:
            return (
                "nan-after-growth",
                "failure",
                f"{broken.growth.text} from {broken.growth.onset}, grad_norm {kind} at {step}",
            )
        finite = "" if first.loss is None else f" while the loss is {short(first.loss)}"
        return "nan-backward", "failure", f"grad_norm {kind} at {step}{finite}; loss non-finite at {broken.loss_step}"
    if broken.lost >= 2:
        return "nan-forward", "failure", f"grad_norm {kind} at {step}, and the loss is no longer logged since"
    if searching or (broken.scaled and broken.steps < 3):
        return "", "note", ""
    # An infinite gradient beside a finite loss is what a loss scaler skips, whose search may take so many steps.
    skipped = kind == "inf" and broken.steps <= SKIPS
    if broken.over is not None or skipped:
        if broken.steps < 3:
            return "", "note", ""
        until = f", finite at {broken.over}" if broken.over is not None else " while the loss is finite"
        hint = ": overflow, which a loss scaler skips (log loss_scale)" if skipped else ""
        return "nan-backward", "warning", f"grad_norm {kind} in {broken.steps} steps from {step}{until}{hint}"
    if broken.steps >= 2 or kind == "NaN":
        return "nan-backward", "failure", f"grad_norm {kind} at {step} while the loss is finite"
    return "", "note", ""
