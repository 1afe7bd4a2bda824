"""What the numbers of one layout of a line are: worked out once for each layout, from the text between the numbers."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from tuimon.sources.names import match
from tuimon.sources.text import words as w
from tuimon.sources.text.naming import BOX, is_epoch, is_step, is_time, is_val, name_before, split_words

MOST_FIELDS = 256
"""Numbers of a line that are looked at; DETR prints 110, a matrix printed on one line has thousands."""

LONGEST_NAME = 3
"""Words of a metric's name ("Value function loss"); what has more before a number is a sentence."""

NUMBER = "[number]"
"""The counter of a step that is a number in front of the line, without a name."""

_GLUED = re.compile(r"[A-Za-z%\u00b5]+")
_OPERATOR = re.compile(r"\s*[*+]\s*[\w(]|\s*/\s*[A-Za-z_(]\w*\b(?!/)\s*[*+/-]")


@dataclass(slots=True)
class Plan:
    """What a layout's numbers are; indexes count the numbers of the line.

    Attributes:
        metrics: index and name of each metric.
        step: index of the step, None without one; `counter` its name; `total` the index of what it counts up to;
            `local` whether it has no name of its own ("[20/128]") and so counts inside an epoch; `whole` whether its
            name says that it counts the run.
        epoch: index of the epoch.
        bar: "" for no progress bar, "tqdm", or for Keras "full" and "part".
        val: measured on validation data; `bare` no word says on which data; `summary` a mean over an epoch.
        dictionary: written as a Python or JSON dictionary; `box` a row "| name | value |" of a table.
        pure: nothing but names and numbers on the line.
        absent: index of Megatron's count of skipped iterations, in a layout without a loss: a loss that is not greater
            than zero is left out, and NaN is not; only where it skipped the iterations there was none.
        paired: a loss on training and one on validation data side by side, at a step: an evaluation's line, perhaps
            beside others that show the loss of each step.
        guess: index of the number that may be the step, when none is named so.
        accepted: there is evidence that this is a record; until then `first` is the step, the numbers and the count of
            records when the layout came first, and `seen` how often it came with another step.
    """

    metrics: list[tuple[int, str]] = field(default_factory=list)
    step: int | None = None
    counter: str = ""
    total: int | None = None
    local: bool = False
    whole: bool = False
    epoch: int | None = None
    bar: str = ""
    val: bool = False
    bare: bool = True
    summary: bool = False
    dictionary: bool = False
    box: bool = False
    pure: bool = False
    absent: int | None = None
    paired: bool = False
    guess: int | None = None
    family: str = ""
    roles: frozenset[str] = frozenset()
    names: tuple[str, ...] = ()
    indexes: tuple[int, ...] = ()
    accepted: bool = False
    seen: int = 0
    uses: int = 0
    first: tuple[int | None, Sequence[str], int] | None = None

    @property
    def direct(self) -> bool:
        """Whether a line's own step is the record's step, whatever came before."""
        named = self.step is not None and not self.local and not self.bar and self.absent is None
        return self.accepted and named and self.epoch is None and not self.summary

    @property
    def measures(self) -> bool:
        """Whether the line holds what a record is about."""
        return not self.roles.isdisjoint(("loss", "val_loss", "grad_norm"))


NOTHING = Plan()


def plan(texts: Sequence[str]) -> Plan:
    """The plan of a layout; NOTHING where no number means anything.

    Args:
        texts: the text before each number, and what follows the last.
    """
    line = "".join(texts)
    if len(texts) > MOST_FIELDS or w.CODE.search(line) or line.startswith(w.NO_RECORD):
        return NOTHING
    if len(texts) > 4 and not texts[0].strip() and (place := _darknet_mean(texts)):
        return _darknet(place)
    result = Plan(dictionary=line.startswith("{"))
    _read_fields(result, texts)
    if not result.metrics and result.step is None and result.epoch is None:
        return NOTHING
    if w.REMARK.search(_before_metrics(result, texts)):
        return NOTHING
    _finish(result, texts, line)
    return result


