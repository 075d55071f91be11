import os
import shutil
from pathlib import Path

import pytest
from heartbeat.given import NOW, ack, ago, beat, content, in_use, put, steer
from hypothesis import given, strategies

from strawboss.heartbeat import sweep as sweeping
from strawboss.heartbeat.layout import Worktree
from strawboss.heartbeat.places import NoPlaceError
from strawboss.heartbeat.sweep import check_status_directory, sweep


@pytest.fixture
def status(tmp_path):
    directory = Worktree(tmp_path).status_directory
    directory.mkdir(parents=True)
    return directory


def swept(*directories):
    return sweep([str(directory) for directory in directories], NOW)


def names(*directories):
    return [record.stem for record in swept(*directories).records]


def only_failure(directory):
    (record,) = swept(directory).records
    (failure,) = record.failures
    return failure


def test_records_come_by_directory_and_then_by_file_name(tmp_path):
    for root, agents in (("two", "ca"), ("one", "b")):
        for agent in agents:
            beat(tmp_path / root, agent)
    two, one = (Worktree(tmp_path / root).status_directory for root in ("two", "one"))
    assert names(two, one) == ["a", "c", "b"]


def test_only_the_top_level_is_read(status):
    put(status / "deeper" / "a.json", content("a"))
    (status / "folder.json").mkdir()
    assert names(status) == []


NO_STATUS_DIRECTORY = {
    "empty": [],
    "sources": [("package.json", {"name": "x"}), ("tsconfig.json", b"{ // a comment")],
    "subagent-steer": [("leaf-7.json", steer()), ("leaf-7.ack.json", ack())],
    "broken": [("leaf-7.json", b"{half")],
    ".deft-scratch": [("subagent-status/leaf-7.json", content())],
}


@pytest.mark.parametrize("name", NO_STATUS_DIRECTORY)
def test_a_directory_that_never_was_one_of_heartbeats_is_an_error_and_holds_no_records(tmp_path, name):
    (tmp_path / name).mkdir()
    for file, what in NO_STATUS_DIRECTORY[name]:
        put(tmp_path / name / file, what)
    looked = swept(tmp_path / name)
    assert (looked.records, looked.sees_nothing) == ((), True)
    assert "not a status directory" in looked.errors[0]
    with pytest.raises(NoPlaceError, match="not a status directory"):
        check_status_directory(tmp_path / name)


@pytest.mark.parametrize("of", ["its name", "a link to one", "a heartbeat in it"])
def test_it_is_one_by_its_name_or_by_a_heartbeat(tmp_path, status, monkeypatch, of):
    (tmp_path / "alias").symlink_to(status)
    put(tmp_path / "custom" / "leaf-7.json", content())
    monkeypatch.chdir(status)
    for directory in {"its name": (status, "."), "a link to one": [tmp_path / "alias"]}.get(
        of, [tmp_path / "custom"]
    ):
        assert swept(directory).errors == ()
        check_status_directory(Path(directory))


def test_a_status_directory_must_be_there(tmp_path):
    put(tmp_path / "file", b"")
    for path in (tmp_path / "subagent-status", tmp_path / "file"):
        with pytest.raises(NoPlaceError, match="is not a status directory"):
            check_status_directory(path)


def test_steer_files_and_acks_among_the_heartbeats_are_skipped_whatever_else_they_hold(status):
    put(status / "leaf-7.json", content())
    put(status / "steered.json", steer("steered"))
    put(status / "v2.json", content("v2", schema="deft.subagent.steer.v2"))
    put(status / "leaf-7.ack.json", ack())
    (result,) = swept(status).records
    assert result.ok


@pytest.mark.parametrize("agent", ["a.ack", "a.steer", "a.firstseen"])
def test_an_agent_whose_name_looks_like_a_steers_is_seen_stale(status, agent):
    put(status / f"{agent}.json", content(agent, last_heartbeat_at=ago(hours=2)))
    assert [record.is_stale for record in swept(status).records] == [True]


def test_broken_json_under_such_a_name_is_a_row(status):
    put(status / "x.ack.json", b"{not json")
    assert "malformed JSON" in only_failure(status)


def test_broken_json_is_not_skipped_as_a_steer(status):
    put(status / "a.json", b'{"schema": "deft.subagent.steer.v1"')
    assert "malformed JSON" in only_failure(status)


def test_temporary_files_of_writers_are_no_records(status):
    put(status / ".leaf-7.json.0b8f.tmp", b"{half")
    put(status / "leaf-7.json.tmp", b"{half")
    put(status / ".json", b"{half")
    put(status / "leaf-7.JSON", b"{half")
    assert names(status) == []


def test_a_temporary_file_that_ends_in_json_is_a_row_with_a_reason(status):
    put(status / "leaf.tmp.json", b"{half")
    assert "malformed JSON" in only_failure(status)


