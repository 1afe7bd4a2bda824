"""The verdict in one word, and the finding that it comes from."""

from __future__ import annotations

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