def _darknet_mean(texts: Sequence[str]) -> int:
    """Where a darknet line has its running mean, 0 in any other line."""
    found = [place for place in (3, 4) if w.DARKNET.search(texts[place].strip())]
    return found[0] - 1 if found and not "".join(texts[: found[0]]).strip(" ,:") else 0


def _darknet(mean: int) -> Plan:
    """What "N: loss, mean avg, rate rate, ..." says; an epoch may stand behind N."""
    result = Plan(step=0, whole=True, metrics=[(mean - 1, "loss"), (mean, "avg loss"), (mean + 1, "rate")])
    result.family = "darknet"
    result.roles = frozenset(("loss", "lr"))
    _freeze(result)
    return result


def _read_fields(result: Plan, texts: Sequence[str]) -> None:
    for i in range(len(texts) - 1):
        before, behind = texts[i], texts[i + 1]
        glued = _GLUED.match(behind)
        unit = glued[0] if glued else ""
        if (before.strip() in ("/", "of") and i) or _OPERATOR.match(behind):
            continue
        total = i + 1 if behind.strip() in ("/", "of") and i + 2 < len(texts) else None
        name = name_before(before, i == 0) or (unit if unit in ("epoch", "batch", "step") else "")
        if not name or (total is not None and w.PHASE.fullmatch(name)):
            _place(result, texts, i, total)
        elif is_step(name):
            if result.step is None or result.local or (_counts_run(name) and not result.whole):
                result.step, result.total, result.local = i, total, False
                result.whole = _counts_run(name)
                result.counter = name
        elif is_epoch(name) or (behind.strip() == "[" and name.lower() in ("train", "training")):
            result.epoch = i if result.epoch is None else result.epoch
        elif total is None and not _is_unknown(unit) and not _is_time(name, unit, behind):
            result.metrics.append((i, name))
        if len(unit) > 3 and unit[0].isupper() and unit[1].islower():
            # Another line was glued on: "loss: 0.24Epoch 1/10". What follows belongs to it.
            break


def _is_unknown(unit: str) -> bool:
    """Whether letters behind a number make it something else than a number ("1L", "3rd")."""
    return 0 < len(unit) < 4 and unit.lower() not in w.UNITS and unit.lower() not in w.TIME_UNITS


def _place(result: Plan, texts: Sequence[str], i: int, total: int | None) -> None:
    """A number without a name may be a place: "[20/128]", a bar's "20/128", or "[20]" and "20:" in front of all."""
    if result.step is not None:
        if result.local and result.epoch is None and total is not None and texts[i].replace(" ", "") == "][":
            # "[3/25][50/1583]": the first of the two counts epochs.
            result.epoch, result.step, result.total = result.step, i, total
        return
    if total is not None and _is_position(texts[i].rstrip(" "), texts[i + 2]):
        result.step, result.total, result.local = i, total, True
        result.bar = _bar(texts[i], texts[i + 2])
    elif i == 0 and (texts[0] + texts[1].strip()[:1]) in ("[]", "[|", ":"):
        result.step, result.counter = i, NUMBER


def _is_position(before: str, behind: str) -> bool:
    """Whether "n/m" between these texts is a place in an epoch, and not "12686/437 tok/s"."""
    if re.match(r"\s*[A-Za-z]+/[A-Za-z]", behind):
        return False
    return not before.strip() or before.strip()[-1] in "[|,]:-(>;" or bool(w.FILE.search(before))


def _bar(before: str, behind: str) -> str:
    """Which progress bar stands around "n/m"."""
    start = behind.strip()
    if before.rstrip().endswith("%|") or start.startswith("[<") or re.match(r"\[<?,", start):
        return "tqdm"
    if start.startswith(("[=]", "[~]")):
        return "full"
    return "part" if start.startswith("[>]") else ""


