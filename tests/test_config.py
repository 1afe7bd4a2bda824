"""What the user wrote down: defaults of the screen, and keys of his own."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tuimon.app.config import Config, config, config_path
from tuimon.app.keymap import Wish, key_named, remapped
from tuimon.panels.keys import ALL, USES, cap_of


def written(folder: Path, text: str) -> str:
    path = folder / "config.ini"
    path.write_text(text)
    return str(path)


def test_the_place_follows_the_base_directory_specification() -> None:
    assert config_path({"XDG_CONFIG_HOME": "/x"}) == "/x/tuimon/config.ini"
    for environment in ({}, {"XDG_CONFIG_HOME": ""}, {"XDG_CONFIG_HOME": "relative"}):
        assert config_path(environment) == str(Path.home() / ".config/tuimon/config.ini")


def test_defaults_are_those_of_the_command_line(tmp_path: Path) -> None:
    path = written(tmp_path, "[screen]\ntheme = light ; at home\nascii = yes\nmouse: no\nfps = 10\n")
    assert config(path) == Config({"light": True, "ascii": True, "no_mouse": True, "fps": 10.0})
    assert config(written(tmp_path, "# mine\n\n[screen]\ntheme=sixteen\n")).screen == {"low_color": True}
    assert config(written(tmp_path, "")) == Config()
    assert [
        config(written(tmp_path, f"[screen]\ntheme = {name}\n")).theme for name in ("dark", "light", "sixteen")
    ] == [
        "dark",
        "light",
        "sixteen",
    ]
    assert config(str(tmp_path / "absent.ini")) == Config()


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("[screen]\ntheme = pink", 2),
        ("[screen]\n\nfps = 1000", 3),
        ("[screen]\nfps = nan", 2),
        ("[screen]\ncolour = 3", 2),
        ("# one\n[other]\nx = y\nz = 1\n", 2),
        ("theme = x", 1),
        ("[screen]\nascii", 2),
    ],
)
def test_what_means_nothing_is_told_with_its_line_and_the_rest_counts(text: str, line: int, tmp_path: Path) -> None:
    found = config(written(tmp_path, text))
    assert found.screen == {}
    (wrong,) = found.wrong
    assert wrong.startswith(f"{tmp_path}/config.ini:{line}: ")
    assert config(written(tmp_path, "[screen]\nascii = on\nfps = many")).screen == {"ascii": True}


@pytest.mark.parametrize(
    "words", ["q", "Q F5", "ctrl+g", "; # comment", "# ; comment", "= [", "PageUp", "space", "- +", "_ @ \\ /", "a, b"]
)
def test_a_key_of_ones_own_takes_the_place_of_the_usual_ones(words: str, tmp_path: Path) -> None:
    free = "[keys]\nquit = Z\nzoom-in = f9\nzoom-out = f10\npause = f11\nfilter = f12\n"
    found = config(written(tmp_path, f"{free}nan-onset = {words}\n"))
    assert found.wrong == ()
    own = next(key for key in found.keys if key.name == "nan-onset")
    assert own.keys
    assert own.keys != ("n",)
    assert len(own.cap) <= len(words)
    untouched = {"quit", "zoom-in", "zoom-out", "pause", "filter", "nan-onset"}
    assert [key for key in found.keys if key.name not in untouched] == [k for k in ALL if k.name not in untouched]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("nan-onse = f", "no action is called nan-onse; nan-onset?"),
        ("fly = f", "no action is called fly; there are quit, help, "),
        ("nan-onset = hyper", "no key is called hyper"),
        ("nan-onset = ctrl+a", "ctrl+a does not reach a program in a terminal, or is taken"),
        ("nan-onset = alt+x", "alt+x does not reach"),
        ("nan-onset =", "nan-onset has no key here"),
        ("nan-onset = e", "e cannot be nan-onset: it is next-finding already"),
        ("nan-onset = tab", "no key is called tab"),
        ("nan-onset = f L", "L cannot be nan-onset: it is log already"),
        ("row-down = b", "b cannot be row-down: it is lab already, in the explanation"),
        ("yes = n", "n cannot be yes: it is no already, in the triage"),
        ("zoom-in = 1", "1 cannot be zoom-in: it is page 1 already, in the lab"),
        ("page-down = Enter", "Enter cannot be page-down: it is open already, in the list of runs"),
    ],
)
def test_a_key_that_cannot_be_is_told_with_its_line_and_the_usual_ones_stay(
    line: str, said: str, tmp_path: Path
) -> None:
    found = config(written(tmp_path, f"[keys]\nlive = g\n{line}\n"))
    (wrong,) = found.wrong
    assert wrong.startswith(f"{tmp_path}/config.ini:3: ")
    assert said in wrong
    assert cap_of("nan-onset", found.keys) == "n"
    assert cap_of("live", found.keys) == "g"


def test_of_two_lines_with_one_key_the_first_counts(tmp_path: Path) -> None:
    found = config(written(tmp_path, "[keys]\nlive = g\nnan-onset = g\nlive = G\n"))
    assert [wrong.partition("config.ini:")[2] for wrong in found.wrong] == [
        "3: g cannot be nan-onset: it is live already",
        "4: live has its keys from line 2 already",
    ]
    assert (cap_of("live", found.keys), cap_of("nan-onset", found.keys)) == ("g", "n")


def test_the_screen_has_it_in_a_few_words(tmp_path: Path) -> None:
    assert config(written(tmp_path, "[screen]\nascii = on\n")).notice == ""
    found = config(written(tmp_path, "[keys]\nfly = f\n"))
    assert found.notice.startswith("config.ini:2: no action is called fly")
    found = config(written(tmp_path, "[keys]\nfly = f\nquit = hyper\n"))
    assert found.notice == "config.ini: 2 lines mean nothing; they are told on leaving"


def test_two_things_may_change_their_keys(tmp_path: Path) -> None:
    found = config(written(tmp_path, "[keys]\nnext-finding = n\nnan-onset = e\n"))
    assert found.wrong == ()
    assert (cap_of("next-finding", found.keys), cap_of("nan-onset", found.keys)) == ("n", "e")


@given(st.lists(st.tuples(st.sampled_from([k.name for k in ALL]), st.sampled_from("nexqghL?/0Rbtcu1M")), max_size=8))
def test_no_wishes_leave_a_key_with_two_meanings_or_a_thing_without_one(wishes: list[tuple[str, str]]) -> None:
    keys, wrong = remapped([Wish(number, name, (key,)) for number, (name, key) in enumerate(wishes)])
    by_name = {key.name: key.keys for key in keys}
    for uses in USES.values():
        names = [name for use in uses for name in use.keys or by_name[use.name]]
        assert len(set(names)) == len(names)
    names = [name for key in keys if key.action for name in key.keys]
    assert len(set(names)) == len(names)
    assert all(key.keys and key.cap for key in keys)
    assert len(wrong) <= len(wishes)


@pytest.mark.parametrize("character", [chr(code) for code in range(33, 127)])
def test_every_character_is_a_key_by_the_name_that_the_toolkit_has_for_it(character: str) -> None:
    from textual.keys import _character_to_key

    assert key_named(character) == (_character_to_key(character), character)


@given(st.one_of(st.binary(max_size=200), st.text("[]keysn-o=;:# \n", max_size=60).map(str.encode)))
def test_no_content_of_the_file_is_an_error(content: bytes) -> None:
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        path = Path(folder) / "config.ini"
        path.write_bytes(content)
        config(str(path))
