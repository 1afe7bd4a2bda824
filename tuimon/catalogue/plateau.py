"""Rows for a loss that does not fall: it never moves, rests at a telling level, or stops partway.

A loss that never moves is almost always a bug. The one test that separates a bug from everything else: a network that
cannot overfit a single batch has one.
"""

from tuimon.catalogue import snippets
from tuimon.catalogue.row import Check, Row
from tuimon.formulas import softmax_floor, through_layers, uniform_loss

_OVERFIT = Check(
    "Train on one batch only, for 200 steps.",
    snippets.ONE_BATCH,
    "Its loss goes to about 0: network and loop are sound, look at the data. It does not: a bug.",
)
_LAYER_NORMS = Check(
    "After backward(), print the gradient norm of each layer.",
    snippets.LAYER_NORMS,
    "Falling layer by layer towards the input: vanishing. 0 before one layer: dead or cut off.",
)
_PAIRS = Check(
    "Look at ten labels beside their inputs, as they leave the loader (show pictures, decode text).",
    snippets.PAIRS,
    "Wrong pairs: shuffling, sorting or collating mixed them up.",
)

PLATEAU = (
    Row(
        signature="zero-gradient",
        family="plateau",
        severity="failure",
        symptom="loss never moves, gradient exactly 0",
        separator="grad_norm is exactly 0; with frozen weights it is not",
        causes=(
            "the loss is cut off from the weights (detach, no_grad, item)",
            "the norm is taken after zero_grad() or before backward(): the loss moves",
            "every parameter is frozen",
            "every unit is dead, or the loss is masked away",
        ),
        checks=(
            Check(
                "Has the loss a graph, and how many parameters want gradients?",
                snippets.GRAPH,
                "False: the graph is cut. 0: everything is frozen.",
            ),
            Check(
                "Directly after backward(): which parameters have no gradient?",
                snippets.NO_GRADIENT,
                "All: cut at the loss. Those before one layer: cut there. None: the norm is taken in the wrong place.",
            ),
        ),
        fix="Remove the detach, no_grad or .item(); unfreeze; or take the norm between backward() and step().",
        confused_with=("frozen-weights", "nan-masked", "dead-relu"),
        needs=("grad_norm",),
        known_at="3 records after the onset",
        outranks=("frozen-weights", "lr-too-low", "uniform-prediction", "prior-prediction", "flat-midway", "dead-relu"),
    ),
    Row(
        signature="frozen-weights",
        family="plateau",
        severity="failure",
        symptom="loss jitters around one level, validation never changes",
        separator="grad_norm is above 0, yet val_loss repeats to the last digit: the weights do not move",
        causes=(
            "the optimizer holds other parameters than the model",
            "zero_grad between backward and step",
            "step() is skipped, by a condition or a scaler",
            "learning rate 0",
        ),
        checks=(
            Check(
                "Which parameters does the optimizer not hold?",
                snippets.NOT_HELD,
                "Any name: it was built before the model was replaced, moved or wrapped.",
            ),
            Check(
                "In place of optimizer.step(): how far does it move the weights?",
                snippets.MOVES,
                "0: zero_grad before step, or rate 0. Above 0: the evaluation runs another copy of the model.",
            ),
        ),
        fix="Build the optimizer after the model is final; call backward, step, zero_grad in that order. Start again.",
        confused_with=("zero-gradient", "lr-too-low"),
        needs=("val_loss",),
        known_at="at the 3rd evaluation",
        outranks=("lr-too-low", "uniform-prediction", "prior-prediction", "flat-midway"),
    ),
    Row(
        signature="lr-too-low",
        family="plateau",
        severity="failure",
        symptom="loss smooth and barely moving",
        separator="for SGD: all steps together could buy less than the noise of the loss, at this rate and gradient",
        causes=(
            "learning rate far too small",
            "learning rate 0: a schedule that has ended, or never warmed up",
            "a unit mistake: 1e-5 for 1e-3",
        ),
        checks=(
            Check(
                "Read the learning rate at this step.",
                snippets.RATE,
                "0: the schedule (its total steps, its warmup, when it is stepped). Else: too small, or mistyped.",
            ),
        ),
        fix="At 0: mend the schedule; a decay that ended at 0 is a finished run. Else multiply the rate by 10, once.",
        confused_with=("flat-midway", "frozen-weights"),
        needs=("lr", "grad_norm"),
        known_at="about 200 steps after the start",
        outranks=("flat-midway", "prior-prediction", "uniform-prediction"),
    ),
    Row(
        signature="uniform-prediction",
        family="plateau",
        severity="failure",
        symptom="loss flat at ln C for C classes: all equally likely",
        separator=f"level within .02 of ln C ({uniform_loss(10):.3f} for ten classes); under it is prior-prediction",
        causes=(
            "labels shuffled against their inputs",
            "wrong arguments or reduction in the loss call",
            "collating or augmenting changes the order of one of the two",
        ),
        checks=(_OVERFIT, _PAIRS),
        fix="Repair the pairing of inputs and labels, or the loss call. Do not touch the learning rate before that.",
        confused_with=("prior-prediction", "memorising-noise", "lr-too-low"),
        needs=("loss", "num_classes"),
        known_at="200 steps after the onset",
        outranks=("flat-midway", "overfitting"),
    ),
    Row(
        signature="prior-prediction",
        family="plateau",
        severity="failure",
        symptom="loss flat under ln C for C classes: inputs ignored",
        separator="level equals the entropy of the label counts; exp(level) is the effective number of classes",
        causes=(
            "labels shuffled against their inputs, classes unequal",
            "inputs constant or destroyed by preprocessing",
            "dead or vanishing layers: only the output bias learns",
            "learning rate so high at first that the network collapsed",
        ),
        checks=(
            Check(
                "Does the output depend on the input? Spread over the batch, of outputs and of inputs:",
                snippets.SPREADS,
                "Both about 0: constant inputs. Only the first: dead layers. Neither: look at the pairs.",
            ),
            _PAIRS,
            _LAYER_NORMS,
        ),
        fix="Repair the preprocessing or the pairing; with dead layers start again with a lower rate and a warmup.",
        confused_with=("uniform-prediction", "dead-relu", "vanishing-gradient"),
        needs=("loss", "class_counts"),
        known_at="200 steps after the onset; a warning only, and only from the start, without class_counts in meta",
        outranks=("flat-midway", "memorising-noise", "overfitting", "uniform-prediction"),
    ),
    Row(
        signature="double-softmax",
        family="plateau",
        severity="failure",
        symptom="loss falls, then rests on a floor it never breaks",
        separator=(
            f"floor at ln(e + C - 1) - 1: {softmax_floor(2):.3f}, {softmax_floor(10):.3f}, {softmax_floor(100):.3f} "
            "for C = 2, 10, 100 classes"
        ),
        causes=("softmax applied before a cross-entropy that applies it itself",),
        checks=(
            Check(
                "Look at what the loss is given: least value, and sums over the classes.",
                snippets.PROBABILITIES,
                "None below 0 and every sum 1: these are probabilities, softmax was applied already.",
            ),
        ),
        fix="Remove the softmax: the cross-entropy takes raw logits. The weights so far are a fair start.",
        confused_with=("flat-midway", "prior-prediction"),
        needs=("loss", "num_classes"),
        known_at="late: once it rests on the floor",
        outranks=("flat-midway", "prior-prediction"),
    ),
    Row(
        signature="memorising-noise",
        family="plateau",
        severity="failure",
        symptom="train falls, validation is above ln C from the start",
        separator="val_loss was never better than ln C (C classes), the blind guess; in overfitting it was",
        causes=("labels do not belong to their inputs", "validation uses another label order than training"),
        checks=(
            _PAIRS,
            Check(
                "The same with loader = val_loader.",
                snippets.PAIRS.replace("(loader)", "(val_loader)"),
                "The same thing has another number there: the label orders differ.",
            ),
        ),
        fix="Repair the pairing or the label order, and start again. Regularising does not help.",
        confused_with=("overfitting", "uniform-prediction"),
        needs=("val_loss", "num_classes"),
        known_at="at the 3rd evaluation; without num_classes in meta, or evaluated too late, it shows as overfitting",
        outranks=("overfitting",),
    ),
    Row(
        signature="flat-midway",
        family="plateau",
        severity="failure",
        symptom="loss stops improving partway",
        separator="grad_norm alive: noise hides progress, lower the rate; fallen 10-fold: converged, only a note",
        causes=(
            "learning rate too high for this stage",
            "batch too small for it",
            "too little capacity",
            "dead units",
        ),
        checks=(
            Check(
                "In a second run, from the newest checkpoint: learning rate / 10 once, a few hundred steps.",
                snippets.TENTH,
                "The loss drops: it was the noise of the steps. It does not: capacity, data or a dead part.",
            ),
            _OVERFIT,
        ),
        fix="It dropped: keep the lower rate, or let it decay. Else a larger batch or network. Converged: nothing.",
        confused_with=("lr-too-low", "double-softmax", "slow-divergence"),
        needs=("loss",),
        known_at=(
            "late: 500 steps, or a quarter of the run, without progress; a noise floor at the end, for SGD "
            "(declare optimizer, momentum, total_steps): under Adam no log tells it from having arrived"
        ),
    ),
    Row(
        signature="vanishing-gradient",
        family="plateau",
        severity="failure",
        symptom="early layers get next to no gradient",
        separator="first layer's norm under 1/1000 of the last one's; the global norm does not show it",
        causes=(
            f"depth: 50 layers of factor .9 leave {through_layers(0.9, 50):.3f}",
            "sigmoid or tanh, pushed to their ends",
            "initial weights too small",
        ),
        checks=(_LAYER_NORMS,),
        fix="Add residual connections and normalisation, or an init made for the activation (He, Xavier). Start again.",
        confused_with=("lr-too-low", "dead-relu", "saturated", "prior-prediction"),
        needs=("grad_norm/<layer>",),
        known_at="10 records after the onset; tuimon.torch.Guard(layers_every=50) logs the norms",
        outranks=("flat-midway", "lr-too-low", "prior-prediction", "uniform-prediction"),
    ),
    Row(
        signature="dead-relu",
        family="plateau",
        severity="warning",
        symptom="a layer's units stop answering, loss falls too little",
        separator="more than half of a layer outputs 0 for every input, over 32 batches, and rising",
        causes=("learning rate too high early on", "a large negative bias", "initial weights too large"),
        checks=(
            Check(
                "Which share of each ReLU's units is 0 for a whole batch? (nn.ReLU modules; F.relu is not seen)",
                snippets.DEAD_UNITS,
                "Above .5, and rising: the layer is dying. Near 1: nothing passes any more.",
            ),
        ),
        fix="A lower rate or a warmup, He init with zero bias, or GELU / LeakyReLU. Dead units stay dead: start again.",
        confused_with=("zero-gradient", "prior-prediction", "vanishing-gradient"),
        needs=("dead_fraction/<layer>",),
        known_at="32 batches after the onset; tuimon.torch.Guard(layers_every=1) logs the shares",
        outranks=("vanishing-gradient", "flat-midway", "lr-too-low", "prior-prediction", "uniform-prediction"),
    ),
    Row(
        signature="saturated",
        family="plateau",
        severity="warning",
        symptom="flat or slow, activations pinned at their ends",
        separator="inputs of tanh or sigmoid lie far out, where their slope is nearly 0",
        causes=("inputs not normalised", "initial weights too large", "learning rate too high early on"),
        checks=(
            Check(
                "Which share of each tanh's or sigmoid's outputs is at its ends? (modules only)",
                snippets.FAR_OUT,
                "Above .5: most units pass less than a tenth of the gradient.",
            ),
        ),
        fix="Normalise the inputs and what enters the layer; smaller init. Start again.",
        confused_with=("vanishing-gradient", "lr-too-low"),
        needs=("saturation/<layer>",),
        known_at="32 batches after the onset; tuimon.torch.Guard(layers_every=1) logs the shares",
    ),
)
