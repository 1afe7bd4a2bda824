"""What the validation loss shows by itself: nothing that was learned in training holds there."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence

from tuimon.formulas import uniform_loss
from tuimon.signatures.course import Course
from tuimon.signatures.finding import Finding
from tuimon.signatures.growth import short
from tuimon.signatures.plateau import classes
from tuimon.signatures.stretch import Detector, Stretch
from tuimon.stats import mann_kendall, median

EVALUATIONS = 3
"""Evaluations in a row, each above the one before, that must agree."""

STANDING = 8
"""Evaluations in a row that must agree where validation stands."""

RISEN = 0.02
"""Nats by which validation must be above ln C: three evaluations there are worse than knowing nothing."""

GAINED = 0.1
"""Nats below its first value at which validation has gained something, wherever it began."""

LEARNED = 0.1
"""Share of ln C, and nats, by which the training loss must be below ln C at the same time."""

YOUNG = (0.03, 1 / 3)
"""Shares of ln C by which the training loss has fallen where validation follows it, if the labels say anything: later
evaluations of few honest samples are above ln C as well, once these are learnt by heart."""

LATELY = 8
"""Training losses that say where it stands at an evaluation."""

SURE = 0.15
"""Share of right answers above chance that is no accident of a hundred samples: three standard errors."""

ACCURACIES = frozenset((
    "val_acc", "val_accuracy", "valid_acc", "valid_accuracy", "validation_accuracy", "eval_acc", "eval_accuracy",
    "val/acc", "val/accuracy", "valid/accuracy", "validation/accuracy", "eval/acc", "eval/accuracy", "test_acc",
    "test_accuracy", "test/accuracy",
))  # fmt: skip
"""Metrics that are a share of right answers in validation."""


class MemorisingNoise(Detector):
    """The training loss falls while validation is worse than knowing nothing: inputs and labels do not belong together.

    Three evaluations in a row above ln C and rising, or eight that stand there, none ever below it by more than 0.02
    nats or 0.1 below the first, with a training loss a tenth below ln C. Needs num_classes.
    Few honest samples that are learnt by heart end in the same curve. They are told from noise only on their way:
    some evaluation must have been made when training had fallen by a thirtieth to a third of ln C. Else, and where the
    loss has no noise of batches (each step sees all samples), or where the share of right answers is logged and above
    chance, this is silent, and what is true of both is told as overfitting. Errs on honest samples so few or so noisy
    that nothing can be learned from them.
    """

    def __init__(self) -> None:
        self._first: tuple[int, float] | None = None
        self._recent: deque[float] = deque(maxlen=LATELY)
        self._rises = self._stands = 0
        self._last = 0.0
        self._young = False
        self._learned = False
        self._whole = False
        self._detected: int | None = None
        self._evidence = ""

    def update(self, stretch: Stretch) -> None:
        """Exits early on stretches without an evaluation."""
        count = classes(stretch.course)
        if count is None or self._learned or stretch.course.silent:
            return
        if _answers(stretch, count):  # also where the share has a line of its own
            self._learned = True
            return
        if not stretch.val.values:
            self._recent.extend(stretch.loss.values[-LATELY:])
            return
        for losses, step, value in stretch.evaluations:
            self._recent.extend(losses)
            if value is not None and self._recent and not self._learned:
                self._evaluate(step, value, count)

    def _evaluate(self, step: int, value: float, count: int) -> None:
        uniform, train = uniform_loss(count), median(self._recent)
        if self._first is None:
            self._first = (step, value)
        if value < max(uniform - RISEN, self._first[1] - GAINED):
            self._learned = True
            return
        fallen = (uniform - train) / uniform
        self._young = self._young or YOUNG[0] < fallen < YOUNG[1]
        worse = value > uniform + RISEN and fallen > LEARNED and uniform - train > LEARNED
        self._rises = self._rises + 1 if worse and value > self._last else 0
        self._stands = self._stands + 1 if worse else 0
        self._last = value
        if self._detected is None and (self._rises >= EVALUATIONS or self._stands >= STANDING):
            self._detected = step
            self._evidence = f"val_loss {short(value)} at {step}, never better than ln {count} = {uniform:.4f}"
            self._evidence += f", while loss is {short(train)}"

    def renewed(self, course: Course) -> None:
        """Whether each step sees the whole training set: then the loss has no noise of batches."""
        declared = course.meta.get("loss_smoothing") not in (None, 0, False, "none", "")
        self._whole = course.smooth and not declared and course.evaluations < course.count

    def rewind(self, step: int, course: Course) -> None:
        """Another run in the same file starts anew: what the one before it learned says nothing of its labels."""
        if self._first is not None and step <= self._first[0]:
            self.__init__()  # type: ignore[misc]

    @property
    def findings(self) -> Sequence[Finding]:
        """At most one."""
        if self._detected is None or self._first is None or self._learned or self._whole or not self._young:
            return ()
        return (
            Finding("memorising-noise", "plateau", "failure", self._first[0], self._detected, True, self._evidence),
        )


def _answers(stretch: Stretch, count: int) -> bool:
    """Validation answers better than chance, by a metric that is logged beside its loss."""
    if stretch.names.isdisjoint(ACCURACIES):
        return False
    shares = [
        value / (100.0 if value > 1.0 else 1.0)
        for name in ACCURACIES & stretch.names
        for value in stretch.columns[name]
        if value is not None and math.isfinite(value)
    ]
    return max(shares, default=0.0) > 1.0 / count + SURE


SEEN = 8
"""Evaluations after which one that never learned is told from one that has just begun."""

GAIN = 0.15
"""Share of the untrained loss that a validation which learns has gained by then."""

SHARED = 1 / 3
"""Share of what training has gained that validation has gained too, where the one has to do with the other."""

APART = (1.5, 3.0)
"""Times the training loss at which the validation loss stands, when the two have nothing to do with each other; further
above, the training samples are learnt by heart, which says nothing of their labels."""

RESTS = 4, 0.1
"""Evaluations over which the training loss has fallen by less than this share: it is not on its way to zero."""

STILL_FALLING = -2.0
"""Mann-Kendall score of the last 32 evaluations below which validation does gain, however slowly."""

RISEN_SHARE = 0.05
"""Rise above the minimum from which it is overfitting."""


class ValidationStands(Detector):
    """The training loss fell and rests, the validation loss stands far above it and never gained: memorising-noise.

    The case of losses without classes: after eight evaluations the least is above 85 % of the first one and of the
    first training losses, and has shared less than a third of the fall of those; the last is within 5 % of the least,
    not falling, and 1.5 to 3 times the training loss, which has fallen by 15 % since the first and by less than 10 %
    over the last four. A warning: an evaluation on other data looks the same. Few honest samples, and what was
    pretrained on others, go on to zero instead. Needs losses above zero.
    """

    def __init__(self) -> None:
        self._loss: float | None = None
        self._first: tuple[int, float, float] | None = None
        self._least = math.inf
        self._recent: deque[float] = deque(maxlen=32)
        self._trains: deque[float] = deque(maxlen=RESTS[0] + 1)
        self._last: tuple[int, float] | None = None
        self._count = 0
        self._detected: int | None = None

    def update(self, stretch: Stretch) -> None:
        """Exits early on stretches without an evaluation."""
        if classes(stretch.course) is not None or stretch.course.silent:
            return
        if not stretch.val.values:
            self._loss = stretch.loss.values[-1] if stretch.loss.values else self._loss
            return
        level = stretch.course.level
        if stretch.dense and level is not None and not self._may_stand(stretch, level.middle):
            self._pass_over(stretch, level.middle)
            return
        for losses, step, value in stretch.evaluations:
            self._loss = losses[-1] if losses else self._loss
            if value is None or (self._last is not None and step == self._last[0]):
                continue
            now = level.middle if level is not None else self._loss
            if now is not None:
                self._evaluate(step, value, now, stretch.course)

    def _evaluate(self, step: int, value: float, now: float, course: Course) -> None:
        if self._first is None:
            self._first = (step, value, now)
        self._least = min(self._least, value)
        self._recent.append(value)
        self._trains.append(now)
        self._last = (step, value)
        self._count += 1
        begun = course.origin if course.count else self._first[2]
        untrained = max(self._first[1], begun)
        stands = (
            self._count >= SEEN
            and now > 0.0
            and self._least > (1 - GAIN) * untrained
            and untrained - self._least < SHARED * (max(begun, self._first[2]) - now)
            and value < (1 + RISEN_SHARE) * self._least
            and APART[0] * now < value < APART[1] * now
            and now < (1 - GAIN) * self._first[2]
            and now > (1 - RESTS[1]) * self._trains[0]
            and max(self._recent) > min(self._recent)  # one that never moves does not look at the model
            and mann_kendall(list(self._recent)) > STILL_FALLING
        )
        self._detected = (step if self._detected is None else self._detected) if stands else None

    def _may_stand(self, stretch: Stretch, now: float) -> bool:
        """Whether some evaluation of a dense stretch may stand, by what is the same for all of them."""
        if self._first is None or self._last is None or stretch.steps[0] <= self._last[0]:
            return True
        begun = stretch.course.origin if stretch.course.count else self._first[2]
        return (
            now > 0.0
            and self._least > (1 - GAIN) * max(self._first[1], begun)
            and stretch.val.low < APART[1] * now
            and stretch.val.high > APART[0] * now
            and now < (1 - GAIN) * self._first[2]
        )

    def _pass_over(self, stretch: Stretch, now: float) -> None:
        """Takes in evaluations of which none stands."""
        val = stretch.val
        self._loss = stretch.loss.values[-1]
        self._least = min(self._least, val.low)
        self._recent.extend(val.values)
        self._trains.extend([now] * len(val.values))
        self._last = (val.steps[-1], val.values[-1])
        self._count += len(val.values)
        self._detected = None

    def rewind(self, step: int, course: Course) -> None:
        """Another run in the same file starts anew."""
        if self._first is not None and step <= self._first[0]:
            self.__init__()  # type: ignore[misc]

    @property
    def findings(self) -> Sequence[Finding]:
        """At most one, while it stands."""
        if self._detected is None or self._first is None or self._last is None:
            return ()
        step, value, loss = self._first
        why = f"val_loss {short(value)} at {step}, {short(self._last[1])} at {self._last[0]}"
        why += f", least {short(self._least)}, while loss {short(loss)} -> {short(self._trains[-1])}"
        return (Finding("memorising-noise", "plateau", "warning", step, self._detected, True, why),)
