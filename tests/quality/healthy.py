"""The healthy runs: ordinary ones, and those that look bad."""

from __future__ import annotations

from tests.quality import faults as f
from tests.quality.planting import Planting

LAYERS = {"layers": True}

# A table is read by its rows.
# fmt: off
ORDINARY = (
    Planting("plain", "healthy",
        "mlp sgd, mlp adam, autoencoder sgd, autoencoder adam, regression momentum, cnn sgd, cnn adam, "
        "transformer sgd, transformer adam, contrastive sgd, contrastive adam"),
    Planting("warmup-cosine", "healthy",
        "mlp momentum, regression adam, cnn adamw, transformer adamw",
        f.Fault, {"schedule": "warmup-cosine", "clip": 1.0, "decay": 1e-3}),
    Planting("lr-steps", "healthy",
        "autoencoder momentum, mlp adamw, cnn momentum, contrastive momentum", f.Fault, {"schedule": "steps"}),
    Planting("lr-thirds", "healthy",
        "mlp momentum, autoencoder sgd, cnn sgd, transformer momentum", f.Fault, {"schedule": "thirds", "steps": 1800}),
    Planting("inverse-root", "healthy", "mlp adam, transformer adam", f.Fault, {"schedule": "inverse-root"}),
    Planting("gan", "healthy", "gan adam, gan sgd", f.Fault, {"steps": 1500}),
    Planting("policy", "healthy", "policy adam, policy momentum", f.Fault, {"steps": 1500}),
)

LOOKS_BAD = (
    Planting("early-blow-up", "healthy",
        "mlp momentum, cnn momentum",
        f.Always, {"schedule": "linear"}, times=10, network={"last_gain": 4.0}),
    Planting("warmup-hump", "healthy",
        "regression momentum, transformer sgd", f.Always, {"schedule": "warmup-cosine"}, times=8),
    Planting("catapult", "healthy", "regression sgd, contrastive sgd", lambda: f.RateTimes(4, 10)),
    Planting("shelf", "healthy",
        "parity-mlp adam, parity-mlp momentum, parity-deep adam, parity-deep momentum", f.Always, {"steps": 2000}),
    Planting("flat-until-decay", "healthy",
        "mlp momentum, cnn momentum", f.Always, {"schedule": "late-drop", "steps": 2400, "batch": 8}, times=2),
    Planting("restarts", "healthy",
        "mlp sgd, autoencoder momentum, cnn sgd, transformer momentum",
        f.Always, {"schedule": "restarts", "steps": 1600}, times=2),
    Planting("converged", "healthy",
        "autoencoder adam, regression adam, contrastive adam, transformer adamw",
        f.Always, {"schedule": "linear", "steps": 2500}),
    Planting("interpolates", "healthy",
        "parity-mlp adam, parity-deep adam", f.Always, {"steps": 2000}, world={"bits": 2}),
    Planting("diffusion", "healthy", "denoiser adam, denoiser-tanh adam", f.Always, {"steps": 1500}),
    Planting("tiny-batch", "healthy", "mlp sgd, cnn adam", f.Always, {"batch": 3, "steps": 1500}, times=0.3),
    Planting("scaler-works", "healthy",
        "mlp adam, transformer adam", lambda: f.LossScaler(fails=False), {"declares": {"precision": "fp16"}}),
    Planting("watched-layers", "healthy", "mlp adam, cnn adam", f.Always, LAYERS),
)
