from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from runs.conftest import FOLDER, SESSIONS
from runs.written import RUN, SESSION, activity, header, message, result, script, settle, text

from strawboss.recovery.evidence import Activity, LaunchScript, Policy, RunFiles, Tail, Worktree
from strawboss.recovery.verdict import Unknown
from strawboss.runs import Disk
from strawboss.runs.script import RESUMED

BETA = f"{FOLDER}/2026-12-01T21-47-46-949Z_a213437c-1a54df95-6a7903a4-264c.jsonl"
ETA = f"{FOLDER}/2026-12-01T21-48-58-530Z_4ccdd42f-2ef508f4-364f46a8-19bc.jsonl"
SECOND = "01a23836-7b87-735d-a74e-55db259773e9"
ALPHA = f"{FOLDER}/2026-12-01T21-46-41-492Z_4f8d9873-1df3ad48-ad93edff-c93a.jsonl"


def test_the_recorded_restart_says_what_each_child_was_doing(recorded: Callable[..., Disk]) -> None:
    runs = recorded("restart/3").runs()
    assert runs["a213437c"] == Activity("active", "tool_execution_update", 1796161668.478)
    assert {run: says.phase for run, says in runs.items()} == {
        "0f238203": "done",
        "4f8d9873": "done",
        "9ced404c": "done",
        "a213437c": "active",
        "a53a33eb": "active",
    }


def test_the_recorded_runs_have_the_files_they_had(recorded: Callable[..., Disk]) -> None:
    disk = recorded("restart/3")
    path = f"{FOLDER}/artifacts/{SESSION}/subagent-scripts/beta-a213437c.sh"
    assert disk.run("a213437c") == RunFiles(
        LaunchScript(path, "Beta", BETA, "w1:p3", auto_exit=True, persistent=False)
    )
    assert disk.run("0f238203").script.auto_exit is False
    worktree = Worktree("running", "w2:p1", "/home/user/.herdr/worktrees/proj/delta-branch", "delta-branch")
    assert disk.run("a53a33eb").worktree == worktree


def test_a_recorded_resumed_run_has_a_resume_script_and_the_original_is_not_touched_by_it(
    recorded: Callable[..., Disk],
) -> None:
    disk = recorded("restart/3")
    path = f"{FOLDER}/artifacts/{SESSION}/subagent-scripts/alpha-one-resume-1796161681966.sh"
    resume = LaunchScript(path, "Alpha One", ALPHA, "w1:p5", auto_exit=True, persistent=False)
    assert disk.run("9ced404c") == RunFiles(RESUMED, ended=False, resume_script=resume)
    assert disk.run("4f8d9873").script.session_file == ALPHA
    assert disk.run("4f8d9873").resume_script is None


def test_the_recorded_second_restart_has_every_link_from_the_resume_to_its_script(
    recorded: Callable[..., Disk],
) -> None:
    disk = recorded("second/2", SECOND)
    transcript = disk.transcript()
    [resume] = [one for one in transcript.resumes if one.run == "57060e45"]
    script = disk.run("57060e45").resume_script
    assert (script.path, script.session_file) == (resume.script, resume.session_file)
    assert (script.name, script.surface) == ("Eta", "w1:pD")
    assert transcript.results_at.get(resume.session_file, 0) < resume.at
    [reported] = [one for one in transcript.resumes if one.run == "41207da5"]
    assert transcript.results_at[reported.session_file] > reported.at


def test_the_recorded_child_that_ended_by_itself_left_its_exit_sidecar(
    recorded: Callable[..., Disk],
) -> None:
    disk = recorded("byhand/1")
    assert disk.run("4ccdd42f").script.session_file == ETA
    assert disk.run("4ccdd42f").ended is True
    assert disk.run("cd2f2e5e").ended is False


def test_the_recorded_result_reached_the_launcher(recorded: Callable[..., Disk]) -> None:
    assert recorded("deliver/2").transcript().results == {ALPHA}
    assert recorded("restart/3").transcript().worktrees == {"a53a33eb"}


def test_the_recorded_tail_ends_in_an_open_tool_call(recorded: Callable[..., Disk]) -> None:
    tail = recorded("restart/3").tail(BETA)
    assert isinstance(tail, Tail)
    assert tail.session_id == "01a23394-0159-706f-9f29-21b263d48f80"
    assert (tail.entries[-1].stop_reason, tail.entries[-1].calls) == (
        "toolUse",
        (("call_1796161668455_0", "bash", ""),),
    )


