"""The shapes that failing runs make, one file per family."""

from __future__ import annotations

from tuimon.signatures.divergence import Excursions
from tuimon.signatures.fit import Overfitting
from tuimon.signatures.gradient import ExplodingGradient, GradientsAccumulate, ZeroGradient
from tuimon.signatures.nan import NonFinite, NonFiniteValidation
from tuimon.signatures.notes import Resumed
from tuimon.signatures.plateau import DoubleSoftmax, TellingLevels
from tuimon.signatures.still import FlatMidway, FrozenWeights, LearningRateTooLow
from tuimon.signatures.stretch import Detector

DETECTORS: tuple[type[Detector], ...] = (
    NonFinite,
    NonFiniteValidation,
    Excursions,
    ExplodingGradient,
    GradientsAccumulate,
    ZeroGradient,
    FrozenWeights,
    LearningRateTooLow,
    TellingLevels,
    DoubleSoftmax,
    FlatMidway,
    Overfitting,
    Resumed,
)
"""Every detector, in the order in which they see a stretch."""


def detectors() -> list[Detector]:
    """A fresh detector of every kind, for one run."""
    return [kind() for kind in DETECTORS]
