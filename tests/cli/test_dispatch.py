import re
import subprocess

import msgspec
import pytest
from heartbeat.commands import run
from heartbeat.given import ago, beat, content, put, put_ack, put_steer, tree

from strawboss.heartbeat import schemas
from strawboss.heartbeat.attempts.ledger import ledger_directory
from strawboss.heartbeat.utc import utc_now

UNIT = ("swarm:pre-dispatch", "--scope-id", "s", "--target-id", "./tree", "--revision", "r1")
ASK = ("subagent:pre-cancel", "--agent", "leaf-7", "--canceller-id", "run-42", "--target-id", "tree")


def since(**age):
    return ago(**age, now=utc_now())


def in_use(project):
    (project / "tree" / ".deft-scratch" / "subagent-status").mkdir(parents=True)


def sent(project):
    """The dispatcher's note that leaf-7 is its child."""
    run("occupancy", "claim", "--target-id", "tree", "--session-id", "run-42", "--child", "leaf-7")


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A project, known by its two marks, with a worktree called tree; commands run in the project."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("DEFT_SESSION_ID", raising=False)
    put(tmp_path / "AGENTS.md", b"")
    for name in ("vbrief", "tree"):
        (tmp_path / name).mkdir()
    return tmp_path


def begun_long_ago(project):
    """The attempt of leaf-7, begun an hour ago."""
    run(*UNIT, "--worker-id", "leaf-7")
    an_hour_passes(project)


def an_hour_passes(project):
    (file,) = ledger_directory(project).glob("*.json")
    file.write_text(re.sub(r'"startedAt": "[^"]*"', f'"startedAt": "{since(hours=1)}"', file.read_text()))


def test_begin_makes_the_status_directory_and_denies_a_second(project):
    first = run(*UNIT, "--worker-id", "leaf-7")
    assert (first.code, first.err) == (0, "")
    assert first.out.splitlines()[0] == "[swarm:pre-dispatch] action=begin exit=0"
    assert (project / "tree" / ".deft-scratch" / "subagent-status").is_dir()
    second = run(*UNIT)
    assert second.code == 1
    assert "decision: DENY_DUPLICATE_ACTIVE" in second.out


def test_begin_says_that_a_worktree_which_is_not_there_has_no_status_directory_yet(project):
    (project / "tree").rmdir()
    began = run(*UNIT)
    assert (began.code, (project / "tree").exists()) == (0, False)
    assert began.err.count("\n") == 1
    assert "tree is no directory yet" in began.err
    assert "swarm:launch" in began.err
    assert run(*UNIT).err == ""  # it was denied, and that is said


def test_a_cancel_is_refused_while_the_worker_beats_and_forced_with_a_printed_reason_only(project):
    run(*UNIT, "--worker-id", "leaf-7")
    beat(project / "tree", last_heartbeat_at=since(seconds=10))
    cancel = (*UNIT, "--action", "cancel", "--canceller-id", "run-42")
    bare = run(*cancel)
    assert bare.code == 1
    assert "reason: pre-cancel refused: subagent:pre-cancel: heartbeat-fresh" in bare.out
    blank = run(*cancel, "--pre-cancel-force", "--pre-cancel-reason", "  ")
    assert blank.code == 2
    assert "force needs --reason" in blank.out
    forced = run(*cancel, "--pre-cancel-force", "--reason", "host rebooted")
    assert forced.code == 0
    assert "FORCE by run-42: host rebooted" in forced.out
    assert run(*UNIT).code == 0


def test_a_bare_cancel_with_nobody_to_ask_is_refused_and_a_forced_one_not(project):
    run(*UNIT)
    cancel = (*UNIT, "--action", "cancel")
    assert run(*cancel).code == 1
    assert "pre-cancel refused" in run(*cancel).out
    by_nobody = run(*cancel, "--pre-cancel-force", "--reason", "seen dead")
    assert (by_nobody.code, "--canceller-id" in by_nobody.out) == (2, True)
    assert run(*cancel, "--pre-cancel-force", "--reason", "seen dead", "--canceller", "run-42").code == 0