class Home:
    """A launcher's folders in a place of the test's choice, with one run in them."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.launcher = root / "launcher.jsonl"
        self.child = root / "children" / f"x_{RUN}-1-2-3.jsonl"
        self.activity = root / "artifacts" / "subagent-activity" / f"{RUN}.json"
        self.script = root / "artifacts" / "subagent-scripts" / f"beta-{RUN}.sh"
        self.manifest = root / "artifacts" / "worktree-runs" / f"{RUN}.json"
        self.exit = root / "children" / f"{self.child.name}.exit"
        self.policy = root / "children" / f"{self.child.name}.pi-herdr-subagent-policy.json"
        for file in (self.child, self.activity, self.script, self.manifest):
            file.parent.mkdir(exist_ok=True, parents=True)
        self.launcher.write_bytes(text(header(), message("user"), result(str(self.child))))
        self.child.write_bytes(text(header("c"), message("user"), message("assistant", stopReason="stop")))
        self.activity.write_text(json.dumps(activity()))
        self.script.write_text(script(session=str(self.child)))

    def disk(self) -> Disk:
        return Disk(str(self.launcher), str(self.root / "artifacts"), Path, os.path.realpath, SESSION)


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


def test_sidecars_that_are_not_there_are_no_and_none(home: Home) -> None:
    files = home.disk().run(RUN)
    assert (files.ended, files.policy, files.worktree) == (False, None, None)


def test_sidecars_that_are_there_are_read(home: Home) -> None:
    home.exit.write_text('{"type":"done"}')
    home.policy.write_text('{"version":2,"owner":"public","persistent":true}')
    home.manifest.write_text('{"state":"failed","paneId":"w2:p1"}')
    files = home.disk().run(RUN)
    assert (files.ended, files.policy, files.worktree) == (
        True,
        Policy("public", True),
        Worktree("failed", "w2:p1"),
    )


def test_sidecars_that_cannot_be_read_are_unknown(home: Home) -> None:
    for path in (home.policy, home.manifest):
        path.write_text('{"version":')
    files = home.disk().run(RUN)
    assert isinstance(files.policy, Unknown)
    assert isinstance(files.worktree, Unknown)


def test_without_the_childs_folder_nothing_is_known_of_its_end(home: Home) -> None:
    for path in home.child.parent.iterdir():
        path.unlink()
    home.child.parent.rmdir()
    assert isinstance(home.disk().run(RUN).ended, Unknown)


def test_without_a_script_what_lies_beside_its_session_file_is_unknown(home: Home) -> None:
    home.script.unlink()
    files = home.disk().run(RUN)
    assert files.script is None
    assert isinstance(files.ended, Unknown)
    assert isinstance(files.policy, Unknown)
    assert files.worktree is None


@pytest.mark.parametrize("run", ["", "../../etc/passwd", "a/b", "a.b", "-a", "a\0", "a\n", "x" * 65, "*"])
def test_what_is_no_run_id_touches_no_file(home: Home, run: str) -> None:
    assert isinstance(home.disk().run(run).script, Unknown)


def test_an_exit_sidecar_that_comes_later_is_seen(home: Home) -> None:
    settle(home.script, home.script.parent)
    disk = home.disk()
    assert disk.run(RUN).ended is False
    home.exit.write_text("")
    assert disk.run(RUN).ended is True


def test_a_run_whose_files_are_asked_for_is_never_taken_for_unchanged(home: Home) -> None:
    """Something may rest on it. Of a run that nobody asks for, an unchanged folder is enough."""
    settle(home.activity, home.activity.parent)
    disk = home.disk()
    for asked in (False, True):
        before = disk.runs()
        if asked:
            disk.run(RUN)
        home.activity.write_text(json.dumps(activity(phase="active")))
        assert (disk.runs() != before) is asked


def test_a_linked_session_folder_is_the_same_folder(home: Home) -> None:
    """`resolve` makes the launcher's path and the result's comparable; sidecars are found beside the written path."""
    linked = home.root / "linked"
    linked.symlink_to(home.child.parent, target_is_directory=True)
    home.script.write_text(script(session=str(linked / home.child.name)))
    home.exit.write_text("")
    disk = home.disk()
    assert disk.run(RUN).script.session_file in disk.transcript().results
    assert disk.run(RUN).ended is True


def test_r37_session_files_are_found_by_their_written_paths_wherever_they_are(home: Home) -> None:
    """Custom session directory: nothing is derived from a convention, the script's path is read and followed."""
    elsewhere = home.root / "somewhere" / "else" / "child.jsonl"
    elsewhere.parent.mkdir(parents=True)
    home.child.rename(elsewhere)
    home.script.write_text(script(session=str(elsewhere)))
    elsewhere.with_name("child.jsonl.exit").write_text("")
    disk = home.disk()
    files = disk.run(RUN)
    assert (files.script.session_file, files.ended) == (str(elsewhere), True)
    assert isinstance(disk.tail(files.script.session_file), Tail)


def test_a_path_that_cannot_be_located_is_unknown(home: Home) -> None:
    def locate(path: str) -> Path:
        if path.endswith(home.child.name):
            raise ValueError("outside of the moment")
        return Path(path)

    disk = Disk(str(home.launcher), str(home.root / "artifacts"), locate, str)
    assert isinstance(disk.run(RUN).script, LaunchScript)
    assert isinstance(disk.run(RUN).ended, Unknown)
    assert isinstance(disk.tail(str(home.child)), Unknown)


def _everything(disk: Disk) -> list[object]:
    runs = disk.runs()
    files = [disk.run(run) for run in (*runs, RUN)] if not isinstance(runs, Unknown) else []
    tails = [disk.tail(each.script.session_file) for each in files if isinstance(each.script, LaunchScript)]
    return [runs, files, tails, disk.transcript()]


FILES = ["launcher", "child", "activity", "script", "manifest", "exit", "policy"]


@pytest.mark.parametrize("which", FILES)
@given(junk=st.binary(max_size=200))
def test_any_bytes_in_any_file_raise_nothing(
    tmp_path_factory: pytest.TempPathFactory, which: str, junk: bytes
) -> None:
    home = Home(tmp_path_factory.mktemp("home"))
    getattr(home, which).write_bytes(junk)
    _everything(home.disk())


@pytest.mark.parametrize("which", FILES)
@pytest.mark.parametrize(
    "make", [os.mkfifo, Path.mkdir, lambda path: path.symlink_to(path)], ids=["fifo", "folder", "loop"]
)
def test_anything_else_in_a_files_place_raises_nothing_and_is_never_waited_for(
    home: Home, which: str, make: Callable[[Path], None]
) -> None:
    path = getattr(home, which)
    path.unlink(missing_ok=True)
    make(path)
    _everything(home.disk())


def test_recorded_paths_are_looked_for_in_the_moment_and_nowhere_else(
    recorded: Callable[..., Disk],
) -> None:
    assert not Path(SESSIONS).exists()
    assert isinstance(recorded("restart/3").tail(BETA), Tail)
