"""Rows for values that are no numbers any more.

NaN has five makers: 0/0, inf - inf or 0 * inf, log(0) and its like, the square root of a negative, and overflow.
It spreads and, two exceptions apart (an empty batch, a step that a loss scaler skipped), it stays. The order in which
fields of the log went non-finite tells where it was born.
"""

from tuimon.catalogue import snippets
from tuimon.catalogue.row import Check, Row

_FINITE_BATCH = Check(
    "Is the batch of the onset step finite?",
    snippets.FINITE_BATCH,
    "False: bad data, skip it. Not saved: replay from a checkpoint before; tuimon.torch.Guard saves it next time.",
)
_ORIGIN = Check(
    "Run that batch again, with the weights from before it, and ask which operation made it.",
    snippets.ORIGIN,
    "It names module, operation and line. tuimon autopsy does it for a step that tuimon.torch.Guard has saved.",
)
_FP32 = Check(
    "Run that batch in fp32.",
    snippets.FP32,
    "Both finite: the range of fp16, go on with fp16-range. Still not: it is the operation.",
)

NAN = (
    Row(
        signature="nan-after-growth",
        family="nan",
        severity="failure",
        symptom="loss or gradient grew, then overflowed to NaN",
        separator="the loss or grad_norm was climbing before; a calm run points to one operation instead",
        causes=("learning rate too high", "clipping missing or not applied", "a bad batch that started the growth"),
        checks=(
            Check(
                "Read the learning rate where the growth began, which is before the NaN.",
                snippets.RATE,
                "It rose there: that is the cause. Flat: it is still too high for this network.",
            ),
            Check(
                "Directly before optimizer.step(): is the gradient clipped?",
                snippets.CLIPPED,
                "Ever above your bound: clipping is missing, or stands after the step.",
            ),
        ),
        fix="Go back to a checkpoint from before the growth; divide the learning rate by 10, and clip.",
        confused_with=("nan-forward", "lr-too-high"),
        needs=("loss",),
        known_at="at once",
        outranks=(
            "exploding-gradient",
            "flat-midway",
            "inf-first",
            "level-jump",
            "loss-spike",
            "lr-too-high",
            "nan-backward",
            "nan-forward",
            "nan-val-only",
            "slow-divergence",
            "unrecovered-spike",
        ),
    ),
    Row(
        signature="nan-forward",
        family="nan",
        severity="failure",
        symptom="loss and gradient turn NaN together, calm before",
        separator="both non-finite in one record, and nothing grew before it",
        causes=(
            "a batch with NaN, inf or absurd values",
            "log(0): a probability that reached zero",
            "0/0: a mean over nothing (sum / count by hand, count 0), a norm of nothing",
            "exp or a power that overflowed",
        ),
        checks=(_FINITE_BATCH, _ORIGIN),
        fix=(
            "Clean the data; or clamp before log, eps inside division and root, max(count, 1) in a mean. "
            "Unless the loss is a number again, the weights are NaN: go on from a checkpoint before the onset."
        ),
        confused_with=("nan-backward", "nan-after-growth", "nan-empty-batch"),
        needs=("loss", "grad_norm"),
        known_at="at once",
        outranks=("inf-first", "nan-val-only", "exploding-gradient", "loss-spike"),
    ),
    Row(
        signature="nan-backward",
        family="nan",
        severity="failure",
        symptom="gradient NaN or inf first, the loss later or never",
        separator="grad_norm is non-finite while the loss is a number; inf again and again without NaN: see fp16-range",
        causes=(
            "square root or norm at exactly zero: its slope is infinite",
            "torch.where around a log: the unused branch still has a gradient",
            "fp16 gradients that overflowed: a lone inf is a loss scaler's normal work",
        ),
        checks=(
            _ORIGIN,
            Check(
                "The same without tuimon: anomaly mode on that batch.",
                snippets.ANOMALY,
                "The traceback shows the forward line whose backward made the NaN.",
            ),
            _FP32,
        ),
        fix=(
            "A lone inf that a loss scaler skipped: nothing, it is normal. Else the eps inside the root, "
            "sqrt(x + eps), and a safe value inside where; after a NaN go on from a checkpoint before the onset."
        ),
        confused_with=("nan-forward", "fp16-range"),
        needs=("loss", "grad_norm"),
        known_at="at once, one step before the loss",
        outranks=("inf-first", "nan-forward", "nan-val-only", "exploding-gradient"),
    ),
    Row(
        signature="nan-empty-batch",
        family="nan",
        severity="warning",
        symptom="a lone NaN loss, and the next one is fine",
        separator="gradient exactly 0 in that record, and the next loss is a number again",
        causes=("every label of the batch was masked, so the mean was 0/0", "an empty last batch"),
        checks=(
            Check(
                "Count the labels that are not masked (with a mask of your own: mask.sum()).",
                snippets.UNMASKED,
                "0: the mean had nothing to average. The library's mean then gives gradient 0: no harm done.",
            ),
        ),
        fix=(
            "Rare: nothing. Else skip such batches. A mean by hand, sum / count, needs max(count, 1): its gradient is "
            "NaN, and the weights with it."
        ),
        confused_with=("nan-forward",),
        needs=("loss", "grad_norm"),
        known_at="1 step after the onset",
        outranks=("nan-forward", "inf-first", "zero-gradient"),
    ),
    Row(
        signature="fp16-range",
        family="nan",
        severity="failure",
        symptom="loss scale collapses, steps are skipped",
        separator="the scale halves 3 times in 100 steps, or 3 steps in a row are skipped; rare skips are normal",
        causes=(
            "values above 65504 overflow in fp16",
            "gradients below 6e-8 vanish in fp16",
            "a NaN from an operation, which no scale can mend",
        ),
        checks=(
            Check(
                "Run the batch of the onset in fp32.",
                snippets.FP32,
                "Both finite: the range of fp16. Not: an operation, go on with nan-forward.",
            ),
            Check(
                "Compare your loop with this order; each line once per step.",
                snippets.UNSCALED,
                "Clipping before unscale_ clips scaled gradients; a second unscale_ raises.",
            ),
        ),
        fix=(
            "Use bf16 and no scaler; or keep softmax, norms and the loss in fp32. Weights themselves in fp16 (not "
            "autocast): keep fp32 weights, Adam's eps 1e-8 is 0 in fp16."
        ),
        confused_with=("nan-backward", "nan-after-growth"),
        needs=("loss_scale",),
        known_at="at the 3rd halving or skip",
        outranks=("frozen-weights", "nan-backward", "nan-forward", "inf-first"),
    ),
    Row(
        signature="nan-masked",
        family="nan",
        severity="failure",
        symptom="loss reads 0.0 or repeats, the gradient is NaN",
        separator="grad_norm is non-finite while the loss is exactly 0 or stands still, twice in a row",
        causes=("the logger filters NaN out (logging_nan_inf_filter)", "a mean that skips NaN (nanmean)"),
        checks=(
            Check(
                "Print the loss itself, not the logged one.",
                snippets.REAL_LOSS,
                "NaN: the model is already lost, and the log hides it.",
            ),
        ),
        fix=(
            "Stop the run. Turn the filter off (logging_nan_inf_filter=False), go on from a checkpoint before the "
            "onset, and read the row that lights then."
        ),
        confused_with=("zero-gradient", "nan-backward"),
        needs=("loss", "grad_norm"),
        known_at="2 records after the onset",
        outranks=("frozen-weights", "nan-backward", "nan-val-only", "zero-gradient"),
    ),
    Row(
        signature="nan-first-step",
        family="nan",
        severity="failure",
        symptom="NaN or inf in the very first record",
        separator="no finite loss before it in this log; if the log begins at step 0, training cannot be the cause",
        causes=(
            "NaN or unscaled values in the data",
            "initial weights, or a checkpoint that was NaN already",
            "arguments of the loss call",
            "the log begins late (resumed, or every n steps): the NaN is older than it",
        ),
        checks=(
            _FINITE_BATCH,
            Check(
                "Look at the weights before the first step of this process.",
                snippets.BROKEN_STATE,
                "Any name: the init of that layer, or the loaded checkpoint. None: run the next check.",
            ),
            _ORIGIN,
        ),
        fix=(
            "Clean or normalise the input, correct the init or the loss call. The checkpoint is NaN: take an older "
            "one. The log begins late: log every step from its start."
        ),
        confused_with=("nan-forward",),
        needs=("loss",),
        known_at="at once",
        outranks=("nan-after-growth", "nan-backward", "nan-forward", "nan-masked", "inf-first", "nan-val-only"),
    ),
    Row(
        signature="nan-val-only",
        family="nan",
        severity="warning",
        symptom="only the validation loss is NaN",
        separator="training loss and grad_norm stay finite: the training is fine",
        causes=("an empty validation batch", "an operation that differs in eval mode", "division by a count of zero"),
        checks=(
            Check(
                "Find the validation batches with a NaN loss.",
                snippets.BAD_EVALUATIONS,
                "0 batches: the mean is 0/0. A few: look at those. All: eval mode (running averages of batch norm).",
            ),
        ),
        fix="Repair the evaluation code or data; the training can go on meanwhile.",
        confused_with=("nan-forward", "no-validation"),
        needs=("val_loss", "loss"),
        known_at="at once",
    ),
    Row(
        signature="inf-first",
        family="nan",
        severity="failure",
        symptom="infinity, not NaN, comes first",
        separator="the first non-finite value is inf: an overflow or a log(0), not 0/0",
        causes=(
            "log(0)",
            "exp, a square or a sum that overflowed",
            "division by a value that reached zero",
            "a loss scaler that tried too large a scale: one inf, skipped, is normal",
        ),
        checks=(_ORIGIN, _FINITE_BATCH, _FP32),
        fix=(
            "A lone inf that a loss scaler skipped: nothing. Else clamp in front of the log or the division; for an "
            "overflow use bf16, or fp32 there. If NaN followed: go on from a checkpoint before the onset."
        ),
        confused_with=("nan-forward", "nan-after-growth"),
        needs=("loss",),
        known_at="at once",
        outranks=("nan-val-only",),
    ),
)
