"""Which isolation procedure there is for which failure."""

from tuimon.catalogue.question import Question
from tuimon.catalogue.questions import DIVERGENCE, FIT, NAN, PLATEAU, STALL

__all__ = ["PROCEDURES", "PROCEDURE_OF", "PROCEDURE_OF_ROW", "Question", "procedure_of"]

PROCEDURES: dict[str, tuple[Question, ...]] = {
    "nan": NAN,
    "divergence": DIVERGENCE,
    "plateau": PLATEAU,
    "fit": FIT,
    "stall": STALL,
}

PROCEDURE_OF = {
    "nan": "nan",
    "divergence": "divergence",
    "spike": "divergence",
    "oscillation": "divergence",
    "gradient": "divergence",
    "plateau": "plateau",
    "overfit": "fit",
    "data": "plateau",
    "note": "plateau",
}
"""Family of a finding -> which procedure isolates it."""

PROCEDURE_OF_ROW = {
    "stalled-run": "stall",
    "gradients-accumulate": "plateau",
    "val-below-train": "fit",
    "nan-val-only": "fit",
}
"""The same for rows that are not isolated as their family is; these go first."""


def procedure_of(signature: str, family: str) -> str:
    """Which procedure isolates a row."""
    return PROCEDURE_OF_ROW.get(signature) or PROCEDURE_OF[family]