CANCELS = [("--action", "cancel"), ("--action", "complete", "--status", "cancelled")]
FORCES = [("--force", "--reason", "x"), ("--pre-cancel-force", "--pre-cancel-reason", "x")]


@pytest.mark.parametrize("road", CANCELS)
@pytest.mark.parametrize("force", FORCES)
def test_every_road_to_cancelled_passes_the_gate_and_every_force_means_the_same(project, road, force):
    run(*UNIT, "--worker-id", "leaf-7")
    beat(project / "tree", last_heartbeat_at=since(seconds=10))
    refused = run(*UNIT, *road, "--canceller-id", "run-42")
    assert (refused.code, "pre-cancel refused" in refused.out) == (1, True)
    assert "DENY_DUPLICATE_ACTIVE" in run(*UNIT).out
    assert run(*UNIT, *road, *force).code == 2
    assert run(*UNIT, *road, force[0], "--canceller-id", "run-42").code == 2
    assert run(*UNIT, *road, *force, "--canceller-id", "run-42").code == 0
    assert run(*ASK, *force).code == 0


@pytest.mark.parametrize("what", [(), ("--action", "begin"), ("--action", "complete")])
@pytest.mark.parametrize("force", [*FORCES, ("--force",), ("--reason", "x")])
def test_force_where_nothing_is_cancelled_is_wrong_use_and_not_ignored(project, what, force):
    ran = run(*UNIT, *what, *force)
    assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1)
    assert not (project / ".deft").exists()
    assert list((project / "tree").iterdir()) == []


def test_an_attempt_without_a_worker_is_not_cancelled_on_the_death_of_a_made_up_name(project):
    run(*UNIT)
    beat(project / "tree", last_heartbeat_at=since(seconds=10))
    an_hour_passes(project)
    ran = run(*UNIT, "--action", "cancel", "--agent", "ghost", "--canceller-id", "run-42")
    assert (ran.code, "identity-unknown" in ran.out) == (1, True)


WRONG_PATHS = [
    ("--scratch-dir", "TYPO", "is not a status directory"),
    ("--scratch-dir", "tree/.deft-scratch/TYPO", "is not a status directory"),
    ("--scratch-dir", "src", "is not a status directory"),
    ("--scratch-dir", "tree", "is not a status directory"),
    ("--scratch-dir", "tree/.deft-scratch", "is not a status directory"),
    ("--scratch-dir", "tree/.deft-scratch/subagent-steer", "is not a status directory"),
    ("--steer-dir", "TYPO", "is not there"),
    ("--steer-dir", "src", "is not a steer directory"),
    ("--steer-dir", "tree/.deft-scratch/subagent-status", "is not a steer directory"),
]


@pytest.fixture
def beating(project):
    """leaf-7 was begun an hour ago and beats; beside it lie directories of other kinds."""
    begun_long_ago(project)
    beat(project / "tree", last_heartbeat_at=since(seconds=10))
    put(project / "src" / "package.json", {"name": "x"})
    (project / "tree" / ".deft-scratch" / "subagent-steer").mkdir()
    return project


@pytest.mark.parametrize(("flag", "path", "why"), WRONG_PATHS)
def test_a_wrong_path_cancels_nothing(beating, flag, path, why):
    cancel = (*UNIT, "--action", "cancel", "--canceller-id", "run-42")
    assert "heartbeat-fresh" in run(*cancel).out
    ran = run(*cancel, flag, path)
    assert (ran.code, f"{path} {why}" in ran.out) == (2, True)
    asked = run(*ASK, flag, path)
    assert (asked.code, f"{path} {why}" in asked.err) == (2, True)
    assert not (beating / "TYPO").exists()
    assert "DENY_DUPLICATE_ACTIVE" in run(*UNIT).out


@pytest.mark.parametrize(("flag", "path"), [each[:2] for each in WRONG_PATHS if each[0] == "--scratch-dir"])
@pytest.mark.parametrize(
    "command", [("verify:subagent-alive", "--require-agent", "leaf-7"), ("agent:monitor",)]
)
def test_a_wrong_path_says_nothing_of_a_worker(beating, command, flag, path):
    ran = run(*command, flag, path)
    assert (ran.code, "REDISPATCH_OK" in ran.out, path in ran.out + ran.err) == (2, False, True)


