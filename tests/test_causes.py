"""The trainings of demo/ that fail on purpose: each lights its own row, and names the birthplace of its NaN."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from demo.causes import CAUSES, Run  # noqa: E402 -- after the skip
from tuimon.monitor import Monitor, Snapshot  # noqa: E402
from tuimon.sources import open_source  # noqa: E402

LATEST_ONSET = 20
"""Steps after a planted fault at which its consequence may first be seen; a NaN must be exact."""


def watched(path: Path) -> Snapshot:
    source, monitor = open_source(path), Monitor()
    while True:
        batch = source.read()
        snapshot = monitor.feed(batch)
        if not batch.more and not len(batch):
            return snapshot


SLOW = {"no-warmup"}
"""A transformer: it takes as long as ten of the others."""


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.long) if name in SLOW else name for name in CAUSES]
)
def test_a_training_that_fails_on_purpose_lights_its_row(name: str, tmp_path: Path) -> None:
    cause, path = CAUSES[name], tmp_path / "run.jsonl"
    torch.set_num_threads(1)
    cause.train(Run(path, cause.steps))
    snapshot = watched(path)
    failures = {finding.signature: finding for finding in snapshot.findings if finding.severity == "failure"}
    loud = {finding.signature: finding for finding in snapshot.findings if finding.severity != "note"}
    if not cause.row:
        assert loud == {}
        return
    assert cause.row in loud
    assert set(failures) <= {cause.row}
    if cause.onset is not None:
        late = loud[cause.row].onset_step - cause.onset
        assert late == 0 if loud[cause.row].family == "nan" else 0 <= late <= LATEST_ONSET
    if cause.origin is not None:
        note = next(line for line in map(json.loads, path.read_text().splitlines()) if line.get("note") == "nan_origin")
        assert (note["module"], note["op"], note["direction"]) == cause.origin
        assert loud[cause.row].module == cause.origin[0]


def test_the_table_in_the_readme_lists_every_cause() -> None:
    table = (Path(__file__).parents[1] / "demo" / "README.md").read_text()
    listed = [line.split("|")[1].strip(" `") for line in table.splitlines() if line.startswith("| `")]
    assert listed == list(CAUSES)
