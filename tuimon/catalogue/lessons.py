"""A lesson for each row of the table."""

from tuimon.catalogue.lesson import Lesson
from tuimon.formulas import (
    FP16_MAX,
    FP16_TINY,
    effective_classes,
    fp16_headroom,
    half_life,
    largest_stable_lr,
    logit_spread,
    softmax_floor,
    through_layers,
    uniform_loss,
)
from tuimon.valley import limit, multiplier

_UNSCALE = "With a loss scaler, call scaler.unscale_(optimizer) before clipping; else the scaled gradient is clipped."
_SCALER = "A loss scaler raises its scale until something overflows, then skips a step: a lone inf is its normal work."
_TENTH_OVER = abs(multiplier(1.1 * limit(1.0), 1.0))
_THIRD_OVER = abs(multiplier(1.3 * limit(1.0), 1.0))
_PINNED = 0.97
"""Output of a tanh from which it counts as saturated, here and in tuimon.torch."""

LESSONS: dict[str, Lesson] = {
    "lr-too-high": Lesson(
        why="Near a minimum the loss is a valley. One step multiplies the distance from its floor by 1 - lr * a, where "
        "a is the curvature (sharpness). Up to lr = 2 / a that shrinks; beyond, every step lands higher up, across.",
        formula="distance_next = (1 - lr * a) * distance        shrinks while lr < 2 / a",
        example=f"10 % over the limit: {_TENTH_OVER:.1f}-fold per step, {_TENTH_OVER**20:.0f}-fold in 20. "
        f"Gradient growing 1.5-fold per step at lr .1: the limit is about {largest_stable_lr(0.1, 1.5):.2f}.",
        pitfalls=(
            "Cutting the rate by 10 % helps only a run that is barely past the limit.",
            "Growth alone is not divergence: many networks grow for a few steps, find a flatter place and come back.",
            "The formula is for SGD; Adam has no such simple limit.",
            "A scheduler writes its own rate at its next step: change it in the configuration, not only in the loop.",
        ),
    ),
    "level-jump": Lesson(
        why="The loss measures the network on the data it is given. When the data, the mode or the rate change at one "
        "step, the level changes with them; the gradient settles because nothing is unstable.",
        pitfalls=("A planned phase change looks the same. Log it, and nobody is woken.",),
    ),
    "slow-divergence": Lesson(
        why="The softmax does not care about a constant added to all logits, so nothing holds them in place. They "
        "drift up, rounding gets coarser, gradients get worse, and the loss follows slowly.",
        formula="spacing of bf16 numbers near x: x / 256 to x / 128",
        example=f"Near logits of 512 two neighbouring bf16 numbers are {512 * 2**-7:.0f} apart.",
        pitfalls=("It is easy to miss on a zoomed-in curve: compare with the best loss, not with yesterday's.",),
    ),
    "loss-spike": Lesson(
        why="Adam divides m, the mean of recent gradients, by the root of v, the mean of their squares. A batch whose "
        "gradient is far larger meets a small v, and one step goes too far. It comes back if the network stays in its "
        "valley.",
        formula="step = lr * m / (sqrt(v) + eps)      v: the last ~1 / (1 - beta2) steps",
        example=f"beta2 = .999 remembers {1 / (1 - 0.999):.0f} steps, .95 only {1 / (1 - 0.95):.0f}.",
        pitfalls=("A single high point in a noisy loss is no spike; two in a row are.", _UNSCALE),
    ),
    "unrecovered-spike": Lesson(
        why="After a spike Adam's second moment v is huge, so all its steps are tiny until v has faded. Or the step "
        "threw the network into another, worse valley.",
        formula="v fades by beta2 per step: half after ln 2 / -ln beta2 steps",
        example=f"beta2 = .999: half after {half_life(0.999)} steps, beta2 = .95: after {half_life(0.95)}.",
        pitfalls=("Waiting costs more than going back. Skip the batches of the spike, or it may come again.",),
    ),
    "spikes-more-frequent": Lesson(
        why="One spike is an unlucky batch. Spikes that come closer together are a cause: some part of the network is "
        "drifting towards its limit, often embeddings or the output layer.",
        pitfalls=(
            "Clipping makes the spikes smaller and leaves the drift: clip, and lower the rate.",
            _UNSCALE,
        ),
    ),
    "exploding-gradient": Lesson(
        why="The gradient is a product over layers. When one factor grows, the norm jumps a few steps before the loss "
        "shows it: the weights have been pushed, but only the next batches tell.",
        formula="clipped gradient = g * min(1, c / ||g||)",
        example=f"Norm 80 clipped at 1: a step of length {min(1, 1 / 80) * 80:.0f} instead of 80.",
        pitfalls=(_UNSCALE, "Log the norm that clip_grad_norm_ returns: the one before clipping."),
    ),
    "oscillation": Lesson(
        why="In a valley of curvature a, with lr between 1 / a and 2 / a, each step lands on the other side, a little "
        "lower. A real valley is lopsided: one side is higher than the other, so the loss goes up and down.",
        formula="factor per step 1 - lr * a < 0: the side flips at every step",
        example=f"At 95 % of the limit: factor {multiplier(0.95 * limit(1.0), 1.0).real:.1f}, "
        f"{1 - abs(multiplier(0.95 * limit(1.0), 1.0)):.0%} won per step.",
        pitfalls=(
            "Small batches jitter too, but not from one side to the other: there this row stays dark.",
            "Halving again and again only makes the run slow.",
        ),
    ),
    "gradients-accumulate": Lesson(
        why="backward() adds to .grad. Without zero_grad each step walks along the sum of all gradients so far.",
        formula="g_sum(t) = g_1 + ... + g_t: about t times one gradient",
        example=f"After 32 steps the step is about {sum([1] * 32)} times too long.",
        pitfalls=("Accumulating over micro-batches on purpose needs loss / n, and zero_grad after the n-th.",),
    ),
    "below-floor": Lesson(
        why="Cross-entropy is minus the logarithm of a probability. Probabilities are at most 1, so it is at least 0.",
        formula="-log p >= 0",
        pitfalls=(
            "An objective that may be negative (a likelihood of a density, a reward) is no such case: declare it.",
        ),
    ),
    "nan-after-growth": Lesson(
        why="A diverging run doubles its numbers until they no longer fit. The overflow is the last act; the cause is "
        "where the growth began.",
        formula="steps to overflow = log(largest / now) / log(growth per step)",
        example=f"{_THIRD_OVER:.1f}-fold per step from a gradient of 1: past the fp16 range in about "
        f"{fp16_headroom(1.0) / fp16_headroom(FP16_MAX / _THIRD_OVER):.0f} steps.",
        pitfalls=("Clamping the NaN away keeps the divergence.", _UNSCALE),
    ),
    "nan-forward": Lesson(
        why="One value on the way to the loss has no answer, and everything computed from it has none either. Loss and "
        "gradient go together because the gradient is computed from the loss.",
        formula="0/0, inf - inf, 0 * inf, log(0), sqrt(-1), overflow",
        pitfalls=("0 * NaN is NaN: a mask that multiplies does not hide it. Use torch.where on the input.",),
    ),
    "nan-backward": Lesson(
        why="The forward value is fine but its slope is not. The root of 0 is 0 with an infinite slope, and infinity "
        "times a zero from behind is NaN.",
        formula="d sqrt(x) / dx = 1 / (2 sqrt(x))  ->  infinite at 0",
        example=f"sqrt(x + 1e-12) has slope {0.5 / 1e-12**0.5:.0e} at 0: large, but a number.",
        pitfalls=(
            "eps outside the root, sqrt(x) + eps, changes nothing.",
            "Anomaly mode is slow: only for that batch.",
            _SCALER,
        ),
    ),
    "nan-empty-batch": Lesson(
        why="The mean over no labels is 0/0. The library's mean (ignore_index, or loss[mask].mean()) gives gradient 0: "
        "the weights stay whole. A mean by hand, (loss * mask).sum() / mask.sum(), gives gradient NaN, and lights "
        "nan-forward.",
        formula="sum of 0 terms / 0 = NaN        by hand, the slope is 1 / 0 * 0 = NaN",
        pitfalls=("Averaged with other ranks it poisons them: guard the mean on every rank.",),
    ),
    "fp16-range": Lesson(
        why="Half precision holds numbers from about 6e-8 to 65504. A loss scaler multiplies the loss to lift small "
        "gradients, and halves its scale whenever something overflows. A scale that only falls finds no room any more.",
        formula="bits of headroom = log2(65504 / (scale * gradient))",
        example=f"Gradient 1, scale 2**12: {fp16_headroom(1.0, 2.0**12):.1f} bits. Largest {FP16_MAX:.0f}, "
        f"smallest {FP16_TINY:.0e}.",
        pitfalls=(
            _UNSCALE,
            "A skip now and then, and a few at the very start, are how a scaler works.",
            "Under autocast weights and Adam's state are fp32, and eps 1e-8 is fine. In fp16 weights it is 0.",
        ),
    ),
    "nan-masked": Lesson(
        why="Some trainers leave NaN out of the logged mean and print 0.0 or the last value instead. The gradient norm "
        "is not filtered, and tells.",
        pitfalls=("A loss of exactly 0.0 for ever is not convergence.",),
    ),
    "nan-first-step": Lesson(
        why="Before the first optimizer step only data, initial weights and the loss call exist: one is broken. A log "
        "that begins later (a resume, every n-th step) says less: then the NaN may be older than it.",
        pitfalls=("Raw pixel values, timestamps or ids as inputs overflow at once: normalise.",),
    ),
    "nan-val-only": Lesson(
        why="Training is fine, so the weights are. Only what validation does differently can be the cause: its data, "
        "its mode, its mean.",
        formula="sum / count with count = 0",
        pitfalls=("A best-checkpoint rule that compares with NaN never saves again.",),
    ),
    "inf-first": Lesson(
        why="Infinity is what overflow and log(0) give; NaN comes only when two infinities meet. So the operation that "
        "gave infinity is the birthplace.",
        formula="log(0) = -inf        exp(89) = inf in fp32        inf - inf = NaN",
        pitfalls=("Softmax by hand needs the maximum subtracted first; log_softmax does it.", _SCALER),
    ),
    "zero-gradient": Lesson(
        why="No gradient, no step. The path from the loss to the weights is cut, or multiplied by zero.",
        formula="weight_next = weight - lr * 0",
        pitfalls=(
            "A log that rounds shows 0.000 for small norms: look at more digits before you believe it.",
            "zero_grad() before the norm gives 0 in a run that is well: its loss falls.",
        ),
    ),
    "frozen-weights": Lesson(
        why="Gradients exist, but no step reaches the weights that are evaluated. The training loss jitters with its "
        "batches; the validation loss cannot, its data are always the same.",
        formula="same weights + same data = same loss, to the last digit",
        pitfalls=("An optimizer built before model.to(...) or before wrapping may hold other tensors.",),
    ),
    "lr-too-low": Lesson(
        why="A small step along the gradient lowers the loss by lr times its squared norm. Summed over the run, that "
        "is all that steps of plain SGD can buy. Adam's steps are as long as lr, whatever the gradient: no such bound.",
        formula="drop of the loss <= sum of lr * grad_norm^2        (SGD only)",
        example=f"lr 1e-6 and norm 1 over 10,000 steps: the loss falls by {1e-6 * 1.0**2 * 10_000:.2f} at most.",
        pitfalls=(
            "A converged run is smooth as well: its gradient has fallen.",
            "At a rate of exactly 0, ten times the rate is 0 too: it is the schedule.",
        ),
    ),
    "uniform-prediction": Lesson(
        why="When inputs say nothing about labels, the best a network can do is to give every class the same chance.",
        formula="loss = ln C        (C classes, natural logarithm)",
        example=f"C = 2: {uniform_loss(2):.3f}, 10: {uniform_loss(10):.3f}, 1000: {uniform_loss(1000):.3f}.",
        pitfalls=("Long tasks may rest there and then learn: overfit one batch before you call it a bug.",),
    ),
    "prior-prediction": Lesson(
        why="With unequal classes the best blind guess is their frequencies. The loss is then the entropy of the "
        "labels, a little under ln C.",
        formula="level = -sum p ln p        effective classes = exp(level)",
        example=f"A level of 2.10 is {effective_classes(2.1):.1f} effective classes.",
        pitfalls=("Accuracy looks better than chance here: it is the share of the largest class.",),
    ),
    "double-softmax": Lesson(
        why="Softmax of probabilities: the inputs lie between 0 and 1, so even a perfect answer is not much more "
        "likely than the rest.",
        formula="floor = ln(e + C - 1) - 1",
        example=f"C = 2: {softmax_floor(2):.4f}, 10: {softmax_floor(10):.4f}, 100: {softmax_floor(100):.4f}.",
        pitfalls=("Accuracy may be fine, so it goes unnoticed for weeks.",),
    ),
    "memorising-noise": Lesson(
        why="A large network learns wrong pairs by heart: training falls, and what it has learnt is wrong on new data.",
        formula="val_loss > ln C: worse than giving each of C classes the same chance",
        pitfalls=(
            "Regularisation makes the curves nicer and the labels no better.",
            "Number of classes unknown: was val_loss ever clearly below its first value? No: it is this row.",
        ),
    ),
    "flat-midway": Lesson(
        why="Steps of fixed length end on a floor of noise: what the gradient gains, the noise of the batches takes. A "
        "lower rate or a larger batch lowers the floor.",
        formula="noise floor of SGD ~ lr * grad_norm^2 / 4 / (1 - momentum)",
        pitfalls=("The decay of a schedule comes late: a flat stretch before it is normal.",),
    ),
    "vanishing-gradient": Lesson(
        why="A gradient passes through every layer and is multiplied each time. Factors below 1 leave nothing for the "
        "early layers. A residual path carries it past them.",
        formula="share = factor ** depth",
        example=f".9 per layer: {through_layers(0.9, 10):.2f} after 10 layers, {through_layers(0.9, 50):.4f} after 50.",
        pitfalls=("The global norm is that of the last layers; it looks fine.",),
    ),
    "dead-relu": Lesson(
        why="A ReLU whose input is negative for every sample passes no gradient. One too long step can put a unit "
        "there, and nothing brings it back.",
        formula="relu'(x) = 0 for x < 0",
        pitfalls=("Half of a layer at 0 for one sample is normal; at 0 for a whole batch is not.",),
    ),
    "saturated": Lesson(
        why="Far out, tanh and sigmoid are flat. A unit there answers the same to everything and learns nothing.",
        formula="tanh'(x) = 1 - tanh(x)^2",
        example=f"Where tanh(x) = {_PINNED} the slope is {1 - _PINNED**2:.3f}, {1 / (1 - _PINNED**2):.0f} times less "
        "than in the middle.",
        pitfalls=("Normalise with the statistics of the training set, in validation too.",),
    ),
    "overfitting": Lesson(
        why="The network has learnt what the data teach and goes on with their accidents. From the minimum of the "
        "validation loss on it gets worse where it counts.",
        pitfalls=(
            "The best checkpoint is at the minimum: saving only the last loses it.",
            "Accuracy may still rise while the loss does: the network grows too sure, not more wrong.",
        ),
    ),
    "undertrained": Lesson(
        why="Loss against steps is close to a power law. While both curves still follow it, more steps buy more.",
        formula="L(t) = a + b * t^-c",
        pitfalls=("Each halving of the rest costs more steps than the one before.",),
    ),
    "val-below-train": Lesson(
        why="Training is measured with dropout on, on augmented data, and on weights of earlier in the epoch. "
        "Validation has it easier.",
        pitfalls=("A leak looks exactly the same, only better.",),
    ),
    "initial-loss-off": Lesson(
        why="Before it has learnt anything, a classifier gives every class about the same chance.",
        formula="first loss = ln C        logit spread = sqrt(2 (first loss - ln C))",
        example=f"C = 1000: {uniform_loss(1000):.2f}. A first loss of 9: logits spread by {logit_spread(9, 1000):.1f}.",
        pitfalls=("A resumed or pretrained network starts lower, and rightly so.",),
    ),
    "no-validation": Lesson(why="Training loss alone cannot tell learning from memorising."),
    "no-grad-norm": Lesson(
        why="The norm costs one call and separates what the loss shows alike: dead from frozen from slow, a bad batch "
        "from a bad slope.",
        pitfalls=(_UNSCALE,),
    ),
    "stalled-run": Lesson(
        why="A process that waits writes nothing, and a log that stops looks like a log that is well. The run's own "
        "pace says how long is too long.",
        pitfalls=("Validation, checkpoints and the first compile pause a run; their gaps count as its pace.",),
    ),
    "resumed": Lesson(
        why="A resume goes back to the last checkpoint and repeats the steps since. The same level says that "
        "everything was loaded; another level says what was not.",
        pitfalls=("Loading the weights without optimizer, schedule, scaler and data position is only half a resume.",),
    ),
    "healthy": Lesson(
        why="Nothing that is known to go wrong in curves was seen. Bugs that leave the curves alone exist."
    ),
}
