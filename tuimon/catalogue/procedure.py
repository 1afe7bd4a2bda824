"""The isolation procedure: questions in the order that rules out most for the least work, one list per failure."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Question:
    """Something to find out. "Yes" is the answer of a run in which this is not the cause.

    Attributes:
        key: its name in the kept state and on the command line.
        ask: the question.
        code: a line to paste or run, empty without.
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

_REPRODUCE = Question(
    "reproduce",
    "Run again from the last checkpoint with the same seed. Does it fail at the same step?",
    "torch.manual_seed(0)",
    "It is no chance: every comparison from here on means something.",
    "Chance, hardware or data order. Fix seeds and order first, or nothing below can be compared.",
    (CHANCE,),
    (CHANCE,),
    "two runs from one seed agree",
)
_FP32 = Question(
    "fp32",
    "Run the failing steps in fp32. Do they still fail?",
    "with torch.autocast('cuda', enabled=False): loss = compute_loss(model, batch)",
    "It is not the number range.",
    "It is the number range: bf16, or fp32 for softmax, norms and the loss.",
    (RANGE,),
    (RANGE,),
)
_RATE_AS_PLANNED = Question(
    "rate",
    "Is the learning rate at the onset what you planned, with no rise there?",
    'print(step, [group["lr"] for group in optimizer.param_groups])',
    "The schedule does what it should. The rate may still be too high for this network.",
    "The schedule, a resume or a unit is the cause.",
    (),
    (RATE,),
)
_CLIPPED = Question(
    "clipping",
    "Is the gradient clipped in every step, after scaler.unscale_ if there is a scaler?",
    "norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)",
    "Clipping does its part.",
    "Add it between backward() and step(), after unscale_.",
    (CLIPPING,),
    (CLIPPING,),
)
_OVERFIT = Question(
    "overfit",
    "Train on one batch only. Does its loss go to 0 within 1000 steps?",
    "batch = next(iter(loader)); loader = [batch] * 1000",
    "Network, loss and loop are sound. Look at data, rate and size.",
    "A bug. Do not touch the learning rate before it is found.",
    (GRAPH, LOSS_CALL, RANGE),
    (),
    "one batch can be overfitted",
)
_INITIAL = Question(
    "initial-loss",
    "Is the very first loss about ln C?",
    "print(loss.item(), math.log(num_classes))",
    "Initial weights are fine.",
    "Scale of the last layer, or a loss that is summed instead of averaged.",
    (INIT,),
    (INIT, LOSS_CALL),
    "loss at initialization",
)
_PAIRS = Question(
    "pairs",
    "Look at ten inputs beside their labels, as they leave the loader. Do they belong together?",
    "x, y = next(iter(loader)); print([(x[i].flatten()[:5], y[i]) for i in range(10)])",
    "The pairing is right.",
    "Sampling, sorting or collating mixed them up.",
    (DATA,),
    (DATA,),
)

NAN = (
    _REPRODUCE,
    Question(
        "order",
        "Read loss and grad_norm at the exact onset step. Do both go in the same record?",
        "",
        "Born in the forward pass: the batch, the loss call or one operation.",
        "The gradient goes first: born in the backward pass. Look at sqrt, norm, where, and fp16 gradients.",
        (),
        (OPERATION,),
    ),
    _FP32,
    Question(
        "batch",
        "Save the batch of that step. Is it finite and in its usual range?",
        "print(torch.isfinite(x).all().item(), x.abs().max().item()); torch.save(batch, f'batch-{step}.pt')",
        "It is not the data.",
        "It is the data: clean or skip that batch.",
        (DATA,),
        (DATA,),
    ),
    Question(
        "rate",
        "Were loss and gradient calm before, and the learning rate as planned?",
        'print(step, [group["lr"] for group in optimizer.param_groups])',
        "It is not the learning rate.",
        "A divergence that overflowed: go back before the growth, learning rate / 10.",
        (RATE,),
        (RATE,),
    ),
    Question(
        "operation",
        "Does every log, division, root and exp have its clamp or eps, inside?",
        "with torch.autograd.set_detect_anomaly(True): compute_loss(model, batch).backward()",
        "The operations are guarded.",
        "That operation is the cause.",
        (OPERATION, LOSS_CALL),
        (OPERATION,),
    ),
    _CLIPPED,
)

