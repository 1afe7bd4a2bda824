"""The plateau family, at telling levels: losses that rest where a network rests that learns nothing."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from tuimon.formulas import softmax_floor, uniform_loss
from tuimon.signatures.course import Course
from tuimon.signatures.finding import Finding, Severity
from tuimon.signatures.growth import short
from tuimon.signatures.outline import Block
from tuimon.signatures.stretch import Detector
from tuimon.stats import slope

FLAT_RECORDS = 200
"""Records over which a level must stand: a shelf before learning starts is shorter in most runs."""

FLAT_EVALUATED = 64
"""The same where every record has its own evaluation (such a record is an epoch, a mean over many steps), or stands
for several steps."""

SPARSE = 3
"""Steps from record to record from which a log counts as sparse: its 64 records are then as long a time as 200."""

NEAR_LEVEL = 0.02
"""Nats within which a level counts as the telling one: about the standard error of 200 batches of 32."""

ABOVE = 0.1
"""Nats above ln C that a constant guess loses while the learning rate throws its biases about."""

NEAR_LABELS = 0.05
"""Nats from the label entropy: the classes of some hundred batches are not quite those of the declared counts."""

UNSURE = 0.01
"""Greatest standard error of a level that may be compared with another to 0.02 nats."""

GUESSED = (2, 3, 10, 100, 1000)
"""Numbers of classes that are tried when none is declared: for others, ln C lies too close to its neighbours'."""

GUESS_NEAR = 0.006
"""Nats within which a guessed ln C must be met."""

SUPPOSED = range(2, 33)
"""Numbers of classes that are supposed where the run began at their logarithm too, for a warning."""

SUPPOSED_NEAR = 0.003
"""Nats within which it must stand there: ln 32 and ln 33 are ten times as far apart."""

SUPPOSED_BEGUN = 0.2
"""Nats from that logarithm within which an untrained network begins."""

SUPPOSED_ABOVE = 0.008
"""The same above it, where the learning rate throws the biases about."""

LN_SHARE = 0.9
"""Least share of ln C at which a level can be that of undeclared class frequencies: entropies below are learning."""


CLASSES = "declare num_classes in the header"
SUPPOSITION = "declare num_classes in the header: here it is supposed"
COUNTS = "declare class_counts in the header to tell it from a hard task"


class Standing(NamedTuple):
    """The last flat part of a run: its level in nats, the error of that, and its extent.

    `from_start`: the run has stood there since its first or second block; levels that learning ends at are many, and
    some lie at a logarithm.
    """

    level: float
    error: float
    onset: int
    last: int
    low: float
    high: float
    from_start: bool


def standing(course: Course) -> Standing | None:
    """The level at which the loss stands now, with no better one before it; None when it moves or moved lower."""
    records, least = flat_records(course)
    blocks = next((tail for times in (1, 2, 4) if _sure(tail := course.outline.tail(times * records, least))), [])
    if not blocks and "val_loss" in course.logged:
        blocks = course.outline.tail(FLAT_EVALUATED, 2) if _evaluated(course) else []
    if not blocks:
        return None
    level = math.fsum(block.mean * block.count for block in blocks) / sum(block.count for block in blocks)
    means = [block.mean for block in blocks]
    gradient, t = slope(means)
    drift = abs(gradient) * len(means)
    within = math.sqrt(math.fsum([block.spread**2 / block.count for block in blocks])) / len(blocks)
    single = within * math.sqrt(len(blocks))  # the error of one block
    if (drift > NEAR_LEVEL and abs(t) > 2.0) or max(means) - min(means) > 6 * single + NEAR_LEVEL:
        return None
    everything = course.outline.blocks
    if min(block.mean for block in everything) < level - NEAR_LEVEL - 4 * single:
        return None
    start = next(i for i, block in enumerate(everything) if abs(block.mean - level) < NEAR_LEVEL + 4 * _error(block))
    low = min(block.low for block in everything)
    high = max(block.high for block in everything)
    return Standing(level, within, everything[start].first, blocks[-1].last, low, high, start <= 1)


