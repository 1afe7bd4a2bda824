"""What metrics are called: which name in a log plays which role.

Knowledge is in the tables. A name is taken apart into words ("train/loss_ce" is train, loss, ce), words that say where
or how it was measured are set aside, and what is left is looked up. The lower the rank, the surer the match; 0 is the
name that the role itself has.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import NamedTuple

from tuimon.plain import plain_text
from tuimon.record import ROLES

LONGEST_NAME = 120
"""Characters of a metric's name that are kept: a longer one is cut, so that a file cannot fill the screen with it."""

MOST_METRICS = 512
"""Metrics that are kept of one run; the rest are counted. Wide logs have about 100 columns, 10,000 are an accident."""

LONGEST_RAW = 1000
"""Characters of a name in the log; a longer one is an accident, and is left out before anything remembers it."""


class Match(NamedTuple):
    """A role that a name can play, and how far down the list of its usual names it stands."""

    role: str
    rank: int


_TRAIN = frozenset(("train", "training", "trn"))
_VAL = {"val": 0, "valid": 0, "validation": 0, "vld": 0, "eval": 1, "evaluation": 1, "dev": 2, "test": 3, "heldout": 3}

# Words that say where a number was logged and not what it is.
_FILLERS = frozenset(
    [
        "metrics",
        "metric",
        "scalars",
        "scalar",
        "stats",
        "stat",
        "log",
        "logs",
        "history",
        "trainer",
        "global",
        "model",
        "monitor",
        "perf",
        "performance",
        "avg",
        "average",
        "mean",
        "running",
        "batch",
        "iter",
        "iteration",
        "reduced",
        "current",
        "raw",
    ]
)
_PER = frozenset(("step", "epoch"))

# With one of these a name is about the loss, the gradient or the rate, but is not it.
_NOT = frozenset(
    [
        "scale",
        "scaler",
        "scaling",
        "weight",
        "weights",
        "coef",
        "coeff",
        "coefficient",
        "factor",
        "lambda",
        "min",
        "max",
        "std",
        "var",
        "variance",
        "best",
        "time",
        "count",
        "num",
        "number",
        "vs",
        "ratio",
        "decay",
        "threshold",
        "clip",
        "param",
        "params",
        "target",
        "delta",
        "ema",
        "change",
        "patience",
        "warmup",
        "nan",
        "skipped",
    ]
)

_LOSS = (
    "loss", "total loss", "loss total", "lm loss", "loss lm", "nll loss", "ce loss", "loss ce", "cross entropy loss",
    "cross entropy", "crossentropy", "xent", "nll", "trl", "mse loss", "mlm loss", "language cross entropy",
    "recon loss",
    "reconstruction loss", "elbo loss", "pg loss", "value loss", "policy loss", "actor loss", "critic loss",
    "g loss", "loss g", "loss 1", "loss 0", "box loss", "objective", "cost",
)  # fmt: skip
_VAL_ALONE = {"tel": 5, "val": 60, "validation": 61, "eval": 62}

_LR = ("lr", "learning rate", "lrate", "lr 0", "lr 1", "lr pg 0", "lr pg 1", "lr group 0", "base lr", "rate")
_GRAD_NORM = (
    "grad norm", "gradient norm", "gradients norm", "gradnorm", "gnorm", "g norm", "norm grad", "norm grads",
    "total grad norm", "grad norm total", "grad total norm", "total gradient norm", "gradient norm total", "grads norm",
    "grad 2 norm total", "grad 2 0 norm total", "grad norm before clip", "grad norm preclip", "grad norm pre clip",
    "grad norm unclipped", "unclipped grad norm", "l 2 grad norm", "grad l 2 norm", "grad norm l 2", "l 2 norm grad",
    "grad norm 0", "grad norm 1", "grad norm square", "grad norm squared", "grad norm sq", "squared grad norm",
    "grad norm 2", "norm", "grad",
)  # fmt: skip

_TABLES: dict[str, dict[str, int]] = {
    role: {phrase: rank for rank, phrase in enumerate(phrases)}
    for role, phrases in (("loss", _LOSS), ("lr", _LR), ("grad_norm", _GRAD_NORM))
}
_SQUARED = frozenset(("square", "squared", "sq"))

STEPS = (
    "step", "global step", "trainer global step", "iteration", "iter", "iters", "iterations", "current steps",
    "current step", "num updates", "optimizer step", "train step", "training step", "train global step", "update",
    "updates", "total timesteps", "time total timesteps", "timesteps total", "timesteps", "env steps",
    "time iterations", "training iteration", "n updates", "steps", "it", "batch", "batch idx", "i", "s", "index",
)  # fmt: skip
"""Names of the step, best first, as words."""

WEAK_STEPS = ("_step",)
"""Counters of the logger, not of the training: used when there is nothing else."""

EPOCHS = ("epoch", "epochs", "current epoch", "train epoch", "ep")
TIMES = ("time", "timestamp", "_timestamp", "wall_time", "wall time", "unix_time", "ts", "datetime", "date")

_GLUED = re.compile(r"(train|val|valid|eval|test|batch|log)(loss)")
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")
_WORD = re.compile(r"[a-z]+|[0-9]+")


def clean(name: str) -> str:
    """`name` as it may be shown: one line, no control characters, at most LONGEST_NAME characters, never empty."""
    return plain_text(name, LONGEST_NAME) or "(no name)"


