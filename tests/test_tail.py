"""The tail: whole lines of files and pipes, whatever happens to them meanwhile."""

from __future__ import annotations

import errno
import itertools
import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tuimon.sources import tail
from tuimon.sources.base import LONGEST_LINE
from tuimon.sources.pipe import Pipe
from tuimon.sources.tail import Chunk, Tail, plain_lines


def drain(lines: Tail | Pipe, limit: int = 64 * 1024) -> tuple[list[tuple[int, str]], list[int], int]:
    """Everything there is: numbered lines, numbers of bad lines, how often it restarted."""
    found: list[tuple[int, str]] = []
    bad: list[int] = []
    restarts = 0
    while True:
        chunk = lines.read(limit)
        if chunk.restarted:
            restarts += 1
            found.clear()
        bad += [line.number for line in chunk.bad_lines]
        found += chunk.lines()
        if not chunk.more:
            return found, bad, restarts


def texts(found: list[tuple[int, str]]) -> list[str]:
    return [text for _, text in found]


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        (b"a\nb\n", ["a", "b"]),
        (b"a\r\nb\r\n", ["a", "b"]),
        (b"10%\r20%\r30%\nend\n", ["10%", "20%", "30%", "end"]),
        (b"\xef\xbb\xbfa\nb\n", ["a", "b"]),
        (b"a\0\0\nb\n", ["a", "b"]),
        (b"a\n\nb\n", ["a", "", "b"]),
        (b"\xff\xfe\n", ["��"]),
        (b"a\nhalf", ["a"]),
        (b"a\r", []),
        (b"", []),
    ],
)
def test_lines_are_cut_at_every_kind_of_line_end_and_a_torn_one_waits(
    tmp_path: Path, raw: bytes, expected: list[str]
) -> None:
    path = tmp_path / "log"
    path.write_bytes(raw)
    found, bad, _ = drain(Tail(path))
    assert texts(found) == expected
    assert [number for number, _ in found] == list(range(1, len(expected) + 1))
    assert not bad


def test_a_torn_line_comes_once_its_newline_does(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(b'{"step": 1}\n{"st')
    tail_ = Tail(path)
    assert texts(drain(tail_)[0]) == ['{"step": 1}']
    with path.open("ab") as file:
        file.write(b'ep": 2}\n')
    assert drain(tail_)[0] == [(2, '{"step": 2}')]


def test_finish_gives_the_last_line_without_its_newline(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"a\nlast")
    tail_ = Tail(path)
    drain(tail_)
    assert list(tail_.finish().lines()) == [(2, "last")]
    assert list(tail_.finish().lines()) == []


@settings(max_examples=150, deadline=None)
@given(
    st.lists(
        st.sampled_from([b"a", b"bb", b"\n", b"\r", b"\r\n", b"\0", b"\xc3\xa9", b"c" * 40, b"d" * 21]), max_size=40
    ),
    st.lists(st.integers(0, 400), max_size=8),
    st.integers(1, 64),
)
def test_any_split_of_the_bytes_gives_the_same_lines(
    tmp_path_factory: pytest.TempPathFactory, parts: list[bytes], cuts: list[int], limit: int
) -> None:
    raw = b"".join(parts)
    path = tmp_path_factory.mktemp("split") / "log"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tail, "LONGEST_LINE", 20)
        path.write_bytes(raw)
        whole = Tail(path)
        expected = drain(whole, 10_000)
        path.write_bytes(b"")
        piecewise = Tail(path)
        found: list[tuple[int, str]] = []
        bad: list[int] = []
        edges = [0, *sorted(min(cut, len(raw)) for cut in cuts), len(raw)]
        for low, high in itertools.pairwise(edges):
            with path.open("ab") as file:
                file.write(raw[low:high])
            more, wrong, restarts = drain(piecewise, limit)
            found += more
            bad += wrong
            assert restarts == 0
        whole.close()
        piecewise.close()
    assert (found, bad) == expected[:2]


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.sampled_from([b"a", b"\n", b"\r", b"\r\n", b"d" * 30]), max_size=30),
    st.lists(st.integers(0, 300), max_size=6),
)
def test_a_pipe_gives_the_lines_that_the_file_would(
    tmp_path_factory: pytest.TempPathFactory, parts: list[bytes], cuts: list[int]
) -> None:
    raw = b"".join(parts)
    path = tmp_path_factory.mktemp("pipe") / "log"
    path.write_bytes(raw)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tail, "LONGEST_LINE", 20)
        from_file = Tail(path)
        expected, wrong, _ = drain(from_file)
        final = from_file.finish()
        expected += final.lines()
        wrong += [line.number for line in final.bad_lines]
        from_file.close()
        out, into = os.pipe()
        pipe = Pipe(out)
        found: list[tuple[int, str]] = []
        bad: list[int] = []
        edges = [0, *sorted(min(cut, len(raw)) for cut in cuts), len(raw)]
        for low, high in itertools.pairwise(edges):
            os.write(into, raw[low:high])
            more, worse, _ = drain(pipe)
            found += more
            bad += worse
        os.close(into)
        more, worse, _ = drain(pipe)
        found += more
        bad += worse
        os.close(out)
    assert pipe.ended
    assert (found, bad) == (expected, wrong)


def test_a_pipe_without_news_returns_at_once() -> None:
    out, into = os.pipe()
    pipe = Pipe(out)
    assert pipe.read() == Chunk()
    os.write(into, b"half")
    assert pipe.read() == Chunk()
    os.write(into, b" a line\n")
    assert list(pipe.read().lines()) == [(1, "half a line")]
    os.close(into)
    os.close(out)