@pytest.mark.parametrize(("flag", "path"), [each[:2] for each in WRONG_PATHS if each[0] == "--steer-dir"])
@pytest.mark.parametrize("command", [("verify:subagent-steer",), ("subagent:inbox", "--agent", "leaf-7")])
def test_a_wrong_path_does_not_say_that_nobody_was_steered(beating, monkeypatch, command, flag, path):
    ran = run(*command, flag, path)
    assert (ran.code, ran.out, path in ran.err) == (2, "", True)


def test_a_ledger_of_a_project_that_is_not_there_is_wrong_use(beating):
    ran = run(*UNIT, "--action", "cancel", "--canceller-id", "run-42", "--project-root", "TYPO")
    assert (ran.code, ran.out, "TYPO is not a directory" in ran.err) == (2, "", True)


@pytest.mark.parametrize("typo", ["tree/TYPO", "TYPO", "/no/such/tree", "tree/../TYPO"])
def test_a_wrong_target_is_exit_2_for_pre_cancel_whatever_else_is_said(project, typo):
    begun_long_ago(project)
    for more in ((), ("--dispatch-started-at", since(hours=1)), ("--force", "--reason", "x")):
        ran = run(*ASK[:-1], typo, *more)
        assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1)
    assert not (project / "TYPO").exists()


def test_a_worktree_without_a_status_directory_proves_nothing_either(project):
    ran = run(*ASK, "--dispatch-started-at", since(hours=1))
    assert (ran.code, "swarm:pre-dispatch or swarm:launch" in ran.err) == (2, True)
    assert list((project / "tree").iterdir()) == []


def test_a_worktree_that_is_gone_is_cancelled_by_force_alone(project):
    begun_long_ago(project)
    (project / "tree").rename(project / "moved")
    cancel = (*UNIT, "--action", "cancel", "--canceller-id", "run-42")
    assert run(*cancel).code == 2
    assert run(*cancel, "--force", "--reason", "worktree removed").code == 0


@pytest.fixture
def deep(project, monkeypatch):
    """Stands in a subdirectory of the project."""
    (project / "src" / "deep").mkdir(parents=True)
    monkeypatch.chdir(project / "src" / "deep")
    return project


@pytest.mark.parametrize("target", ["./tree", "tree", "../../tree", "{project}/tree"])
def test_the_ledger_and_what_is_a_duplicate_do_not_depend_on_where_one_stands(deep, monkeypatch, target):
    monkeypatch.chdir(deep)
    assert "ALLOW_FIRST_ATTEMPT" in run(*UNIT, "--worker-id", "leaf-7").out
    monkeypatch.chdir(deep / "src" / "deep")
    again = run("swarm:pre-dispatch", "--scope-id", "s", "--target-id", target.format(project=deep))
    assert (again.code, "DENY_DUPLICATE_ACTIVE" in again.out) == (1, True)
    assert not (deep / "src" / "deep" / ".deft").exists()
    status = deep / "tree" / ".deft-scratch" / "subagent-status"
    gate = run("verify:subagent-alive", "--require-agent", "leaf-7", "--scratch-dir", status)
    assert (gate.code, "REDISPATCH_OK" in gate.out) == (1, False)


def elsewhere(project, kind):
    """A directory of another ledger by its own right, had it been asked for one."""
    directory = {
        "nested repository": project / "vendor" / "lib",
        "unrelated": project / ".." / f"{project.name}-unrelated",
    }
    if kind != "linked worktree":
        directory[kind].mkdir(parents=True)
        subprocess.run(["git", "init", "-q", directory[kind]], check=True)
        return directory[kind]
    git = ("git", "-C", project, "-c", "user.name=a", "-c", "user.email=a@example.invalid")
    for command in (
        ["init", "-q"],
        ["commit", "-q", "--allow-empty", "-m", "x"],
        ["worktree", "add", "-q", "w"],
    ):
        subprocess.run([*git, *command], check=True, capture_output=True)
    put(project / "w" / "AGENTS.md", b"")
    (project / "w" / "vbrief").mkdir()
    return project / "w"


