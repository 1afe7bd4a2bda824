"""The same runs judged by two programs that diagnose logs after the run, where they are installed.

Each is called as its users call it, on a folder of JSON Lines, and its JSON answer is read. `TUIMON_PEERS` names the
folder of their commands (a virtual environment's bin); without it they are looked for on the PATH.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

from tests.quality.corpus import Run
from tests.quality.variants import batch
from tuimon.record import plain

# Program -> its arguments.
PEERS: dict[str, tuple[str, ...]] = {
    "losslint": ("check", "{folder}", "--format", "json"),
    "runmedic": ("diagnose", "{folder}", "--json"),
}
# What they call a failure and what they call a warning.
FAILURES = {"critical", "error"}
WARNINGS = {"warning"}


def write_logs(runs: Iterable[Run], folder: Path) -> dict[str, Run]:
    """One JSON Lines file per run; returns file name -> run."""
    written = {}
    for number, run in enumerate(runs):
        columns = batch(run)
        name = f"run{number:05d}.jsonl"
        with (folder / name).open("w") as out:
            for row, step in enumerate(columns.steps):
                values = {key: plain(column[row]) for key, column in columns.columns.items() if column[row] is not None}
                out.write(json.dumps({"step": step, **values}) + "\n")
        written[name] = run
    return written


def severities(program: str, folder: Path) -> dict[str, set[str]] | None:
    """File name -> severities of what `program` said of it; None when it is not installed or gave no answer."""
    command = shutil.which(program, path=os.environ.get("TUIMON_PEERS"))
    if command is None:
        return None
    arguments = [part.replace("{folder}", str(folder)) for part in PEERS[program]]
    try:
        answer = subprocess.run([command, *arguments], capture_output=True, text=True, check=False, timeout=1800)
        found = json.loads(answer.stdout)
    except (ValueError, OSError, subprocess.TimeoutExpired):
        return None
    said: dict[str, set[str]] = defaultdict(set)
    if program == "losslint":
        for finding in found["findings"]:
            said[Path(finding["source"]).name].add(finding["severity"])
    else:
        for run in found:
            said[f"{run['run']}.jsonl"] |= {finding["severity"] for finding in run["findings"]}
    return said
