"""Which isolation procedure there is for which failure."""

from tuimon.catalogue.question import DISK, LOADER, PROCESS, RANKS, Question
from tuimon.catalogue.questions import DIVERGENCE, FIT, NAN, PLATEAU

__all__ = ["PROCEDURES", "PROCEDURE_OF", "PROCEDURE_OF_ROW", "Question", "procedure_of"]

STALL = (
    Question(
        "alive",
        "ps aux | grep python: does the process live?",
        "",
        "It lives: find out where it waits.",
        "It ended or was killed. Read the end of its output, and dmesg | grep -i oom.",
        (PROCESS,),
        (PROCESS,),
    ),
    Question(
        "space",
        "df -h . : is there room for the log and for checkpoints?",
        "",
        "It can write.",
        "Make room, then resume from the last checkpoint that is whole.",
        (DISK,),
        (DISK,),
    ),
    Question(
        "device",
        "nvidia-smi: is the GPU at work?",
        "",
        "It computes: a long step, an evaluation, a first compile; or it waits in a collective for another rank.",
        "It waits for something on the host: the loader, or a save.",
        (LOADER,),
        (),
    ),
    Question(
        "loader",
        "py-spy dump --pid PID: is the main thread anywhere but in the data loader?",
        "",
        "Data arrive.",
        "Slow or dead storage, or a worker that hangs: try num_workers=0.",
        (LOADER,),
        (LOADER,),
    ),
    Question(
        "ranks",
        "py-spy dump on every rank: are all of them in the same place?",
        "",
        "No rank waits for another.",
        "The one rank that is elsewhere is the one to look at.",
        (RANKS,),
        (RANKS,),
    ),
)

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
