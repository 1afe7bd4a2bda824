"""The plateau family, without movement: parameters that do not change, or learning rates that cannot change them."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from operator import eq

from tuimon.record import Mark
from tuimon.signatures.course import Course
from tuimon.signatures.finding import Finding
from tuimon.signatures.floor import momentum_of
from tuimon.signatures.growth import digits, short
from tuimon.signatures.stretch import Detector, Stretch

EQUAL = 3
"""Equal evaluations in a row, of a value with six digits or more: floats of a changing network do not repeat."""

EQUAL_COARSE = 10
"""The same for a value with three to five digits, and only from the first evaluation on."""

FEW = 3
"""Digits below which an equal value says nothing."""

CARRIED = 3
"""Times the longest earlier repetition that a new one must last: some logs carry the last evaluation along."""


ARRIVED = 1e-4
"""Share of the highest gradient norm below which a network that no longer moves has arrived: of weights that nothing
updates it stays what it was."""


class FrozenWeights(Detector):
    """The validation loss repeats to the last digit while the gradient is alive: nothing updates the parameters.

    Three equal evaluations; ten, and from the first one on, of a value that was rounded to five digits or fewer.
    Logs that carry the last evaluation along in every line show runs of equal values that end, and must then repeat
    three times as long. Errs on an evaluation that does not depend on the model.
    """

    def __init__(self) -> None:
        self._value: float | None = None
        self._equal = 0
        self._since = 0
        self._last = 0
        self._detected: int | None = None
        self._longest = 0
        self._first_losses: list[float] = []
        self._last_losses: deque[float] = deque(maxlen=64)
        self._gn: float | None = None
        self._highest = 0.0

    def update(self, stretch: Stretch) -> None:
        """Exits early on stretches without an evaluation."""
        if stretch.gn.values:
            self._gn = stretch.gn.values[-1]
            self._highest = max(self._highest, *stretch.gn.values)
        if not stretch.val.values:
            if stretch.loss.values and self._equal:
                self._losses(stretch.loss.values)
            return
        if stretch.dense and self._goes_on(stretch):
            return
        for losses, step, value in stretch.evaluations:
            if losses and self._equal:
                self._losses(losses)
            if value is not None and not (step == self._last and self._equal):
                self._evaluate(step, value)

    def _goes_on(self, stretch: Stretch) -> bool:
        """Takes in a dense stretch in which no value repeats, or only the one that did: a log that carries it along."""
        values, step = stretch.val.values, stretch.steps[-1]
        if values[0] != self._value and not any(map(eq, values, values[1:])):
            self._begin(values[0], step)
            self._longest = max(self._longest, 1) if len(values) > 1 else self._longest
            self._value, self._last = values[-1], step
            return True
        if self._value == stretch.val.low == stretch.val.high:
            if self._detected is None and self._equal + len(values) >= self._needed(values[0]):
                return False
            self._equal += len(values)
            self._losses(stretch.loss.values)
            self._last = step
            return True
        return False

    def _begin(self, value: float, step: int) -> None:
        """Another value."""
        if self._value is not None:
            self._longest = max(self._longest, self._equal)
        self._value, self._equal, self._since, self._detected = value, 1, step, None
        self._first_losses = []
        self._last_losses.clear()

    def _evaluate(self, step: int, value: float) -> None:
        if value == self._value:
            self._equal += 1
            if self._detected is None and self._equal >= self._needed(value):
                self._detected = step
        else:
            self._begin(value, step)
        self._last = step

    def _losses(self, values: Sequence[float]) -> None:
        if len(self._first_losses) < 32:
            self._first_losses.extend(values[: 32 - len(self._first_losses)])
        self._last_losses.extend(values)

    def _needed(self, value: float) -> float:
        fine = digits(value) >= 6
        if not fine and (self._longest or digits(value) < FEW):
            return math.inf  # a converged network repeats a rounded value
        carried = CARRIED * self._longest if self._longest > 1 else 0
        return max(EQUAL if fine else EQUAL_COARSE, carried)

    def _trains(self) -> bool:
        """The training loss has fallen since the value began to repeat: the evaluation is stale, not the weights."""
        if len(self._last_losses) < 3:
            return False
        count = min(len(self._first_losses), len(self._last_losses) // 2, 32)
        if count < 3:
            return False
        early, late = sorted(self._first_losses[:count]), sorted(list(self._last_losses)[-count:])
        return late[count // 2] < early[count // 8]

    def rewind(self, step: int, course: Course) -> None:
        """A new pass over the steps evaluates anew."""
        self._value, self._equal, self._detected = None, 0, None

    def mark(self, mark: Mark, course: Course) -> None:
        """Another process evaluates anew."""
        if mark.kind != "note":
            self.rewind(0, course)

    @property
    def findings(self) -> Sequence[Finding]:
        """At most one, while the value repeats."""
        if self._detected is None or self._value is None or self._trains():
            return ()
        if self._gn is not None and self._gn <= ARRIVED * self._highest:
            return ()
        why = f"val_loss {self._value:.12g} in {self._equal} evaluations from {self._since}"
        why += f" while grad_norm is {short(self._gn)}" if self._gn is not None else ""
        missing = "" if self._gn is not None else "log grad_norm to tell this from a missing gradient"
        return (
            Finding("frozen-weights", "plateau", "failure", self._since, self._detected, True, why, missing=missing),
        )


ENOUGH = 192
"""Steps over which a learning rate must buy something."""

LEFT = 0.8
"""Share of the first loss that is still there, at least, when the learning rate is at fault."""

ADAM_REACH = 1e-3
"""Sum of Adam's learning rates below which no weight can have moved by more than a few percent of its start."""


