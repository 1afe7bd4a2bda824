"""Checkpoints and crime scenes: whole or not at all."""

from __future__ import annotations

import json
import math
import os
import pickle
import signal
import subprocess
import sys
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from tuimon import RunWriter  # noqa: E402 -- after the skip
from tuimon.torch import load_scene, save_checkpoint, save_scene  # noqa: E402
from tuimon.torch.checkpoint import NonFiniteWeightsError  # noqa: E402


def state(value: float = 1.0) -> dict:
    return {"model": {"w": torch.full((3, 3), value), "steps": torch.tensor([4])}, "lr": 0.1}


def test_weights_that_are_not_finite_do_not_pass(tmp_path: Path) -> None:
    path = tmp_path / "last.pt"
    save_checkpoint(state(1.0), path)
    with pytest.raises(NonFiniteWeightsError, match=r"state\['model'\]\['w'\]"):
        save_checkpoint(state(math.nan), path)
    assert torch.load(path)["model"]["w"][0, 0] == 1.0
    assert os.listdir(tmp_path) == ["last.pt"]


def test_the_last_generations_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "last.pt"
    for value in range(5):
        save_checkpoint(state(value), path, keep=3)
    assert sorted(os.listdir(tmp_path)) == ["last.pt", "last.pt.1", "last.pt.2"]
    assert [torch.load(tmp_path / name)["model"]["w"][0, 0].item() for name in sorted(os.listdir(tmp_path))] == [
        4,
        3,
        2,
    ]


def test_numbered_checkpoints_are_pruned_by_age_and_others_left_alone(tmp_path: Path) -> None:
    (tmp_path / "model-best.pt").write_text("not ours")
    for order, step in enumerate((100, 200, 300, 150)):
        saved = save_checkpoint(state(), tmp_path / "model.pt", keep=2, step=step)
        os.utime(saved, (order, order))
    assert sorted(os.listdir(tmp_path)) == ["model-150.pt", "model-300.pt", "model-best.pt"]


def test_a_checkpoint_is_noted_in_the_log(tmp_path: Path) -> None:
    with RunWriter(tmp_path / "run.jsonl") as writer:
        saved = save_checkpoint(state(), tmp_path / "model.pt", step=12, writer=writer)
    note = json.loads((tmp_path / "run.jsonl").read_text().splitlines()[-2])
    assert (note["step"], note["note"], note["path"]) == (12, "checkpoint", str(saved))


def test_keep_must_leave_something(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="keep"):
        save_checkpoint(state(), tmp_path / "last.pt", keep=0)


KILLED = """
import sys, torch
from pathlib import Path
from tuimon.torch import save_checkpoint, save_scene
big = {{"w": torch.zeros(300_000)}}
print("ready", flush=True)
n = 0
while True:
    big["w"].fill_(n)
    {save}
    n += 1
"""
SAVES = {
    "checkpoint": 'save_checkpoint(big, Path(sys.argv[1]) / "last.pt", keep=2)',
    "scene": 'save_scene(Path(sys.argv[1]) / "last.pt", big, step=n, last_finite={})',
}


@pytest.mark.parametrize("what", SAVES)
@pytest.mark.parametrize("kills", [1, pytest.param(40, marks=pytest.mark.long)])
def test_a_kill_leaves_nothing_half_written_under_a_final_name(tmp_path: Path, what: str, kills: int) -> None:
    for _ in range(kills):
        child = subprocess.Popen(
            [sys.executable, "-c", KILLED.format(save=SAVES[what]), str(tmp_path)], stdout=subprocess.PIPE
        )
        assert child.stdout is not None
        assert child.stdout.readline() == b"ready\n"
        seen = 0
        while seen < 3:  # killed while it works, after the third file it made
            seen += len(list(tmp_path.glob(".*.part")))
        child.send_signal(signal.SIGKILL)
        child.wait()
        child.stdout.close()
        for file in tmp_path.glob("last.pt*"):
            weights = torch.load(file, weights_only=True)
            tensor = weights["w"] if what == "checkpoint" else weights["batch"]["w"]
            assert (tensor == tensor[0]).all()


def test_a_scene_comes_back_as_it_was(tmp_path: Path) -> None:
    batch = {"x": torch.tensor([1.0, math.nan]), "meta": {"names": ["a"], "odd": object()}, "pair": (1, None)}
    assert save_scene(tmp_path / "s.pt", batch, step=4, last_finite={"loss": 0.5}) == []
    scene = load_scene(tmp_path / "s.pt")
    assert scene["step"] == 4
    assert scene["batch"]["meta"] == {"names": ["a"], "odd": "<object, not saved>"}
    assert scene["batch"]["pair"] == (1, None)
    assert torch.isnan(scene["batch"]["x"][1])
    torch.set_rng_state(scene["rng"]["torch"])


def test_loading_a_scene_cannot_run_code(tmp_path: Path) -> None:
    class Evil:
        def __reduce__(self) -> tuple:
            return (os.system, (f"touch {tmp_path}/ran",))

    torch.save({"tuimon_scene": 1, "batch": Evil()}, tmp_path / "evil.pt")
    (tmp_path / "plain.pt").write_bytes(pickle.dumps(Evil()))
    for name in ("evil.pt", "plain.pt"):
        with pytest.raises(ValueError, match="not a scene"):
            load_scene(tmp_path / name)
    assert not (tmp_path / "ran").exists()


def test_a_planted_link_is_not_followed(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("precious")
    (tmp_path / "s.pt").symlink_to(victim)
    save_scene(tmp_path / "s.pt", None, step=0, last_finite={})
    assert victim.read_text() == "precious"
    assert not (tmp_path / "s.pt").is_symlink()