DIVERGENCE = (
    _REPRODUCE,
    _RATE_AS_PLANNED,
    Question(
        "tenth",
        "Go back before the onset, divide the learning rate by 10. Does it still climb?",
        'for group in optimizer.param_groups: group["lr"] /= 10',
        "It is not the learning rate.",
        "It is the learning rate: keep the lower one, or a longer warmup.",
        (RATE,),
        (RATE,),
    ),
    Question(
        "state",
        "After a resume: was the optimizer's state loaded?",
        'print(len(optimizer.state), sum(len(group["params"]) for group in optimizer.param_groups))',
        "The state is there, or there was no resume.",
        "Load optimizer, schedule, scaler and data position too.",
        (OPTIMIZER,),
        (OPTIMIZER,),
    ),
    Question(
        "reduction",
        "Is the loss averaged over the batch?",
        "print(criterion.reduction)",
        "The step has the right length.",
        "A sum makes every step batch-size times too long.",
        (LOSS_CALL,),
        (LOSS_CALL,),
    ),
    Question(
        "batch",
        "Are the batches around the onset like those before: length, padding, content?",
        "torch.save(batch, f'batch-{step}.pt')",
        "It is not the data.",
        "The data changed there: look at mix, shard and order.",
        (DATA,),
        (DATA,),
    ),
    _CLIPPED,
    _FP32,
)

PLATEAU = (
    _OVERFIT,
    Question(
        "gradients",
        "After one backward(), does every parameter have a gradient that is not 0?",
        "print([n for n, p in model.named_parameters() if p.grad is None or not p.grad.any()])",
        "The graph is whole.",
        "Listed layers are cut off, frozen or dead.",
        (GRAPH,),
        (GRAPH,),
        "gradients reach every layer",
    ),
    Question(
        "optimizer",
        "Does the optimizer hold all parameters of the model?",
        'print({id(p) for g in optimizer.param_groups for p in g["params"]} >= {id(p) for p in model.parameters()})',
        "It does.",
        "Build the optimizer after the model is final.",
        (),
        (OPTIMIZER,),
        "all parameters in the optimizer",
    ),
    Question(
        "moves",
        "Do the weights change in a step?",
        "w = p.detach().clone(); optimizer.step(); print((p - w).abs().max().item())",
        "Steps arrive.",
        "step() is skipped, zero_grad comes before it, or the learning rate is 0.",
        (OPTIMIZER,),
        (OPTIMIZER,),
    ),
    _INITIAL,
    _PAIRS,
    Question(
        "rate",
        "With the learning rate times 10, once: is it as flat as before?",
        'for group in optimizer.param_groups: group["lr"] *= 10',
        "It is not too low a rate.",
        "It was too low.",
        (RATE,),
        (RATE,),
    ),
)

FIT = (
    Question(
        "mode",
        "Is the model in eval mode in validation, and back in train mode after?",
        "print(model.training)",
        "Modes are right.",
        "Dropout or batch norm distort one of the two.",
        (EVALUATION,),
        (EVALUATION,),
    ),
    Question(
        "split",
        "Are training and validation samples alike, and none in both?",
        "print(len(set(map(str, train_ids)) & set(map(str, val_ids))))",
        "The split is sound.",
        "Split again: by source, by time, without duplicates.",
        (DATA,),
        (DATA,),
    ),
    _PAIRS,
    Question(
        "best",
        "Is the checkpoint of the lowest validation loss kept?",
        "",
        "Use that one.",
        "Keep it from now on: it is the best this run has.",
        (),
        (),
    ),
)

PROCEDURES: dict[str, tuple[Question, ...]] = {"nan": NAN, "divergence": DIVERGENCE, "plateau": PLATEAU, "fit": FIT}

PROCEDURE_OF = {
    "nan": "nan",
    "divergence": "divergence",
    "spike": "divergence",
    "oscillation": "divergence",
    "gradient": "divergence",
    "plateau": "plateau",
    "overfit": "fit",
    "data": "fit",
    "note": "plateau",
}
"""Family of a finding -> which procedure isolates it."""
