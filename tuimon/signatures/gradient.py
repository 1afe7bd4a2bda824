"""The gradient family: what the gradient norm shows before, or without, the loss."""

from __future__ import annotations

import math
from collections.abc import Sequence

from tuimon.record import Mark
from tuimon.signatures.accumulation import ACCUMULATION, accumulated
from tuimon.signatures.course import BLOCK, Course
from tuimon.signatures.finding import Finding
from tuimon.signatures.growth import FAR, FOLD, NEAR, digits, short
from tuimon.signatures.stretch import Detector, Stretch
from tuimon.stats import Level, autocorrelation, level_of

CALM = 4.0
"""Sigmas within which the loss is calm while the gradient already explodes."""

LASTING = 64
"""Gradient norms after which one that is still far up, while the loss is calm, has found a new level."""

KEPT = 16
"""Findings kept of one kind; a run with more is told by the first ones."""


class ExplodingGradient(Detector):
    """The gradient norm leaves its level while the loss is still calm: one to four steps of warning.

    Two in a row above 8 sigma of the last 64 logarithms and above 4 times their median. Over when two in a row are back
    within 3 sigma, or when the loss is calm after 64 of them: then this is what is normal from now on. Errs on runs
    whose batches differ by orders of magnitude; then the scale is wide and it stays silent.
    """

    def __init__(self) -> None:
        self._run = 0
        self._near = 0
        self._calm = True
        self._loss = -math.inf
        self._first = 0
        self._before = self._previous = 0.0
        self._peak = 0.0
        self._lasted = 0
        self._resting = 0
        self._open: int | None = None
        self._level: Level | None = None
        self._findings: list[Finding] = []

    def update(self, stretch: Stretch) -> None:
        """Exits at once where the gradient stays within 3 sigma."""
        gn, course = stretch.gn, stretch.course
        level = course.log_gn if self._open is None else self._level
        ordinary = level is None or gn.high <= math.exp(min(level.middle + NEAR * level.sigma, 700.0))
        if not gn.values or (self._open is None and ordinary):
            self._run = 0 if gn.values else self._run
            self._resting = max(self._resting - len(gn.values), 0)
            self._previous = gn.values[-1] if gn.values else self._previous
            self._loss = stretch.loss.values[-1] if stretch.loss.values else self._loss
            return
        if len(stretch) > BLOCK:
            for part in stretch.cut(BLOCK):
                self.update(part)
            return
        ceiling = math.inf if course.level is None else course.level.middle + CALM * course.level.sigma
        for i, (step, (loss, value)) in enumerate(stretch.rows("loss", "grad_norm")):
            self._loss = loss if loss is not None else self._loss
            if value is None:
                continue
            level = course.log_gn if self._open is None else self._level
            if level is not None:
                self._calm = self._loss <= ceiling
                self._row(step, value, level, course, stretch.index + i < course.quiet_until)
            self._previous = value

    def _row(self, step: int, value: float, level: Level, course: Course, quiet: bool) -> None:
        z = level.z(math.log(value)) if value > 0.0 else -math.inf
        if self._open is not None:
            self._peak = max(self._peak, value)
            self._near = self._near + 1 if z <= NEAR else 0
            self._lasted += 1
            if self._near >= 2:
                self._close(step, course)
            elif self._lasted >= LASTING and self._calm:
                self._close(step, course, settled=True)
            return
        if self._resting:
            self._resting -= 1
            return
        if z <= FAR or value <= FOLD * math.exp(level.middle) or not (self._calm or self._run):
            self._run = 0
            return
        if self._run == 0:
            self._first, self._before, self._peak = step, self._previous, value
        self._run += 1
        self._peak = max(self._peak, value)
        if self._run == 2 and not quiet:
            self._open, self._level, self._near, self._lasted = step, level, 0, 0
            course.exclude_gns(self._first, None)

    def _close(self, step: int, course: Course, settled: bool = False) -> None:
        if len(self._findings) < KEPT:
            self._findings.append(self._told(step, settled))
        self._open, self._run = None, 0
        # Where it has settled, its norms are those that later ones are compared with, as soon as they fill a window.
        course.exclude_gns(self._first, self._first - 1 if settled else step)
        self._resting = LASTING if settled else 0

    def _told(self, ended: int | None, settled: bool = False) -> Finding:
        why = f"grad_norm {short(self._before)} -> {short(self._peak)} from {self._first} while the loss is calm"
        if ended is not None:
            why += f", settled by {ended}" if settled else f", back at {ended}"
        detected = self._open if self._open is not None else self._first
        return Finding(
            "exploding-gradient", "gradient", "warning", self._first, detected, ended is None, why, ended,
            missing="",
        )  # fmt: skip

    def rewind(self, step: int, course: Course) -> None:
        """What was open is left behind."""
        if self._open is not None:
            self._close(course.last_step if course.last_step is not None else step, course)
        self._run = 0

    def mark(self, mark: Mark, course: Course) -> None:
        """A resumed process ends what was open."""
        if mark.kind != "note" and course.last_step is not None:
            self.rewind(course.last_step, course)

    @property
    def findings(self) -> Sequence[Finding]:
        """The explosions that are over, then the open one."""
        return [*self._findings, self._told(None)] if self._open is not None else self._findings


