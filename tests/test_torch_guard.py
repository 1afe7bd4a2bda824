"""The guard around the optimizer step."""

from __future__ import annotations

import json
import math
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
from torch import nn  # noqa: E402 -- after the skip

from tuimon import RunWriter  # noqa: E402
from tuimon.torch import Guard, NonFiniteError, load_scene  # noqa: E402


def loss_fn(output: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    return nn.functional.mse_loss(output, target)


def good_batch(seed: int = 0) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(8, 4, generator=generator), torch.randn(8, 1, generator=generator)


def bad_batch() -> tuple[torch.Tensor, torch.Tensor]:
    inputs, targets = good_batch()
    inputs[3, 1] = math.nan
    return inputs, targets


def build() -> tuple[nn.Module, torch.optim.Optimizer]:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 1))
    return model, torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)


def train(guard: Guard, batches: list) -> list[bool]:
    stepped = []
    for batch in batches:
        guard.optimizer.zero_grad()
        loss = loss_fn(guard.model(batch[0]), batch[1])
        guard.check_loss(loss, batch)
        if guard.scaler is None:
            loss.backward()
        else:
            guard.scaler.scale(loss).backward()
        stepped.append(guard.step())
    return stepped


def lines(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def records(path: Path) -> list[dict]:
    return [line for line in lines(path) if "loss" in line]


def test_a_bad_step_is_skipped_and_the_weights_stay_as_they_were(tmp_path: Path) -> None:
    model, optimizer = build()
    with RunWriter(tmp_path / "run.jsonl") as writer, Guard(model, optimizer, writer) as guard:
        train(guard, [good_batch(1)])
        before = [p.detach().clone() for p in model.parameters()]
        assert train(guard, [bad_batch()]) == [False]
        assert all(torch.equal(p, old) for p, old in zip(model.parameters(), before, strict=True))
        assert all(p.grad is None for p in model.parameters())
        assert train(guard, [good_batch(2)]) == [True]
    logged = records(tmp_path / "run.jsonl")
    assert [line["skipped"] for line in logged] == [0, 1, 1]
    assert [line["loss"] == "NaN" for line in logged] == [False, True, False]


@pytest.mark.parametrize("check", ["step", "deferred"])
def test_a_sound_training_is_the_same_as_the_plain_loop(tmp_path: Path, check: str) -> None:
    batches = [good_batch(seed) for seed in range(12)]
    model, optimizer = build()
    for inputs, targets in batches:
        optimizer.zero_grad()
        loss_fn(model(inputs), targets).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    guarded, its_optimizer = build()
    with RunWriter(tmp_path / "run.jsonl") as writer, Guard(guarded, its_optimizer, writer, check=check) as guard:
        train(guard, batches)
    assert all(torch.equal(a, b) for a, b in zip(model.parameters(), guarded.parameters(), strict=True))
    assert [line["step"] for line in records(tmp_path / "run.jsonl")] == list(range(12))


def test_the_logged_gradient_norm_is_the_one_before_clipping(tmp_path: Path) -> None:
    model, optimizer = build()
    with RunWriter(tmp_path / "run.jsonl") as writer, Guard(model, optimizer, writer, clip_norm=1e-3) as guard:
        train(guard, [good_batch()])
    twin, _ = build()
    loss_fn(twin(good_batch()[0]), good_batch()[1]).backward()
    want = torch.stack([p.grad.norm() for p in twin.parameters()]).norm().item()
    assert records(tmp_path / "run.jsonl")[0]["grad_norm"] == pytest.approx(want, rel=1e-5)


@pytest.mark.parametrize("check", ["step", "deferred"])
def test_the_scene_holds_the_batch_of_the_bad_step(tmp_path: Path, check: str) -> None:
    model, optimizer = build()
    with RunWriter(tmp_path / "run.jsonl") as writer, Guard(model, optimizer, writer, check=check) as guard:
        train(guard, [good_batch(1), good_batch(2), bad_batch(), bad_batch(), good_batch(3)])
    (path,) = guard.saved_scenes
    scene = load_scene(path)
    assert scene["step"] == 2
    assert torch.equal(scene["batch"][0], bad_batch()[0]) or torch.isnan(scene["batch"][0][3, 1])
    assert math.isfinite(scene["last_finite"]["loss"])
    assert scene["weights"].keys() == model.state_dict().keys()


def test_a_deferred_bad_step_leaves_finite_weights(tmp_path: Path) -> None:
    model, optimizer = build()
    with RunWriter(tmp_path / "run.jsonl") as writer, Guard(model, optimizer, writer, check="deferred") as guard:
        train(guard, [good_batch(1), bad_batch(), good_batch(2)])
    assert all(torch.isfinite(p).all() for p in model.parameters())
    assert guard.skipped == 1


@pytest.mark.parametrize(("check", "waits"), [("step", 1), ("deferred", 0)])
def test_the_hot_path_reads_the_device_as_often_as_promised(
    tmp_path: Path, check: str, waits: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, optimizer = build()
    calls: Counter[str] = Counter()
    for name in ("item", "__bool__", "__float__", "cpu", "numpy"):
        real = getattr(torch.Tensor, name)

        def counted(self: torch.Tensor, *args: object, name: str = name, real: Any = real, **kwargs: object) -> object:
            calls[name] += 1
            return real(self, *args, **kwargs)

        monkeypatch.setattr(torch.Tensor, name, counted)
    with RunWriter(tmp_path / "run.jsonl") as writer, Guard(model, optimizer, writer, check=check) as guard:
        train(guard, [good_batch(1)])
        calls.clear()
        train(guard, [good_batch(seed) for seed in range(10)])
        assert dict(calls) == ({"item": 10 * waits} if waits else {})


def test_a_readout_still_on_its_way_is_logged_later_and_in_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, optimizer = build()
    arrived = False
    monkeypatch.setattr("tuimon.torch.readout.Readout.arrived", lambda self: arrived)
    path = tmp_path / "run.jsonl"
    with RunWriter(path) as writer, Guard(model, optimizer, writer, check="deferred", in_flight=3) as guard:
        train(guard, [good_batch(1), good_batch(2)])
        assert records(path) == []
        train(guard, [good_batch(3), good_batch(4)])  # the fourth has no slot: the oldest is waited for
        assert [line["step"] for line in records(path)] == [0]
        arrived = True
        train(guard, [good_batch(5)])
    assert [line["step"] for line in records(path)] == [0, 1, 2, 3, 4]


def test_raise_raises_after_the_evidence_is_kept(tmp_path: Path) -> None:
    model, optimizer = build()
    with RunWriter(tmp_path / "run.jsonl") as writer:
        guard = Guard(model, optimizer, writer, on_nonfinite="raise")
        with pytest.raises(NonFiniteError, match="step 1: loss nan") as caught:
            train(guard, [good_batch(), bad_batch()])
        guard.close()
    assert caught.value.step == 1
    assert records(tmp_path / "run.jsonl")[1]["loss"] == "NaN"
    assert guard.saved_scenes[0].exists()


def test_stop_asks_the_loop_to_end(tmp_path: Path) -> None:
    model, optimizer = build()
    with RunWriter(tmp_path / "run.jsonl") as writer, Guard(model, optimizer, writer, on_nonfinite="stop") as guard:
        train(guard, [good_batch()])
        assert not guard.should_stop
        train(guard, [bad_batch()])
        assert guard.should_stop


def test_scenes_are_bounded_in_number_and_size(tmp_path: Path) -> None:
    model, optimizer = build()
    path = tmp_path / "run.jsonl"
    with RunWriter(path) as writer, Guard(model, optimizer, writer, most_scenes=2, most_scene_bytes=10) as guard:
        train(guard, [bad_batch(), good_batch()] * 4)
    assert len(guard.saved_scenes) == 2
    assert load_scene(guard.saved_scenes[0])["batch"] is None
    assert [line["left_out"] for line in lines(path) if line.get("note") == "scene"] == ["batch, weights"] * 2


def test_a_scene_that_cannot_be_written_does_not_stop_the_training(tmp_path: Path) -> None:
    model, optimizer = build()
    (tmp_path / "taken").write_text("a file where the folder should be")
    path = tmp_path / "run.jsonl"
    with RunWriter(path) as writer, Guard(model, optimizer, writer, scenes=tmp_path / "taken") as guard:
        assert train(guard, [bad_batch(), good_batch()]) == [False, True]
    assert [line["note"] for line in lines(path) if "note" in line] == ["scene_lost", "end"]


def test_with_a_loss_function_the_birthplace_goes_into_the_log(tmp_path: Path) -> None:
    class Log(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.log(x)

    model = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), Log(), nn.Linear(4, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    path = tmp_path / "run.jsonl"
    with RunWriter(path) as writer, Guard(model, optimizer, writer, loss_fn=loss_fn) as guard:
        train(guard, [good_batch()])
    (note,) = [line for line in lines(path) if line.get("note") == "nan_origin"]
    assert (note["step"], note["module"], note["op"], note["direction"]) == (0, "2", "log", "forward")


def test_a_loss_scaler_overflows_without_an_alarm(tmp_path: Path) -> None:
    model, optimizer = build()
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0**127)
    path = tmp_path / "run.jsonl"
    with RunWriter(path) as writer, Guard(model, optimizer, writer, scaler=scaler, on_nonfinite="raise") as guard:
        stepped = train(guard, [(inputs, targets * 100) for inputs, targets in (good_batch(1), good_batch(2))])
    logged = records(path)
    assert stepped[0] is False
    assert logged[0]["loss_scale"] == 2.0**127
    assert logged[1]["loss_scale"] == 2.0**126
    assert all(isinstance(line["loss"], float) for line in logged)


def test_layer_statistics_are_logged_when_due_and_the_hooks_leave_with_the_guard(tmp_path: Path) -> None:
    model, optimizer = build()
    path = tmp_path / "run.jsonl"
    with RunWriter(path) as writer, Guard(model, optimizer, writer, layers_every=3) as guard:
        train(guard, [good_batch(seed) for seed in range(7)])
        assert model[1]._forward_hooks
    assert not model[1]._forward_hooks
    logged = records(path)
    assert [line["step"] for line in logged if "grad_norm/0" in line] == [0, 3, 6]
    names = {name for line in logged for name in line if "/" in name}
    assert names == {f"{what}/{layer}" for what in ("grad_norm", "weight_norm", "update_ratio") for layer in "02"} | {
        "dead_fraction/1"
    }
    whole = math.hypot(logged[0]["grad_norm/0"], logged[0]["grad_norm/2"])
    assert whole == pytest.approx(logged[0]["grad_norm"], rel=1e-5)


def test_wrong_words_are_refused() -> None:
    model, optimizer = build()
    with pytest.raises(ValueError, match="check is"):
        Guard(model, optimizer, None, check="never")
    with pytest.raises(ValueError, match="on_nonfinite is"):
        Guard(model, optimizer, None, on_nonfinite="cry")
    with pytest.raises(RuntimeError, match="check_loss"):
        Guard(model, optimizer, None).step()