def _counts_run(name: str) -> bool:
    return not w.GLOBAL_WORDS.isdisjoint(split_words(name))


def _is_time(name: str, unit: str, behind: str) -> bool:
    """Whether a number says how long, how big, or where; not how well."""
    if unit.lower() in w.TIME_UNITS or is_time(name) or name.lower() in w.STOP or w.FILE.search(name):
        return True
    word = re.match(r"\s+([A-Za-z]{2,})(?![\w/])", behind)
    return word is not None and word[1].lower() in w.TIME_UNITS


def _finish(result: Plan, texts: Sequence[str], line: str) -> None:
    """Phase, roles and kind of the line."""
    head = _before_metrics(result, texts)
    found = [word.lower() for word in w.PHASE.findall(head)]
    result.bare = not found
    result.val = bool(found) and not found[-1].startswith("train")
    result.summary = bool(w.SUMMARY.search(head))
    result.box = bool(BOX.match(texts[0])) and len(texts) == 2 and texts[1].strip() == "|"
    if result.step is not None and result.val and not result.local:
        # Counts validation batches: its own name says so, or it starts again in each epoch.
        again = result.epoch is not None and result.total is not None
        result.local = again or _names_validation(texts[result.step])
    result.pure = _is_pure(result, texts)
    result.metrics = [(i, _phased(name, result)) for i, name in result.metrics]
    result.roles = frozenset(matched.role for _, name in result.metrics if (matched := match(name)) is not None)
    if result.step is None and result.epoch is None and result.measures and not result.pure:
        measured = min(i for i, name in result.metrics if match(name) is not None)
        result.guess = 0 if measured > 0 and re.search(r"[A-Za-z#]\s*$|^$", texts[0]) else None
    if result.step is not None and not result.val and result.roles.isdisjoint(("loss", "val_loss")):
        result.absent = next((i for i, name in result.metrics if name == w.SKIPPED), None)
    trained = any("train" in split_words(name) for _, name in result.metrics)
    result.paired = trained and result.step is not None and {"loss", "val_loss"} <= result.roles
    result.family = next((name for name, pattern in w.FAMILIES if pattern.search(line)), "")
    _freeze(result)


def _freeze(result: Plan) -> None:
    unique = {name: i for i, name in reversed(result.metrics)}
    ordered = sorted((i, name) for name, i in unique.items())
    result.indexes = tuple(i for i, _ in ordered)
    result.names = tuple(name for _, name in ordered)


def _names_validation(text: str) -> bool:
    """Whether the name of the step itself says that it counts validation batches: "Iter(val) [10]"."""
    return bool(re.search(r"(?:val|valid|test|eval)\w*\)?\s*\[?$", text.strip(" :=[/"), re.IGNORECASE))


def _before_metrics(result: Plan, texts: Sequence[str]) -> str:
    """The text in front of the first metric's own name."""
    if not result.metrics:
        return " ".join(texts)
    first, name = result.metrics[0]
    head = " ".join(texts[: first + 1])
    place = head.rfind(name)
    return head[:place] if place >= 0 else head


def _phased(name: str, result: Plan) -> str:
    """`name` with what it was measured on, if the line says so and the name does not."""
    if is_val(name):
        return name
    if result.val:
        return name if {"train", "training", "tel"} & set(split_words(name)) else f"val {name}"
    return f"{name} (epoch)" if result.summary else name


def _is_pure(result: Plan, texts: Sequence[str]) -> bool:
    """Whether the line is nothing but named metrics, with remarks in parentheses perhaps."""
    if not result.metrics or result.metrics[0][0] != 0:
        return False
    name = result.metrics[0][1]
    head = texts[0].strip(" |>*#:='\"{")
    if len(name.split()) > LONGEST_NAME:
        return False
    return head.endswith(name) and len(head) - len(name) <= 2 and len(texts) <= 2 * len(result.metrics) + 3
