"""A question of an isolation procedure, and the suspects that answers clear or accuse."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Question:
    """Something to find out. "Yes" is the answer of a run in which this is not the cause.

    Attributes:
        key: its name in the kept state and on the command line.
        ask: the question.
        code: lines to paste, empty without.
        yes, no: what each answer means.
        clears: suspects that a yes rules out.
        accuses: suspects that a no names.
        preflight: name of the check of `tuimon.torch.preflight` that answers it, empty without.
    """

    key: str
    ask: str
    code: str
    yes: str
    no: str
    clears: tuple[str, ...] = ()
    accuses: tuple[str, ...] = ()
    preflight: str = ""


DATA, LOSS_CALL, GRAPH, OPTIMIZER = "data and labels", "loss call", "wiring of the graph", "optimizer"
RANGE, INIT, CHANCE, RATE = "number range", "initialization", "chance", "learning rate"
OPERATION, CLIPPING, EVALUATION = "one operation", "clipping", "evaluation"
PROCESS, DISK, LOADER, RANKS = "the process", "the disk", "the data loader", "another rank"
