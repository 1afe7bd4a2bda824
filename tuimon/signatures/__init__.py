"""The shapes that failing runs make, one file per family."""

from __future__ import annotations

from tuimon.signatures.bounds import BelowFloor, InitialLossOff
from tuimon.signatures.divergence import Excursions
from tuimon.signatures.early import DivergesFromStart
from tuimon.signatures.fit import Undertrained, ValidationBelowTraining
from tuimon.signatures.flat import FlatMidway
from tuimon.signatures.given_back import GivenBack
from tuimon.signatures.gradient import ExplodingGradient, GradientsAccumulate, ZeroGradient
from tuimon.signatures.layers import DeadUnits, SaturatedUnits, VanishingGradient
from tuimon.signatures.leap import Leap
from tuimon.signatures.memorising import MemorisingNoise, ValidationStands
from tuimon.signatures.nan import NonFinite
from tuimon.signatures.nan_validation import NonFiniteValidation
from tuimon.signatures.notes import Missing, Resumed
from tuimon.signatures.overfitting import Overfitting
from tuimon.signatures.plateau import DoubleSoftmax, TellingLevels
from tuimon.signatures.precision import HalfPrecisionRange
from tuimon.signatures.resume_level import ResumeLevel
from tuimon.signatures.runaway import Runaway
from tuimon.signatures.slow import Oscillation, SlowDivergence
from tuimon.signatures.still import FrozenWeights, LearningRateTooLow
from tuimon.signatures.stretch import Detector
from tuimon.signatures.validation import ValidationSpike
from tuimon.signatures.young import YoungSpike

DETECTORS: tuple[type[Detector], ...] = (
    NonFinite,
    NonFiniteValidation,
    HalfPrecisionRange,
    Excursions,
    DivergesFromStart,
    YoungSpike,
    Leap,
    GivenBack,
    Runaway,
    ResumeLevel,
    SlowDivergence,
    Oscillation,
    BelowFloor,
    ExplodingGradient,
    GradientsAccumulate,
    ZeroGradient,
    FrozenWeights,
    LearningRateTooLow,
    TellingLevels,
    DoubleSoftmax,
    FlatMidway,
    VanishingGradient,
    DeadUnits,
    SaturatedUnits,
    MemorisingNoise,
    ValidationStands,
    ValidationSpike,
    Overfitting,
    Undertrained,
    ValidationBelowTraining,
    InitialLossOff,
    Resumed,
    Missing,
)
"""Every detector, in the order in which they see a stretch."""


def detectors() -> list[Detector]:
    """A fresh detector of every kind, for one run."""
    return [kind() for kind in DETECTORS]
