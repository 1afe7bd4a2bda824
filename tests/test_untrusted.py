"""Whatever stands in a log, a terminal obeys none of it: hostile words in every field, in front of every command."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.samples import losses, write
from tests.terminals import WATCH, Terminal
from tuimon.cli import main
from tuimon.plain import plain_text

# Processes, threads and terminals of a busy machine: a second look before it counts.
pytestmark = pytest.mark.flaky(reruns=2)

SEQUENCES = {
    "colour": "\x1b[31;5m",
    "cursor": "\x1b[2J\x1b[H",
    "title": "\x1b]0;owned\x07",
    "clipboard": "\x1b]52;c;b3duZWQ=\x07",
    "link": "\x1b]8;;http://owned.example/\x1b\\here\x1b]8;;\x1b\\",
    "answer": "\x1b[6n\x1b[c\x05",
    "device": "\x1bP+q544e\x1b\\\x1b_owned\x1b\\\x1b^owned\x1b\\",
    "c1": "\x9b31m\x9d0;owned\x9c\x90q\x9c",
    "charset": "\x1b(0\x0e\x1bc",
    "bidi": "\u202eowned\u202c\u2066\u2069\u200f",
    "nothing": "\u200b\u200d\ufeff\u2060\u00ad",
    "lines": "a\rb\nc\x0bd\x85e\u2028f\x08\x08g\t",
    "half": "\ud800\udfff",
    "zalgo": "o" + "\u0301\u0489" * 300,
    "long": "loss" * 5000 + "\u043e" * 5000,
    "markup": "[bold red]owned[/][link=http://owned.example/]x[/link][@click=app.quit]y[/][$primary]z[/",
    "braces": "{owned} %s %n ${HOME} `id` $(id)",
}

ESCAPE = "\x1b"

FORBIDDEN = [
    *(b"\x1b]0;", b"\x1b]52", b"\x1b]8", b"\x1b[6n", b"\x1b[c", b"\x1bP+q", b"\x1b_", b"\x1b^", b"\x1b(0", b"\x1bc"),
    *(b"\x0e", b"\x05", b"\x1b[31;5m", b"\xed\xa0"),
    *(c.encode() for c in "\x9b\x9d\x90\u202e\u202c\u2066\u2069\u200f\u200b\u200d\ufeff\u2060\u2028\x85"),
]
"""What neither we nor the toolkit ever send: it can only come out of the log."""


def hostile(words: str) -> bytes:
    """A run that goes NaN, with `words` wherever a log can hold text."""
    rows: list[dict[str, object]] = [
        {"tuimon": 1, "run": words, "started": words, "meta": {words: words, "objective": words, "optimizer": words,
         "precision": words, "num_classes": words, "total_steps": words, "class_counts": {words: 1}}},
        {"step": 0, "note": "preflight", "check": words, "ok": False, "told": words, "name": words, words: words},
    ]  # fmt: skip
    rows += [{**row, words: 1.0, f"layer/{words}/grad_norm": 2.0} for row in losses(80)]
    rows += [
        {"step": 80, "note": words, "file": words},
        {"step": 80, "note": "checkpoint", "path": words, "file": words},
        {"step": 81, "note": "nan_origin", "module": words, "op": words, "direction": words, "scene": words},
        {"step": 81, "loss": "NaN", "grad_norm": "NaN", "lr": 3e-4, words: "NaN"},
        {"step": words, "loss": words, "time": words},
        {"step": 82, "loss": "NaN", "grad_norm": "NaN", "lr": 3e-4},
        {"step": 82, "note": "aborted", "error": words},
    ]  # fmt: skip
    lines = [json.dumps(row).encode() for row in rows]
    lines.insert(60, b'{"step": 60, "loss": ' + words.encode("utf-8", "surrogatepass").replace(b"\n", b" ") + b"}")
    lines.insert(61, words.encode("utf-8", "surrogatepass").replace(b"\n", b" "))
    return b"\n".join(lines) + b"\n"


@pytest.fixture(params=SEQUENCES)
def log(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return write(tmp_path, "run.jsonl", hostile(SEQUENCES[request.param]))


COMMANDS = [
    "diagnose {}", "watch {} --once", "watch {}", "plot {}", "plot {} --svg {}.svg", "triage {}", "lab {}",
    "diagnose {} --map loss=nothing", "diagnose {} --step nothing", "diagnose {} --format text",
]  # fmt: skip


@pytest.mark.parametrize("command", COMMANDS)
def test_no_command_prints_anything_that_a_terminal_would_obey(
    log: Path, command: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    main(command.replace("{}", str(log)).split())
    out, err = capsys.readouterr()
    for line in (out + err).split("\n"):
        assert line.isprintable(), ascii(line)
        assert len(line) < 1000
    if "--svg" in command:
        picture = Path(f"{log}.svg").read_text(encoding="utf-8")
        assert all(line.isprintable() for line in picture.split("\n"))
        assert ("<script" not in picture and "[bold" not in picture.replace("&", "[bold", 0)) or "owned" in picture


def test_json_is_ascii_strict_and_bounded(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["diagnose", str(log), "--json"]) == 1
    out = capsys.readouterr().out
    assert out.isascii() and out.count("\n") == 1 and out.rstrip("\n").isprintable()
    document = json.loads(out)
    assert document["verdict"] == "nan"
    assert len(out) < 20_000


def quiet(terminal: Terminal) -> None:
    """Nothing out of the log has reached the terminal as it was written there."""
    for sequence in FORBIDDEN:
        place = terminal.seen.find(sequence)
        assert place < 0, terminal.seen[max(0, place - 60) : place + 60]


SOME = ("clipboard", "bidi", "markup")
EACH = [name if name in SOME else pytest.param(name, marks=pytest.mark.long) for name in SEQUENCES]


@pytest.mark.parametrize("name", EACH)
def test_no_screen_sends_anything_of_a_log_that_a_terminal_would_obey(tmp_path: Path, name: str) -> None:
    words = SEQUENCES[name]
    safe = words.replace("/", "").replace("\0", "").encode("utf-8", "surrogatepass")[:120]
    folder = tmp_path / "runs"
    log = write(folder, "run.jsonl", hostile(words))
    with open(bytes(folder) + b"/" + safe + b".jsonl", "wb") as file:
        file.write(hostile(words))
    with Terminal([*WATCH, str(log)]) as terminal:
        terminal.until("began at step 81")
        for key in ("n", ESCAPE, "\r", ESCAPE, "x", "b", ESCAPE, "t", ESCAPE, ESCAPE, "o", "\x1b[B", ESCAPE, "c", "?"):
            terminal.press(key)
            # Nothing says that a key was heard and changed nothing.
            while terminal.take(0.3):
                pass
        quiet(terminal)
        terminal.signal(signal.SIGTERM)
        terminal.wait()
        quiet(terminal)
        assert terminal.restored


def test_markup_stands_there_as_it_was_written(tmp_path: Path) -> None:
    log = write(tmp_path, "run.jsonl", hostile("[red]owned[/red]"))
    once = subprocess.run(
        [sys.executable, "-m", "tuimon.cli", "watch", str(log), "--once"], capture_output=True, text=True, check=False
    )
    assert "[red]owned[/red]" in once.stdout


def test_a_file_name_is_untrusted_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, words in SEQUENCES.items():
        safe = words.replace("/", "").encode("utf-8", "surrogatepass")[:200].decode("utf-8", "surrogateescape")
        path = tmp_path / safe
        for command in ("diagnose", "plot", "triage"):
            assert main([command, str(path)]) == 2, name
        path.write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(100))
        assert main(["diagnose", str(path)]) == 2, name
        out, err = capsys.readouterr()
        assert all(line.isprintable() for line in (out + err).split("\n")), name
    assert plain_text("\x1b]0;owned\x07") == ""
