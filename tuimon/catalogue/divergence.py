"""Rows for a loss that climbs, jumps or jitters, and for the gradients that announce it."""

from tuimon.catalogue import snippets
from tuimon.catalogue.row import Check, Row

_BATCH = Check(
    "Compare the batch of the onset step with a usual one: length, padding, repeated or garbled content.",
    snippets.BATCH,
    "Far from the usual numbers: that batch explains it. Alike: the state of the network did.",
)

DIVERGENCE = (
    Row(
        signature="lr-too-high",
        family="divergence",
        severity="failure",
        symptom="loss climbs and keeps climbing",
        separator="grad_norm climbs with the loss; after a mere jump it is back to normal within 20 steps",
        causes=(
            "learning rate past what this network bears",
            "no warmup, or one that ends too soon",
            "optimizer state lost or damaged on resume",
            "loss summed over the batch instead of averaged",
            "initial weights too large",
        ),
        checks=(
            Check(
                "Read the learning rate at the onset, and what else changed there: schedule, resume, data.",
                snippets.RATE,
                "It rose there: that is the cause. Else the network grew less tolerant; the rate is still too high.",
            ),
            Check(
                "After a resume: was the optimizer's state loaded?",
                snippets.STATE,
                "0, or fewer than there are parameters: it was not (SGD without momentum has none).",
            ),
            Check(
                "Is the loss averaged? Give it the same batch twice over.",
                snippets.SUMMED,
                "1: averaged. 2: summed, so every step is batch-size times too long.",
            ),
        ),
        fix=(
            "Stop. Go back to the last checkpoint before the onset and divide the learning rate by 10, not by 10 %. "
            "Add warmup if there was none. If the optimizer state was lost, load it and keep the rate."
        ),
        confused_with=("level-jump", "loss-spike", "nan-after-growth"),
        needs=("loss",),
        known_at="3 to 6 steps after the onset",
        outranks=(
            "exploding-gradient",
            "level-jump",
            "loss-spike",
            "oscillation",
            "slow-divergence",
            "spikes-more-frequent",
            "unrecovered-spike",
        ),
    ),
    Row(
        signature="level-jump",
        family="divergence",
        severity="warning",
        symptom="loss steps up once and stays there",
        separator="grad_norm is normal again within 20 steps while the loss stays up",
        causes=(
            "the learning rate jumped",
            "another data mix, shard or phase began",
            "data that used to repeat no longer does",
            "dropout or batch norm switched between train and eval mode",
            "at a resume: the optimizer's state was not restored",
        ),
        checks=(
            Check(
                "Compare rate, configuration and data just before and just after the onset step.",
                snippets.RATE,
                "A change at that very step is the cause, and often one you made on purpose.",
            ),
            Check(
                "In the training loop: which modules are in eval mode?",
                snippets.MODES,
                "Any name: an evaluation did not call model.train() after it.",
            ),
            Check(
                "After a resume: was the optimizer's state loaded?",
                snippets.STATE,
                "0, or fewer than there are parameters: it was not (SGD without momentum has none).",
            ),
        ),
        fix="Undo the change at the onset. It was meant: let it run, the new level is the right one.",
        confused_with=("lr-too-high", "unrecovered-spike", "resumed"),
        needs=("loss", "grad_norm"),
        known_at="6 to 20 steps after the onset",
        outranks=("loss-spike", "unrecovered-spike"),
    ),
    Row(
        signature="slow-divergence",
        family="divergence",
        severity="failure",
        symptom="loss creeps up for hundreds of steps",
        separator="no spike anywhere: a steady climb over 200 steps or more, far above the best loss",
        causes=(
            "output logits grow without bound",
            "the learning rate does not decay any more",
            "weights are kept and updated in fp16",
        ),
        checks=(
            Check("Read the learning rate now and at the onset.", snippets.RATE, "Flat or rising: lower it."),
            Check(
                "Log the largest logit and the norm of all weights for 100 steps.",
                snippets.SIZES,
                "A number that only grows names the part that drifts.",
            ),
        ),
        fix=(
            "Go back to the best checkpoint with a lower rate. Logits grow: add 1e-4 * logits.logsumexp(-1).square()"
            ".mean() to the loss; in attention, normalise queries and keys. Keep weights in fp32."
        ),
        confused_with=("lr-too-high", "flat-midway", "level-jump"),
        needs=("loss",),
        known_at="200 steps after the onset",
        outranks=("flat-midway",),
    ),
    Row(
        signature="loss-spike",
        family="spike",
        severity="warning",
        symptom="loss jumps and comes back",
        separator="back within 3 noise widths of its old level; if not in 200 steps, it is unrecovered",
        causes=("a rare batch that met the network at a bad moment", "a learning rate close to its limit"),
        checks=(_BATCH,),
        fix="It came back: nothing. If more come, clip at about the usual grad_norm: that bounds what each can do.",
        confused_with=("unrecovered-spike", "lr-too-high", "spikes-more-frequent"),
        needs=("loss",),
        known_at="2 steps after the onset",
        outranks=("exploding-gradient",),
    ),
    Row(
        signature="unrecovered-spike",
        family="divergence",
        severity="failure",
        symptom="loss jumped and has not come back",
        separator="more than 200 steps after the spike the loss is still above its old level",
        causes=("optimizer state damaged by one huge gradient", "the network was thrown out of its valley"),
        checks=(
            Check(
                "Find the last checkpoint before the onset step, and copy it to where nothing overwrites it.",
                "",
                "None left: keep the oldest there is, and watch whether the loss still falls.",
            ),
            Check(
                "Adam: compare the largest second moment now with that in the checkpoint, here good.pt.",
                snippets.SECOND_MOMENTS,
                "First number much larger: the state is damaged, and holds the steps down.",
            ),
        ),
        fix="Go back about 100 steps before the onset, skip the batches of the spike, and train on.",
        confused_with=("loss-spike", "level-jump", "lr-too-high"),
        needs=("loss",),
        known_at="200 steps after the onset",
        outranks=("loss-spike", "flat-midway", "slow-divergence"),
    ),
    Row(
        signature="spikes-more-frequent",
        family="spike",
        severity="warning",
        symptom="loss spikes come closer together",
        separator="at least 3 times as many per step as earlier in the run, over 4 spikes or more",
        causes=(
            "learning rate too high for this stage of training",
            "Adam's beta2 so close to 1 that it reacts too late",
            "embedding or output layer growing",
        ),
        checks=(
            Check(
                "After backward(), print the gradient norm of each layer, through a spike.",
                snippets.LAYER_NORMS,
                "The layer that rises first is where it starts; embeddings are the usual one.",
            ),
            Check("Read the learning rate at the first spike and now.", snippets.RATE, "Rising or flat: lower it."),
        ),
        fix=(
            "Halve the learning rate, or beta2 = .95; normalise or slow down the layer that rises first. "
            "Clipping bounds each spike, but does not stop what drifts."
        ),
        confused_with=("loss-spike", "lr-too-high"),
        needs=("loss",),
        known_at="at the 4th spike",
    ),
    Row(
        signature="exploding-gradient",
        family="gradient",
        severity="warning",
        symptom="gradient norm jumps, the loss is still calm",
        separator="the loss is still within 4 noise widths; when it follows, this was its announcement",
        causes=(
            "the steps just before a divergence or a spike",
            "one extreme batch",
            "clipping that is not applied",
        ),
        checks=(
            Check(
                "Copy the newest checkpoint away now, with cp or from the loop.",
                snippets.KEEP,
                "There may be only a few steps left before the loss follows.",
            ),
            Check(
                "Directly before optimizer.step() (after scaler.unscale_): is the gradient clipped?",
                snippets.CLIPPED,
                "Above your bound: clipping is missing. The logged norm is the one before clipping.",
            ),
        ),
        fix="Clip at about the usual grad_norm. It keeps jumping: divide the learning rate by 2.",
        confused_with=("lr-too-high", "loss-spike", "gradients-accumulate"),
        needs=("grad_norm",),
        known_at="2 steps after the onset",
    ),
    Row(
        signature="oscillation",
        family="oscillation",
        severity="warning",
        symptom="loss jitters up and down and barely improves",
        separator="its changes flip sign from one step to the next; minibatch noise does not",
        causes=("learning rate just below the limit", "momentum too high for it"),
        checks=(
            Check(
                "In a second run, from the newest checkpoint: halve the learning rate once and watch 50 steps.",
                snippets.HALVE,
                "Jitter gone and the loss falls: it was the rate. As before: it is the noise of the batches.",
            ),
        ),
        fix="It was the rate: go on with the halved one. It was noise: keep the rate, and take larger batches.",
        confused_with=("flat-midway", "lr-too-high"),
        needs=("loss",),
        known_at="about 50 steps after the onset",
    ),
    Row(
        signature="gradients-accumulate",
        family="gradient",
        severity="warning",
        symptom="gradient norm grows smoothly from step 1",
        separator="norm as a power of the step number, 0.5 to 1, without the jitter of batches",
        causes=("zero_grad is missing", "zero_grad stands in the wrong place, or in a branch that is not taken"),
        checks=(
            Check(
                "Directly before backward(): which gradients are not empty?",
                snippets.LEFT_OVER,
                "Any name: the last step's gradients are still there.",
            ),
            Check("Read the call order in the loop.", "", "zero_grad, forward, backward, step: once each per step."),
        ),
        fix="Call optimizer.zero_grad() once per optimizer step, before backward(). Start again: the steps were wrong.",
        confused_with=("exploding-gradient",),
        needs=("grad_norm",),
        known_at="at step 32",
        outranks=("exploding-gradient",),
    ),
    Row(
        signature="below-floor",
        family="divergence",
        severity="failure",
        symptom="loss is below the least it can be",
        separator="a cross-entropy under zero: no data and no learning rate can do that",
        causes=("wrong sign in the loss", "probabilities passed where log-probabilities belong", "another objective"),
        checks=(
            Check(
                "Compare the loss of one batch with minus the mean log-probability of its labels.",
                snippets.CROSS_ENTROPY,
                "Equal: right. Opposite sign: the sign. Else: what the loss is given (nll_loss wants log_softmax).",
            ),
        ),
        fix='Correct the sign or the input. It is no cross-entropy: declare meta={"objective": ...}. Start again.',
        confused_with=("lr-too-high",),
        needs=("loss", "objective"),
        known_at="at once",
        outranks=("memorising-noise", "overfitting"),
    ),
)