def flat_records(course: Course) -> tuple[int, int]:
    """Records over which a level must stand, and the blocks that must agree on it."""
    blocks = course.outline.blocks
    sparse = bool(blocks) and blocks[-1].last - blocks[-1].first >= SPARSE * (blocks[-1].count - 1) > 0
    return (FLAT_EVALUATED, 2) if sparse else (FLAT_RECORDS, 3)


def _sure(blocks: Sequence[Block]) -> bool:
    """Their mean is known well enough."""
    return bool(blocks) and math.sqrt(math.fsum([b.spread**2 / b.count for b in blocks])) / len(blocks) <= UNSURE


def _error(block: Block) -> float:
    return block.spread / math.sqrt(block.count)


def _evaluated(course: Course) -> bool:
    """Every record has an evaluation of its own: the log counts epochs."""
    return course.evaluations >= course.count > 0


STOPPED = 100.0
"""Fall of the learning rate from its peak after which nothing more is expected of it."""


def rate_gone(course: Course, step: int) -> bool:
    """The learning rate fell a hundredfold from its peak within the first two blocks after `step`, and stayed there."""
    since = [block.lr for block in course.outline.blocks if block.last >= step][2:]
    return bool(since) and all(lr is not None and lr <= course.lr_peak / STOPPED for lr in since)


class TellingLevels(Detector):
    """Losses that stand at ln C, at the label entropy, or at the floor of a doubled softmax.

    The level of the last 200 records must be known to 0.01 nats, must not drift, and no earlier part of the run may
    have been better. C is taken from the header, else only 2, 3, 10, 100 and 1000 are tried, and nearer; 2 to 32, for
    a warning, still nearer, where the run began there. Withdrawn
    when the loss leaves the level: some healthy runs rest at ln 2 before they learn. Not told where the learning rate
    was gone before the level stood: it then says where the schedule ended. In nats: needs an unscaled cross-entropy.
    A level just under ln C, without class_counts, is a warning, and only from the start: hard tasks end there as well.
    """

    def __init__(self) -> None:
        self._finding: Finding | None = None

    def renewed(self, course: Course) -> None:
        """Looks at the newest blocks."""
        before, self._finding = self._finding, None
        objective = str(course.meta.get("objective", "cross_entropy")).lower()
        if course.silent or objective not in (
            "cross_entropy",
            "ce",
            "nll",
            "classification",
            "lm",
            "language_model",
            "",
        ):
            return
        here = standing(course)
        if here is None or rate_gone(course, here.onset):
            return
        declared = classes(course)
        named = self._match(here, declared, course)
        if named is None:
            return
        name, why, missing = named
        detected = before.detected_step if before is not None and before.signature == name else here.last
        self._finding = Finding(
            name, "plateau", "failure" if missing in ("", CLASSES) else "warning", here.onset, detected, True,
            f"loss {short(here.level)} since {here.onset}, {why}",
            missing=missing,
        )  # fmt: skip

    def _match(self, here: Standing, declared: int | None, course: Course) -> tuple[str, str, str] | None:
        """Row, reason, and what to declare to be surer."""
        entropy = label_entropy(course)
        if declared and entropy is not None and entropy < uniform_loss(declared) - NEAR_LEVEL:
            if abs(here.level - entropy) < NEAR_LABELS:
                return "prior-prediction", f"the entropy of the labels is {entropy:.3f}", ""
            return None
        near = NEAR_LEVEL if declared else GUESS_NEAR
        if not declared and not here.from_start:
            return None
        for count in (declared,) if declared else GUESSED:
            top = uniform_loss(count)
            if top - near - 2 * here.error * bool(declared) < here.level < top + (ABOVE if declared else near):
                return "uniform-prediction", f"ln {count} is {top:.4f}", "" if declared else CLASSES
        if not declared:
            near = SUPPOSED_NEAR + here.error
            for count in SUPPOSED:
                top = uniform_loss(count)
                if top - near < here.level < top + SUPPOSED_ABOVE and abs(course.origin - top) < SUPPOSED_BEGUN:
                    return "uniform-prediction", f"where it began; ln {count} is {top:.4f}", SUPPOSITION
        if declared and here.from_start and LN_SHARE * uniform_loss(declared) < here.level < uniform_loss(declared):
            effective = math.exp(here.level)
            why = f"just under ln {declared}, as of {effective:.1f} equally likely classes"
            return "prior-prediction", why, COUNTS
        return None

    @property
    def findings(self) -> Sequence[Finding]:
        """At most one: where the loss stands now."""
        return (self._finding,) if self._finding is not None else ()


