import errno
import os
from pathlib import Path

import pytest
from hypothesis import given, strategies

from strawboss.system import json_files
from strawboss.system.json_files import Broken, create_json, decode_object, read_object, write_json


def test_an_object_is_read(tmp_path):
    (tmp_path / "a.json").write_text('{"a": 1, "a": 2}')
    assert read_object(tmp_path / "a.json") == {"a": 2}


def test_a_missing_file_is_none_and_not_broken(tmp_path):
    assert read_object(tmp_path / "a.json") is None


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (b"", "malformed JSON"),
        (b"{not json", "malformed JSON"),
        (b'{"a": 1', "malformed JSON"),
        (b'{"a": NaN}', "malformed JSON: NaN"),
        (b'{"a": -Infinity}', "malformed JSON: -Infinity"),
        (b'\xef\xbb\xbf{"a": 1}', "malformed JSON"),
        (b'{"a": 1}\x00\x00', "malformed JSON"),
        (b'{"a":' + b"[" * 100_000 + b"]" * 100_000 + b"}", "nested too deeply"),
        (b'{"a":' + b"1" * 5000 + b"}", "malformed JSON"),
        (b"null", "not a JSON object"),
        (b"[1]", "not a JSON object"),
        (b"3", "not a JSON object"),
    ],
)
def test_what_is_no_object_is_broken_with_its_reason(raw, reason):
    found = decode_object(raw)
    assert isinstance(found, Broken)
    assert reason in found.reason


@pytest.mark.parametrize("raw", [b'{"a": "x\\ud83d"}', b'{"a": "x\xff"}', b'{"a": "x\xf0\x9f"}'])
def test_a_letter_cut_in_half_spoils_one_letter_and_not_the_record(raw):
    found = decode_object(raw)
    assert isinstance(found, dict)
    assert found["a"].startswith("x")
    json_files.encode(found)


@given(strategies.binary(max_size=200))
def test_no_bytes_raise(raw):
    assert isinstance(decode_object(raw), (dict, Broken))


def test_a_huge_file_is_refused_unread(tmp_path):
    with (tmp_path / "a.json").open("wb") as file:
        file.truncate(100 * 1024 * 1024)
    assert read_object(tmp_path / "a.json") == Broken("unreadable: larger than 1 MiB")


def test_a_pipe_in_the_place_of_a_file_does_not_hang(tmp_path):
    os.mkfifo(tmp_path / "a.json")
    assert read_object(tmp_path / "a.json") == Broken("unreadable: not a regular file")


def test_a_file_that_may_not_be_read_is_broken(tmp_path, mocker):
    (tmp_path / "a.json").write_text("{}")
    mocker.patch("os.open", side_effect=PermissionError(errno.EACCES, "Permission denied"))
    assert read_object(tmp_path / "a.json") == Broken("unreadable: Permission denied")


def test_a_written_file_is_private_whole_and_ends_in_a_newline(tmp_path):
    write_json(tmp_path / "new" / "a.json", {"a": 1})
    assert (tmp_path / "new" / "a.json").read_bytes() == b'{\n  "a": 1\n}\n'
    assert (tmp_path / "new" / "a.json").stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "new").stat().st_mode & 0o777 == 0o700


def test_a_disk_full_at_the_rename_leaves_the_old_content_and_nothing_else(tmp_path, mocker):
    write_json(tmp_path / "a.json", {"a": 1})
    mocker.patch.object(Path, "replace", side_effect=OSError(errno.ENOSPC, "No space left on device"))
    with pytest.raises(OSError, match="No space"):
        write_json(tmp_path / "a.json", {"a": 2})
    assert read_object(tmp_path / "a.json") == {"a": 1}
    assert [path.name for path in tmp_path.iterdir()] == ["a.json"]


def test_letters_utf8_cannot_say_become_replacements(tmp_path):
    write_json(tmp_path / "a.json", {"a": "x\udcff"})
    assert read_object(tmp_path / "a.json") == {"a": "x?"}


def test_a_file_is_created_once(tmp_path):
    assert create_json(tmp_path / "a.json", {"a": 1})
    assert not create_json(tmp_path / "a.json", {"a": 2})
    assert read_object(tmp_path / "a.json") == {"a": 1}
    assert [path.name for path in tmp_path.iterdir()] == ["a.json"]
