"""`tuimon autopsy`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
from torch import nn  # noqa: E402 -- after the skip

from tuimon.cli import main  # noqa: E402
from tuimon.torch import save_scene  # noqa: E402

TRAINING = """
import torch
from torch import nn

class Log(nn.Module):
    def forward(self, x):
        return torch.log(x)

def build():
    return nn.Sequential(nn.Linear(4, 4), Log(), nn.Linear(4, 1)), nn.functional.mse_loss

def forgetful():
    return nn.Linear(4, 1)
"""


@pytest.fixture
def scene(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "its_training.py").write_text(TRAINING)
    monkeypatch.chdir(tmp_path)
    torch.manual_seed(0)
    batch = (torch.randn(6, 4), torch.randn(6, 1))
    model = nn.Sequential(nn.Linear(4, 4), nn.Identity(), nn.Linear(4, 1))
    save_scene(tmp_path / "scene.pt", batch, step=31, last_finite={"loss": 1.0}, model=model)
    return tmp_path / "scene.pt"


def test_the_birthplace_is_told_and_noted(scene: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    log = tmp_path / "run.jsonl"
    assert main(["autopsy", str(scene), "--module", "its_training:build", "--log", str(log)]) == 1
    told = capsys.readouterr().out
    assert "Step 31" in told
    assert "log of module 1" in told
    note = json.loads(log.read_text().splitlines()[-1])
    assert (note["note"], note["step"], note["module"], note["op"]) == ("nan_origin", 31, "1", "log")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["absent.pt", "--module", "its_training:build"], "absent.pt"),
        (["its_training.py", "--module", "its_training:build"], "not a scene"),
        (["scene.pt", "--module", "its_training"], "PKG:BUILD"),
        (["scene.pt", "--module", "no_such_module:build"], "no_such_module"),
        (["scene.pt", "--module", "its_training:missing"], "missing"),
        (["scene.pt", "--module", "its_training:forgetful"], "(model, loss_fn)"),
    ],
)
def test_what_cannot_be_had_is_one_clear_line(
    scene: Path, arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["autopsy", *arguments]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1


def test_a_scene_that_stays_finite_says_so(scene: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "sound.py").write_text(TRAINING.replace("torch.log(x)", "torch.tanh(x)"))
    assert main(["autopsy", str(scene), "--module", "sound:build"]) == 0
    assert "Nothing went non-finite" in capsys.readouterr().out
