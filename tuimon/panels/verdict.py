"""The verdict in one word, and the finding that it comes from."""

from __future__ import annotations

from tuimon.catalogue import BY_SIGNATURE
from tuimon.panels import words
from tuimon.panels.scene import Scene
from tuimon.signatures.finding import RANK, Finding

WORDS = {  # verdict -> (what the badge says, its ink)
    "healthy": ("HEALTHY", "healthy"),
    "nan": ("NaN", "failure"),
    "divergence": ("DIVERGING", "failure"),
    "plateau": ("PLATEAU", "failure"),
    "watch": ("WATCH", "warning"),
    "no_data": ("NO DATA", "note"),
}


def badge(scene: Scene) -> tuple[str, str]:
    """Word and ink of the verdict."""
    return WORDS[scene.snapshot.verdict]


def gravest(scene: Scene) -> Finding | None:
    """The active finding to talk about first, None without a failure or warning."""
    order = {signature: place for place, signature in enumerate(scene.snapshot.lit)}
    active = [f for f in scene.snapshot.findings if f.active and f.severity != "note" and f.signature in order]
    return min(active, key=lambda f: (-RANK[f.severity], order[f.signature], f.onset_step), default=None)


def summary(scene: Scene) -> str:
    """One line for a screen that has room for nothing else."""
    snapshot = scene.snapshot
    finding = gravest(scene)
    if finding is not None:
        return f"{finding.signature} since step {words.steps(finding.onset_step)}"
    if snapshot.verdict == "no_data":
        return scene.status.text
    return f"no failure signature in {words.steps(scene.last - scene.first + 1)} steps"


def first_check(scene: Scene) -> str:
    """What to look at first, empty when there is nothing to look at."""
    finding = gravest(scene)
    row = BY_SIGNATURE.get(finding.signature) if finding else None
    return row.checks[0].look if row and row.checks else ""