def test_a_line_over_the_limit_is_skipped_counted_and_not_held(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"first\n" + b"x" * (3 * LONGEST_LINE) + b"\nthird\n")
    found, bad, _ = drain(Tail(path))
    assert found == [(1, "first"), (3, "third")]
    assert bad == [2]


def test_a_hole_of_any_size_is_one_bad_line_and_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"first\n")
    tail_ = Tail(path)
    assert texts(drain(tail_)[0]) == ["first"]
    os.truncate(path, 1 << 40)  # as after `> log` while the training goes on at its old offset
    chunk = tail_.read()
    assert [line.number for line in chunk.bad_lines] == [2]
    assert (chunk.more, chunk.offset) == (False, 1 << 40)
    with path.open("ab") as file:
        file.write(b"rest of it\nthird\n")
    assert drain(tail_) == ([(3, "third")], [], 0)
    os.truncate(path, 0)
    path.write_bytes(b"new\n")
    assert drain(tail_) == ([(1, "new")], [], 1)


def test_a_line_just_within_the_limit_is_read(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"x" * (LONGEST_LINE - 1) + b"\nnext\n")
    found, bad, _ = drain(Tail(path))
    assert [len(text) for text in texts(found)] == [LONGEST_LINE - 1, 4]
    assert not bad


def test_a_truncated_file_is_read_from_its_start_again(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"one\ntwo\nthree\n")
    tail_ = Tail(path)
    drain(tail_)
    path.write_bytes(b"new\n")
    assert drain(tail_) == ([(1, "new")], [], 1)


def test_a_file_that_grew_past_the_old_size_after_truncation_is_still_noticed(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"one\ntwo\n")
    tail_ = Tail(path)
    drain(tail_)
    path.write_bytes(b"eins\nzwei\ndrei\nvier\n")
    found, _, restarts = drain(tail_)
    assert (texts(found), restarts) == (["eins", "zwei", "drei", "vier"], 1)


def test_a_difference_before_the_offset_is_noticed_when_the_first_bytes_agree(tmp_path: Path) -> None:
    path = tmp_path / "log"
    head = b"header " * 60 + b"\n"
    path.write_bytes(head + b"1\n2\n3\n")
    tail_ = Tail(path)
    drain(tail_)
    path.write_bytes(head + b"7\n8\n9\n10\n")
    assert drain(tail_)[2] == 1


def test_an_atomic_rewrite_that_only_adds_lines_is_read_on_without_a_restart(tmp_path: Path) -> None:
    path, new = tmp_path / "log", tmp_path / "log.tmp"
    path.write_bytes(b"one\ntwo\n")
    tail_ = Tail(path)
    drain(tail_)
    new.write_bytes(b"one\ntwo\nthree\n")
    new.rename(path)
    assert drain(tail_) == ([(3, "three")], [], 0)


def test_a_replaced_file_that_can_be_read_no_more_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"one\n")
    tail_ = Tail(path)
    drain(tail_)
    old, pread = path.stat().st_ino, os.pread

    def of_a_shared_disk(descriptor: int, count: int, offset: int) -> bytes:
        if os.fstat(descriptor).st_ino == old:
            raise OSError(errno.ESTALE, "Stale file handle")
        return pread(descriptor, count, offset)

    (tmp_path / "new").write_bytes(b"uno\n")
    (tmp_path / "new").rename(path)
    monkeypatch.setattr(os, "pread", of_a_shared_disk)
    assert drain(tail_) == ([(1, "uno")], [], 1)
    tail_.close()


def test_lines_that_a_rotation_moved_away_are_read_before_the_new_file(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"one\n")
    tail_ = Tail(path)
    drain(tail_)
    with path.open("ab") as file:
        file.write(b"two\n")
    path.rename(tmp_path / "log.1")
    path.write_bytes(b"uno\n")
    first = tail_.read()
    second = tail_.read()
    assert list(first.lines()) == [(2, "two")]
    assert first.more and not first.restarted
    assert second.restarted and list(second.lines()) == [(1, "uno")]


def test_a_missing_file_raises_and_is_read_once_it_is_there(tmp_path: Path) -> None:
    path = tmp_path / "log"
    tail_ = Tail(path)
    with pytest.raises(FileNotFoundError):
        tail_.read()
    path.write_bytes(b"here\n")
    assert texts(drain(tail_)[0]) == ["here"]
    path.unlink()
    with pytest.raises(FileNotFoundError):
        tail_.read()
    path.write_bytes(b"again\n")
    assert drain(tail_) == ([(1, "again")], [], 1)


def test_offset_and_size_tell_how_far_the_reading_is(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"0123456\n" * 100)
    chunk = Tail(path).read(80)
    assert (chunk.offset, chunk.size, chunk.more) == (80, 800, True)


def test_a_closed_tail_goes_on_where_it_stopped(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"one\n")
    tail_ = Tail(path)
    drain(tail_)
    tail_.close()
    with path.open("ab") as file:
        file.write(b"two\n")
    assert drain(tail_) == ([(2, "two")], [], 0)


def test_no_descriptor_is_left_open(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"one\n")
    before = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0
    tail_ = Tail(path)
    for _ in range(20):
        tail_.read()
    tail_.close()
    after = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0
    assert after == before


def test_plain_lines_always_end_in_a_newline() -> None:
    assert plain_lines(b"a\r\nb") == b"a\nb\n"
    assert plain_lines(b"") == b""
