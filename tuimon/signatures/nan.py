"""The NaN family: where the first non-finite value was, and what stood before it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, field

from tuimon.plain import plain_text
from tuimon.record import Mark
from tuimon.signatures.course import Course
from tuimon.signatures.finding import Finding, Severity, place
from tuimon.signatures.growth import Growth, growth_before, short
from tuimon.signatures.nan_rate import Rate
from tuimon.signatures.stretch import Detector, Stretch

CALIBRATION = 100
"""Records from the start in which a loss scaler searches its scale: it skips steps, and the run is well."""

SKIPS = 32
"""Skipped steps in a row that such a search can take: 2^32 halved down to 1."""

KEPT = 8
"""Breaks kept that are over; a run with more is told by the first ones."""


@dataclass(slots=True)
class _Step:
    """The loss and gradient norm of one optimizer step, merged over its lines; None where not logged (yet)."""

    step: int
    record: int
    loss: float | None = None
    gn: float | None = None

    @property
    def loss_bad(self) -> bool:
        return self.loss is not None and not math.isfinite(self.loss)

    @property
    def gn_bad(self) -> bool:
        return self.gn is not None and not math.isfinite(self.gn)

    def take(self, stretch: Stretch, i: int) -> None:
        """Merges record `i`; a non-finite value of the same step stays."""
        loss, gn = stretch.columns.get("loss"), stretch.columns.get("grad_norm")
        if loss is not None and loss[i] is not None and not self.loss_bad:
            self.loss = loss[i]
        if gn is not None and gn[i] is not None and not self.gn_bad:
            self.gn = gn[i]


@dataclass(slots=True)
class _Break:
    """Consecutive steps with a non-finite loss or gradient norm."""

    first: _Step
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
    last: _Step = field(default_factory=lambda: _Step(0, 0))
    second: int | None = None
    settled: int | None = None
    over: int | None = None

    def take(self, step: _Step) -> None:
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


class NonFinite(Detector):
    """Dates the first non-finite loss or gradient norm and says which row of the table it is.

    The order of the roles tells the birthplace: loss and gradient norm in one step mean the forward pass, the gradient
    norm a step before the loss means the backward pass. Roles are compared by step, not by line. One step that comes
    back is a skipped step or an empty batch, not a lost run; in the first 100 records a loss scaler may skip many.

    Errs where a log turns non-finite values into plausible numbers, and where the logging interval hides which came
    first: then the row says what to log. Reference: IEEE 754 (a NaN spreads through every operation but a few).
    """

    def __init__(self) -> None:
        self._open: _Break | None = None
        self._current: _Step | None = None
        self._closed: list[Finding] = []
        self._origin: Mark | None = None
        self._logs_gn = self._logs_loss = False
        self._rate = Rate()
        self._calm = 0

    def update(self, stretch: Stretch) -> None:
        """Exits at once on finite stretches while nothing is open, and while a lost run stays lost."""
        self._logs_loss = self._logs_loss or bool(stretch.loss.values)
        if stretch.finite and self._open is None:
            self._logs_gn = self._logs_gn or bool(stretch.gn.values)
            self._rate.pass_over(stretch)
            self._stay_calm(stretch)
            return
        lrs = stretch.columns.get("lr", [None] * len(stretch))
        for i in range(len(stretch)):
            self._rate.take(stretch.steps[i], lrs[i])
            self._row(stretch, i)

    def _stay_calm(self, stretch: Stretch) -> None:
        """Keeps the last step, whose other roles may come in a later line."""
        steps = stretch.steps
        last = steps[-1]
        start = len(steps) - 1
        while start > 0 and steps[start - 1] == last:
            start -= 1
        if self._current is None or self._current.step != last:
            self._current = _Step(last, stretch.index + start)
        for i in range(start, len(steps)):
            self._current.take(stretch, i)
        self._calm += len(steps)

    def _row(self, stretch: Stretch, i: int) -> None:
        step = stretch.steps[i]
        if self._current is None or self._current.step != step:
            self._settle()
            self._current = _Step(step, stretch.index + i)
        self._current.take(stretch, i)
        self._logs_gn = self._logs_gn or self._current.gn is not None
        if self._open is None:
            if self._current.loss_bad or self._current.gn_bad:
                self._open = self._begin(self._current, stretch.course)
            else:
                self._calm += 1

    def _begin(self, current: _Step, course: Course) -> _Break:
        parts = []
        for name, values, steps in (
            ("loss", course.losses, course.loss_steps),
            ("grad_norm", course.gns, course.gn_steps),
        ):
            earlier = [(step, value) for step, value in zip(steps, values, strict=True) if step < current.step]
            if earlier:
                parts.append(f"{name} {short(earlier[-1][1])} at {earlier[-1][0]}")
        scaled = course.scaled or "16" in str(course.meta.get("precision", "")).replace("bf16", "")
        growth = growth_before(course, current.step)
        return _Break(current, self._calm, ", ".join(parts), growth, self._logs_loss, scaled, self._rate.told)

    def _settle(self) -> None:
        """The current step is complete."""
        if self._open is None or self._current is None:
            return
        self._open.take(self._current)
        if self._open.over is not None:
            finding = self._finding(self._open)
            if finding is not None and len(self._closed) < KEPT:
                self._closed.append(finding)
            self._open = None

    def mark(self, mark: Mark, course: Course) -> None:
        """Keeps the origin that the training process found."""
        if mark.kind == "note" and mark.fields.get("note") == "nan_origin" and self._origin is None:
            self._origin = mark

    def rewind(self, step: int, course: Course) -> None:
        """A resumed run starts clean: what was broken was left behind."""
        self._settle()
        if self._open is not None:
            self._open.over = step
            self._current = _Step(step, course.records)
            finding = self._finding(self._open)
            if finding is not None and len(self._closed) < KEPT:
                self._closed.append(finding)
            self._open = None
        self._current = None

    @property
    def findings(self) -> Sequence[Finding]:
        """The breaks that are over, then the open one, as the current step would leave it."""
        found = list(self._closed)
        if self._open is not None:
            broken = copy(self._open)
            if self._current is not None:
                broken.take(self._current)
            finding = self._finding(broken)
            if finding is not None:
                found.append(finding)
        return found

    def _finding(self, broken: _Break) -> Finding | None:
        name, severity, why = _classify(broken)
        if not name:
            return None
        grown = name == "nan-after-growth" and broken.growth is not None
        onset = broken.growth.onset if grown and broken.growth is not None else broken.first.step
        if broken.before and not grown:
            why += f"; before: {broken.before}"
        module, op = "", ""
        if self._origin is not None:
            module, op = (plain_text(self._origin.fields.get(key, "")) for key in ("module", "op"))
            why += f"; first non-finite tensor in {place(module) or 'an unnamed module'}"
        why = broken.rate + why
        first = broken.first.step
        detected = next((step for step in (broken.settled, broken.loss_step, broken.second) if step is not None), first)
        if broken.first.loss_bad:
            detected = first
        missing = "" if self._logs_gn else "log grad_norm to tell the forward from the backward pass"
        return Finding(
            name, "nan", severity, onset, max(detected, first), broken.over is None, why, broken.over,
            module, op, missing,
        )  # fmt: skip


def _classify(broken: _Break) -> tuple[str, Severity, str]:
    """Signature, severity and evidence of a break; an empty signature says to stay silent."""
    return _of_loss(broken) if broken.first.loss_bad else _of_gradient(broken)


def _of_loss(broken: _Break) -> tuple[str, Severity, str]:
    first = broken.first
    kind = "inf" if first.loss is not None and math.isinf(first.loss) else "NaN"
    both = f"loss {kind} and grad_norm {'non-finite' if first.gn_bad else short(first.gn or 0.0)}"
    what = both if first.gn is not None else f"loss {kind}"
    if broken.over is not None and broken.steps <= 2:
        if first.gn_bad:
            return "nan-forward", "warning", f"{what} at {first.step}, finite again at {broken.over}: skipped"
        return "nan-empty-batch", "warning", f"{what} at {first.step}, finite again at {broken.over}"
    if first.gn is not None and not first.gn_bad and broken.steps <= 2:
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


def _of_gradient(broken: _Break) -> tuple[str, Severity, str]:
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
    if broken.over is not None:
        if broken.steps < 3:
            return "", "note", ""
        return (
            "nan-backward",
            "warning",
            f"grad_norm {kind} in {broken.steps} steps from {step}, finite at {broken.over}",
        )
    if broken.steps >= 2 or kind == "NaN":
        return "nan-backward", "failure", f"grad_norm {kind} at {step} while the loss is finite"
    return "", "note", ""