@pytest.mark.parametrize("kind", ["nested repository", "linked worktree", "unrelated"])
@pytest.mark.parametrize("which", ["tree", "itself"])
def test_an_absolute_target_has_one_ledger_wherever_one_stands(project, monkeypatch, kind, which):
    there = elsewhere(project, kind)
    target = there if which == "itself" else project / "tree"
    unit = ("swarm:pre-dispatch", "--scope-id", "s", "--target-id", target)
    assert "ALLOW_FIRST_ATTEMPT" in run(*unit, "--worker-id", "leaf-7").out
    monkeypatch.chdir(there)
    assert "DENY_DUPLICATE_ACTIVE" in run(*unit).out
    # the gates know when it was dispatched, and from there it can be ended and begun again
    status = target / ".deft-scratch" / "subagent-status"
    gate = run("verify:subagent-alive", "--require-agent", "leaf-7", "--scratch-dir", status)
    assert (gate.code, "REDISPATCH_OK" in gate.out) == (1, False)
    assert "within its startup grace" in run(*ASK[:-1], target).err
    assert "within its startup grace" in run(*unit, "--action", "cancel", "--canceller-id", "x").out
    assert run(*unit, "--action", "complete").code == 0
    assert "ALLOW_RESUME" in run(*unit).out
    monkeypatch.chdir(project)
    assert "DENY_DUPLICATE_ACTIVE" in run(*unit).out


def test_a_ledger_another_tool_keeps_for_the_worktree_denies_too_and_is_named(project, monkeypatch):
    clone = elsewhere(project, "nested repository")
    put(clone / "AGENTS.md", b"")
    (clone / "vbrief").mkdir()
    unit = ("swarm:pre-dispatch", "--scope-id", "s", "--target-id", clone)
    assert run(*unit, "--project-root", project).code == 0
    denied = run(*unit)
    assert (denied.code, "DENY_DUPLICATE_ACTIVE" in denied.out) == (1, True)
    assert str(ledger_directory(project)) in denied.out
    assert "within its startup grace" in run(*ASK[:-1], clone).err
    assert run(*unit, "--action", "complete").code == 0
    assert run(*unit).code == 0


def test_a_target_in_no_project_and_not_there_has_no_ledger(project, monkeypatch):
    monkeypatch.chdir(elsewhere(project, "unrelated"))
    unit = ("swarm:pre-dispatch", "--scope-id", "s", "--target-id", project.parent / f"{project.name}-gone")
    ran = run(*unit)
    assert (ran.code, ran.out, ran.err.count("\n"), "--project-root" in ran.err) == (2, "", 1, True)
    assert run(*unit, "--project-root", project).code == 0


def test_a_dispatch_without_a_worker_id_is_found_by_the_gates(project):
    run(*UNIT)
    status = project / "tree" / ".deft-scratch" / "subagent-status"
    gate = run("verify:subagent-alive", "--require-agent", "leaf-7", "--scratch-dir", status)
    assert (gate.code, "REDISPATCH_OK" in gate.out) == (1, False)
    assert "heartbeat-within-grace" in run(*ASK).err


def test_a_target_that_may_be_two_is_exit_2(deep):
    (deep / "src" / "deep" / "tree").mkdir()
    ran = run(*UNIT)
    assert (ran.code, "give an absolute path" in ran.err) == (2, True)


def test_launch_makes_the_status_directories_of_a_map_and_keeps_them_out_of_git(project):
    (project / "other").mkdir()
    rows = [
        {"story_id": "s-1", "worktree_path": "tree", "branch": "swarm/s-1"},
        {"worktree_path": str(project / "other")},
    ]
    ran = run("swarm:launch", "--worktree-map", put(project / "map.json", rows), "--json")
    assert (ran.code, ran.err) == (0, "")
    msgspec.json.decode(ran.out, type=schemas.LaunchReport)
    assert [each["story_id"] for each in ran.json["launched"]] == ["s-1", None]
    for name in ("tree", "other"):
        assert (project / name / ".deft-scratch" / "subagent-status").is_dir()
        assert (project / name / ".deft-scratch" / ".gitignore").read_text() == "*\n"
    assert run("swarm:launch", "--target-id", "tree").out.startswith("swarm:launch: ")


