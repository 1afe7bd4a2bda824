"""Small files that are there whole or not at all."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from tests.samples import jsonl, losses, write
from tuimon.cli import main
from tuimon.files import write_whole


def test_a_file_is_written_replaced_and_has_the_permissions_of_the_umask(tmp_path: Path) -> None:
    path = tmp_path / "answers"
    before = os.umask(0o027)
    try:
        write_whole(path, "é\n")
        write_whole(path, "two\n")
    finally:
        os.umask(before)
    assert path.read_text(encoding="utf-8") == "two\n"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert os.listdir(tmp_path) == ["answers"]


@pytest.mark.parametrize("there", [True, False])
def test_a_planted_link_is_replaced_and_not_followed(tmp_path: Path, there: bool) -> None:
    victim = tmp_path / "victim"
    if there:
        victim.write_text("precious")
    (tmp_path / "picture.svg").symlink_to(victim)
    write_whole(tmp_path / "picture.svg", "mine")
    assert (tmp_path / "picture.svg").read_text() == "mine"
    assert not (tmp_path / "picture.svg").is_symlink()
    assert victim.read_text() == "precious" if there else not victim.exists()


def test_what_is_no_file_is_written_into(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    reading = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    write_whole(tmp_path / "pipe", "through")
    assert os.read(reading, 100) == b"through"
    os.close(reading)
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)


def test_what_cannot_be_written_leaves_what_was_there(tmp_path: Path) -> None:
    path = tmp_path / "answers"
    path.write_text("before")
    with pytest.raises(UnicodeEncodeError):
        write_whole(path, "\ud800")
    with pytest.raises(NotADirectoryError):
        write_whole(path / "below", "x")
    assert path.read_text() == "before"
    assert os.listdir(tmp_path) == ["answers"]


def test_the_answers_of_a_triage_and_a_picture_go_through_no_planted_link(tmp_path: Path) -> None:
    log = write(tmp_path, "run.jsonl", jsonl(losses(60)))
    victim = tmp_path / "victim"
    for name in ("run.jsonl.triage.json", "run.jsonl.triage.json.new", "run.svg"):
        (tmp_path / name).symlink_to(victim)
    main(["triage", str(log), "--yes", "1"])
    assert main(["plot", str(log), "--svg", str(tmp_path / "run.svg")]) == 0
    assert not victim.exists()
    assert (tmp_path / "run.svg").read_text(encoding="utf-8").startswith("<svg")
    assert (tmp_path / "run.jsonl.triage.json").is_file()