def words(name: str) -> tuple[str, ...]:
    """The words of a metric's name; of an exported chart ("run 7 - lm_loss") those of the metric alone."""
    last = name[-4 * LONGEST_NAME :].rpartition(" - ")[2]
    lower = _GLUED.sub(r"\1 \2", _CAMEL.sub(" ", last).lower())
    return tuple("loss" if word == "losses" else word for word in _WORD.findall(lower))


@lru_cache(maxsize=4096)
def match(name: str) -> Match | None:
    """The role that a metric of this name can play, None if it is none of the four."""
    if name in ROLES:
        return Match(name, 0)
    parts = words(name)
    if not parts or len(parts) > 12:
        return None
    if len(parts) == 1 and parts[0] in _VAL_ALONE:
        return Match("val_loss", _VAL_ALONE[parts[0]])
    phase = next((_VAL[word] for word in parts if word in _VAL), None)
    core = _core(parts)
    if not core or any(word in _NOT for word in core):
        return None
    ranks = ((role, find(core)) for role, find in _RANKED)
    role, rank = next(((role, rank) for role, rank in ranks if rank is not None), ("", None))
    if rank is None or (phase is not None and role != "loss"):
        return None
    if phase is not None:
        return Match("val_loss", 10 * rank + phase + 1)
    return Match(role, 10 * rank + (1 if len(core) == len(parts) else 3))


def _core(parts: tuple[str, ...]) -> tuple[str, ...]:
    """What is left of a name without the words that say where and how it was measured."""
    kept = tuple(
        word for word in parts if word not in _TRAIN and word not in _VAL and word not in _FILLERS and word not in _PER
    )
    half = len(kept) // 2
    if half and kept[:half] == kept[half:]:
        return kept[:half]
    return kept


def _rank_loss(core: tuple[str, ...]) -> int | None:
    known = _TABLES["loss"].get(" ".join(core))
    if known is not None:
        return known
    if "loss" not in core or "grad" in core:
        return None
    # A part of the loss: the shorter its name, the more of it; a copy that is only for show comes last.
    return 50 + 2 * len(core) + (40 if "unscaled" in core or "smooth" in core or "smoothed" in core else 0)


def _rank_lr(core: tuple[str, ...]) -> int | None:
    known = _TABLES["lr"].get(" ".join(core))
    if known is not None:
        return known
    text = f" {' '.join(core)} "
    if " lr " in text or " learning rate " in text:
        return 20 + len(core)
    return len(_LR) if core[:1] == ("pg",) and len(core) == 2 else None


def _rank_grad_norm(core: tuple[str, ...]) -> int | None:
    known = _TABLES["grad_norm"].get(" ".join(core))
    if known is not None:
        return known
    return 40 + len(core) if core[-2:] in (("grad", "norm"), ("gradient", "norm")) else None


_RANKED = (("lr", _rank_lr), ("grad_norm", _rank_grad_norm), ("loss", _rank_loss))


@lru_cache(maxsize=1024)
def is_squared(name: str) -> bool:
    """Whether a gradient norm of this name is the square of the norm."""
    return not _SQUARED.isdisjoint(words(name))


def choose(counts: Mapping[str, int], loss: str | None = None) -> dict[str, str]:
    """Role -> name for the metrics of a log's head.

    Args:
        counts: name -> how many values it has there. Of a mean per epoch and a value per step the mean is taken, unless
            there are less than half as many; names that are equally good are taken in order of appearance.
        loss: the metric that plays the loss, where somebody said so.
    """
    found = candidates(counts)
    roles = {role: names[0] for role, names in found.items()}
    roles.update({"loss": loss} if loss is not None else {})
    if "loss" in roles:
        # Validation is compared with training: the same part of the loss, if there is one.
        part = _core(words(roles["loss"]))
        same = [name for name in found.get("val_loss", ()) if _core(words(name)) == part]
        roles.update({"val_loss": same[0]} if same else {})
    return roles


def candidates(counts: Mapping[str, int]) -> dict[str, list[str]]:
    """Role -> every name that could play it, best first."""
    found: dict[str, list[tuple[int, int, int, str]]] = {}
    for place, (name, count) in enumerate(counts.items()):
        matched = match(name)
        if matched is not None and count:
            # A mean over an epoch is calmer than one batch: it is taken unless it is rarer than half.
            worth = count * (2 if "epoch" in words(name) else 1)
            found.setdefault(matched.role, []).append((matched.rank, -worth if _per(name) else 0, place, name))
    return {role: [name for *_, name in sorted(found[role])] for role in ROLES if role in found}


def _per(name: str) -> bool:
    return not _PER.isdisjoint(words(name))


def rank_step(name: str) -> int | None:
    """How good a name for the step this is (0 is best), None if it is none."""
    if name in WEAK_STEPS:
        return len(STEPS)
    phrase = " ".join(words(name))
    return _STEP_RANKS.get(phrase)


@lru_cache(maxsize=4096)
def is_epoch(name: str) -> bool:
    """Whether this is a name of the epoch."""
    return " ".join(words(name)) in EPOCHS


def order_times(names: Iterable[str]) -> list[str]:
    """The names among `names` that could be the time of a record, best first."""
    lower = {name.lower(): name for name in names}
    return [lower[name] for name in TIMES if name in lower]


_STEP_RANKS = {phrase: rank for rank, phrase in enumerate(STEPS)}