WRONG_MAPS = [b"{", b"{}", b"[]", b"[7]", b'[{"story_id": "s"}]', b'[{"worktree_path": " "}]', b"[" * 90_000]


@pytest.mark.parametrize("what", WRONG_MAPS)
def test_a_wrong_map_is_one_line_and_exit_2(project, what):
    ran = run("swarm:launch", "--worktree-map", put(project / "map.json", what))
    assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1)
    assert "map.json" in ran.err


@pytest.mark.parametrize(
    "arguments", [(), ("--target-id", "gone"), ("--target-id", "tree", "--target-id", "gone")]
)
def test_launch_makes_all_or_none(project, arguments):
    ran = run("swarm:launch", *arguments)
    assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1)
    assert list((project / "tree").iterdir()) == []
    assert not (project / "gone").exists()


def test_a_launched_worktree_is_one_the_gates_can_look_into(project):
    run("swarm:launch", "--target-id", "tree")
    sent(project)
    ran = run(*ASK, "--dispatch-started-at", since(hours=1))
    assert (ran.code, "heartbeat-grace-expired-missing" in ran.out) == (0, True)


def test_git_does_not_see_what_the_contract_leaves(project):
    subprocess.run(["git", "-C", str(project / "tree"), "init", "-q"], check=True)
    run(*UNIT)
    status = subprocess.run(
        ["git", "-C", str(project / "tree"), "status", "--porcelain"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert status.stdout == ""


def test_a_dead_workers_attempt_is_cancelled_with_the_ledgers_own_start(project):
    begun_long_ago(project)
    ran = run(*UNIT, "--action", "cancel", "--canceller-id", "run-42")
    assert ran.code == 0
    assert "heartbeat-grace-expired-missing" in ran.out
    run(*UNIT, "--worker-id", "leaf-7")
    young = run(*UNIT, "--action", "cancel", "--canceller-id", "run-42")
    assert young.code == 1
    assert "heartbeat-within-grace" in young.out


def test_another_agent_than_the_attempts_worker_is_an_identity_mismatch_even_by_force(project):
    begun_long_ago(project)
    ran = run(
        *UNIT,
        "--action",
        "cancel",
        "--agent",
        "leaf-8",
        "--canceller-id",
        "x",
        "--pre-cancel-force",
        "--reason",
        "y",
    )
    assert ran.code == 1
    assert "identity-mismatch" in ran.out


def test_the_canceller_is_taken_from_the_session(project, monkeypatch):
    begun_long_ago(project)
    monkeypatch.setenv("DEFT_SESSION_ID", "run-42")
    assert run(*UNIT, "--action", "cancel").code == 0


def test_no_active_attempt_is_exit_1(project):
    for action in ("cancel", "complete"):
        ran = run(*UNIT, "--action", action)
        assert ran.code == 1
        assert "NO_ACTIVE_ATTEMPT" in ran.out
    assert not (project / ".deft").exists()


def test_complete_frees_the_unit(project):
    run(*UNIT)
    assert run(*UNIT, "--action", "complete", "--status", "failed").code == 0
    assert "ALLOW_TRANSIENT_RETRY" in run(*UNIT).out


@pytest.mark.parametrize("steps", [["begin"], ["begin", "begin"], ["cancel"], ["begin", "complete"]])
def test_the_json_fits_its_schema(project, steps):
    ran = [run(*UNIT, "--action", step, "--json") for step in steps][-1]
    msgspec.json.decode(ran.out, type=schemas.AttemptOutcome)
    assert ran.json["exitCode"] == ran.code
    assert ran.json["scopeId"] == "s"


def test_a_damaged_ledger_is_exit_2_and_untouched(project):
    run(*UNIT)
    (file,) = ledger_directory(project).glob("*.json")
    file.write_bytes(b"{half")
    before = tree(project)
    ran = run(*UNIT)
    assert ran.code == 2
    assert file.name in ran.out
    assert {name: content for name, content in tree(project).items() if not name.endswith(".lock")} == {
        name: content for name, content in before.items() if not name.endswith(".lock")
    }


@pytest.mark.parametrize(
    "arguments", [("--action", "stop"), ("--status", "done"), ("--scope-id", " "), ("--unknown",)]
)
def test_wrong_use_is_one_line_and_exit_2(project, arguments):
    ran = run(*UNIT, *arguments)
    assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1)


def test_the_revision_is_that_of_the_worktree(project):
    unit = UNIT[:-2]
    assert run(*unit, "--json").json["attempt"]["sourceRevision"] == "unknown"
    identity = ["-c", "user.name=a", "-c", "user.email=a@example.invalid"]
    for command in (["init"], [*identity, "commit", "--allow-empty", "-m", "x"]):
        subprocess.run(["git", "-C", str(project / "tree"), *command], check=True, capture_output=True)
    head = subprocess.run(
        ["git", "-C", str(project / "tree"), "rev-parse", "HEAD"], check=True, capture_output=True, text=True
    )
    run(*unit, "--action", "complete")
    assert run(*unit, "--json").json["attempt"]["sourceRevision"] == head.stdout.strip()


def test_pre_cancel_is_green_on_stdout_and_red_on_stderr(project):
    beat(project / "tree", last_heartbeat_at=since(seconds=10))
    red = run(*ASK)
    assert (red.code, red.out) == (1, "")
    assert red.err.startswith("subagent:pre-cancel: heartbeat-fresh")
    put_steer(
        project / "tree", written_at=since(seconds=40), expires_at=since(minutes=-20), kind="correction"
    )
    put_ack(project / "tree", acked_at=since(seconds=10))
    green = run(*ASK)
    assert (green.code, green.err) == (0, "")
    assert green.out.startswith("subagent:pre-cancel: steer-acked")


@pytest.mark.parametrize(
    ("started", "code", "reason"),
    [
        ({"hours": 1}, 0, "heartbeat-grace-expired-missing"),
        ({"seconds": 60}, 1, "heartbeat-within-grace"),
        ({"hours": -1}, 1, "heartbeat-within-grace"),
    ],
)
def test_the_dispatch_time_decides_about_a_missing_worker(project, started, code, reason):
    in_use(project)
    sent(project)
    ran = run(*ASK, "--dispatch-started-at", since(**started), "--json")
    assert (ran.code, ran.json["clear_reason"] or ran.json["refuse_reason"]) == (code, reason)
    msgspec.json.decode(ran.out, type=schemas.PreCancelOutcome)


def test_without_a_dispatch_time_or_with_one_that_is_no_time_a_missing_worker_stays_red(project):
    in_use(project)
    for more in ((), ("--dispatch-started-at", "noon")):
        ran = run(*ASK, *more)
        assert ran.code == 1
        assert "heartbeat-within-grace" in ran.err


def test_the_ledger_knows_the_dispatch_time(project):
    begun_long_ago(project)
    assert "heartbeat-grace-expired-missing" in run(*ASK).out


@pytest.mark.parametrize(
    "arguments",
    [
        ("--agent", "leaf-7", "--canceller-id", "run-42"),
        ("--agent", "leaf-7", "--canceller-id", "run-42", "--steer-dir", "x"),
        ("--agent", "leaf-7", "--canceller-id", "run-42", "--scratch-dir", "x"),
        ("--agent", "../x", "--canceller-id", "run-42", "--target-id", "tree"),
        ("--agent", "leaf-7", "--canceller-id", " ", "--target-id", "tree"),
        ("--agent", "leaf-7", "--target-id", "tree"),
        (*ASK[1:], "--force"),
        (*ASK[1:], "--force", "--reason", "  "),
        *((*ASK[1:], "--observed-window-seconds", each) for each in ("0", "-180", "nan", "x")),
    ],
)
def test_wrong_use_of_pre_cancel_is_one_line_and_exit_2(project, arguments):
    ran = run("subagent:pre-cancel", *arguments)
    assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1)


