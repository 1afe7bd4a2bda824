"""What is worth knowing about how a run was logged."""

from __future__ import annotations

from collections.abc import Sequence

from tuimon.record import Mark
from tuimon.signatures.course import Course
from tuimon.signatures.finding import Finding
from tuimon.signatures.growth import short
from tuimon.signatures.stretch import Detector, Stretch
from tuimon.stats import Level, level_of

KEPT = 32
"""Resumes that are told one by one; a log with more is a collection of runs."""

SETTLING = 16
"""Losses after a resume from which its level is taken."""


class Resumed(Detector):
    """A log that goes back, or a process that starts anew: where, how many steps repeat, whether the level changed.

    Errs on several runs appended to one file, which look like resumes from far back.
    """

    def __init__(self) -> None:
        self._findings: list[Finding] = []
        self._count = 0
        self._before: Level | None = None
        self._after: list[float] | None = None
        self._from = self._at = 0
        self._header = False

    def update(self, stretch: Stretch) -> None:
        """Collects the level after a resume."""
        if self._header:
            self._header = False
            if stretch.course.last_step is not None:
                self._begin(stretch.steps[0], stretch.course.last_step)
        if self._after is None:
            return
        wanted = SETTLING - len(self._after)
        self._after.extend(stretch.loss.values[:wanted])
        if len(self._after) == SETTLING:
            self._settle(stretch.loss.steps[wanted - 1])

    def _begin(self, step: int, last: int) -> None:
        if self._after is not None:
            self._settle(last)
        self._count += 1
        self._at, self._from, self._after = step, last, []

    def _told(self) -> Finding:
        repeated = max(0, self._from - self._at + 1)
        why = f"goes on at {self._at} after {self._from}"
        why += f", {repeated} steps repeat" if repeated else ""
        if self._before is not None and self._after and len(self._after) == SETTLING:
            middle = level_of(self._after).middle
            changed = abs(self._before.z(middle)) > 4.0
            why += f"; loss {short(self._before.middle)} before, {short(middle)} after"
            why += ": changed at resume" if changed else ""
        return Finding("resumed", "note", "note", self._at, self._at, self._after is not None, why)

    def _settle(self, step: int) -> None:
        finding = self._told()
        if len(self._findings) < KEPT:
            told = Finding("resumed", "note", "note", self._at, self._at, False, finding.evidence, step)
            self._findings.append(told)
        self._after = None

    def mark(self, mark: Mark, course: Course) -> None:
        """A second header is a resume, with or without repeated steps."""
        if mark.kind == "header" and course.records:
            self._header = True
            self._before = level_of(course.losses) if course.losses else None

    def rewind(self, step: int, course: Course) -> None:
        """The log goes back to `step`."""
        if course.losses or not self._header:
            self._before = level_of(course.losses) if course.losses else None
        self._header = False
        self._begin(step, course.last_step if course.last_step is not None else step)

    @property
    def findings(self) -> Sequence[Finding]:
        """One note per resume."""
        return [*self._findings, self._told()] if self._after is not None else self._findings


UNEVALUATED = 512
"""Records without a validation loss after which there will be none."""

UNMEASURED = 64
"""Records without a gradient norm after which there will be none."""


class Missing(Detector):
    """What the log does not hold and the table would need: a validation loss, a gradient norm."""

    def __init__(self) -> None:
        self._findings: dict[str, Finding] = {}

    def renewed(self, course: Course) -> None:
        """Looks at which roles have been logged."""
        if course.last_step is None or course.first_step is None or "loss" not in course.logged:
            return
        for role, after, name, why in (
            ("val_loss", UNEVALUATED, "no-validation", "no val_loss in {} records: overfitting cannot be seen"),
            ("grad_norm", UNMEASURED, "no-grad-norm", "no grad_norm in {} records: several rows cannot be told apart"),
        ):
            if role in course.logged:
                self._findings.pop(name, None)
            elif course.records >= after and name not in self._findings:
                self._findings[name] = Finding(
                    name, "note", "note", course.first_step, course.last_step, True, why.format(course.records),
                    missing=f"log {role}",
                )  # fmt: skip

    @property
    def findings(self) -> Sequence[Finding]:
        """One per role that is missing."""
        return tuple(self._findings.values())
