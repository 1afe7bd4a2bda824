"""Trainers that write through the adapters, the real ones where they are installed."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
from torch import nn  # noqa: E402 -- after the skip


def lines(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text().splitlines()]


class Points(torch.utils.data.Dataset):
    def __init__(self, bad_from: int = 10**9) -> None:
        generator = torch.Generator().manual_seed(0)
        self.x = torch.randn(64, 4, generator=generator)
        self.x[bad_from:] = math.nan

    def __len__(self) -> int:
        return len(self.x)

    def __getitem__(self, index: int) -> dict[str, torch.Tensor]:
        return {"x": self.x[index], "labels": self.x[index].sum().reshape(1)}


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.head = nn.Linear(4, 1)

    def forward(self, x: torch.Tensor, labels: torch.Tensor) -> dict[str, torch.Tensor]:
        out = self.head(x)
        return {"loss": nn.functional.mse_loss(out, labels), "logits": out}


def test_the_hugging_face_trainer_writes_a_run(tmp_path: Path) -> None:
    transformers = pytest.importorskip("transformers")
    pytest.importorskip("accelerate")
    from tuimon.integrations.huggingface import TuimonCallback

    arguments = transformers.TrainingArguments(
        output_dir=str(tmp_path),
        max_steps=12,
        per_device_train_batch_size=8,
        logging_steps=2,
        eval_strategy="steps",
        eval_steps=6,
        save_steps=6,
        report_to=[],
        use_cpu=True,
        disable_tqdm=True,
        logging_nan_inf_filter=False,
    )
    trainer = transformers.Trainer(
        model=Net(), args=arguments, train_dataset=Points(), eval_dataset=Points(), callbacks=[TuimonCallback()]
    )
    trainer.train()
    written = lines(tmp_path / "run.jsonl")
    assert written[0]["meta"]["total_steps"] == 12
    assert [line["step"] for line in written if "loss" in line] == [2, 4, 6, 8, 10, 12]
    assert [line["step"] for line in written if "val_loss" in line] == [6, 12]
    assert all({"grad_norm", "lr"} <= line.keys() for line in written if "loss" in line)
    assert [line["step"] for line in written if line.get("note") == "checkpoint"] == [6, 12]
    assert not any("train_runtime" in line for line in written)


def test_the_hugging_face_trainer_says_that_its_filter_hides_a_nan(tmp_path: Path) -> None:
    transformers = pytest.importorskip("transformers")
    pytest.importorskip("accelerate")
    from tuimon.integrations.huggingface import TuimonCallback

    arguments = transformers.TrainingArguments(
        output_dir=str(tmp_path), max_steps=1, report_to=[], use_cpu=True, disable_tqdm=True, save_strategy="no"
    )
    log = tmp_path / "elsewhere.jsonl"
    transformers.Trainer(model=Net(), args=arguments, train_dataset=Points(), callbacks=[TuimonCallback(log)]).train()
    assert [line["note"] for line in lines(log) if "note" in line] == ["nan_filter", "end"]


def test_lightning_writes_a_run_and_shows_the_nan(tmp_path: Path) -> None:
    lightning = pytest.importorskip("lightning.pytorch")
    from tuimon.integrations.lightning import TuimonCallback

    class Module(lightning.LightningModule):
        def __init__(self) -> None:
            super().__init__()
            self.net = Net()

        def training_step(self, batch: dict, index: int) -> torch.Tensor:
            return self.net(**batch)["loss"]

        def validation_step(self, batch: dict, index: int) -> None:
            self.log("val_loss", self.net(**batch)["loss"])

        def configure_optimizers(self) -> torch.optim.Optimizer:
            return torch.optim.SGD(self.parameters(), lr=0.1)

    log = tmp_path / "run.jsonl"
    trainer = lightning.Trainer(
        max_epochs=1,
        accelerator="cpu",
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        callbacks=[TuimonCallback(log, every=1)],
    )
    loader = torch.utils.data.DataLoader
    trainer.fit(Module(), loader(Points(bad_from=48), batch_size=8), loader(Points(), batch_size=32))
    records = [line for line in lines(log) if "loss" in line]
    assert [line["step"] for line in records] == list(range(1, 9))
    assert [line["step"] for line in records if line["loss"] == "NaN"] == [7, 8]
    assert all(isinstance(line["grad_norm"], float) for line in records[:6])
    assert [line["step"] for line in lines(log) if "val_loss" in line] == [8]


def test_a_lightning_training_that_crashes_is_aborted_in_its_log(tmp_path: Path) -> None:
    lightning = pytest.importorskip("lightning.pytorch")
    from tuimon.integrations.lightning import TuimonCallback

    class Module(lightning.LightningModule):
        def __init__(self) -> None:
            super().__init__()
            self.net = Net()

        def training_step(self, batch: dict, index: int) -> torch.Tensor:
            if index == 3:
                raise ZeroDivisionError
            return self.net(**batch)["loss"]

        def configure_optimizers(self) -> torch.optim.Optimizer:
            return torch.optim.SGD(self.parameters(), lr=0.1)

    log = tmp_path / "run.jsonl"
    trainer = lightning.Trainer(
        max_epochs=1, accelerator="cpu", logger=False, enable_checkpointing=False, enable_progress_bar=False,
        enable_model_summary=False, callbacks=[TuimonCallback(log, every=1)],
    )  # fmt: skip
    with pytest.raises(ZeroDivisionError):
        trainer.fit(Module(), torch.utils.data.DataLoader(Points(), batch_size=8))
    last = lines(log)[-1]
    assert (last["step"], last["note"], last["error"]) == (3, "aborted", "ZeroDivisionError")


# It leaves by os._exit: at the end of the interpreter gloo's own threads abort the process about one time in ten
# ("terminate called without an active exception"), long after everything that is asked here has been written.
WORKER = """
import os, sys, math, torch, torch.distributed as dist
from torch import nn
from tuimon import RunWriter
from tuimon.torch import Guard
rank, folder = int(sys.argv[1]), sys.argv[2]
dist.init_process_group("gloo", init_method=f"file://{folder}/meet", rank=rank, world_size=2)
torch.manual_seed(0)
model = nn.parallel.DistributedDataParallel(nn.Linear(4, 1))
writer = RunWriter(f"{folder}/run.jsonl") if rank == 0 else RunWriter(f"{folder}/run.rank{rank}.jsonl")
guard = Guard(model, torch.optim.SGD(model.parameters(), lr=0.1), writer)
for step in range(6):
    guard.optimizer.zero_grad()
    x = torch.randn(8, 4)
    if rank == 1 and step == 4:
        x[0, 0] = math.nan
    loss = model(x).pow(2).mean()
    guard.check_loss(loss, (x, x))
    loss.backward()
    guard.step()
guard.close(); writer.close()
dist.barrier()
os._exit(0)
"""


def test_a_nan_on_another_rank_is_seen_on_rank_0(tmp_path: Path) -> None:
    import subprocess
    import sys

    ranks = [subprocess.Popen([sys.executable, "-c", WORKER, str(rank), str(tmp_path)]) for rank in (0, 1)]
    assert [process.wait(timeout=120) for process in ranks] == [0, 0]
    first, second = (
        [line for line in lines(tmp_path / name) if "loss" in line] for name in ("run.jsonl", "run.rank1.jsonl")
    )
    # The averaged gradient carries it over: rank 0's own loss is fine, its gradient norm is not.
    assert isinstance(first[4]["loss"], float)
    assert first[4]["grad_norm"] == second[4]["grad_norm"] == "NaN"
    assert second[4]["loss"] == "NaN"
    assert all(isinstance(line["grad_norm"], float) for line in (first[5], second[5]))