def test_the_pair_of_directories_stands_for_a_target(project):
    steers, beats = project / "a" / "subagent-steer", project / "b" / "subagent-status"
    pair = ("--steer-dir", steers, "--scratch-dir", beats, "--dispatch-started-at", since(hours=1))
    assert run(*ASK[:5], *pair).code == 2
    steers.mkdir(parents=True)
    assert run(*ASK[:5], *pair).code == 2
    beats.mkdir(parents=True)
    assert "identity-unknown" in run(*ASK[:5], *pair).err
    put(beats / "leaf-7.json", content(last_heartbeat_at=since(hours=1)))
    assert run(*ASK[:5], *pair).code == 0


GHOST = ("subagent:pre-cancel", "--agent", "ghost", "--canceller-id", "x", "--target-id", "tree")


@pytest.mark.parametrize("worker", [(), ("--worker-id", "leaf-7")])
def test_the_silence_of_somebody_whom_nobody_sent_proves_nothing(project, worker):
    run(*UNIT, *worker)
    an_hour_passes(project)
    beat(project / "tree", last_heartbeat_at=since(seconds=10))
    for more in ((), ("--dispatch-started-at", since(hours=1))):
        ran = run(*GHOST, *more)
        assert (ran.code, ran.out) == (1, "")
    assert "identity-unknown" in ran.err
    gate = run(
        "verify:subagent-alive",
        "--require-agent",
        "ghost",
        "--scratch-dir",
        "tree/.deft-scratch/subagent-status",
    )
    assert (gate.code, "REDISPATCH_OK" in gate.out, "nothing proves its death" in gate.out) == (
        1,
        False,
        True,
    )


