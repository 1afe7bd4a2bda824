"""How a file was looked at outlives the program."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tuimon.app import views
from tuimon.app.views import keep_view, kept_view, views_path
from tuimon.panels.view import View


@pytest.fixture(autouse=True)
def temporary_files_lie_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(views, "_temporary", lambda: "/somewhere/else")


def test_the_place_follows_the_base_directory_specification() -> None:
    assert views_path({"XDG_STATE_HOME": "/y"}) == Path("/y/tuimon/views")
    for environment in ({}, {"XDG_STATE_HOME": "relative"}):
        assert views_path(environment) == Path.home() / ".local/state/tuimon/views"


def test_a_file_is_shown_as_it_was_left(tmp_path: Path) -> None:
    run, folder = str(tmp_path / "run.jsonl"), tmp_path / "views"
    left = View(low=3, high=9, cursor=5, log=True, smooth=2, overlay=True, share=True)
    keep_view(run, left, folder)
    assert kept_view(run, View(), folder) == View(log=True, smooth=2, overlay=True, share=True)
    assert kept_view(str(tmp_path / "other.jsonl"), View(), folder) == View()


def test_leaving_it_as_usual_forgets_it(tmp_path: Path) -> None:
    run, folder = str(tmp_path / "run.jsonl"), tmp_path / "views"
    keep_view(run, View(log=True), folder)
    keep_view(run, View(), folder)
    assert not list(folder.iterdir())
    keep_view(run, View(), folder)


def test_one_file_has_one_view_whatever_path_leads_to_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "views"
    (tmp_path / "run.jsonl").touch()
    (tmp_path / "link.jsonl").symlink_to("run.jsonl")
    keep_view(str(tmp_path / "link.jsonl"), View(smooth=1), folder)
    monkeypatch.chdir(tmp_path)
    assert kept_view("run.jsonl", View(), folder).smooth == 1


@pytest.mark.parametrize(
    "content", ["", "{", "[]", '{"log": 1, "smooth": 0, "overlay": false}', '{"log": true}', "[" * 9000], ids=range(6)
)
def test_a_damaged_view_is_no_view(content: str, tmp_path: Path) -> None:
    run, folder = str(tmp_path / "run.jsonl"), tmp_path / "views"
    keep_view(run, View(log=True), folder)
    next(folder.iterdir()).write_text(content)
    assert kept_view(run, View(), folder) == View()


def test_nothing_is_kept_of_standard_input_and_temporary_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    keep_view("-", View(log=True), tmp_path / "views")
    monkeypatch.setattr(views, "_temporary", lambda: os.path.realpath(tmp_path))
    keep_view(str(tmp_path / "run.jsonl"), View(log=True), tmp_path / "views")
    assert not (tmp_path / "views").exists()


def test_a_disk_that_takes_nothing_is_no_trouble(tmp_path: Path) -> None:
    (tmp_path / "views").touch()
    keep_view(str(tmp_path / "run.jsonl"), View(log=True), tmp_path / "views")


def test_views_do_not_pile_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(views, "KEPT", 3)
    folder = tmp_path / "views"
    for number in range(6):
        keep_view(str(tmp_path / f"{number}.jsonl"), View(smooth=1), folder)
        for place, path in enumerate(sorted(folder.iterdir(), key=lambda path: path.stat().st_mtime_ns)):
            os.utime(path, (place, place))
    assert len(list(folder.iterdir())) == 3
    assert kept_view(str(tmp_path / "5.jsonl"), View(), folder).smooth == 1
