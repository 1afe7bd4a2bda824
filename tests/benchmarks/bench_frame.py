"""The cost of one frame, in this process: `python -m tests.benchmarks.bench_frame [--profile] [--size 120 40]`.

Appends one record at a time to a run of 2000 and waits for the screen after each; CPU time, so that a busy machine
changes little. With --profile, where it goes.
"""

from __future__ import annotations

import argparse
import asyncio
import cProfile
import gc
import pstats
import random
import time

from tuimon.app.messages import Arrived
from tuimon.app.monitor_app import MonitorApp, Options
from tuimon.monitor import Snapshot
from tuimon.panels.wire import trim_updates
from tuimon.record import Batch

FRAMES = 400


def batch(start: int, stop: int, rng: random.Random) -> Batch:
    steps = list(range(start, stop))
    loss = [0.3 + 2 / (1 + step / 300) ** 0.5 + rng.gauss(0, 0.03) for step in steps]
    columns: dict[str, list[float | None]] = {
        "loss": [*loss],
        "grad_norm": [1 + rng.gauss(0, 0.1) for _ in steps],
        "lr": [3e-4 for _ in steps],
    }
    if any(step % 50 == 0 for step in steps):
        columns["val_loss"] = [
            value + 0.05 if step % 50 == 0 else None for step, value in zip(steps, loss, strict=True)
        ]
    return Batch(steps, [1.76e9 + step / 20 for step in steps], columns)


async def frames(size: tuple[int, int], profile: cProfile.Profile | None) -> tuple[float, float]:
    """CPU milliseconds per frame, and of them those in `Monitor.feed`."""
    rng = random.Random(3)
    app = MonitorApp(Options(fps=1000), clock=lambda: 1.76e9 + 100)
    fed = 0.0
    async with app.run_test(size=size) as pilot:
        app.post_message(Arrived(batch(0, 2000, rng)))
        await pilot.pause()
        feed = app.monitor.feed

        def timed(brought: Batch) -> Snapshot:
            nonlocal fed
            begun = time.process_time()
            snapshot = feed(brought)
            fed += time.process_time() - begun
            return snapshot

        app.monitor.feed = timed  # type: ignore[method-assign]
        gc.collect()
        if profile is not None:
            profile.enable()
        begun = time.process_time()
        for step in range(2000, 2000 + FRAMES):
            app.post_message(Arrived(batch(step, step + 1, rng)))
            while app._newest.records <= step or app._frame is not None:  # noqa: ASYNC110 - the app must turn
                await asyncio.sleep(0)
            await asyncio.sleep(0)
            await asyncio.sleep(0)
        spent = time.process_time() - begun
        if profile is not None:
            profile.disable()
    return spent / FRAMES * 1e3, fed / FRAMES * 1e3


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--profile", action="store_true")
    parser.add_argument("--size", type=int, nargs=2, default=[120, 40])
    args = parser.parse_args()
    trim_updates()
    profile = cProfile.Profile() if args.profile else None
    total, fed = asyncio.run(frames((args.size[0], args.size[1]), profile))
    print(f"frame {args.size[0]}x{args.size[1]}: {total:.2f} ms of CPU, {fed:.2f} of it in the monitor")
    if profile is not None:
        pstats.Stats(profile).sort_stats("tottime").print_stats(45)


if __name__ == "__main__":
    main()