class LearningRateTooLow(Detector):
    """The learning rate cannot buy a visible change of the loss, and there is none.

    Plain gradient descent lowers the loss by at most the sum S of lr * grad_norm**2, and 1 / (1 - momentum) times that
    with momentum: the row lights when S is below two standard errors of the change after 200 records, or below a fifth
    of the loss there is, while four fifths of it are left. For Adam, and where the optimizer is not declared, when the
    sum of the learning rates is below 1e-3 and the change is within its error. Errs on losses that start near their
    floor.
    """

    def __init__(self) -> None:
        self._finding: Finding | None = None

    def renewed(self, course: Course) -> None:
        """Compares the first block with the newest."""
        before, self._finding = self._finding, None
        blocks = course.outline.blocks
        if course.silent or len(blocks) < 3 or blocks[-1].last - blocks[0].first < ENOUGH - 1:
            return
        first, last = blocks[0], blocks[-1]
        change = first.mean - last.mean
        error = math.sqrt(first.spread**2 / first.count + last.spread**2 / last.count)
        travel = _total([block.travel for block in blocks])
        budget = _total([block.budget for block in blocks])
        if travel is None or last.mean < LEFT * first.mean or not first.mean > 0:
            return
        if last.gn == 0.0 and travel > 0.0:
            return  # no learning rate moves a parameter without a gradient
        why = self._says(course, change, error, travel, budget, first.mean)
        if why:
            detected = before.detected_step if before is not None else last.last
            course_said = f"loss {short(first.mean)} -> {short(last.mean)} over steps {first.first}-{last.last}"
            why = f"{course_said}, lr {short(last.lr or 0.0)}; {why}"
            missing = "" if budget is not None else "log grad_norm to say what this learning rate can buy"
            self._finding = Finding(
                "lr-too-low", "plateau", "failure", first.first, detected, True, why, missing=missing
            )

    def _says(
        self, course: Course, change: float, error: float, travel: float, budget: float | None, loss: float
    ) -> str:
        optimizer = str(course.meta.get("optimizer", "")).lower()
        still, momentum = abs(change) < 3 * error, momentum_of(course)
        if momentum is not None and budget is not None:
            buys = budget / (1 - momentum)
            if buys < max(2 * error, (1 - LEFT) * loss) and change < buys + 3 * error:
                return f"these steps could buy at most {short(buys)}"
            return ""
        if still and travel < ADAM_REACH and (budget is None or "adam" in optimizer or budget < 2 * error):
            return f"these steps could move no weight by more than {short(travel)}"
        return ""

    @property
    def findings(self) -> Sequence[Finding]:
        """At most one."""
        return (self._finding,) if self._finding is not None else ()


def _total(parts: Sequence[float | None]) -> float | None:
    known = [part for part in parts if part is not None]
    return math.fsum(known) if len(known) == len(parts) else None
