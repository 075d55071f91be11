import re
import subprocess

import msgspec
import pytest
from heartbeat.commands import run
from heartbeat.given import ago, beat, put, put_ack, put_steer, tree

from strawboss.heartbeat import schemas
from strawboss.heartbeat.attempts.ledger import ledger_directory
from strawboss.heartbeat.utc import utc_now

UNIT = ("swarm:pre-dispatch", "--scope-id", "s", "--target-id", "./tree", "--revision", "r1")
ASK = ("subagent:pre-cancel", "--agent", "leaf-7", "--canceller-id", "run-42", "--target-id", "tree")


def since(**age):
    return ago(**age, now=utc_now())


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A project with a worktree called tree; commands run in the project."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("DEFT_SESSION_ID", raising=False)
    (tmp_path / "tree").mkdir()
    return tmp_path


def begun_long_ago(project):
    """The attempt of leaf-7, begun an hour ago."""
    run(*UNIT, "--worker-id", "leaf-7")
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


def test_a_cancel_is_refused_while_the_worker_beats_and_forced_with_a_printed_reason_only(project):
    run(*UNIT, "--worker-id", "leaf-7")
    beat(project / "tree", last_heartbeat_at=since(seconds=10))
    cancel = (*UNIT, "--action", "cancel", "--canceller-id", "run-42")
    bare = run(*cancel)
    assert bare.code == 1
    assert "reason: pre-cancel refused: subagent:pre-cancel: heartbeat-fresh" in bare.out
    blank = run(*cancel, "--pre-cancel-force", "--pre-cancel-reason", "  ")
    assert blank.code == 2
    forced = run(*cancel, "--pre-cancel-force", "--reason", "host rebooted")
    assert forced.code == 0
    assert "FORCE: host rebooted" in forced.out
    assert run(*UNIT).code == 0


def test_a_bare_cancel_with_nobody_to_ask_is_refused_and_a_forced_one_not(project):
    run(*UNIT)
    cancel = (*UNIT, "--action", "cancel")
    assert run(*cancel).code == 1
    assert "pre-cancel refused" in run(*cancel).out
    assert run(*cancel, "--pre-cancel-force", "--reason", "seen dead").code == 0


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
    ran = run(*ASK, "--dispatch-started-at", since(**started), "--json")
    assert (ran.code, ran.json["clear_reason"] or ran.json["refuse_reason"]) == (code, reason)
    msgspec.json.decode(ran.out, type=schemas.PreCancelOutcome)


def test_without_a_dispatch_time_or_with_one_that_is_no_time_a_missing_worker_stays_red(project):
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
        (*ASK[1:], "--observed-window-seconds", "0"),
    ],
)
def test_wrong_use_of_pre_cancel_is_one_line_and_exit_2(project, arguments):
    ran = run("subagent:pre-cancel", *arguments)
    assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1)


def test_the_pair_of_directories_stands_for_a_target(project):
    ran = run(*ASK[:5], "--steer-dir", "a", "--scratch-dir", "b", "--dispatch-started-at", since(hours=1))
    assert ran.code == 0


def test_a_damaged_stamp_is_never_replaced(project):
    beat(project / "tree", last_heartbeat_at=since(seconds=10))
    put_steer(project / "tree", written_at=since(seconds=40), expires_at=since(minutes=-20))
    assert run(*ASK).code == 1
    (stamp,) = (project / "tree" / ".deft-scratch" / "subagent-steer-firstseen").iterdir()
    put(stamp, b"{half")
    assert run(*ASK).code == 2
    assert stamp.read_bytes() == b"{half"
    assert run(*ASK, "--force", "--reason", "seen dead").code == 0
