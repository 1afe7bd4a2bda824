"""The failing runs: one or more plantings for each row of the catalogue."""

from __future__ import annotations

from tests.quality import faults as f
from tests.quality.planting import Planting

# Two shares of ten classes: entropy 1.81 instead of ln 10 = 2.30.
UNBALANCED = (0.4, 0.2, 0.1, 0.1, 0.05, 0.05, 0.04, 0.03, 0.02, 0.01)
SHORT = {"steps": 400, "evaluate_every": 25}
SLOW = {"steps": 1500}
LAYERS = {"layers": True}

# A table is read by its rows.
# fmt: off
DIVERGENCE = (
    Planting("lr-high", "lr-too-high",
        "mlp sgd, regression sgd, cnn sgd, transformer momentum", lambda: f.RateTimes(6, 150), SHORT),
    Planting("lr-high-adam", "lr-too-high",
        "autoencoder adam, contrastive adam, transformer adamw", lambda: f.RateTimes(30, 1000), SHORT),
    Planting("lr-high-clipped", "lr-too-high",
        "regression sgd, autoencoder momentum, cnn momentum, transformer momentum",
        lambda: f.RateTimes(30, 300), {**SHORT, "clip": 1.0}),
    Planting("lr-jump-clipped", "lr-too-high",
        "mlp sgd, regression momentum, transformer momentum, contrastive momentum",
        lambda: f.RateJump(30, 300), {"clip": 1.0}),
    Planting("lr-jump", "lr-too-high",
        "mlp momentum, regression sgd, cnn momentum, transformer sgd", lambda: f.RateJump(20, 400)),
    Planting("lr-jump-adam", "lr-too-high",
        "autoencoder adam, mlp adamw, transformer adam", lambda: f.RateJump(30, 300)),
    Planting("new-data", "level-jump",
        "mlp adam, regression momentum, cnn adam, transformer adamw", f.NewData),
    Planting("weights-grow", "slow-divergence", "mlp sgd, transformer adam", f.WeightsGrow, SLOW),
    Planting("weights-drift", "slow-divergence", "autoencoder adam, regression sgd, cnn adam", f.WeightsDrift, SLOW),
    Planting("lr-creep", "slow-divergence", "regression adam, transformer momentum", lambda: f.RateCreep(130), SLOW),
    Planting("bad-batch", "loss-spike",
        "mlp momentum, autoencoder adam, cnn adam, contrastive momentum", f.BadBatch),
    Planting("bad-resume", "unrecovered-spike",
        "mlp adam, regression momentum, cnn momentum, transformer adam", f.WeightsStruck),
    Planting("bad-batches", "spikes-more-frequent", "mlp adam, cnn momentum", f.BadBatches, SLOW),
    Planting("hidden-term", "exploding-gradient",
        "mlp momentum, autoencoder sgd, transformer momentum, contrastive momentum",
        f.HiddenTerm, {"clip": 0.5}, times=0.5),
    Planting("edge", "oscillation",
        "regression sgd, autoencoder sgd, contrastive sgd, cnn sgd, transformer sgd",
        lambda: f.RateTimes(4, 12), {"train_set": 24, "batch": 24}),
    Planting("edge-wide", "oscillation",
        "regression sgd, denoiser sgd, denoiser-tanh sgd, contrastive sgd",
        lambda: f.RateTimes(4.5, 9), {"train_set": 64, "batch": 64, "steps": 600}),
    Planting("edge-clipped", "oscillation",
        "regression sgd, autoencoder sgd, denoiser-tanh sgd, contrastive sgd",
        lambda: f.RateTimes(20, 80), {"train_set": 48, "batch": 48, "steps": 600, "clip": 0.1}),
    Planting("no-zero-grad", "gradients-accumulate",
        "mlp sgd, regression sgd, contrastive sgd, cnn sgd", f.Accumulates, SHORT, times=2e-3),
    Planting("wrong-sign", "below-floor", "mlp adam, transformer adam", f.WrongSign, SHORT),
    Planting("probabilities", "below-floor", "mlp sgd, cnn adam", f.ProbabilitiesAsLogs, SHORT),
)

