"""Rows for a loss that does not fall: it never moves, rests at a telling level, or stops partway.

A loss that never moves is almost always a bug. The one test that separates a bug from everything else: a network that
cannot overfit a single batch has one.
"""

from tuimon.catalogue.row import Check, Row
from tuimon.formulas import softmax_floor, through_layers, uniform_loss

_OVERFIT = Check(
    "Train on one batch only, for 200 steps.",
    "batch = next(iter(loader)); loader = [batch] * 200",
    "The loss goes to 0: the network and the loop are sound, look at data or rate. It does not: a bug.",
)
_LAYER_NORMS = "print({n: p.grad.norm().item() for n, p in model.named_parameters() if p.grad is not None})"
_TEN_PAIRS = Check(
    "Look at ten inputs beside their labels, as they leave the loader.",
    "x, y = next(iter(loader)); print([(x[i].flatten()[:5], y[i]) for i in range(10)])",
    "Wrong pairs: sampling, sorting or collating mixed them up.",
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
            "every parameter is frozen",
            "every unit is dead",
            "the loss is masked away",
        ),
        checks=(
            Check(
                "Look whether the loss has a graph and the parameters want gradients.",
                "print(loss.requires_grad, sum(p.requires_grad for p in model.parameters()))",
                "False or 0: the graph is cut, or everything is frozen.",
            ),
            Check(
                "After backward(), list parameters without a gradient.",
                "print([n for n, p in model.named_parameters() if p.grad is None or not p.grad.any()])",
                "Everything before one layer listed: the cut is there.",
            ),
        ),
        fix="Remove the detach, no_grad or .item() on the way, or unfreeze the parameters.",
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
                "Measure how far one step moves the weights.",
                "w = [p.detach().clone() for p in model.parameters()]; optimizer.step(); "
                "print(max((a - p).abs().max().item() for a, p in zip(w, model.parameters())))",
                "0: no step arrives. Above 0: then the evaluation does not see these weights.",
            ),
            Check(
                "Look whether the optimizer holds the model's parameters.",
                'print({id(p) for g in optimizer.param_groups for p in g["params"]} '
                ">= {id(p) for p in model.parameters()})",
                "False: it was built before the model was replaced, moved or wrapped.",
            ),
        ),
        fix="Build the optimizer after the model is final; call backward, step, zero_grad in that order.",
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
        separator="all steps together could buy less than the noise of the loss, at this rate and gradient",
        causes=(
            "learning rate far too small",
            "the schedule has ended or never warmed up",
            "a unit mistake: 1e-5 for 1e-3",
        ),
        checks=(
            Check(
                "Read the learning rate at this step.",
                'print(step, [group["lr"] for group in optimizer.param_groups])',
                "Not what you meant: schedule or unit. What you meant: it is too small for this network.",
            ),
        ),
        fix="Multiply the learning rate by 10, once; again while the loss stays smooth.",
        confused_with=("flat-midway", "frozen-weights"),
        needs=("lr", "grad_norm"),
        known_at="about 200 steps after the start",
        outranks=("flat-midway", "prior-prediction", "uniform-prediction"),
    ),
    Row(
        signature="uniform-prediction",
        family="plateau",
        severity="failure",
        symptom="loss flat at ln C: every class equally likely",
        separator=f"level within .02 of ln C ({uniform_loss(10):.3f} for ten classes); under it is prior-prediction",
        causes=(
            "labels shuffled against their inputs",
            "wrong arguments or reduction in the loss call",
            "collating or augmenting changes the order of one of the two",
        ),
        checks=(_OVERFIT, _TEN_PAIRS),
        fix="Repair the pairing of inputs and labels, or the loss call.",
        confused_with=("prior-prediction", "memorising-noise", "lr-too-low"),
        needs=("loss", "num_classes"),
        known_at="200 steps after the onset",
        outranks=("flat-midway",),
    ),
    Row(
        signature="prior-prediction",
        family="plateau",
        severity="failure",
        symptom="loss flat just under ln C: inputs are ignored",
        separator="level equals the entropy of the labels; exp(level) is the effective number of classes",
        causes=(
            "labels shuffled against their inputs, classes unequal",
            "inputs constant or destroyed by preprocessing",
            "dead or vanishing layers: only the output bias learns",
            "learning rate so high at first that the network collapsed",
        ),
        checks=(
            Check(
                "Look whether the output depends on the input.",
                "print(model(x).std(dim=0).mean().item(), x.std(dim=0).mean().item())",
                "Both near 0: constant inputs. Only the first: layers are dead.",
            ),
            Check("Print the gradient norm of each layer.", _LAYER_NORMS, "0 in early layers: dead or vanishing."),
            _TEN_PAIRS,
        ),
        fix="Repair the pairing or the preprocessing; with dead layers a new init and a lower rate.",
        confused_with=("uniform-prediction", "dead-relu", "vanishing-gradient"),
        needs=("loss", "class_counts"),
        known_at="200 steps after the onset",
        outranks=("flat-midway", "uniform-prediction"),
    ),
    Row(
        signature="double-softmax",
        family="plateau",
        severity="failure",
        symptom="loss falls, then rests on a floor it never breaks",
        separator=(
            f"floor at ln(e + C - 1) - 1: {softmax_floor(2):.3f}, {softmax_floor(10):.3f}, {softmax_floor(100):.3f} "
            "for C = 2, 10, 100"
        ),
        causes=("softmax applied before a cross-entropy that applies it itself",),
        checks=(
            Check(
                "Look at what the loss is given.",
                "print(logits.sum(-1)[:5])",
                "All 1: these are probabilities, softmax was applied already.",
            ),
        ),
        fix="Pass raw logits to the cross-entropy.",
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
        separator="val_loss was never better than ln C; in overfitting it was, before it rose",
        causes=("labels do not belong to their inputs", "validation uses another label order than training"),
        checks=(
            _TEN_PAIRS,
            Check(
                "Compare the label order of both sets.",
                "print(train_set.class_to_idx == val_set.class_to_idx)",
                "False: the same name has two numbers.",
            ),
        ),
        fix="Repair the pairing or the label order. Regularising does not help.",
        confused_with=("overfitting", "uniform-prediction"),
        needs=("val_loss", "num_classes"),
        known_at="at the 3rd evaluation",
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
                "Divide the learning rate by 10 once and watch a few hundred steps.",
                'for group in optimizer.param_groups: group["lr"] /= 10',
                "The loss drops: it was the noise of the steps. It does not: capacity, data or a dead part.",
            ),
            _OVERFIT,
        ),
        fix="Keep the lower rate or let it decay; else a larger batch or network. Converged needs nothing.",
        confused_with=("lr-too-low", "double-softmax", "slow-divergence"),
        needs=("loss",),
        known_at="late: 500 steps, or a quarter of the run, without progress",
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
        checks=(
            Check("Print the gradient norm of each layer.", _LAYER_NORMS, "Falling layer by layer towards the input."),
        ),
        fix="Add residual connections and normalisation, or an init made for the activation (He, Xavier).",
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
                "Measure the share of units that are 0 for a whole batch.",
                "print((torch.relu(h) == 0).all(dim=0).float().mean().item())",
                "Above .5, and rising: the layer is dying.",
            ),
        ),
        fix="A lower rate or a warmup, He init with zero bias, or GELU / LeakyReLU.",
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
                "Print the range of what enters each tanh or sigmoid.",
                "print(h.abs().mean().item(), (h.abs() > 3).float().mean().item())",
                "Most beyond 3: the slope there is under a hundredth.",
            ),
        ),
        fix="Normalise the inputs and the layer's input; smaller init.",
        confused_with=("vanishing-gradient", "lr-too-low"),
        needs=("saturated_fraction/<layer>",),
        known_at="32 batches after the onset; tuimon.torch.Guard(layers_every=1) logs the shares",
    ),
)
