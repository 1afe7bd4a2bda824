"""What to do in the next five minutes, for each row: with the process that runs, then the first look; no fix yet."""

NOW = {
    "nan-after-growth": (
        "Stop the run: its weights are gone. Copy a checkpoint from before the onset away, and read the rate there."
    ),
    "nan-forward": (
        "Stop the run: its weights are NaN. Copy a checkpoint from before the onset away, then look at the batch "
        "of that step."
    ),
    "nan-backward": (
        "If NaN: stop, copy a checkpoint from before the onset away. If a lone inf under a loss scaler: let it run."
    ),
    "nan-empty-batch": "Let it run. Count how often it happens: rare is harmless.",
    "fp16-range": (
        "Stop the run: every step is skipped. Copy a checkpoint from before the onset away; run that batch in fp32."
    ),
    "nan-masked": (
        "Stop the run: its weights are NaN, whatever the loss says. Copy a checkpoint from before the onset away."
    ),
    "nan-first-step": "Stop the run: nothing will come of it. Look at its first batch, then at its weights.",
    "nan-val-only": (
        "Let it run, the training is fine. Mend the evaluation; until then choose no checkpoint by val_loss."
    ),
    "inf-first": (
        "If the next loss is a number: let it run, a loss scaler skips such a step. "
        "If not: stop; keep a checkpoint from before it."
    ),
    "lr-too-high": (
        "Stop the run: each step makes it worse. Copy a checkpoint from before the onset away, and read the rate there."
    ),
    "level-jump": "Let it run. Find out what changed at the onset step: rate, data, mode.",
    "slow-divergence": (
        "Copy the best checkpoint away, and stop the run: it only gets worse. Read the rate now and at the onset."
    ),
    "loss-spike": "Let it run: most spikes come back within 200 steps. Keep a checkpoint from before it until then.",
    "unrecovered-spike": (
        "Stop the run: waiting costs more than going back. Copy a checkpoint from before the onset away."
    ),
    "spikes-more-frequent": (
        "Let it run, and keep a checkpoint from before the first spike: you may have to go back to it."
    ),
    "exploding-gradient": (
        "Copy the newest checkpoint from before the onset away now. Let it run, and watch whether the loss follows."
    ),
    "oscillation": "Let it run. In a second run, from the newest checkpoint, try half the rate for 50 steps.",
    "gradients-accumulate": "Stop the run: each step is longer than the one before. Look where zero_grad() stands.",
    "below-floor": "Stop the run: it learns the wrong thing. Look at the sign of the loss.",
    "zero-gradient": (
        "If the loss is flat: stop, look where the graph is cut. If it moves: let it run, the norm is logged wrongly."
    ),
    "frozen-weights": "Stop the run: it learns nothing. Look whether the optimizer holds the model's parameters.",
    "lr-too-low": (
        "Read lr. If it is 0 at the end of a schedule: the run is done. Else stop it: at this rate it learns nothing."
    ),
    "uniform-prediction": (
        "Stop the run, unless this task is known to stand still at first. Overfit one batch: that decides in minutes."
    ),
    "prior-prediction": "Stop the run. Print whether the output depends on the input: two lines, seconds.",
    "double-softmax": "Stop the run. Look for a softmax between the last layer and the loss.",
    "memorising-noise": "Stop the run: it learns wrong pairs by heart. Look at ten labels beside their inputs.",
    "flat-midway": "If the rate is still to decay: let it run. Else try lr / 10 in a second run from a checkpoint.",
    "vanishing-gradient": "Stop the run: its early layers learn nothing. Print the gradient norm of each layer.",
    "dead-relu": "If the loss still falls: let it run. If not: stop, too little passes that layer.",
    "saturated": "If the loss still falls: let it run, else stop. Look at the scale of what enters the network.",
    "overfitting": "Copy the checkpoint at the minimum of val_loss away, then stop the run: from here it gets worse.",
    "undertrained": (
        "Nothing is wrong. If it runs: let it. If it has ended: decide whether to go on from the last checkpoint."
    ),
    "val-below-train": "Let it run. Evaluate the training set in eval mode once, to tell dropout from a leak.",
    "initial-loss-off": (
        "If first loss / ln C is the batch size: stop, the loss is a sum. Else let it run, look at its outputs."
    ),
    "no-validation": "Let it run. Press m on the screen: the log may have it under another name.",
    "no-grad-norm": "Let it run. Press m on the screen: the log may have it under another name.",
    "stalled-run": (
        "Look whether the process lives (ps) and where it waits (py-spy dump). Kill nothing before you know."
    ),
    "resumed": "Press r and compare. If the loss is where it was: let it run. If higher: stop, something was lost.",
    "healthy": "Nothing. Let it run.",
}

AFRESH = (
    "If the run is stopped: in a fresh process load the last good checkpoint, take one batch (that of the failing "
    "step, if it was saved) and paste there; what looks at loss, logits or gradients, after one forward and backward."
)
"""Said before checks that look into a live training, where the first thing to do is to stop it."""


def dated(text: str, onset: int | None) -> str:
    """`text` with the number of the onset step, where it is known."""
    if onset is None:
        return text
    return text.replace("the onset step", f"step {onset:,}").replace("the onset", f"step {onset:,}")
