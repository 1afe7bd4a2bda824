"""Trains a small network on real digits and logs it; --fault makes it fail by its own dynamics.

    python demo/digits.py --fault nan-batch --out run.jsonl --pace 0.05 &
    tuimon watch run.jsonl

scikit-learn ships the digits: 1,797 pictures of 8x8 pixels, ten classes. Each fault changes one thing that people get
wrong, and what follows is what the network does:

    none             trains well
    lr-too-high      at step 300 the learning rate goes from 0.1 to 8: the loss climbs
    nan-batch        the batch of step 300 holds one pixel that is NaN: from there every weight is
    log-zero         the loss is y log(p) + (1 - y) log(1 - p): once the network is sure, that is 0 * log(0)
    sqrt-zero        a penalty takes sqrt(distance) of two equal things: the gradient is NaN, one step before the loss
    val-nan          the last validation picture is broken: only val_loss is NaN
    shuffled-labels  labels lost their pictures before training: learned by heart at best
    constant-inputs  a normalisation multiplies the pictures by 0: nothing to learn but the class counts
    frozen           the optimizer holds no parameter of the network
    detached         the loss is computed from detached outputs: no gradient at all
    lr-too-low       1e-6 instead of 0.1
    double-softmax   softmax before a loss that has its own
    accumulate       zero_grad is never called
    overfit          200 pictures, a quarter of them mislabelled, a large network: in the end it knows them by heart
    crash            stops without a word at step 300, as a killed job does
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field

try:
    import torch
    from sklearn.datasets import load_digits
    from torch import Tensor, nn
    from torch.nn.functional import cross_entropy, one_hot

    import tuimon
except ModuleNotFoundError as missing:
    raise SystemExit(
        f"This trains a real network and needs {missing.name}, which is not installed. In the repository:\n"
        "    pip install '.[torch]' scikit-learn"
    ) from None

FAULT_STEP = 300
EVERY = 25
Loss = Callable[[Tensor, Tensor], Tensor]


@dataclass
class Setting:
    """What a fault changes."""

    lr: float = 0.1
    momentum: float = 0.0
    batch: int = 64
    width: int = 64
    pictures: int = 1400
    weight_decay: float = 1e-4
    loss: Loss = cross_entropy
    meta: dict[str, object] = field(default_factory=dict)


def textbook(logits: Tensor, labels: Tensor) -> Tensor:
    """Binary cross-entropy as a textbook has it; 0 * log(0) is NaN once float32 rounds a probability to 1."""
    right, probability = one_hot(labels, 10), logits.sigmoid()
    return -(right * probability.log() + (1 - right) * (1 - probability).log()).mean()


def twice_softmax(logits: Tensor, labels: Tensor) -> Tensor:
    return cross_entropy(logits.softmax(1), labels)


SETTINGS = {
    "none": Setting(),
    "lr-too-high": Setting(),
    "nan-batch": Setting(),
    "log-zero": Setting(lr=1.0, momentum=0.9, weight_decay=0.0, loss=textbook),
    "sqrt-zero": Setting(),
    "val-nan": Setting(),
    "shuffled-labels": Setting(lr=0.3, width=512, pictures=600),
    "constant-inputs": Setting(),
    "frozen": Setting(),
    "detached": Setting(),
    "lr-too-low": Setting(lr=1e-6),
    "double-softmax": Setting(lr=1.0, loss=twice_softmax),
    "accumulate": Setting(lr=0.001),
    "overfit": Setting(lr=0.1, momentum=0.9, width=512, pictures=200, batch=50, weight_decay=0.0),
    "crash": Setting(),
}


class Training:
    """One training.

    Args:
        fault: a key of SETTINGS.
        steps: how many.
        seed: of weights and batches.
    """

    def __init__(self, fault: str, steps: int, seed: int) -> None:
        torch.manual_seed(seed)
        torch.set_num_threads(1)
        self.fault, self.steps, self.setting = fault, steps, SETTINGS[fault]
        digits = load_digits()
        order = torch.randperm(len(digits.target))
        pictures = torch.tensor(digits.data, dtype=torch.float32)[order] / 16.0
        labels = torch.tensor(digits.target)[order]
        if fault == "shuffled-labels":
            labels = labels[torch.randperm(len(labels))]
        if fault == "overfit":
            labels[:50] = (labels[:50] + 1) % 10
        if fault == "constant-inputs":
            pictures = pictures * 0.0
        count = self.setting.pictures
        self.train_set, self.val_set = (pictures[:count], labels[:count]), (pictures[1400:].clone(), labels[1400:])
        if fault == "val-nan":
            self.val_set[0][-1, 20] = math.nan
        width = self.setting.width
        self.net = nn.Sequential(
            nn.Linear(64, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 10)
        )
        held = [torch.zeros(1, requires_grad=True)] if fault == "frozen" else list(self.net.parameters())
        self.optimizer = torch.optim.SGD(
            held, self.setting.lr, self.setting.momentum, weight_decay=self.setting.weight_decay
        )

    def meta(self) -> dict[str, object]:
        """What the diagnosis can use."""
        classes = {"num_classes": 10, "class_counts": torch.bincount(self.train_set[1], minlength=10).tolist()}
        return {
            "objective": "cross_entropy",
            "optimizer": "sgd",
            "momentum": self.setting.momentum,
            "batch_size": self.setting.batch,
            "precision": "fp32",
            "total_steps": self.steps,
            **({} if self.fault == "log-zero" else classes),  # ten yes-or-no questions start at ln 2, not at ln 10
        }

    def lr(self, step: int) -> float:
        """Warm-up over 20 steps, then a cosine to a tenth."""
        warm = min(1.0, (step + 1) / 20)
        lr = self.setting.lr * warm * (0.55 + 0.45 * math.cos(math.pi * step / max(1, self.steps)))
        return 80.0 * lr if self.fault == "lr-too-high" and step >= FAULT_STEP else lr

    def batch(self, step: int) -> tuple[Tensor, Tensor]:
        chosen = torch.randint(len(self.train_set[1]), (self.setting.batch,))
        pictures, labels = self.train_set[0][chosen], self.train_set[1][chosen]
        if self.fault == "nan-batch" and step == FAULT_STEP:
            pictures[0, 20] = math.nan
        return pictures, labels

    def loss(self, step: int) -> Tensor:
        pictures, labels = self.batch(step)
        logits = self.net(pictures)
        if self.fault == "detached":
            logits = logits.detach() + 0.0 * sum(weight.sum() for weight in self.net.parameters())
        loss = self.setting.loss(logits, labels)
        if self.fault == "sqrt-zero" and step >= FAULT_STEP:
            loss = loss + 1e-3 * (logits[:1] - logits[:1].clone()).square().sum().sqrt()
        return loss

    def step(self, step: int) -> dict[str, object]:
        """One optimizer step; returns what is logged of it."""
        lr = self.lr(step)
        for group in self.optimizer.param_groups:
            group["lr"] = lr
        loss = self.loss(step)
        if self.fault != "accumulate":
            self.net.zero_grad()
        loss.backward()
        norm = nn.utils.clip_grad_norm_(self.net.parameters(), math.inf)
        self.optimizer.step()
        fields: dict[str, object] = {"loss": loss, "grad_norm": norm, "lr": lr}
        if step % EVERY == 0:
            fields["val_loss"] = self.evaluate()
        return fields

    @torch.no_grad()
    def evaluate(self) -> Tensor:
        loss = cross_entropy if self.fault == "log-zero" else self.setting.loss
        return loss(self.net(self.val_set[0]), self.val_set[1])


def train(fault: str, out: str, *, steps: int = 1000, seed: int = 0, pace: float = 0.0) -> None:
    """Trains and logs; `pace` is the least time of a step in seconds."""
    training = Training(fault, steps, seed)
    with tuimon.RunWriter(out, run=f"digits {fault}", meta=training.meta()) as run:
        due = time.monotonic()
        for step in range(steps):
            if fault == "crash" and step == FAULT_STEP:
                return
            run.log(step, **training.step(step))
            due += pace
            time.sleep(max(0.0, due - time.monotonic()))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--fault", choices=tuple(SETTINGS), default="none")
    parser.add_argument("--out", default="run.jsonl", help="the log (default: run.jsonl)")
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--pace", type=float, default=0.0, help="seconds per step (default: 0, as fast as possible)")
    args = parser.parse_args()
    train(args.fault, args.out, steps=args.steps, seed=args.seed, pace=args.pace)


if __name__ == "__main__":
    main()
