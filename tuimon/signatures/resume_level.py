"""A resume after which the loss is far above the level it had reached."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from dataclasses import replace
from operator import sub
from typing import NamedTuple

from tuimon.record import Mark
from tuimon.signatures.course import ARMED, Course
from tuimon.signatures.finding import Finding
from tuimon.signatures.growth import NEAR, short, sigmas
from tuimon.signatures.stretch import Detector, Stretch
from tuimon.stats import MAD_TO_SIGMA, median

PIECE = 16
"""Losses whose median is the level after a resume: known to a third of their noise."""

REPEATED = 8
"""Losses of the first pass at the steps that are repeated, from which their median is a level."""

SHARE = 0.1
"""Share of all progress that must be lost: another order of the data, or a smaller batch, moves the level by less."""

BACK = 0.5
"""Share of the loss of ground below which it is made up for."""

KEPT = 8
"""Findings kept that are over."""


class Before(NamedTuple):
    """What was left at a resume, in units of loss.

    Attributes:
        level, noise: the level to come back to, and the scale of single losses around it.
        progress: how far the run had come.
        told: the level in words.
    """

    level: float
    noise: float
    progress: float
    told: str

    @property
    def least(self) -> float:
        """How far above the level the losses after the resume must lie."""
        return max(NEAR * self.noise, SHARE * self.progress)


class ResumeLevel(Detector):
    """After a resume the loss is clearly above the level before it, and above the first pass at the same steps.

    Compares the median of the first 16 losses with the last 64 before, with those of them that were at or after the
    step the run went back to, and, after a rewind over more than that, with the outline at that step. Told when half of
    the new losses are beyond 3 sigma of single ones and a tenth of the progress is lost; over when the median of 16
    has made up for half of that. A good resume shows no change at all: the usual cause is an optimizer whose state was
    not restored. Silent on running means, whose first records are not yet means. Errs where the data were changed
    together with the resume.
    """

    def __init__(self) -> None:
        self._before: Before | None = None
        self._fresh = False
        self._losses: list[float] = []
        self._first = 0
        self._points: list[tuple[int, float]] = []
        self._open: Finding | None = None
        self._over: deque[Finding] = deque(maxlen=KEPT)

    def update(self, stretch: Stretch) -> None:
        """Exits at once while no resume is being judged."""
        loss = stretch.loss
        if self._before is None or not loss.values:
            return
        self._fresh = False
        start = 0
        while start < len(loss.values) and self._before is not None:
            if not self._losses:
                self._first = loss.steps[start]
            end = min(len(loss.values), start + PIECE - len(self._losses))
            self._losses.extend(loss.values[start:end])
            if len(self._losses) == PIECE:
                self._judge(loss.steps[end - 1], median(self._losses), self._before)
                self._losses = []
            start = end

    def _judge(self, step: int, level: float, before: Before) -> None:
        height = level - before.level
        if self._open is not None:
            if height <= BACK * before.least:
                self._end(step)
        elif height > before.least:
            why = f"{before.told}, {short(level)} after the resume at {self._first}: {sigmas(height, before.noise)}"
            why += f", {100 * height / before.progress:.0f} % of the progress lost" if before.progress else ""
            why += "; optimizer state not restored?"
            self._open = Finding("level-jump", "divergence", "warning", self._first, step, True, why)
        else:
            self._before = None

    def _end(self, step: int) -> None:
        if self._open is not None:
            why = f"{self._open.evidence}, back at {step}"
            self._over.append(replace(self._open, active=False, ended_step=step, evidence=why))
        self._open, self._before = None, None

    def mark(self, mark: Mark, course: Course) -> None:
        """Another process goes on, with or without repeated steps."""
        if mark.kind == "header" and course.records and course.last_step is not None:
            self._resume(course, course.last_step + 1)

    def rewind(self, step: int, course: Course) -> None:
        """The log goes back to `step`; from the very start it is another run."""
        self._resume(course, step)
        if course.first_step is None or step <= course.first_step:
            self._before = None

    def _resume(self, course: Course, step: int) -> None:
        if self._open is not None and course.last_step is not None:
            self._end(course.last_step)
        self._losses = []
        if course.losses:
            self._points = list(zip(course.loss_steps, course.losses, strict=True))
        elif not self._fresh:
            self._points = []  # else a header has just emptied the course, and this is the step that it goes back to
        self._fresh = bool(self._points)
        self._before = None if course.silent or course.smooth else self._level(course, step)

    def _level(self, course: Course, step: int) -> Before | None:
        points = self._points
        if len(points) < ARMED:
            return None
        losses = [loss for _, loss in points]
        level = median(losses)
        noise = MAD_TO_SIGMA * median(map(abs, map(sub, losses[1:], losses))) / math.sqrt(2.0)
        told = f"loss {short(level)} before"
        repeated = [loss for at, loss in points if at >= step]
        if step < points[0][0]:
            block = next((block for block in course.outline.blocks if block.last >= step), None)
            if block is None:
                return None
            repeated, noise = [block.mean] * REPEATED, max(noise, block.spread)
        if len(repeated) >= REPEATED:
            there = median(repeated)
            told += f", {short(there)} at the same steps"
            level = max(level, there)
        return Before(level, noise, course.progress, told)

    @property
    def findings(self) -> Sequence[Finding]:
        """The losses of ground that were made up for, then the open one."""
        return (*self._over, self._open) if self._open is not None else tuple(self._over)
