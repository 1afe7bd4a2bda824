"""What the guard costs per step beside a loop with clip_grad_norm_: `python -m tests.benchmarks.bench_guard`."""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import torch
from torch import nn

from tuimon import RunWriter
from tuimon.torch import Guard

STEPS = 60
SIZES = {"small": (64, 2, 64), "middle": (256, 4, 128), "large": (1024, 6, 128)}  # width, hidden layers, batch


def network(width: int, depth: int) -> tuple[nn.Module, torch.optim.Optimizer]:
    torch.manual_seed(0)
    layers = [part for _ in range(depth) for part in (nn.Linear(width, width), nn.ReLU())]
    model = nn.Sequential(*layers, nn.Linear(width, 10))
    return model, torch.optim.Adam(model.parameters(), lr=1e-3)


def bare(model: nn.Module, optimizer: torch.optim.Optimizer) -> Callable[..., None]:
    def step(x: torch.Tensor, y: torch.Tensor) -> None:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()

    return step


def guarded(guard: Guard) -> Callable[..., None]:
    def step(x: torch.Tensor, y: torch.Tensor) -> None:
        guard.optimizer.zero_grad()
        loss = nn.functional.cross_entropy(guard.model(x), y)
        guard.check_loss(loss, (x, y))
        loss.backward()
        guard.step()

    return step


def main() -> None:
    """Prints microseconds per step and the ratio to the bare loop; the loops take turns, step by step."""
    torch.set_num_threads(1)
    print(f"{'model':8} {'parameters':>11} {'bare us':>9} {'step':>7} {'deferred':>9} {'step + layers every 10':>23}")
    for name, (width, depth, batch) in SIZES.items():
        x, y = torch.randn(batch, width), torch.randint(0, 10, (batch,))
        with tempfile.TemporaryDirectory() as folder:
            writer = RunWriter(Path(folder) / "run.jsonl")
            guards = [
                Guard(*network(width, depth), writer, check="step"),
                Guard(*network(width, depth), writer, check="deferred"),
                Guard(*network(width, depth), writer, check="step", layers_every=10),
            ]
            loops = [bare(*network(width, depth)), *map(guarded, guards)]
            took: list[list[float]] = [[] for _ in loops]
            for _ in range(STEPS):
                for loop, times in zip(loops, took, strict=True):
                    start = time.perf_counter()
                    loop(x, y)
                    times.append(time.perf_counter() - start)
            for guard in guards:
                guard.close()
            writer.close()
        # The mean for the loop with layer statistics, whose cost falls on every tenth step; medians else.
        middle = [statistics.median(times[10:]) for times in took[:3]] + [statistics.fmean(sorted(took[3])[:-3])]
        count = sum(p.numel() for p in guards[0].model.parameters())
        ratios = [value / middle[0] for value in middle[1:]]
        print(f"{name:8} {count:11,} {middle[0] * 1e6:9.0f} {ratios[0]:6.2f}x {ratios[1]:8.2f}x {ratios[2]:22.2f}x")


if __name__ == "__main__":
    main()
