"""`tuimon diagnose`, from the command line to the exit code."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tuimon.cli import main
from tuimon.commands.diagnose import exit_code, fail_on_words
from tuimon.monitor import Snapshot
from tuimon.report import Report
from tuimon.signatures.finding import Finding

FAILED = Finding("nan-forward", "nan", "failure", 4, 4, True, "")
OVER = Finding("nan-forward", "nan", "failure", 4, 4, False, "", ended_step=9)
SPIKE = Finding("loss-spike", "spike", "warning", 4, 6, False, "", ended_step=9)
WARNED = Finding("overfitting", "overfit", "warning", 4, 6, True, "")
NOTED = Finding("no-validation", "note", "note", 0, 6, True, "")


def write_run(path: Path, count: int = 60, nan_from: int | None = None) -> Path:
    with path.open("w") as file:
        for step in range(count):
            broken = nan_from is not None and step >= nan_from
            loss = "NaN" if broken else 2.0 / (1 + step) + 0.01 * (step % 3)
            file.write(
                json.dumps({"step": step, "loss": loss, "grad_norm": "NaN" if broken else 1.0 + step % 2}) + "\n"
            )
    return path


@pytest.mark.parametrize(
    ("found", "fail_on", "code"),
    [
        ((), "failure", 0),
        ((NOTED, WARNED, SPIKE), "failure", 0),
        ((NOTED, FAILED), "failure", 1),
        ((FAILED,), "divergence", 0),
        ((FAILED,), "divergence,nan", 1),
        ((FAILED,), "none", 0),
        ((WARNED,), "warning", 1),
        ((FAILED,), "warning", 1),
        ((WARNED,), "overfit", 0),
        ((SPIKE,), "loss-spike", 1),
        ((SPIKE,), "warning", 1),
        ((OVER,), "failure", 1),
        ((NOTED,), "note", 1),
    ],
)
def test_the_exit_code_says_whether_what_counts_was_found(found: tuple[Finding, ...], fail_on: str, code: int) -> None:
    report = Report("f", "tuimon", "", Snapshot(records=10, findings=found))
    assert exit_code(report, fail_on_words(fail_on)) == code


def test_a_file_in_which_nothing_was_a_record_is_unreadable() -> None:
    assert exit_code(Report("f", "tuimon", "", Snapshot(records=0, bad_count=3)), frozenset()) == 2


def test_a_misspelt_fail_on_is_refused_with_the_nearest_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["diagnose", str(write_run(tmp_path / "run.jsonl")), "--fail-on", "divergense"]) == 2
    assert "divergence?" in capsys.readouterr().err


def test_a_healthy_file_exits_0_and_a_broken_one_1(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["diagnose", str(write_run(tmp_path / "good.jsonl")), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["records"] == 60
    assert main(["diagnose", str(write_run(tmp_path / "bad.jsonl", nan_from=50)), "--json"]) == 1
    document = json.loads(capsys.readouterr().out)
    assert document["verdict"] == "nan"
    assert [(f["signature"], f["onset_step"]) for f in document["findings"] if f["severity"] == "failure"] == [
        ("nan-forward", 50)
    ]
    assert main(["diagnose", str(tmp_path / "bad.jsonl"), "--fail-on", "plateau"]) == 0


def test_what_cannot_be_read_gets_one_line_and_exit_2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "noise.bin").write_bytes(os.urandom(64) + bytes(range(256)) * 40)
    (tmp_path / "empty").mkdir()
    for path in (tmp_path / "missing.jsonl", tmp_path / "noise.bin", tmp_path / "empty", Path("/dev/null/x")):
        assert main(["diagnose", str(path)]) == 2, path
        said = capsys.readouterr()
        assert said.err.startswith("tuimon: "), path
        assert said.err.count("\n") == 1, path
        assert "Traceback" not in said.err


@pytest.mark.parametrize("text", ["", '{"tuimon": 1, "run": "new", "meta": {}}\n'])
def test_a_run_that_has_only_begun_is_no_failure(tmp_path: Path, text: str, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "run.jsonl").write_text(text)
    assert main(["diagnose", str(tmp_path / "run.jsonl"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["verdict"] == "no_data"


@pytest.mark.parametrize("device", ["/dev/null", "/dev/zero", "/dev/urandom"])
def test_a_device_is_no_log(device: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["diagnose", device, "--json"]) == 2
    out, error = capsys.readouterr()
    assert error == f"tuimon: {device} is a device, not a log\n"
    assert json.loads(out)["verdict"] == "no_data"


def diagnose(stdin: str, *words: str) -> subprocess.CompletedProcess[str]:
    line = f"exec {sys.executable} -m tuimon.cli diagnose {' '.join(words)} {stdin}"
    return subprocess.run(["bash", "-c", line], capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.parametrize(
    ("stdin", "told"),
    [
        ("< /dev/null", "tuimon: standard input: ended, and nothing had come\n"),
        ("<&-", "tuimon: standard input is closed\n"),
        ("< <(echo no record)", "tuimon: standard input: nothing in it is a record (text log, 0 records)\n"),
    ],
)
def test_an_input_that_ended_without_a_record_is_told_and_exits_2(stdin: str, told: str) -> None:
    done = diagnose(stdin, "-")
    assert (done.returncode, done.stderr) == (2, told)


def test_a_named_pipe_is_waited_for_and_read_to_its_end(tmp_path: Path) -> None:
    log = write_run(tmp_path / "run.jsonl", nan_from=50)
    os.mkfifo(tmp_path / "fifo")
    command = [sys.executable, "-m", "tuimon.cli", "diagnose", str(tmp_path / "fifo"), "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        with (tmp_path / "fifo").open("wb") as fifo:
            for line in log.read_bytes().splitlines(keepends=True):
                fifo.write(line)
                fifo.flush()
        assert process.stdout is not None
        assert json.loads(process.stdout.read())["records"] == 60
    assert process.returncode == 1


@pytest.mark.parametrize("words", [["--map", "loss"], ["--map", "los=x"], ["--format"], []])
def test_wrong_usage_exits_2(words: list[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["diagnose", *words])
    assert stopped.value.code == 2


def test_a_pipe_is_read_to_its_end_and_its_last_line_counts(tmp_path: Path) -> None:
    text = write_run(tmp_path / "run.jsonl").read_text().rstrip("\n")
    command = [sys.executable, "-m", "tuimon.cli", "diagnose", "-", "--json"]
    done = subprocess.run(command, input=text, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["records"] == 60


def test_a_reader_that_goes_away_is_no_error(tmp_path: Path) -> None:
    write_run(tmp_path / "run.jsonl")
    line = f"{sys.executable} -m tuimon.cli diagnose {tmp_path}/run.jsonl | true"
    done = subprocess.run(["bash", "-c", line], capture_output=True, text=True, timeout=60, check=False)
    assert done.stderr == ""


def test_json_of_an_unreadable_input_has_the_keys_of_every_other(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["diagnose", str(tmp_path / "absent.jsonl"), "--json"]) == 2
    out, error = capsys.readouterr()
    document = json.loads(out)
    assert (document["verdict"], document["records"], document["findings"]) == ("no_data", 0, [])
    assert document["error"] in error


def test_a_name_that_the_log_does_not_have_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = tmp_path / "run.jsonl"
    log.write_text("".join(f'{{"step": {step}, "train_ce": 1.0, "acc": 0.5}}\n' for step in range(9)))
    assert main(["diagnose", str(log), "--map", "loss=train_cee"]) == 2
    assert "no metric is called train_cee; there are" in capsys.readouterr().err
    assert main(["diagnose", str(log), "--map", "loss=train_ce"]) == 0
