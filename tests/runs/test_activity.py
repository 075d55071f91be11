from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from runs.written import LONG_AGO, RUN, activity, settle

from strawboss.recovery.evidence import Activity
from strawboss.recovery.verdict import Unknown
from strawboss.runs.activity import EVENTS, LIMIT, PHASES, ActivityFolder, parse


def _bytes(**members: object) -> bytes:
    return json.dumps(activity(**members)).encode() + b"\n"


def test_a_whole_file_says_phase_event_and_time_in_seconds() -> None:
    assert parse(_bytes(), RUN) == Activity("waiting", "agent_end", 1796161668.478)


@pytest.mark.parametrize("phase", sorted(PHASES))
def test_every_phase_is_known(phase: str) -> None:
    assert isinstance(parse(_bytes(phase=phase), RUN), Activity)


@pytest.mark.parametrize("event", sorted(EVENTS))
def test_every_event_is_known(event: str) -> None:
    assert isinstance(parse(_bytes(latestEvent=event), RUN), Activity)


@pytest.mark.parametrize(
    "members",
    [
        {"version": 2},
        {"version": "1"},
        {"phase": "sleeping"},
        {"latestEvent": "agent_settled"},
        {"activeScope": "moon"},
        {"sequence": 13.5},
        {"sequence": True},
        {"sequence": "13"},
        {"updatedAt": "now"},
        {"updatedAt": None},
        {"toolName": "a\nb"},
        {"toolName": "ends in a newline\n"},
        {"toolName": "x" * 201},
        {"toolCallId": 5},
        {"runningChildId": None},
    ],
    ids=str,
)
def test_what_the_package_itself_would_refuse_is_unknown(members: dict[str, object]) -> None:
    assert isinstance(parse(_bytes(**members), RUN), Unknown)


@pytest.mark.parametrize(
    "missing", ["version", "runningChildId", "updatedAt", "sequence", "latestEvent", "phase"]
)
def test_a_missing_member_is_unknown(missing: str) -> None:
    written = {name: value for name, value in activity().items() if name != missing}
    assert isinstance(parse(json.dumps(written).encode(), RUN), Unknown)


def test_a_file_of_another_run_is_not_this_runs() -> None:
    assert parse(_bytes(runningChildId="ffffffff"), RUN) is None


@given(st.integers(0, len(_bytes()) - 2))
def test_a_file_cut_anywhere_is_unknown(cut: int) -> None:
    assert isinstance(parse(_bytes()[:cut], RUN), Unknown)


@given(
    st.binary(max_size=300)
    | st.sampled_from([b"[" * 100_000, b'{"version":' * 50_000, b"{}", b"null", b"\0" * 99])
)
def test_any_bytes_are_unknown_and_raise_nothing(content: bytes) -> None:
    assert isinstance(parse(content, RUN), Unknown)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / f"{RUN}.json").write_bytes(_bytes())
    settle(tmp_path / f"{RUN}.json")
    return tmp_path


def test_the_folder_gives_every_run(folder: Path) -> None:
    (folder / "b1.json").write_bytes(_bytes(run="b1", phase="active"))
    runs = ActivityFolder(str(folder)).read()
    assert isinstance(runs, dict)
    assert {run: says.phase for run, says in runs.items()} == {RUN: "waiting", "b1": "active"}


@pytest.mark.parametrize(
    "name", [f"{RUN}.json.12.3.tmp", "notes.txt", f"{RUN}.json~", ".json", "a b.json", "-x.json"]
)
def test_temporary_and_foreign_names_are_ignored(folder: Path, name: str) -> None:
    (folder / name).write_bytes(_bytes())
    assert list(ActivityFolder(str(folder)).read()) == [RUN]


def test_a_copy_under_another_name_is_ignored(folder: Path) -> None:
    (folder / "ffffffff.json").write_bytes(_bytes())
    assert list(ActivityFolder(str(folder)).read()) == [RUN]


def test_a_file_that_is_too_large_is_unknown(folder: Path) -> None:
    (folder / f"{RUN}.json").write_bytes(_bytes() + b" " * LIMIT)
    assert isinstance(ActivityFolder(str(folder)).read()[RUN], Unknown)


def test_a_fifo_in_a_files_place_is_unknown_for_that_run_alone(folder: Path) -> None:
    os.mkfifo(folder / "b1.json")
    runs = ActivityFolder(str(folder)).read()
    assert isinstance(runs["b1"], Unknown)
    assert isinstance(runs[RUN], Activity)


