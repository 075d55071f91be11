from __future__ import annotations

import os
import socket
from collections.abc import Callable
from pathlib import Path

import pytest
from runs.written import settle

from strawboss.recovery.verdict import Unknown
from strawboss.runs.foreign_files import Cache, is_there, open_regular, read_whole

WHAT = "its file"


def _folder(path: Path) -> None:
    path.mkdir()


def _link(path: Path) -> None:
    path.with_suffix(".target").write_bytes(b"{}")
    path.symlink_to(path.with_suffix(".target"))


def _socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))


@pytest.mark.parametrize(
    "make", [_folder, _link, _socket, os.mkfifo], ids=["folder", "link", "socket", "fifo"]
)
def test_what_is_no_regular_file_is_unknown_and_never_waited_for(
    tmp_path: Path, make: Callable[[Path], None]
) -> None:
    make(tmp_path / "x")
    assert isinstance(read_whole(str(tmp_path / "x"), WHAT, 100), Unknown)


def test_a_link_is_followed_where_that_is_asked_for(tmp_path: Path) -> None:
    _link(tmp_path / "x")
    with open_regular(str(tmp_path / "x"), follow=True) as file:
        assert file.read() == b"{}"


@pytest.mark.parametrize("make", [_folder, os.mkfifo], ids=["folder", "fifo"])
def test_a_link_to_something_else_is_refused_even_where_links_are_followed(
    tmp_path: Path, make: Callable[[Path], None]
) -> None:
    make(tmp_path / "target")
    (tmp_path / "x").symlink_to(tmp_path / "target")
    with pytest.raises(OSError, match=r"not a file"):
        open_regular(str(tmp_path / "x"), follow=True)


def test_a_file_that_is_not_there_is_none(tmp_path: Path) -> None:
    assert read_whole(str(tmp_path / "x"), WHAT, 100) is None


@pytest.mark.parametrize("path", ["nul\0byte", "lone\ud800surrogate", "x" * 5000])
def test_a_path_no_file_can_have_is_unknown(path: str) -> None:
    assert isinstance(read_whole(path, WHAT, 100), Unknown)
    assert isinstance(is_there(path, WHAT), Unknown)


@pytest.mark.parametrize(("size", "read"), [(0, True), (100, True), (101, False)])
def test_a_file_is_read_up_to_its_limit_and_not_beyond(tmp_path: Path, size: int, read: bool) -> None:
    (tmp_path / "x").write_bytes(b"a" * size)
    content = read_whole(str(tmp_path / "x"), WHAT, 100)
    assert content == (b"a" * size if read else Unknown("its file is larger than 100 bytes"))


def test_presence_is_yes_for_whatever_lies_there_no_beside_it_and_unknown_without_the_folder(
    tmp_path: Path,
) -> None:
    (tmp_path / "dangling").symlink_to(tmp_path / "nowhere")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    assert is_there(str(tmp_path / "dangling"), WHAT) is True
    assert is_there(str(tmp_path / "x"), WHAT) is False
    assert isinstance(is_there(str(tmp_path / "no folder" / "x"), WHAT), Unknown)
    assert isinstance(is_there(str(tmp_path / "loop" / "x"), WHAT), Unknown)


class _Counting:
    def __init__(self) -> None:
        self.reads = 0

    def __call__(self, path: str) -> bytes | Unknown | None:
        self.reads += 1
        return read_whole(path, WHAT, 100)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "x").write_bytes(b"old")
    settle(tmp_path / "x")
    return tmp_path / "x"


def test_an_unchanged_file_is_read_once(file: Path) -> None:
    read = _Counting()
    cache: Cache[bytes] = Cache(WHAT, read)
    assert [cache.get(str(file)) for _ in range(3)] == [b"old"] * 3
    assert read.reads == 1


def test_a_replaced_file_is_read_again(file: Path) -> None:
    cache: Cache[bytes] = Cache(WHAT, _Counting())
    cache.get(str(file))
    file.with_suffix(".new").write_bytes(b"new")
    settle(file.with_suffix(".new"))
    file.with_suffix(".new").replace(file)
    assert cache.get(str(file)) == b"new"


def test_a_file_changed_just_now_is_not_trusted_by_its_signature(file: Path) -> None:
    cache: Cache[bytes] = Cache(WHAT, _Counting())
    file.write_bytes(b"one")
    status = file.stat()
    assert cache.get(str(file)) == b"one"
    file.write_bytes(b"two")
    os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert cache.get(str(file)) == b"two"


def test_what_could_not_be_read_is_tried_again(file: Path) -> None:
    answers = iter([Unknown("busy"), b"old"])
    cache: Cache[bytes] = Cache(WHAT, lambda path: next(answers))
    assert [cache.get(str(file)), cache.get(str(file))] == [Unknown("busy"), b"old"]


def test_a_removed_file_is_none_again(file: Path) -> None:
    cache: Cache[bytes] = Cache(WHAT, _Counting())
    cache.get(str(file))
    file.unlink()
    assert cache.get(str(file)) is None