def test_where_nobody_keeps_a_ledger_pre_cancel_wants_a_child_lease(project):
    in_use(project)
    said = ("--dispatch-started-at", since(hours=1))
    assert "no attempt and no child lease names it" in run(*ASK, *said).err
    sent(project)
    assert run(*ASK, *said).code == 0


@pytest.mark.parametrize("left", [{}, {"last_heartbeat_at": "old"}])
def test_another_worktree_than_the_one_it_was_sent_into_proves_nothing(beating, left):
    (beating / "other" / ".deft-scratch" / "subagent-status").mkdir(parents=True)
    if left:
        beat(beating / "other", last_heartbeat_at=since(hours=2))
    ran = run(*ASK[:-1], "other")
    assert (ran.code, "identity-unknown: it was sent into" in ran.err) == (1, True)
    status = ("--scratch-dir", "other/.deft-scratch/subagent-status")
    cancel = run(*UNIT, "--action", "cancel", "--canceller-id", "run-42", *status)
    assert (cancel.code, f"{beating}/tree, which was not looked at" in cancel.out) == (1, True)
    gate = ("verify:subagent-alive", "--require-agent", "leaf-7", *status)
    assert (run(*gate).code, "REDISPATCH_OK" in run(*gate).out) == (1, False)


@pytest.mark.parametrize("window", ["179", "1e-9"])
def test_a_window_under_three_minutes_is_exit_2_and_leaves_no_stamp(beating, window):
    put_steer(beating / "tree", written_at=since(seconds=40), expires_at=since(minutes=-20))
    ran = run(*ASK, "--observed-window-seconds", window)
    assert (ran.code, ran.out, ran.err.count("\n"), "give 180 or more" in ran.err) == (2, "", 1, True)
    assert not (beating / "tree" / ".deft-scratch" / "subagent-steer-firstseen").exists()


def test_a_damaged_stamp_is_never_replaced(project):
    beat(project / "tree", last_heartbeat_at=since(seconds=10))
    put_steer(project / "tree", written_at=since(seconds=40), expires_at=since(minutes=-20))
    assert run(*ASK).code == 1
    (stamp,) = (project / "tree" / ".deft-scratch" / "subagent-steer-firstseen").iterdir()
    put(stamp, b"{half")
    assert run(*ASK).code == 2
    assert stamp.read_bytes() == b"{half"
    assert run(*ASK, "--force", "--reason", "seen dead").code == 0