class GradientsAccumulate(Detector):
    """The gradient norm grows as a power of the steps, smoothly, from the first one: zero_grad is missing or misplaced.

    Judged once, over the first 32 records. Errs where the first records are not the first steps; it then stays silent,
    because there is no such power.
    """

    def __init__(self) -> None:
        self._points: list[tuple[int, float]] = []
        self._done = False
        self._findings: list[Finding] = []

    def update(self, stretch: Stretch) -> None:
        """Collects the first 32 gradient norms."""
        if self._done or not stretch.gn.values:
            return
        self._points.extend(zip(stretch.gn.steps, stretch.gn.values, strict=True))
        del self._points[ACCUMULATION:]
        if len(self._points) == ACCUMULATION:
            self._done = True
            self._fit()

    def _fit(self) -> None:
        steps, values = zip(*self._points, strict=True)
        exponent = accumulated(steps, values)
        if exponent is not None:
            grown = f"grad_norm {short(values[0])} -> {short(values[-1])}"
            why = f"{grown} over steps {steps[0]}-{steps[-1]}, as steps^{exponent:.2f}"
            self._findings = [Finding("gradients-accumulate", "gradient", "warning", steps[0], steps[-1], True, why)]

    @property
    def findings(self) -> Sequence[Finding]:
        """At most one."""
        return self._findings


ZEROS = 3
"""Lines in a row with a gradient norm of exactly zero; one or two are an empty or fully masked batch."""

FALLING = 16
"""Losses after which a run that never logged a gradient norm but zero is judged by whether its loss moves."""

ORDERED = 0.7
"""Lag-1 autocorrelation of 16 losses that independent draws reach once in 1000 times: then there are gradients."""

ROUNDED = 8
"""Digits up to which a log rounds: its 0.000 may be any small number, or none that was computed."""

EQUAL, EXACT = 3, 6
"""Evaluations that agree in six digits or more: those of a network that changes do not."""


class ZeroGradient(Detector):
    """The gradient norm is exactly zero: nothing reaches the parameters.

    Three lines in a row. A log whose every gradient norm is zero while the loss moves did not compute it, and is
    left alone: such a log is judged after 16 losses, unless they are all equal, and one that rounds only when its
    validation loss repeats to the last digit, three times, while the loss changes from record to record and goes
    nowhere; so is a loss of exactly zero that was reached by training.
    """

    def __init__(self) -> None:
        self._run = 0
        self._since = 0
        self._detected = 0
        self._ever = False
        self._loss: float | None = None
        self._first: list[float] = []
        self._recent: list[float] = []
        self._val: float | None = None
        self._equal = 0
        self._findings: list[Finding] = []

    def update(self, stretch: Stretch) -> None:
        """Exits at once while every gradient norm is positive."""
        gn = stretch.gn
        if not self._run and (not gn.values or gn.low > 0.0):
            self._loss = stretch.loss.values[-1] if stretch.loss.values else self._loss
            self._ever = self._ever or bool(gn.values)
            return
        for step, (loss, value, val) in stretch.rows("loss", "grad_norm", "val_loss"):
            self._loss = loss if loss is not None else self._loss
            if value == 0.0:
                self._zero(step)
            elif value is not None:
                self._ever = True
                self._close(step)
            if val is not None and self._run and not self._ever:
                self._evaluate(step, val)

    def _zero(self, step: int) -> None:
        self._run += 1
        if self._run == 1:
            self._since = step
            self._first, self._recent, self._val, self._equal = [], [], None, 0
        if self._run == ZEROS:
            self._detected = step
        if self._loss is not None:
            self._recent.append(self._loss)
            if len(self._first) < FALLING:
                self._first.append(self._loss)
            del self._recent[:-FALLING]

    def _evaluate(self, step: int, value: float) -> None:
        """Counts evaluations that agree; one that differs says for good that something moves."""
        same = self._val is None or value == self._val
        self._equal = self._equal + 1 if same and self._equal >= 0 and digits(value) >= EXACT else -1
        self._val = value
        if self._equal == EQUAL and self._rounds():
            self._detected = step

    def _rounds(self) -> bool:
        """Few digits: a zero of such a log may stand for a small number, or for none that was computed."""
        return all(digits(loss) <= ROUNDED for loss in self._first)

    def _close(self, step: int) -> None:
        if self._run >= ZEROS and len(self._findings) < KEPT:
            finding = self._told(step)
            if finding is not None:
                self._findings.append(finding)
        self._run = 0

    def _told(self, ended: int | None) -> Finding | None:
        if self._run < ZEROS or not self._recent or self._finished() or (not self._ever and self._moves()):
            return None
        why = f"grad_norm exactly 0 in {self._run} lines from {self._since}, loss {short(self._recent[-1])}"
        why += f", val_loss {self._val:.12g} in {self._equal} evaluations" if self._equal >= EQUAL else ""
        return Finding("zero-gradient", "plateau", "failure", self._since, self._detected, ended is None, why, ended)

    def _finished(self) -> bool:
        """The loss is exactly zero, after gradients: there is nothing left to learn."""
        return self._ever and all(loss == 0.0 for loss in self._recent)

    def _moves(self) -> bool:
        """The loss moves although every gradient norm reads zero, or it is too early to tell.

        Without gradients the losses are independent draws around one level: their order means nothing.
        """
        losses = self._first
        if self._rounds() and self._equal < EQUAL:
            return True
        if len(set(losses)) == 1:
            return False
        if len(losses) < FALLING:
            return True
        spread = level_of(losses).sigma
        shift = abs(sum(losses[: FALLING // 2]) - sum(self._recent[-FALLING // 2 :])) / (FALLING // 2)
        return autocorrelation(losses) > ORDERED or shift > 2.0 * spread

    def rewind(self, step: int, course: Course) -> None:
        """What was open is left behind."""
        self._close(step)

    @property
    def findings(self) -> Sequence[Finding]:
        """The stretches of zeros that are over, then the open one."""
        told = self._told(None)
        return [*self._findings, told] if told is not None else self._findings
