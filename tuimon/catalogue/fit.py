"""Rows about fit and data, and notes on what the log does not say."""

from tuimon.catalogue import snippets
from tuimon.catalogue.row import Check, Row

_LEAKED = Check(
    "Count validation samples that training has too (exact copies; augmentation off).",
    snippets.LEAKED,
    "Above 0: a leak.",
)

FIT = (
    Row(
        signature="overfitting",
        family="overfit",
        severity="warning",
        symptom="validation rises while training still falls",
        separator="val_loss was good and got worse; in memorising-noise it never was good",
        causes=("more training than the data bears", "too little data or regularisation", "validation unlike training"),
        checks=(
            Check(
                "Find the checkpoint at the minimum of val_loss, the onset step, and copy it away.",
                "",
                "It is the best one of this run. None there: save more often in the next run.",
            ),
            Check(
                "Compare a validation batch with a training batch: means of inputs and labels, spread.",
                snippets.BOTH_SETS,
                "Clearly different: the sets differ, and more regularisation will not help.",
            ),
        ),
        fix="Stop, and use that checkpoint. Next run: early stopping, more data, augmentation, weight decay.",
        confused_with=("memorising-noise", "undertrained"),
        needs=("loss", "val_loss"),
        known_at="3 evaluations after the minimum",
        outranks=("flat-midway",),
    ),
    Row(
        signature="undertrained",
        family="overfit",
        severity="note",
        symptom="both losses still fall at the end",
        separator="training and validation fall together to the last record",
        causes=("the run stopped early", "the schedule is longer than the run"),
        checks=(Check("Compare the last step with the planned number.", "", "Short of it: the run was cut off."),),
        fix="This is no failure. Train longer from the last checkpoint, if the expected gain is worth it.",
        confused_with=("flat-midway", "overfitting"),
        needs=("loss", "val_loss"),
        known_at="at the end of the run",
    ),
    Row(
        signature="val-below-train",
        family="note",
        severity="note",
        symptom="validation is better than training",
        separator="val_loss stays under the training loss",
        causes=(
            "dropout and augmentation are off in validation",
            "training loss is averaged over an epoch that began worse",
            "validation samples leaked into training",
        ),
        checks=(
            Check(
                "Evaluate both sets in the same way.",
                snippets.EVALUATED_ALIKE,
                "Training now the lower one: dropout or averaging explained it. Still not: count copies.",
            ),
            _LEAKED,
        ),
        fix="Nothing for dropout or averaging. A leak: split again, and trust no val_loss of this run.",
        needs=("loss", "val_loss"),
        known_at="after 3 evaluations",
    ),
    Row(
        signature="initial-loss-off",
        family="data",
        severity="warning",
        symptom="the first loss is not ln C, for C classes",
        separator="an untrained classifier starts at ln C; this one is more than .5 away",
        causes=(
            "loss summed over the batch: first loss / ln C is the batch size",
            "initial logits too large",
            "num_classes declared wrongly",
            "the weights are not untrained: pretrained or resumed",
        ),
        checks=(
            Check(
                "Print the first loss, ln C, the batch size and the spread of the first logits.",
                snippets.INITIAL,
                "Loss = ln C times batch size: a sum. Spread above 1: the init of the last layer.",
            ),
        ),
        fix="Average the loss; divide the last layer's initial weights by 10. Pretrained: nothing.",
        confused_with=("resumed",),
        needs=("loss", "num_classes"),
        known_at="at the first record",
    ),
    Row(
        signature="no-validation",
        family="note",
        severity="note",
        symptom="no validation loss is logged",
        separator="the loss alone is half a diagnosis: overfitting and frozen weights stay unseen",
        causes=("no evaluation was run yet", "it is logged under a name that was not recognised"),
        checks=(
            Check(
                "See which names the log has: m on the screen, or tuimon diagnose.",
                "",
                "There under another name: --map val_loss=NAME.",
            ),
        ),
        fix="Log val_loss every few hundred steps.",
        needs=(),
        known_at="after 200 records",
    ),
    Row(
        signature="no-grad-norm",
        family="note",
        severity="note",
        symptom="no gradient norm is logged",
        separator="without it a NaN has no birthplace, and many plateaus look alike",
        causes=("it is not computed", "it is logged under a name that was not recognised"),
        checks=(
            Check(
                "See which names the log has: m on the screen, or tuimon diagnose.",
                "",
                "There under another name: --map grad_norm=NAME.",
            ),
            Check(
                "Else log it, between backward() and step(); clip_grad_norm_ returns it.",
                snippets.NORM,
                "With a bound in place of inf it clips too, and still returns the norm before.",
            ),
        ),
        fix="Two lines in the loop, next run. This one goes on.",
        needs=(),
        known_at="after 32 records",
    ),
    Row(
        signature="stalled-run",
        family="data",
        severity="warning",
        symptom="no new record for far longer than usual",
        separator="10 times the run's own pace, and at least 30 seconds",
        causes=(
            "the run has ended, and its log does not say so",
            "a data loader that waits",
            "one rank that waits for the others",
            "the process died",
            "disk full",
        ),
        checks=(
            Check("Does the process live? ps aux | grep python", "", "Gone: read the end of its output."),
            Check("Where does it wait? py-spy dump --pid PID", "", "It shows the line: loader, all_reduce, save."),
            Check(
                "Is the disk full, and is the GPU busy? df -h . ; nvidia-smi",
                "",
                "Disk full: make room, but keep the checkpoints. GPU at 100 %: it works, or waits for another rank.",
            ),
        ),
        fix="Alive and working: wait. Else restart from the last checkpoint, once you know where it waited.",
        needs=("time",),
        known_at="10 usual gaps after the last record",
    ),
    Row(
        signature="resumed",
        family="note",
        severity="note",
        symptom="the log went back: the run was resumed",
        separator="steps repeat; the earlier pass is kept and drawn dim",
        causes=(
            "restart from a checkpoint",
            "the script was run twice into one file",
            "two processes write into one file",
        ),
        checks=(
            Check(
                "Press r on the screen: compare the repeated steps with the first pass.",
                "",
                "Same level: resumed well. Starts high again: a second run. Else: something was not loaded.",
            ),
            Check(
                "In the resumed process: was the optimizer's state loaded?",
                snippets.STATE,
                "0, or fewer than there are parameters: it was not.",
            ),
        ),
        fix=(
            "Same level: nothing. Else load optimizer, schedule, scaler and data position too. "
            "A second run: a file of its own."
        ),
        confused_with=("level-jump",),
        needs=(),
        known_at="at once",
    ),
    Row(
        signature="healthy",
        family="note",
        severity="note",
        symptom="no failure signature seen",
        separator="no other row is lit",
        causes=("not a proof that the run is right: most silent bugs do not show in curves",),
        checks=(
            Check(
                "Before the next long run, look for bugs that no curve shows: on copies, in a minute.",
                snippets.PREFLIGHT,
                "All ok: wiring, loss call and data of one batch are sound.",
            ),
        ),
        fix="Let it run, and look again at its next evaluation.",
        needs=(),
        known_at="after 32 records",
    ),
)