def classes(course: Course) -> int | None:
    """The declared number of classes, None without one."""
    count = course.meta.get("num_classes")
    if isinstance(count, bool) or not isinstance(count, (int, float)) or not count >= 2 or count % 1:
        return None
    return int(count)


def label_entropy(course: Course) -> float | None:
    """The entropy in nats of the declared class counts, None without them."""
    counts = course.meta.get("class_counts")
    if isinstance(counts, dict):
        counts = list(counts.values())
    if not isinstance(counts, (list, tuple)) or not all(isinstance(n, (int, float)) and n >= 0 for n in counts):
        return None
    total = float(sum(counts))
    if total <= 0.0:
        return None
    return -math.fsum([n / total * math.log(n / total) for n in counts if n > 0])


FLOOR_NEAR = 0.15
"""Nats above the floor within which a doubled softmax comes to rest: the network's error rate adds to the floor."""

START_NEAR = 0.06
"""Nats from ln C at which it starts: logits between 0 and 1 cannot be further apart."""

GRAIN = 1e-3
"""Nats by which a rounded loss may lie below a floor."""

FLOOR_SHARE = 0.02
"""Nats from the floor that some batch must come to: a batch of right answers lies on it."""

FLOOR_DRIFT = 0.03
"""Nats over the last 200 records within which the loss is flat there."""


class DoubleSoftmax(Detector):
    """A cross-entropy that never passes ln(e + C - 1) - 1: its logits have already been through a softmax.

    Such losses start within 0.06 nats of ln C and stay within one nat above the floor, always; the row lights when the
    loss is flat within 0.15 of the floor and some batch lies on it. A warning where the number of classes is a guess: a
    mean of several batches may come to rest there, and hides the ones below.
    """

    def __init__(self) -> None:
        self._finding: Finding | None = None

    def renewed(self, course: Course) -> None:
        """Looks at the newest blocks."""
        before, self._finding = self._finding, None
        blocks = course.outline.tail(*flat_records(course))
        if course.silent or not blocks:
            return
        declared = classes(course)
        for count in (declared,) if declared else GUESSED[2:]:
            floor = softmax_floor(count)
            if self._rests(course, blocks, floor, uniform_loss(count)):
                level = f"loss {short(blocks[-1].mean)}, least {short(course.best)}"
                why = f"{level}, never under {floor:.4f} for {count} classes"
                detected = before.detected_step if before is not None else blocks[-1].last
                severity: Severity = "failure" if declared else "warning"
                onset, missing = course.outline.blocks[0].first, "" if declared else CLASSES
                self._finding = Finding(
                    "double-softmax", "plateau", severity, onset, detected, True, why, missing=missing
                )

    def _rests(self, course: Course, blocks: Sequence[Block], floor: float, top: float) -> bool:
        if not min(abs(course.origin - top), abs(course.first - top)) < START_NEAR + GRAIN:
            return False
        everything = course.outline.blocks
        level = math.fsum(block.mean for block in blocks) / len(blocks)
        drift = abs(slope([block.mean for block in blocks])[0]) * len(blocks)
        return (
            floor - GRAIN <= course.best <= floor + FLOOR_SHARE
            and max(block.high for block in everything) <= floor + 1 + GRAIN
            and floor <= level <= floor + FLOOR_NEAR
            and drift <= FLOOR_DRIFT
        )

    @property
    def findings(self) -> Sequence[Finding]:
        """At most one."""
        return (self._finding,) if self._finding is not None else ()