def test_a_link_within_the_directory_is_followed_and_must_bear_its_name(status):
    put(status / "leaf-7.json", content())
    (status / "other.json").symlink_to("leaf-7.json")
    assert [record.ok for record in swept(status).records] == [True, False]


def test_a_link_out_of_the_directory_is_a_row_and_not_read(status, tmp_path):
    put(tmp_path / "secret.json", content("leaf-7"))
    (status / "leaf-7.json").symlink_to(tmp_path / "secret.json")
    assert "link out of the directory" in only_failure(status)


def test_a_link_to_nothing_is_a_row_and_not_a_missing_worker(status):
    (status / "leaf-7.json").symlink_to(status / "gone.json")
    assert "link to nothing" in only_failure(status)


def test_a_link_in_a_circle_is_a_row(status):
    (status / "a.json").symlink_to(status / "a.json")
    assert "unreadable" in only_failure(status)


def test_a_pipe_is_a_row(status):
    os.mkfifo(status / "a.json")
    assert "not a regular file" in only_failure(status)


def test_a_hundred_megabytes_are_a_row(status):
    with (status / "a.json").open("wb") as file:
        file.truncate(100 * 1024 * 1024)
    assert "larger than 1 MiB" in only_failure(status)


def test_a_file_that_vanishes_in_the_sweep_is_no_row(status, mocker):
    put(status / "a.json", content("a"))
    mocker.patch.object(sweeping, "read_object", return_value=None)
    assert names(status) == []


def test_a_directory_that_vanishes_after_the_listing_leaves_no_rows(status, mocker):
    put(status / "a.json", content("a"))
    listed = sweeping._content

    def vanish(path):
        shutil.rmtree(status)
        return listed(path)

    mocker.patch.object(sweeping, "_content", vanish)
    assert names(status) == []


LATE_WORDS = [
    (content("a", phase="terminal", terminal_state="CLEAN"), ["terminal"]),
    (content("a"), ["polling"]),
    (b"{half", [None]),
    (None, []),
]


@pytest.mark.parametrize(("word", "phases"), LATE_WORDS)
def test_what_lands_while_the_others_are_read_is_heard_before_anybody_is_called_stale(
    status, mocker, word, phases
):
    put(status / "a.json", content("a", phase="fixing", last_heartbeat_at=ago(hours=2)))
    put(status / "b.json", content("b"))
    really = sweeping.read_object

    def read(path):
        if str(path).endswith("b.json"):
            put(status / "a.json", word) if word else (status / "a.json").unlink()
        return really(path)

    mocker.patch.object(sweeping, "read_object", read)
    records = [record for record in swept(status).records if record.stem == "a"]
    assert [record.phase for record in records] == phases
    assert not any(record.is_stale for record in records)


def test_a_missing_directory_is_an_error_and_nothing_seen(tmp_path):
    result = swept(tmp_path / "gone")
    assert "No such file" in result.errors[0]
    assert result.sees_nothing
    assert not result.all_ok


def test_a_file_in_the_place_of_the_directory_is_an_error(tmp_path):
    put(tmp_path / "status", b"")
    assert "Not a directory" in swept(tmp_path / "status").errors[0]


def test_a_missing_directory_beside_a_sound_record_is_an_error_but_something_was_seen(tmp_path, status):
    put(status / "leaf-7.json", content())
    result = swept(tmp_path / "gone", status)
    assert not result.sees_nothing
    assert not result.all_ok


def test_an_empty_directory_is_well(status):
    assert swept(status).all_ok


def test_one_directory_under_two_names_counts_once(status, tmp_path):
    put(status / "leaf-7.json", content())
    (tmp_path / "link").symlink_to(status)
    assert names(status, status, f"{status}/.", tmp_path / "link") == ["leaf-7"]
    assert swept(status, tmp_path / "link").directories == (str(status),)


def test_all_ages_are_against_one_now(status):
    put(status / "a.json", content("a", last_heartbeat_at=ago(10)))
    put(status / "b.json", content("b", last_heartbeat_at=ago(20)))
    assert [record.age_seconds for record in swept(status).records] == [10, 20]


@given(
    raw=strategies.binary(max_size=60),
    name=strategies.sampled_from(["a.json", ".x.json", "ü.json", "a b.json"]),
)
def test_no_file_whatever_it_holds_raises_or_passes_for_sound(tmp_path_factory, raw, name):
    directory = in_use(tmp_path_factory.mktemp("tree"))
    (directory / name).write_bytes(raw)
    (record,) = swept(directory).records
    assert record.failures


def test_a_sweep_changes_nothing(status, tmp_path):
    put(status / "done.json", content("done", phase="terminal", terminal_state="CLEAN"))
    put(status / "bad.json", b"{")
    before = {path: path.stat() for path in tmp_path.rglob("*")}
    swept(status)
    assert {path: (path.stat().st_mtime_ns) for path in tmp_path.rglob("*")} == {
        path: facts.st_mtime_ns for path, facts in before.items()
    }
