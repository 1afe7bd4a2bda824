"""The NaN family: where the first non-finite value was, and what stood before it."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy

from tuimon.plain import plain_text
from tuimon.record import Mark
from tuimon.signatures.course import Course
from tuimon.signatures.finding import Finding, place
from tuimon.signatures.growth import growth_before, short
from tuimon.signatures.nan_again import Again
from tuimon.signatures.nan_break import Break, LoggedStep, classify
from tuimon.signatures.nan_rate import Rate
from tuimon.signatures.stretch import Detector, Stretch

ONCE = 2
"""Steps of a break that comes back by itself."""

KEPT = 8
"""Breaks kept that are over; a run with more is told by the first ones."""


class NonFinite(Detector):
    """Dates the first non-finite loss or gradient norm and says which row of the table it is.

    The order of the roles tells the birthplace: loss and gradient norm in one step mean the forward pass, the gradient
    norm a step before the loss means the backward pass. Roles are compared by step, not by line. One step that comes
    back is a skipped step or an empty batch, not a lost run; in the first 100 records a loss scaler may skip many.

    Errs where a log turns non-finite values into plausible numbers, and where the logging interval hides which came
    first: then the row says what to log. Reference: IEEE 754 (a NaN spreads through every operation but a few).
    """

    def __init__(self) -> None:
        self._open: Break | None = None
        self._current: LoggedStep | None = None
        self._closed: list[Finding] = []
        self._origin: Mark | None = None
        self._logs_gn = self._logs_loss = False
        self._rate = Rate()
        self._again = Again()
        self._last_record = 0
        self._calm = 0

    def update(self, stretch: Stretch) -> None:
        """Exits at once on finite stretches while nothing is open, and while a lost run stays lost."""
        self._logs_loss = self._logs_loss or bool(stretch.loss.values)
        self._last_record = stretch.index + len(stretch) - 1
        if stretch.finite and self._open is None:
            self._logs_gn = self._logs_gn or bool(stretch.gn.values)
            self._rate.pass_over(stretch)
            self._stay_calm(stretch)
            return
        records = zip(stretch.logged("loss"), stretch.logged("grad_norm"), stretch.logged("lr"), strict=True)
        for i, (loss, gn, lr) in enumerate(records):
            self._rate.take(stretch.steps[i], lr)
            self._row(stretch, i, loss, gn)

    def _stay_calm(self, stretch: Stretch) -> None:
        """Keeps the last step, whose other roles may come in a later line."""
        steps = stretch.steps
        last = steps[-1]
        start = len(steps) - 1
        while start > 0 and steps[start - 1] == last:
            start -= 1
        if self._current is None or self._current.step != last:
            self._current = LoggedStep(last, stretch.index + start)
        for loss, gn in zip(stretch.logged("loss", start), stretch.logged("grad_norm", start), strict=True):
            self._current.take(loss, gn)
        self._calm += len(steps)

    def _row(self, stretch: Stretch, i: int, loss: float | None, gn: float | None) -> None:
        step = stretch.steps[i]
        if self._current is None or self._current.step != step:
            self._settle()
            self._current = LoggedStep(step, stretch.index + i)
        self._current.take(loss, gn)
        self._logs_gn = self._logs_gn or self._current.gn is not None
        if self._open is None:
            if self._current.loss_bad or self._current.gn_bad:
                self._open = self._begin(self._current, stretch.course)
            else:
                self._calm += 1

    def _begin(self, current: LoggedStep, course: Course) -> Break:
        parts = []
        for name, values, steps in (
            ("loss", course.losses, course.loss_steps),
            ("grad_norm", course.gns, course.gn_steps),
        ):
            newest_first = zip(reversed(steps), reversed(values), strict=True)
            earlier = next(((step, value) for step, value in newest_first if step < current.step), None)
            if earlier is not None:
                parts.append(f"{name} {short(earlier[1])} at {earlier[0]}")
        scaled = course.scaled or "16" in str(course.meta.get("precision", "")).replace("bf16", "")
        growth = growth_before(course, current.step)
        return Break(current, self._calm, ", ".join(parts), growth, self._logs_loss, scaled, self._rate.told)

    def _settle(self) -> None:
        """The current step is complete."""
        if self._open is None or self._current is None:
            return
        self._open.take(self._current)
        if self._open.over is not None:
            finding = self._finding(self._open)
            if finding is not None and len(self._closed) < KEPT:
                self._closed.append(finding)
            if finding is not None and self._open.first.loss_bad and self._open.steps <= ONCE:
                self._again.take(self._open.first.record, finding)
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
            self._current = LoggedStep(step, course.records)
            finding = self._finding(self._open)
            if finding is not None and len(self._closed) < KEPT:
                self._closed.append(finding)
            self._open = None
        self._current = None

    @property
    def findings(self) -> Sequence[Finding]:
        """The breaks that are over, then the open one, as the current step would leave it."""
        again = self._again.told(self._last_record)
        found = list(self._closed)
        if again is not None:
            found = [one for one in found if one.onset_step < again.onset_step] + [again]
        if self._open is not None and not (again is not None and self._open.steps <= ONCE):
            broken = copy(self._open)
            if self._current is not None:
                broken.take(self._current)
            finding = self._finding(broken)
            if finding is not None:
                found.append(finding)
        return found

    def _finding(self, broken: Break) -> Finding | None:
        name, severity, why = classify(broken)
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
        missing = "" if self._logs_gn else "log grad_norm to tell the forward from the backward pass"
        return Finding(
            name, "nan", severity, onset, broken.known, broken.over is None, why, broken.over,
            module, op, missing,
        )  # fmt: skip
