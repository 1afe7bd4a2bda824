"""What the words of a text log mean. Knowledge is in these tables."""

from __future__ import annotations

import re

# Words that make the name of a step, and words that may stand beside them.
STEP_WORDS = frozenset((
    "step", "steps", "iteration", "iterations", "iter", "iters", "it", "batch", "update", "updates", "s", "i",
    "timestep", "timesteps", "snapshot", "up",
))  # fmt: skip
STEP_BESIDE = frozenset((
    "global", "total", "current", "train", "training", "learning", "optimizer", "num", "number", "id", "idx", "opt",
    "trainer", "n", "of",
))  # fmt: skip
STEP_ALONE = frozenset(("num_updates", "total_timesteps", "global_step", "total_step", "nupdates", "n_updates"))
GLOBAL_WORDS = frozenset(("global", "total", "num", "updates", "nupdates", "timesteps"))
"""With one of these a counter counts the whole run, not the epoch."""

EPOCH_WORDS = frozenset(("epoch", "ep"))
EPOCH_BESIDE = frozenset(("current", "train", "training", "id", "idx", "val", "valid", "test", "eval"))

VAL_WORDS = frozenset((
    "val", "valid", "validation", "validate", "eval", "evaluation", "test", "testing", "tests", "dev",
))  # fmt: skip
PHASE = re.compile(
    r"(?<![\w/.-])(val(?:id(?:ation)?)?|eval(?:uation)?|test(?:ing)?|dev|train(?:ing)?)(?![\w/.])", re.IGNORECASE
)
"""Words in front of the metrics of a line that say what they were measured on."""

REMARK = re.compile(r"(?<!\w)(?:best|lowest|early.?stop\w*|restor(?:ed|ing)|resum(?:ed|ing))(?!\w)", re.IGNORECASE)
"""Words in front of the metrics of a line that say that they are of another step than the current one."""

SUMMARY = re.compile(r"(?<!\w)(?:summary|averaged|end of epoch|epoch end)(?!\w)", re.IGNORECASE)
"""Words in front of the metrics of a line that say that they are means over an epoch."""

TIME_UNITS = frozenset((
    "s", "ms", "us", "ns", "sec", "secs", "second", "seconds", "min", "mins", "minute", "minutes", "h", "hr", "hrs",
    "hour", "hours", "d", "day", "days",
))  # fmt: skip
UNITS = frozenset((
    "%", "x", "k", "m", "g", "b", "kb", "mb", "gb", "tb", "kib", "mib", "gib", "tib", "z", "it", "its", "bpc", "bpb",
    "bits", "nats", "px", "hz", "w", "tok", "tokens", "samples", "images",
))  # fmt: skip
"""Letters right behind a number, or the first word behind it, that are its unit."""

STOP = frozenset((
    "a", "an", "and", "as", "at", "by", "for", "from", "in", "is", "of", "on", "or", "the", "to", "was", "with",
    "than", "then", "took", "saving", "saved", "rank", "pid", "line", "device", "gpu", "node", "port", "version",
    "seed", "host", "v_num", "reads", "images", "output", "outputs", "shape", "size", "lines", "object",
))  # fmt: skip
"""Words before a number that make no name of a metric."""

TIMES = frozenset((
    "time", "eta", "elapsed", "wall", "duration", "took", "sec", "secs", "seconds", "mem", "memory", "max_mem",
    "reader_cost", "data_time", "data", "batch_cost", "data_cost",
))  # fmt: skip
"""A name that ends in one of these says how long or how big, not how well."""

BARE = re.compile(r"loss|norm|grad|lr|rate|xent|nll|val|tel|trl|mse|cost|entropy|eval", re.IGNORECASE)
"""Last words of the names that are known even without a ":" or "=" behind them."""

FILE = re.compile(
    r"\.(?:py|cpp|cc|cu|c|h|hpp|java|scala|go|rs|js|ts|lua|h5|hdf5|pt|pth|ckpt|bin|txt|log|json|yaml|yml)$",
    re.IGNORECASE,
)

CODE = re.compile(
    r"^\s*(?:def|class|import|from|return|elif|while|assert|raise|async|await|print|if|for|with|export)\b[^|]*[:(=]"
    r"|(?<!\w)self\.|(?<!=)==(?!=)|\w ?\*\* ?\w|(?<![|+-])[-+*]=(?!=)|!=|=>|^\s*(?://|/\*)|\blambda\b"
)
"""What stands in source text and not in records."""

# The loss of a darknet line has no name: "1012: 4.1, 4.3 avg loss, 0.001 rate, 1.9 seconds, 6072 images".
DARKNET = re.compile(r"avg(?: loss)?,$")

FAMILIES = (
    ("Megatron", re.compile(r"consumed samples")),
    ("llm.c", re.compile(r"bf16 MFU|^s:$")),
    ("torchtitan", re.compile(r"\[titan\]")),
    ("modded-nanogpt", re.compile(r"step_avg")),
    ("nanoGPT", re.compile(r"^iter: loss.*, time.*mfu")),
    ("Hugging Face", re.compile(r"^\{'loss'")),
    ("fairseq", re.compile(r"num_updates")),
    ("OpenNMT", re.compile(r"; acc: ; ppl:")),
    ("caffe", re.compile(r"net output #")),
    ("darknet", re.compile(r"avg(?: loss)?, rate,")),
    ("Coqui", re.compile(r"GLOBAL_STEP")),
    ("detectron2", re.compile(r"total_loss.*(?:data_time|max_mem)")),
    ("mmengine", re.compile(r"Epoch\(train\)|Iter\(train\)")),
    ("Keras", re.compile(r"\[[=~]\]")),
    ("verl", re.compile(r"actor/pg_loss")),
)
"""Text of a record's layout -> the trainer that prints so, for the header line. First fit."""

NO_RECORD = ("time (ms)", "Loaded:", "Region ", "total_bbox")
"""Beginnings of lines that repeat and hold nothing about how the training goes."""

SKIPPED = "number of skipped iterations"
"""Megatron's name for how many of the iterations since the last record were skipped because of an overflow."""
