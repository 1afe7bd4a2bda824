"""Causes in the optimizer: steps too long, too short, too many."""

from __future__ import annotations

import torch
from torch import nn

from demo.causes.run import BATCH, CLASSES, WIDTH, Cause, Clusters, Run, constant, fit, mlp

JUMP = 120
"""Step at which a learning rate goes past its limit."""


class Line:
    """Least squares in WIDTH dimensions, all data at once: a parabola whose sharpness is known exactly."""

    def __init__(self, run: Run) -> None:
        x = torch.randn(256, WIDTH, generator=run.generator)
        weights = torch.randn(WIDTH, 1, generator=run.generator)
        self.generator = run.generator
        self.train = (x, x @ weights + 0.5 * torch.randn(256, 1, generator=run.generator))
        fresh = torch.randn(128, WIDTH, generator=run.generator)
        self.val = (fresh, fresh @ weights + 0.5 * torch.randn(128, 1, generator=run.generator))
        # The loss is the mean of squared errors, so its Hessian is 2 X'X / n.
        self.sharpness = float(torch.linalg.eigvalsh(2 * x.T @ x / len(x))[-1])

    def batch(self) -> tuple[torch.Tensor, torch.Tensor]:
        """Three quarters of the data: the sharpness varies a little from step to step."""
        chosen = torch.randperm(256, generator=self.generator)[:192]
        return self.train[0][chosen], self.train[1][chosen]


def _parabola(run: Run, momentum: float, past: float) -> None:
    line = Line(run)
    limit = 2 * (1 + momentum) / line.sharpness
    model = nn.Linear(WIDTH, 1, bias=False)
    fit(
        run,
        model,
        torch.optim.SGD(model.parameters(), lr=1.0, momentum=momentum),
        lr=lambda step: limit * (past if step >= JUMP else 0.3),
        task=line,  # type: ignore[arg-type]
        loss_fn=nn.functional.mse_loss,
        objective="mse",
        num_classes=None,
        momentum=momentum,
        lr_limit=limit,
    )


def quadratic(run: Run) -> None:
    """SGD on a parabola, lr at 1.05 times 2/sharpness."""
    _parabola(run, momentum=0.0, past=1.05)


def heavy_ball(run: Run) -> None:
    """The same with momentum, whose limit is (1 + momentum) times as far."""
    _parabola(run, momentum=0.9, past=1.05)


def adam(run: Run) -> None:
    """Adam whose learning rate is off by a factor of a thousand after a config change."""
    model = mlp()
    optimizer = torch.optim.Adam(model.parameters())
    fit(run, model, optimizer, lr=lambda step: 3.0 if step >= JUMP else 2e-3)


class TinyTransformer(nn.Module):
    """Four layers over eight tokens of four numbers, normalised after each sum, as the first transformers were."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Linear(4, 32)
        layer = nn.TransformerEncoderLayer(32, 4, 64, dropout=0.0, batch_first=True, norm_first=False)
        self.encoder = nn.TransformerEncoder(layer, 4)
        self.head = nn.Linear(32, CLASSES)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Logits from the mean over tokens."""
        return self.head(self.encoder(self.embed(x.view(-1, 8, 4))).mean(1))


def no_warmup(run: Run) -> None:
    """A transformer thrown into its full learning rate from the first step: it falls back to guessing."""
    model = TinyTransformer()
    fit(run, model, torch.optim.Adam(model.parameters()), lr=constant(3e-2))


def overflow(run: Run) -> None:
    """No clipping, a learning rate far past the limit: growth until the numbers end."""
    model = nn.Sequential(nn.Linear(WIDTH, 64), nn.Linear(64, 64), nn.Linear(64, 1))
    line = Line(run)
    fit(
        run,
        model,
        torch.optim.SGD(model.parameters(), lr=1.0),
        lr=lambda step: 0.6 if step >= JUMP else 0.01,
        task=line,  # type: ignore[arg-type]
        loss_fn=nn.functional.mse_loss,
        objective="mse",
        num_classes=None,
    )


def too_low(run: Run) -> None:
    """A unit mistake: 3e-7 where 3e-3 was meant."""
    model = mlp()
    fit(run, model, torch.optim.SGD(model.parameters(), lr=1.0), lr=constant(3e-7))


def overfit(run: Run) -> None:
    """Far too few samples for the network."""
    model = mlp()
    task = Clusters(run, samples=96, noise=2.0)
    fit(run, model, torch.optim.Adam(model.parameters()), lr=constant(2e-3), task=task)


def undertrained(run: Run) -> None:
    """Stopped while both losses still fall: no failure."""
    model = mlp()
    fit(run, model, torch.optim.SGD(model.parameters(), lr=1.0), lr=constant(0.01))


def healthy(run: Run) -> None:
    """Warmup, cosine decay, clipping: nothing lights."""
    model = mlp()
    half = torch.pi / run.steps

    def schedule(step: int) -> float:
        return 2e-3 * min(1.0, (step + 1) / 40) * 0.5 * (1 + float(torch.cos(torch.tensor(half * step))))

    fit(run, model, torch.optim.Adam(model.parameters()), lr=schedule, clip=1.0)


CAUSES = (
    Cause(
        "quadratic",
        "lr-too-high",
        f"SGD on a parabola, lr past 2/curvature from step {JUMP}",
        quadratic,
        JUMP,
        steps=260,
    ),
    Cause(
        "heavy-ball",
        "lr-too-high",
        f"momentum .9, lr past 2 (1 + .9)/curvature from {JUMP}",
        heavy_ball,
        JUMP,
        steps=220,
    ),
    Cause("adam", "lr-too-high", f"Adam at 3.0 instead of 0.002 from step {JUMP}", adam, JUMP),
    Cause("no-warmup", "uniform-prediction", "a post-norm transformer without warmup", no_warmup, steps=500),
    Cause("overflow", "nan-after-growth", f"lr far past the limit from step {JUMP}, no clipping", overflow, JUMP + 1),
    Cause("lr-too-low", "lr-too-low", "3e-7 where 3e-3 was meant", too_low, 0, steps=600),
    Cause("overfit", "overfitting", f"96 samples, batches of {BATCH}", overfit, steps=600),
    Cause("undertrained", "", "stopped while both losses still fall", undertrained),
    Cause("healthy", "", "warmup, cosine decay, clipping", healthy, steps=600),
)
