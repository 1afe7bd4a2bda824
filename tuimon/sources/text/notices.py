"""Sentences in a log that say that the loss is not finite, where no record does: mostly exceptions."""

from __future__ import annotations

import re

LONGEST = 1000
"""Characters of a line that is looked at; a message is shorter."""

_SENTENCES = (
    re.compile(
        r"\b(?:loss|losses|cost)\b(?! scal)[^.|,]{0,40}?"
        r"\b(?:is|are|was|were|became|becomes|turned|to|with|=|:|got|found|detected)?"
        r"[^.|,\w]{0,4}\b(?:infinite or nan|nan or inf(?:inite)?|nans?|non-?finite|not finite)\b",
        re.IGNORECASE,
    ),
    re.compile(r"\b(?:nans?|non-?finite|invalid)\b[^.|,]{0,20}\b(?:loss|losses)\b", re.IGNORECASE),
)
# The source text of a check, in a listing or in a traceback, says nothing of the run.
_SOURCE = re.compile(r"^\s*(?:raise|assert|print|if|elif|return|#|//|log(?:ger|ging)?\.|warnings\.|\w+ = )")
_NOT_FINITE = re.compile(r"nan|inf|finite|invalid", re.IGNORECASE)
_CONTEXT = re.compile(r"error|exception|diverge|terminat|abort|stopp|invalid|raise|fatal|warning", re.IGNORECASE)
_STEP = re.compile(r"\b(?:step|iteration|iter|batch|epoch)\b\W{0,3}(\d{1,15})\b", re.IGNORECASE)


def says_not_finite(line: str) -> bool:
    """Whether a line says that the loss became NaN or infinite."""
    if len(line) > LONGEST or _NOT_FINITE.search(line) is None or _CONTEXT.search(line) is None or _SOURCE.match(line):
        return False
    return any(sentence.search(line) for sentence in _SENTENCES)


def step_in(line: str) -> int | None:
    """The step that such a line names, None if it names none."""
    found = _STEP.search(line)
    return int(found[1]) if found else None
