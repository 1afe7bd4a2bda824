"""The labelled runs: trained when they are missing, else from a cache outside the repository.

A stack is cached under a hash of all that makes it: the generating code, its fault's source and its line of the
table. The oracle's labels are worked out anew on every load, so that its rules can be read and changed without
training again.
"""

from __future__ import annotations

import ast
import hashlib
import inspect
import json
import os
import sys
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, field
from functools import cache
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import torch

from tests.quality.architectures import FIRST_SEED, Part
from tests.quality.oracle import Truth, judge
from tests.quality.planting import Planting
from tests.quality.recipes import PLANTINGS, recipes
from tests.quality.training import Recipe, train

SEEDS = 20
# A range of seeds that was looked at while detectors were mended is not measured again: the next table takes the next.
FRESH: dict[Part, int] = {"tune": 0, "report": 3_000_000}
_MAKERS = ("networks.py", "worlds.py", "training.py", "architectures.py")


@dataclass(frozen=True)
class Run:
    """One training as it was logged, and the truth about it.

    Attributes:
        name: part/fault/architecture-optimizer/seed; `find(name)` regenerates it.
        columns: metric -> (steps, values) of the steps that have it.
        meta: the header's fields.
        steps: how many it was trained.
        truth: what the oracle says it did.
    """

    name: str
    part: Part
    fault: str
    arch: str
    columns: Mapping[str, tuple[np.ndarray, np.ndarray]]
    meta: Mapping[str, Any]
    steps: int
    truth: Truth
    hidden: Mapping[str, np.ndarray] = field(repr=False, default_factory=dict)


def default_folder() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "tuimon-quality"


_source = cache(inspect.getsource)


@cache
def _meaning(source: str) -> bytes:
    """The code without comments, layout and docstrings, which change no number."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)) and ast.get_docstring(node) is not None:
            node.body = node.body[1:]
    return ast.dump(tree).encode()


def fingerprint(planting: Planting, place: str, seeds: range) -> str:
    """Hash of everything that decides what this stack logs."""
    digest = hashlib.sha256()
    for name in _MAKERS:
        digest.update(_meaning((Path(__file__).parent / name).read_text()))
    fault = planting.fault()
    for kind in type(fault).__mro__[:-1]:
        digest.update(_meaning(_source(kind)))
    fields = (place, vars(fault), planting.recipe, planting.times, planting.network, planting.world, seeds)
    digest.update(repr(fields).encode())
    return digest.hexdigest()[:16]


def _train_into(path: Path, part: Part, fault: str, place: str, seeds: range) -> float:
    """Trains one stack and writes it; returns the seconds it took."""
    torch.set_num_threads(1)
    start = time.perf_counter()
    recipe = next(r for r in recipes(part) if r.name == fault and f"{r.arch} {r.optimizer}" == place)
    trained = train(recipe, seeds)
    arrays = {f"steps:{name}": steps for name, (steps, _) in trained.columns.items()}
    arrays |= {f"values:{name}": values for name, (_, values) in trained.columns.items()}
    arrays |= {f"hidden:{name}": values for name, values in trained.hidden.items()}
    arrays |= {"probe_steps": trained.probe_steps, "at": trained.at, "strength": trained.strength}
    partial = path.with_suffix(f".{os.getpid()}.tmp.npz")
    np.savez(partial, meta=json.dumps(trained.meta), **arrays)
    partial.replace(path)
    return time.perf_counter() - start


def stacks(part: Part, seeds: int, folder: Path) -> list[tuple[Planting, str, range, Path]]:
    """(planting, place, seeds, file) of every stack of a part."""
    listed = []
    for planting in PLANTINGS:
        for recipe in planting.recipes(part):
            place = f"{recipe.arch} {recipe.optimizer}"
            first = FIRST_SEED[part] + FRESH[part]
            numbers = range(first, first + seeds)
            name = f"{part}-{recipe.key.replace('/', '-')}-{fingerprint(planting, place, numbers)}.npz"
            listed.append((planting, place, numbers, folder / name))
    return listed


def generate(part: Part, seeds: int = SEEDS, folder: Path | None = None, jobs: int = 2, only: str = "") -> None:
    """Trains every stack of a part that the cache lacks; with `only`, those whose fault or row is named there."""
    folder = folder or default_folder()
    folder.mkdir(parents=True, exist_ok=True)
    named = set(only.split(",")) - {""}
    missing = [
        (planting, place, numbers, path)
        for planting, place, numbers, path in stacks(part, seeds, folder)
        if not path.exists() and (not named or named & {planting.name, planting.row})
    ]
    if not missing:
        return
    start = time.perf_counter()
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        waiting = {}
        for planting, place, numbers, path in missing:
            waiting[pool.submit(_train_into, path, part, planting.name, place, numbers)] = path
        for done, future in enumerate(as_completed(waiting), 1):
            took = future.result()
            name = waiting[future].stem.rsplit("-", 1)[0]
            print(f"trained {done}/{len(missing)} {name} in {took:.1f} s", file=sys.stderr, flush=True)
    print(f"{len(missing)} stacks in {time.perf_counter() - start:.0f} s", file=sys.stderr)


def read_stack(part: Part, recipe: Recipe, numbers: range, path: Path) -> Iterator[Run]:
    """The labelled runs of one stack's file."""
    with np.load(path) as stored:
        arrays = {name: stored[name] for name in stored.files}
    meta = json.loads(str(arrays.pop("meta")))
    names = [name[7:] for name in arrays if name.startswith("values:")]
    shared = {"probe_steps": arrays["probe_steps"], "classes": np.array(meta.get("num_classes", 0))}
    if "class_counts" in meta:
        shared["counts"] = np.array(meta["class_counts"])
    for column, seed in enumerate(numbers):
        columns = {name: (arrays[f"steps:{name}"], arrays[f"values:{name}"][:, column]) for name in names}
        hidden = {name[7:]: values[:, column] for name, values in arrays.items() if name.startswith("hidden:")}
        truth = judge(recipe, columns, hidden | shared, int(arrays["at"][column]))
        name = f"{part}/{recipe.key}/{seed}"
        yield Run(name, part, recipe.name, recipe.arch, columns, meta, recipe.steps, truth, hidden)


def cached(part: Part, seeds: int = SEEDS, folder: Path | None = None) -> list[tuple[Part, str, str, range, Path]]:
    """(part, fault, place, seeds, file) of the stacks that the cache holds."""
    listed = stacks(part, seeds, folder or default_folder())
    return [(part, planting.name, place, numbers, path) for planting, place, numbers, path in listed if path.exists()]


def open_stack(part: Part, fault: str, place: str, numbers: range, path: Path) -> Iterator[Run]:
    """The labelled runs of a line of `cached`."""
    recipe = next(r for r in recipes(part) if r.name == fault and f"{r.arch} {r.optimizer}" == place)
    return read_stack(part, recipe, numbers, path)


def load(part: Part, seeds: int = SEEDS, folder: Path | None = None) -> Iterator[Run]:
    """The runs of a part that the cache holds, labelled."""
    for stack in cached(part, seeds, folder):
        yield from open_stack(*stack)


def find(name: str, seeds: int = SEEDS, folder: Path | None = None) -> Run:
    """The run of that name, trained first if need be."""
    part, fault, *_ = name.split("/")
    generate(part, seeds, folder, only=fault)  # type: ignore[arg-type]
    return next(run for run in load(part, seeds, folder) if run.name == name)  # type: ignore[arg-type]
