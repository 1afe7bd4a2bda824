"""The same runs judged by two programs that diagnose logs after the run, where they are installed.

Each is called as its users call it, on a folder of JSON Lines, and its JSON answer is read. `TUIMON_PEERS` names the
folder of their commands (a virtual environment's bin); without it they are looked for on the PATH.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
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
# The severities that count as an alarm: what makes it exit with a failure, and the next lower.
ALARMS = {"critical", "error", "warning"}


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


def alarms(program: str, folder: Path) -> set[str] | None:
    """Names of the files of which `program` said a warning or worse; None when it is not there or gave no answer."""
    command = shutil.which(program, path=os.environ.get("TUIMON_PEERS"))
    if command is None:
        return None
    arguments = [part.replace("{folder}", str(folder)) for part in PEERS[program]]
    try:
        answer = subprocess.run([command, *arguments], capture_output=True, text=True, check=False, timeout=1800)
        found = json.loads(answer.stdout)
    except (ValueError, OSError, subprocess.TimeoutExpired):
        return None
    if program == "losslint":
        return {Path(x["source"]).name for x in found["findings"] if x["severity"] in ALARMS}
    return {f"{x['run']}.jsonl" for x in found if any(y["severity"] in ALARMS for y in x["findings"])}
