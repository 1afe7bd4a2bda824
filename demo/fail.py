"""Trains a small network that fails on purpose: `python -m demo.fail NAME --out run.jsonl`, `--list` for the names."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

try:
    import torch

    from demo.causes import CAUSES, Run
except ModuleNotFoundError as missing:
    if missing.name == "demo":
        raise SystemExit("Run it in the repository as: python -m demo.fail") from None
    raise SystemExit(
        f"This trains a real network and needs {missing.name}, which is not installed. In the repository:\n"
        "    pip install '.[torch]'"
    ) from None


def main(argv: list[str] | None = None) -> int:
    """Runs one training; 2 for a name that does not exist."""
    parser = argparse.ArgumentParser(prog="demo.fail", description=__doc__)
    parser.add_argument("name", nargs="?", help="the cause")
    parser.add_argument("--out", type=Path, default=Path("run.jsonl"), help="the log (default: run.jsonl)")
    parser.add_argument("--steps", type=int, help="steps to train (default: as many as the cause needs)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--pace", type=float, default=0.0, help="seconds to wait after each step")
    parser.add_argument("--list", action="store_true", help="print the causes and the rows they light")
    args = parser.parse_args(argv)
    if args.list or args.name is None:
        for cause in CAUSES.values():
            print(f"{cause.name:18} {cause.row or '(none)':22} {cause.story}")
        return 0
    cause = CAUSES.get(args.name)
    if cause is None:
        print(f"no cause is called {args.name!r}; --list shows them", file=sys.stderr)
        return 2
    torch.set_num_threads(1)
    cause.train(Run(args.out, args.steps or cause.steps, args.seed, args.pace))
    return 0


if __name__ == "__main__":
    sys.exit(main())
