"""Rows for values that are no numbers any more.

NaN has five makers: 0/0, inf - inf or 0 * inf, log(0) and its like, the square root of a negative, and overflow.
It spreads and, two exceptions apart (an empty batch, a step that a loss scaler skipped), it stays. The order in which
fields of the log went non-finite tells where it was born.
"""

from tuimon.catalogue.row import Check, Row

_BATCH_FINITE = Check(
    "Save the batch of the onset step and see whether it is finite.",
    "print(torch.isfinite(x).all().item(), x.min().item(), x.max().item())",
    "False: bad data, skip it. True: an operation made the NaN. (tuimon.torch.Guard saves that batch.)",
)

NAN = (
    Row(
        signature="nan-after-growth",
        family="nan",
        severity="failure",
        symptom="loss or gradient grew, then overflowed to NaN",
        separator="the loss or grad_norm was climbing before; a calm run points to one operation instead",
        causes=("a divergence that overflowed", "learning rate too high", "clipping missing or not applied"),
        checks=(
            Check(
                "Read the learning rate where the growth began, which is before the NaN.",
                'print(step, [group["lr"] for group in optimizer.param_groups])',
                "It rose there: the rate is the cause. The NaN itself is only the end of it.",
            ),
            Check(
                "Look whether clipping is applied, and after scaler.unscale_ when there is a scaler.",
                'print(torch.nn.utils.clip_grad_norm_(model.parameters(), float("inf")))',
                "No such call between backward() and step(): nothing is clipped.",
            ),
        ),
        fix="Go back to a checkpoint from before the growth; divide the learning rate by 10 and clip.",
        confused_with=("nan-forward", "lr-too-high"),
        needs=("loss",),
        known_at="at once",
        outranks=(
            "exploding-gradient",
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
            "0/0: a mean or a norm over nothing",
            "exp or a power that overflowed",
        ),
        checks=(
            _BATCH_FINITE,
            Check(
                "Run that batch through the network with a hook on every module.",
                "for m in model.modules(): m.register_forward_hook("
                "lambda m, i, o: None if o.isfinite().all() else print(m))",
                "The first module printed made it.",
            ),
            Check("Search the loss for log, division, sqrt and exp.", "", "Each needs a clamp or an eps in front."),
        ),
        fix="Clean the data, or clamp before log, add eps inside the division or root. Restart from a checkpoint.",
        confused_with=("nan-backward", "nan-after-growth", "nan-empty-batch"),
        needs=("loss", "grad_norm"),
        known_at="at once",
        outranks=("inf-first", "nan-val-only", "exploding-gradient", "loss-spike"),
    ),
    Row(
        signature="nan-backward",
        family="nan",
        severity="failure",
        symptom="gradient turns NaN first, the loss one step later",
        separator="grad_norm is non-finite in a record whose loss is still a number",
        causes=(
            "square root or norm at exactly zero: its slope is infinite",
            "torch.where around a log: the unused branch still has a gradient",
            "fp16 gradients that overflowed",
        ),
        checks=(
            Check(
                "Repeat that saved batch with anomaly mode on.",
                "with torch.autograd.set_detect_anomaly(True): compute_loss(model, batch).backward()",
                "The traceback shows the forward line whose backward made the NaN.",
            ),
            Check(
                "Repeat it in fp32.",
                "with torch.autocast('cuda', enabled=False): compute_loss(model, batch).backward()",
                "No NaN: it is range, see fp16-range. Still NaN: it is that operation.",
            ),
        ),
        fix="Put the eps inside the root: sqrt(x + eps). Use a safe value inside where. Skip non-finite steps.",
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
                "Count the labels that are not masked.",
                "print((y != -100).sum().item())",
                "0: the mean had nothing to average. Harmless while it is rare.",
            ),
        ),
        fix="Skip such batches, or divide by max(count, 1).",
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
            "Adam eps 1e-8, which is 0 in fp16",
        ),
        checks=(
            Check(
                "Run 100 steps in fp32 from the same checkpoint.",
                "with torch.autocast('cuda', enabled=False): loss = compute_loss(model, batch)",
                "Fixed: it is the range of fp16. Not fixed: it is an operation, see nan-forward.",
            ),
            Check(
                "Look where clipping stands.",
                "scaler.unscale_(optimizer); torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)",
                "Clipping must come after unscale_; before it, it clips scaled gradients.",
            ),
        ),
        fix="Use bf16, or keep softmax, norms and the loss in fp32. Adam eps 1e-6 or larger in half precision.",
        confused_with=("nan-backward", "nan-after-growth"),
        needs=("loss_scale",),
        known_at="at the 3rd halving or skip",
        outranks=("nan-backward", "nan-forward", "inf-first"),
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
                "print(step, loss.item())",
                "NaN: the model is already lost, the log hides it.",
            ),
        ),
        fix="Turn the filter off (logging_nan_inf_filter=False), then treat it as the NaN that it is.",
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
        separator="there is no finite loss before it, so no step of the optimizer can be the cause",
        causes=("NaN or unscaled values in the data", "initial weights", "arguments of the loss call"),
        checks=(
            Check(
                "Look at the first batch.",
                "print(x.isfinite().all().item(), x.mean().item(), x.std().item(), y.min().item(), y.max().item())",
                "Not finite, or far from mean 0 and spread 1: the data. Labels out of range: the loss call.",
            ),
            Check(
                "Look at the weights before the first step.",
                "print([n for n, p in model.named_parameters() if not p.isfinite().all()])",
                "Any name printed: that layer's init or the loaded checkpoint.",
            ),
        ),
        fix="Normalise or clean the input, correct the init, or the arguments of the loss.",
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
                "Find the first validation batch with a NaN loss.",
                "print(next(i for i, b in enumerate(val_loader) if not compute_loss(model, b).isfinite()))",
                "Look at that batch: empty, all masked, or out of range.",
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
        causes=("log(0)", "exp, a square or a sum that overflowed", "division by a value that reached zero"),
        checks=(
            Check(
                "Find the operation: repeat that batch and print the largest value of every module.",
                "for m in model.modules(): m.register_forward_hook(lambda m, i, o: print(o.abs().max().item(), m))",
                "The first inf names the module. Growing numbers before it: overflow. No growth: log(0) or 1/0.",
            ),
        ),
        fix="Clamp in front of the log or the division; bring the scale down or use bf16 for an overflow.",
        confused_with=("nan-forward", "nan-after-growth"),
        needs=("loss",),
        known_at="at once",
        outranks=("nan-val-only",),
    ),
)