NAN = (
    Planting("nan-batch", "nan-forward",
        "mlp adam, autoencoder sgd, cnn adam, contrastive momentum, policy adam", f.PoisonedBatch, SHORT),
    Planting("zero-over-zero", "nan-forward", "regression adam, gan adam, transformer adam", f.ZeroOverZero, SHORT),
    Planting("sqrt-at-zero", "nan-backward",
        "mlp adam, regression sgd, transformer adamw, contrastive adam", f.SqrtAtZero, SHORT),
    Planting("masked-log", "nan-backward", "mlp momentum, cnn adam", f.MaskedLog, SHORT),
    Planting("norm-at-zero", "nan-backward", "autoencoder adam, transformer momentum", f.NormAtZero, SHORT),
    Planting("overflow", "nan-after-growth",
        "regression sgd, autoencoder sgd, transformer sgd, cnn sgd",
        lambda: f.RateJump(1000, 1e5), SHORT),
    Planting("empty-batch", "nan-empty-batch", "mlp adam, transformer adam", f.EmptyBatch, SHORT),
    Planting("scaler-fails", "fp16-range",
        "mlp adam, autoencoder adam, transformer adam", f.LossScaler, {"declares": {"precision": "fp16"}}),
    Planting("filter-zero", "nan-masked", "mlp adam, contrastive adam", f.Filtered, SHORT),
    Planting("filter-repeats", "nan-masked", "autoencoder adam, cnn adam", f.FilteredRepeating, SHORT),
    Planting("nan-inputs", "nan-first-step", "mlp adam, cnn adam", f.PoisonedFromStart, {"steps": 120}),
    Planting("broken-init", "nan-first-step", "regression sgd, transformer adam", f.BrokenInit, {"steps": 120}),
    Planting("empty-validation", "nan-val-only",
        "mlp adam, regression adam, cnn adam, transformer adam", f.EmptyValidation, {"evaluate_every": 25}),
    Planting("log-of-zero", "inf-first", "mlp adam, autoencoder momentum, transformer adam", f.LogOfZero, SHORT),
)

PLATEAU = (
    Planting("detached", "zero-gradient",
        "mlp adam, autoencoder adam, cnn adam, transformer adam", f.Detached, SHORT),
    Planting("detached-later", "zero-gradient", "regression adam, contrastive adam", f.DetachedLater, SHORT),
    Planting("not-in-optimizer", "frozen-weights",
        "mlp adam, regression sgd, cnn adam, transformer adam", f.NotInOptimizer),
    Planting("lr-tiny", "lr-too-low", "mlp sgd, regression sgd, cnn sgd, transformer momentum", f.Always, times=1e-3),
    Planting("shuffled", "uniform-prediction", "mlp adam, mlp sgd, cnn adam, transformer adam", f.ShuffledLabels),
    Planting("shuffled-unbalanced", "prior-prediction",
        "mlp adam, cnn adam",
        f.ShuffledLabels, {"declares": {"class_counts": list(UNBALANCED)}}, world={"counts": UNBALANCED}),
    Planting("softmax-twice", "double-softmax",
        "mlp adam, cnn adam", f.DoubleSoftmax, {"steps": 2000}, world={"apart": 1.6}),
    Planting("softmax-twice-2", "double-softmax",
        "mlp adam, cnn adam",
        f.DoubleSoftmax, {"steps": 1500}, network={"classes": 2}, world={"apart": 1.2, "classes": 2}),
    Planting("memorises", "memorising-noise",
        "mlp adam, cnn adam", f.Always, {"train_set": 128, "random_labels": True, "steps": 1500}),
    Planting("lr-gone", "flat-midway", "mlp sgd, cnn sgd, transformer sgd", f.RateGone, {"steps": 2000}, times=0.6),
    Planting("lr-gone-early", "flat-midway",
        "autoencoder momentum, regression sgd, contrastive sgd", f.RateGone, {"steps": 2000}, times=0.1),
    Planting("noise-floor", "flat-midway",
        "mlp momentum, cnn momentum", f.Always, {"steps": 2000, "batch": 6}, times=1.5),
    Planting("sigmoid-stack", "vanishing-gradient", "deep-sigmoid sgd, deep-sigmoid-report sgd", f.Always, LAYERS),
    Planting("dead-start", "dead-relu", "mlp sgd, cnn sgd", f.Always, LAYERS, network={"shift": -2.5}),
    Planting("dying", "dead-relu", "mlp adam, cnn adam", lambda: f.DyingUnits(0.06), LAYERS),
    Planting("saturated", "saturated",
        "regression sgd, cnn sgd", f.Always, LAYERS, network={"gain": 14.0, "kind": "tanh"}),
)

FIT = (
    Planting("overfits", "overfitting",
        "mlp adam, regression adam, cnn adam, transformer adam", f.Always, {"train_set": 96, "steps": 1500}),
    Planting("short", "undertrained",
        "mlp sgd, autoencoder sgd, transformer sgd, contrastive sgd", f.Always, {"steps": 600}, times=0.1),
    Planting("hot-init", "initial-loss-off", "mlp adam, cnn adam", f.Always, network={"last_gain": 25.0}),
)