def test_a_changed_file_is_read_again_and_an_unchanged_one_is_not(folder: Path) -> None:
    activities = ActivityFolder(str(folder))
    activities.read()
    os.truncate(folder / f"{RUN}.json", 5)
    os.utime(folder / f"{RUN}.json", (1_700_000_000, 1_700_000_000))
    assert isinstance(activities.read()[RUN], Unknown)
    status = (folder / f"{RUN}.json").stat()
    (folder / f"{RUN}.json").write_bytes(b"?" * status.st_size)
    os.utime(folder / f"{RUN}.json", ns=(status.st_atime_ns, status.st_mtime_ns))
    assert "torn" in activities.read()[RUN].why


def test_a_removed_run_is_gone(folder: Path) -> None:
    activities = ActivityFolder(str(folder))
    activities.read()
    (folder / f"{RUN}.json").unlink()
    assert activities.read() == {}


def test_without_the_folder_nothing_was_launched(tmp_path: Path) -> None:
    assert ActivityFolder(str(tmp_path / "none")).read() == {}


def test_a_folder_that_cannot_be_listed_is_unknown(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    (tmp_path / "dangling").symlink_to(tmp_path / "nowhere")
    for name in ("file", "dangling", "nul\0byte"):
        assert isinstance(ActivityFolder(f"{tmp_path}/{name}").read(), Unknown)


def test_a_linked_folder_is_read(folder: Path) -> None:
    link = folder / "link"
    link.symlink_to(folder, target_is_directory=True)
    assert isinstance(ActivityFolder(str(link)).read()[RUN], Activity)


# -- a folder in which nothing was renamed ---------------------------------------------------------------------


@pytest.fixture
def quiet(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Quiet:
    """A folder that has not changed for long, and how often it is listed."""
    (folder / "notes.txt").write_text("foreign")
    os.utime(folder, (LONG_AGO, LONG_AGO))
    return Quiet(folder, monkeypatch)


class Quiet:
    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder, self.file = folder, folder / f"{RUN}.json"
        self.activities, self.listed, scandir = ActivityFolder(str(folder)), 0, os.scandir

        def counted(path: str) -> Iterator[os.DirEntry[str]]:
            self.listed += 1
            return scandir(path)

        monkeypatch.setattr("os.scandir", counted)

    def says(self) -> str:
        activity = self.activities.read()[RUN]
        return activity.why if isinstance(activity, Unknown) else activity.phase

    def write(self, phase: str, how: Callable[[Path, bytes], object]) -> None:
        how(self.file, _bytes(phase=phase))
        settle(self.file)


def by_rename(file: Path, content: bytes) -> None:
    new = file.with_suffix(".tmp")
    new.write_bytes(content)
    new.replace(file)


def test_it_is_listed_once(quiet: Quiet) -> None:
    assert [quiet.says() for _ in range(3)] == ["waiting"] * 3
    assert quiet.listed == 1


def test_what_a_child_writes_then_is_seen(quiet: Quiet) -> None:
    quiet.says()
    quiet.write("active", by_rename)
    assert quiet.says() == "active"


def test_while_it_has_just_changed_it_is_listed_again(quiet: Quiet) -> None:
    quiet.write("waiting", by_rename)
    quiet.says()
    quiet.write("active", Path.write_bytes)
    assert (quiet.says(), quiet.listed) == ("active", 2)


def test_the_file_of_a_watched_run_is_looked_at_once_for_each_watch(quiet: Quiet) -> None:
    """On that run something may rest: its file is seen also when somebody wrote into it, which no child does."""
    quiet.says()
    quiet.activities.watch(RUN)
    quiet.activities.watch("ffffffff")
    assert (quiet.says(), quiet.listed) == ("waiting", 1)
    quiet.activities.watch(RUN)
    quiet.write("active", Path.write_bytes)
    assert (quiet.says(), quiet.listed) == ("active", 2)
    quiet.write("done", Path.write_bytes)
    assert (quiet.says(), quiet.listed) == ("active", 2)


def test_with_a_file_that_could_not_be_read_it_is_listed_again(quiet: Quiet) -> None:
    quiet.file.unlink()
    quiet.file.symlink_to("elsewhere")
    os.utime(quiet.folder, (LONG_AGO, LONG_AGO))
    assert "symbolic link" in quiet.says()
    quiet.says()
    assert quiet.listed == 2


def test_with_a_file_that_has_just_changed_it_is_listed_again(quiet: Quiet) -> None:
    os.utime(quiet.file)
    quiet.says()
    quiet.says()
    assert quiet.listed == 2


def test_when_another_may_list_it_it_is_listed_again(quiet: Quiet) -> None:
    quiet.says()
    quiet.folder.chmod(0o711)
    quiet.says()
    assert quiet.listed == 2
