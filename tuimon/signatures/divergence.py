"""The divergence family: a loss that leaves its level and does not come back."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from tuimon.record import Mark
from tuimon.signatures.course import Course
from tuimon.signatures.finding import Finding
from tuimon.signatures.growth import FAR, NEAR, short
from tuimon.signatures.stretch import Detector, Stretch
from tuimon.stats import Level

CONFIRM = 6
"""Records in a row far above the level before it is a divergence: a spike from one rare batch is over by then."""

SHARE = 0.25
"""Share of the progress made that must be lost again; a smaller step up is noise of the data, not of the optimizer."""

OPEN_LONG = 200
"""Records after which a spike that has not come back is not expected to."""

SETTLED = 20
"""Records within which the gradient norm of a harmless change of data is ordinary again."""


@dataclass(slots=True)
class Excursion:
    """One departure of the loss from its level."""

    onset: int
    before: float
    level: Level
    origin: float
    progress: float
    far: int = 0
    length: int = 0
    peak: float = 0.0
    peak_step: int = 0
    near: int = 0
    detected: int | None = None
    failed: str = ""
    worst: int = 0


class Excursions(Detector):
    """Losses that leave their level: spikes that come back, and divergences that do not.

    Two records in a row above 8 sigma of the last 64 open an excursion; it is over when two in a row are back within 3
    sigma. Six in a row above 8 sigma that lose a quarter of the progress, or a median of five above the start of the
    run, are a divergence. Baselines are held while an excursion is open. Thresholds are in units of the run's own noise
    and progress, so nothing changes when the loss is scaled or shifted.

    Errs on schedules that raise the loss on purpose without declaring it, and on losses that are not meant to fall; it is
    quiet for 64 records after a resume or a jump of the learning rate, unless the loss rises above its start.
    """

    def __init__(self) -> None:
        self._open: Excursion | None = None
        self._left: tuple[int, float] | None = None
        self._run = 0
        self._last = 0.0
        self._five: deque[float] = deque(maxlen=5)
        self._findings: deque[Finding] = deque(maxlen=32)
        self._previous = 0.0

    def update(self, stretch: Stretch) -> None:
        """Exits at once where the loss stays within 3 sigma."""
        loss, course = stretch.loss, stretch.course
        if not loss.values:
            return
        level = course.level
        if self._open is None and (level is None or loss.high <= level.middle + NEAR * level.sigma):
            self._run = 0
            self._left = None
            self._previous = loss.values[-1]
            return
        quiet = stretch.index < course.quiet_until or course.silent or course.smooth
        for step, value in zip(loss.steps, loss.values, strict=True):
            if self._open is not None:
                self._follow(self._open, step, value, course)
            elif level is not None:
                self._watch(step, value, level, course, quiet)
            self._previous = value

    def _watch(self, step: int, value: float, level: Level, course: Course, quiet: bool) -> None:
        z = level.z(value)
        if z <= NEAR:
            self._run, self._left = 0, None
            return
        if self._left is None:
            self._left = (step, self._previous)
        if z <= FAR:
            self._run = 0
            return
        self._run += 1
        if self._run == 2 and not quiet:
            onset, before = self._left
            self._open = Excursion(onset, before, level, course.origin, course.progress, far=1)
            self._five.clear()
            course.exclude(onset, None)
            self._follow(self._open, step, value, course)

    def _follow(self, open_: Excursion, step: int, value: float, course: Course) -> None:
        z = open_.level.z(value)
        open_.length += 1
        self._five.append(value)
        if value > open_.peak or open_.length == 1:
            open_.peak, open_.peak_step = value, step
        open_.near = open_.near + 1 if z <= NEAR else 0
        if open_.near >= 2:
            self._close(open_, step, course)
            return
        open_.far = open_.far + 1 if z > FAR and value - open_.level.middle > SHARE * open_.progress else 0
        above = len(self._five) == 5 and median(self._five) > open_.origin + max(
            FAR * open_.level.sigma, SHARE * open_.progress
        )
        if not open_.failed and (open_.far >= CONFIRM or above):
            open_.failed, open_.detected = "lr-too-high", step
        if not open_.failed and open_.length >= OPEN_LONG:
            open_.failed, open_.detected = "unrecovered-spike", step

    def _close(self, open_: Excursion, step: int, course: Course) -> None:
        finding = self._finding(open_, step)
        if finding is not None:
            self._findings.append(finding)
        course.exclude(open_.onset, step)
        self._open, self._run, self._left = None, 0, None

    def _finding(self, open_: Excursion, ended: int | None) -> Finding | None:
        rise = f"loss {short(open_.before)} -> {short(open_.peak)} at {open_.peak_step}"
        sigmas = f"{short((open_.peak - open_.level.middle) / open_.level.sigma)} sigma"
        name = open_.failed or "loss-spike"
        if name == "loss-spike":
            why = f"{rise}, {sigmas}" + (f", back at {ended}" if ended is not None else "")
            return Finding(name, "spike", "warning", open_.onset, open_.onset, ended is None, why, ended)
        detected = open_.detected if open_.detected is not None else open_.onset
        why = f"{rise}, {sigmas}, since {open_.onset}"
        return Finding(name, "divergence", "failure", open_.onset, detected, ended is None, why, ended)

    def mark(self, mark: Mark, course: Course) -> None:
        """A resumed process or another file ends what was open."""
        if mark.kind != "note":
            self.rewind(0, course)

    def rewind(self, step: int, course: Course) -> None:
        """What was open is left behind."""
        if self._open is not None and course.last_step is not None:
            self._close(self._open, course.last_step, course)
        self._run, self._left = 0, None

    @property
    def findings(self) -> Sequence[Finding]:
        """The excursions that are over, then the open one."""
        found = list(self._findings)
        if self._open is not None and (finding := self._finding(self._open, None)) is not None:
            found.append(finding)
        return found
