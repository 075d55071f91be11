import os
import signal
import subprocess
import sys
from pathlib import Path

import msgspec
import pexpect
import pytest
from heartbeat.commands import run
from heartbeat.given import ago, beat, content, put
from heartbeat.waiting import until

from strawboss.heartbeat import schemas
from strawboss.heartbeat.attempts import dispatch
from strawboss.heartbeat.attempts.dispatch import Place
from strawboss.heartbeat.layout import STATUS_DIRECTORY, Worktree
from strawboss.heartbeat.utc import utc_now
from strawboss.system.json_files import read_object

STRAWBOSS = [sys.executable, "-m", "strawboss"]


def since(**age):
    return ago(**age, now=utc_now())


@pytest.fixture
def tree(tmp_path, monkeypatch):
    """A worktree with a status directory; commands run in it."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / STATUS_DIRECTORY).mkdir(parents=True)
    return Worktree(tmp_path)


@pytest.fixture
def alive_and_dead(tree):
    beat(tree.root, "alive", last_heartbeat_at=since(seconds=10))
    beat(tree.root, "dead", last_heartbeat_at=since(hours=2))


def test_the_monitor_looks_into_the_current_worktree_by_default(tree):
    beat(tree.root, last_heartbeat_at=since(seconds=10))
    ran = run("agent:monitor")
    assert (ran.code, ran.err) == (0, "")
    assert "leaf-7 -- OK" in ran.out
    assert ran.out.splitlines()[-1] == "Result: ALL AGENTS ALIVE"


def test_a_stale_agent_is_in_the_table_on_stdout_with_what_to_do(alive_and_dead):
    ran = run("agent:monitor")
    assert (ran.code, ran.err) == (1, "")
    (line,) = [line for line in ran.out.splitlines() if "dead -- STALE" in line]
    assert "2.0h" in line
    assert "verify:subagent-alive" in line
    assert ran.out.splitlines()[-1].startswith("Result: ATTENTION")


def test_no_directory_is_exit_2_and_an_empty_one_exit_0(tree, tmp_path):
    gone = run("agent:monitor", "--scratch-dir", tmp_path / "gone")
    assert (gone.code, gone.out.splitlines()[-1]) == (2, "Result: ATTENTION 1 directory error, 0 healthy")
    assert run("agent:monitor").code == 0


@pytest.mark.parametrize("command", ["agent:monitor", "verify:subagent-alive"])
@pytest.mark.parametrize("threshold", ["0", "-5", "abc", "", "nan", "inf"])
def test_a_threshold_that_is_no_positive_number_is_one_line_and_exit_2(tree, command, threshold):
    ran = run(command, f"--threshold-minutes={threshold}")
    assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1)
    assert "above zero" in ran.err
    said = run(command, f"--threshold-minutes={threshold}", "--json")
    assert (said.code, said.json["ok"], "above zero" in said.json["error"]) == (2, False, True)
    msgspec.json.decode(said.out, type=schemas.Complaint)


def test_a_fraction_of_a_minute_is_a_threshold(alive_and_dead):
    assert run("agent:monitor", "--threshold-minutes=0.1", "--json").json["stale_count"] == 2


def test_the_label_of_a_directory_is_the_text_given(tree):
    assert run("agent:monitor", "--scratch-dir", f"./{STATUS_DIRECTORY}", "--json").json["scratch_dirs"] == [
        f"./{STATUS_DIRECTORY}"
    ]


@pytest.mark.parametrize("arguments", [(), ("--scratch-dir", "gone")])
def test_the_monitors_json_fits_its_schema_with_each_exit_code(alive_and_dead, arguments):
    ran = run("agent:monitor", "--json", *arguments)
    msgspec.json.decode(ran.out, type=schemas.MonitorReport)
    assert ran.json["threshold_minutes"] == 30.0
    assert ran.err == ""


def test_texts_of_other_programs_are_shown_on_one_line_and_without_escapes(tree):
    beat(tree.root, last_heartbeat_at=since(seconds=1), last_message="a\x1b[31m|\nb\udcff[bold]")
    ran = run("agent:monitor")
    assert (ran.code, "last_message is more than one line" in ran.out) == (1, True)
    assert "\x1b" not in ran.out
    assert "[bold]" in ran.out
    assert len(ran.out.splitlines()) == 4


ILL = [
    ({"last_message": "x" * 900}, "last_message has 900 characters"),
    ({"last_message": "one\ntwo"}, "last_message is more than one line"),
    ({"parent_id": ""}, "parent_id is empty"),
    ({"pr_number": -3}, "pr_number -3 is neither"),
    ({"incarnation": 5}, "incarnation 5 is neither"),
]


@pytest.mark.parametrize(("fault", "why"), ILL)
@pytest.mark.parametrize("age", [10, 7200])
def test_an_ill_record_proves_neither_life_nor_death_and_says_what_ails_it(tree, fault, why, age):
    beat(tree.root, last_heartbeat_at=since(seconds=age), **fault)
    assert why in run("agent:monitor").out
    gate = run("verify:subagent-alive", "--require-agent", "leaf-7")
    assert (gate.code, "REDISPATCH_OK" in gate.out, why in gate.out) == (1, False, True)
    ask = run("subagent:pre-cancel", "--agent", "leaf-7", "--canceller-id", "x", "--target-id", tree.root)
    assert (ask.code, "heartbeat-malformed" in ask.err, why in ask.err) == (1, True, True)


def test_bad_files_of_every_kind_are_rows_and_never_a_traceback(tree, tmp_path):
    directory = tree.status_directory
    put(directory / "torn.json", b'{"agent_id": "to')
    put(directory / "nan.json", b'{"agent_id": NaN}')
    put(directory / "deep.json", b"[" * 200_000)
    put(directory / "local.json", content("local", last_heartbeat_at="2026-10-03T12:00:00+02:00"))
    put(directory / "future.json", content("future", last_heartbeat_at=since(hours=-1)))
    put(directory / "foreign.json", content("other"))
    put(directory / "types.json", content("types", parent_id=7, phase=[]))
    put(tmp_path / "outside.json", content("link"))
    (directory / "link.json").symlink_to(tmp_path / "outside.json")
    with (directory / "huge.json").open("wb") as file:
        file.truncate(100 << 20)
    os.mkfifo(directory / "pipe.json")
    Path(os.fsdecode(bytes(directory) + b"/\xff.json")).write_bytes(b"{}")
    ran = run("agent:monitor")
    assert (ran.code, ran.err) == (1, "")
    assert ran.out.count("MALFORMED") == 11
    assert run("agent:monitor", "--json").json["malformed_count"] == 11


def test_the_monitor_asks_no_other_program(alive_and_dead, mocker):
    mocker.patch("subprocess.Popen", side_effect=AssertionError("the monitor looks at files only"))
    assert run("agent:monitor").code == 1
    assert run("agent:monitor", "--json").code == 1


def test_watching_looks_again_until_it_is_interrupted(tree):
    command = [*STRAWBOSS, "agent:monitor", "--watch", "--every", "50ms"]
    watcher = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert "NO AGENTS" in watcher.stdout.readline()
    beat(tree.root, last_heartbeat_at=since(seconds=1))
    until(lambda: "ALL AGENTS ALIVE" in watcher.stdout.readline(), "the next look")
    watcher.send_signal(signal.SIGINT)
    _, err = watcher.communicate(timeout=90)
    assert (watcher.returncode, err.strip()) == (130, "")


def test_watching_says_when_the_machine_slept_and_for_one_threshold(tree, mocker):
    clock = mocker.patch("strawboss.cli.liveness.time")
    clock.time.side_effect = [0, 3600, 3610, 5500]
    clock.monotonic.side_effect = [0, 15, 25, 1915]
    clock.sleep.side_effect = [None, None, None, KeyboardInterrupt]
    ran = run("agent:monitor", "--watch")
    assert ran.code == 130
    assert ran.err.count("Resumed from sleep: for 59.8m") == 2


def test_in_a_terminal_what_needs_action_is_coloured(alive_and_dead, tree):
    environment = {name: value for name, value in os.environ.items() if name != "NO_COLOR"}
    environment |= {"TERM": "xterm-256color", "COLUMNS": "160"}
    shown = pexpect.run(
        f"{sys.executable} -m strawboss agent:monitor", cwd=str(tree.root), env=environment, timeout=90
    )
    assert b"\x1b[1;31mdead -- STALE" in shown
    assert b"\x1b[32malive -- OK" in shown


def test_the_gate_is_quiet_when_the_required_worker_beats(alive_and_dead):
    ran = run("verify:subagent-alive", "--require-agent", "alive")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.startswith("verify_subagent_alive: 1 ")


def test_the_gate_says_the_word_on_stdout(alive_and_dead):
    ran = run("verify:subagent-alive", "--require-agent", "dead", "--require-agent", "alive")
    assert (ran.code, ran.err) == (1, "")
    assert "\nREDISPATCH_OK: dead\n" in ran.out
    assert ran.out.splitlines()[0].endswith("FAILED")


def test_a_beat_that_is_not_due_again_proves_no_death_by_a_small_threshold(tree):
    beat(tree.root, last_heartbeat_at=since(minutes=2))
    gate = ("verify:subagent-alive", "--require-agent", "leaf-7", "--threshold-minutes")
    assert "write 3 or more" in run(*gate, "1").err
    assert run(*gate, "3").code == 0


def test_the_gate_without_a_directory_is_exit_2_without_the_word(tree, tmp_path):
    ran = run("verify:subagent-alive", "--require-agent", "a", "--scratch-dir", tmp_path / "gone")
    assert (ran.code, ran.out) == (2, "")
    assert "config error" in ran.err
    assert "REDISPATCH_OK" not in ran.err
    json = run(
        "verify:subagent-alive", "--require-agent", "a", "--scratch-dir", tmp_path / "gone", "--json"
    ).json
    assert (json["all_ok"], json["redispatch_ok"], json["missing_or_stale_agents"]) == (False, False, ["a"])


@pytest.mark.parametrize(
    "required", [(), ("--require-agent", "alive"), ("--require-agent", "dead"), ("--require-agent", "gone")]
)
def test_the_gates_json_is_on_stdout_and_fits_its_schema(alive_and_dead, required):
    ran = run("verify:subagent-alive", "--json", *required)
    msgspec.json.decode(ran.out, type=schemas.AliveReport)
    assert '"threshold_minutes": 30,' in ran.out
    assert ran.err == ""
    assert ran.json["all_ok"] is (ran.code == 0)


def test_within_grace_of_the_given_dispatch_time_a_missing_worker_is_red_without_the_word(tree):
    young = run("verify:subagent-alive", "--require-agent", "a", "--dispatched-at", since(seconds=60))
    old = run("verify:subagent-alive", "--require-agent", "a", "--dispatched-at", since(seconds=240))
    assert (young.code, "REDISPATCH_OK" in young.out) == (1, False)
    assert (old.code, "REDISPATCH_OK" in old.out) == (1, True)


def test_the_ledger_knows_the_grace_too(tree):
    dispatch.begin(Place(tree.root, "s", "."), "r", "a", None, utc_now())
    assert "REDISPATCH_OK" not in run("verify:subagent-alive", "--require-agent", "a").out
    b = ("verify:subagent-alive", "--require-agent", "b")
    assert "REDISPATCH_OK" not in run(*b).out  # it was a that was sent here
    assert "REDISPATCH_OK" in run(*b, "--dispatched-at", since(minutes=4)).out


def test_a_damaged_ledger_never_brings_the_word_for_a_missing_worker(tree):
    put(tree.root / ".deft" / "delivery-attempts" / ("f" * 64 + ".json"), b"{")
    ran = run("verify:subagent-alive", "--require-agent", "a")
    assert (ran.code, "REDISPATCH_OK" in ran.out) == (1, False)
    assert "--dispatched-at" in ran.out


@pytest.mark.parametrize(
    "arguments",
    [
        ("positional",),
        ("--unknown",),
        ("--dispatched-at", "noon"),
        ("--require-agent", " "),
        ("--require-agent", "../x"),
        ("--require-agent", "a/b"),
        ("--project-root", "gone"),
        ("--scratch-dir", " "),
        ("--threshold-minutes", "2.9"),
        ("--threshold-minutes", "0"),
        ("--threshold-minutes", "-5"),
    ],
)
def test_wrong_use_of_the_gate_is_one_line_and_exit_2(tree, arguments):
    ran = run("verify:subagent-alive", *arguments)
    assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1)


@pytest.mark.parametrize("command", ["agent:monitor", "verify:subagent-alive", "agent:beat"])
def test_help_is_exit_0(command):
    assert run(command, "--help").code == 0


def record(tree):
    return read_object(tree.heartbeat_file("leaf-7"))


def test_beats_of_a_shell_worker_follow_each_other(tree):
    assert run("agent:beat", "--agent", "leaf-7", "--parent-id", "run-42").code == 0
    assert record(tree)["phase"] == "starting"
    run(
        "agent:beat",
        "--agent",
        "leaf-7",
        "--phase",
        "polling",
        "--message",
        "poll 4/20",
        "--pr",
        "77",
        "--wait-kind",
        "pr:watch",
    )
    assert (record(tree)["last_message"], record(tree)["pr_number"]) == ("poll 4/20", 77)
    run("agent:beat", "--agent", "leaf-7", "--terminal-state", "CLEAN")
    assert (record(tree)["phase"], record(tree)["terminal_state"]) == ("terminal", "CLEAN")
    assert run("agent:monitor").code == 0


def test_a_beat_takes_its_names_from_the_environment_and_its_place_from_the_flags(
    tree, tmp_path, monkeypatch
):
    monkeypatch.setenv("STRAWBOSS_AGENT_ID", "leaf-7")
    monkeypatch.setenv("STRAWBOSS_PARENT_ID", "run-42")
    for name in ("other", "third"):
        (tmp_path / name).mkdir()
    assert run("agent:beat", "--target-id", tmp_path / "other").code == 0
    assert run("agent:beat", "--scratch-dir", tmp_path / "third").code == 0
    assert (tmp_path / "other" / STATUS_DIRECTORY / "leaf-7.json").exists()
    assert (tmp_path / "third" / "leaf-7.json").exists()


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("--agent", "../x", "--parent-id", "p"),
        ("--agent", "leaf-7"),
        ("--agent", "leaf-7", "--parent-id", "p", "--phase", "poling"),
        ("--agent", "leaf-7", "--parent-id", "p", "--phase", "terminal"),
        ("--agent", "leaf-7", "--parent-id", "p", "--phase", "polling"),
        ("--agent", "leaf-7", "--parent-id", "p", "--terminal-state", "CLEAN"),
        ("--agent", "leaf-7", "--parent-id", "p", "--target-id", "gone"),
        ("--agent", "leaf-7", "--parent-id", "p", "--scratch-dir", "gone"),
        ("--agent", "leaf-7", "--parent-id", "p", "--scratch-dir", "gone/.deft-scratch/subagent-status"),
        ("--agent", "leaf-7", "--parent-id", "p", "--wait-kind", "vibes"),
        ("--agent", "leaf-7", "--parent-id", "p", "--pr", "0"),
        ("--agent", "leaf-7", "--parent-id", "p", "--pr", "-3"),
        ("--agent", "leaf-7", "--parent-id", ""),
        ("--agent", "leaf-7", "--parent-id", "p", "--message", "x" * 900),
        ("--agent", "leaf-7", "--parent-id", "p", "--message", "one\ntwo"),
        ("--agent", "leaf-7", "--parent-id", "p", "--every", "90s"),
        ("--agent", "leaf-7", "--parent-id", "p", "--every", "soon", "--while", "1"),
        ("--agent", "leaf-7", "--parent-id", "p", "--every", "10m", "--while", str(os.getpid())),
        ("--agent", "leaf-7", "--parent-id", "p", "--while", str(2**22 + 1)),
    ],
)
def test_a_wrong_beat_is_one_line_exit_2_and_writes_nothing(tree, arguments):
    ran = run("agent:beat", *arguments)
    assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1)
    left = set(tree.root.rglob("*")) - {tree.status_directory, tree.status_directory.parent}
    assert {path.name for path in left} <= {".leaf-7.lock", ".gitignore"}


def test_a_place_that_cannot_be_written_is_one_line_and_exit_2(tree):
    put(tree.root / "file", b"")
    ran = run("agent:beat", "--agent", "leaf-7", "--parent-id", "p", "--scratch-dir", tree.root / "file")
    assert (ran.code, ran.err.count("\n")) == (2, 1)


def test_beats_for_a_process_end_with_it_and_its_terminal_record(tree):
    worker = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    keeper = subprocess.Popen(
        [
            *STRAWBOSS,
            "agent:beat",
            "--agent",
            "leaf-7",
            "--parent-id",
            "run-42",
            "--every",
            "50ms",
            "--while",
            str(worker.pid),
        ],
        stdout=subprocess.PIPE,
    )
    assert b"starting" in keeper.stdout.readline()
    first = tree.heartbeat_file("leaf-7").stat().st_ino
    until(lambda: tree.heartbeat_file("leaf-7").stat().st_ino != first, "a renewal")
    worker.communicate(b"\n")
    keeper.communicate(timeout=90)
    assert keeper.returncode == 0
    assert (record(tree)["phase"], record(tree)["terminal_state"]) == ("terminal", "ERRORED")


def test_an_agent_that_has_ended_stays_ended_until_a_new_life_starts(tree):
    beat_of = ("agent:beat", "--agent", "leaf-7", "--parent-id", "run-42")
    run(*beat_of)
    run(*beat_of, "--terminal-state", "CLEAN")
    for late in (
        ("--phase", "polling"),
        ("--terminal-state", "FAILED"),
        ("--message", "x", "--phase", "fixing"),
        ("--message", "poll 5/20"),
        (),
    ):
        ran = run(*beat_of, *late)
        assert (ran.code, ran.out, ran.err.count("\n")) == (1, "", 1)
        assert "has ended (CLEAN)" in ran.err
    assert record(tree)["terminal_state"] == "CLEAN"
    assert run(*beat_of[:3], "--phase", "polling").code == 1
    again = run(*beat_of, "--phase", "starting", "--json")
    assert (again.code, "terminal record CLEAN" in again.json["replaced"]) == (0, True)
    msgspec.json.decode(again.out, type=schemas.Done)


def test_beats_and_looks_do_not_depend_on_where_one_stands(tree, monkeypatch):
    put(tree.root / ".git", b"")
    (tree.root / "src").mkdir()
    monkeypatch.chdir(tree.root / "src")
    run("agent:beat", "--agent", "leaf-7", "--parent-id", "run-42")
    assert record(tree)["phase"] == "starting"
    assert list((tree.root / "src").iterdir()) == []
    assert "leaf-7 -- OK" in run("agent:monitor").out
    assert run("verify:subagent-alive", "--require-agent", "leaf-7").code == 0


@pytest.fixture
def gh(tmp_path, monkeypatch):
    """Puts a `gh` first in the path that says when the pull request was touched."""

    def gh(touched):
        program = put(tmp_path / "bin" / "gh", f"#!/bin/sh\necho {touched}\n".encode())
        program.chmod(0o700)
        monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")

    return gh


@pytest.mark.parametrize(
    ("touched", "said"),
    [
        ("2001-01-01T00:00:00Z", "its pull request #77 had no change recently"),
        ("nothing", "whether its pull request #77 had a change recently is not known"),
    ],
)
def test_pre_cancel_shows_what_came_of_a_worker_that_beats_and_counts_its_beats_alone(
    tree, gh, touched, said
):
    gh(touched)
    beat(tree.root, last_heartbeat_at=since(seconds=10), pr_number=77)
    ask = ("subagent:pre-cancel", "--agent", "leaf-7", "--canceller-id", "x", "--target-id", tree.root)
    ran = run(*ask)
    assert (ran.code, "heartbeat-fresh" in ran.err, said in ran.err) == (
        1,
        True,
        True,
    )
    assert said in run(*ask, "--json").json["message"]


@pytest.mark.parametrize("arguments", [(), ("--host-running",)])
def test_what_came_of_a_worker_that_beats_is_shown_and_counts_when_its_host_says_that_it_runs(
    tree, gh, arguments
):
    environment = {
        **os.environ,
        "GIT_AUTHOR_DATE": "1000000000 +0000",
        "GIT_COMMITTER_DATE": "1000000000 +0000",
    }
    identity = ["-c", "user.name=a", "-c", "user.email=a@example.invalid"]
    for command in (["init"], [*identity, "commit", "--allow-empty", "-m", "x"]):
        subprocess.run(["git", *command], cwd=tree.root, check=True, capture_output=True, env=environment)
    beat(tree.root, last_heartbeat_at=since(seconds=10), pr_number=77)
    gh(since(hours=2))
    gate = ("verify:subagent-alive", "--require-agent", "leaf-7", *arguments)
    ran, report = run(*gate), run(*gate, "--json").json
    assert "its worktree had no commit recently; its pull request #77 had no change recently" in ran.out
    assert report["workers"][0]["recent_git_activity"] is False
    assert report["workers"][0]["recent_pr_activity"] is False
    assert ran.code == len(arguments)
    assert ("REDISPATCH_OK: leaf-7" in ran.out, report["redispatch_ok"]) == (bool(arguments), bool(arguments))


def test_what_lands_while_the_gate_asks_git_is_heard_before_the_word(tree, mocker):
    beat(tree.root, last_heartbeat_at=since(hours=2))

    def ask(*_):
        beat(tree.root, phase="terminal", terminal_state="CLEAN", last_heartbeat_at=since(seconds=1))

    mocker.patch("strawboss.heartbeat.alive.recent_git_activity", side_effect=ask)
    assert run("verify:subagent-alive", "--require-agent", "leaf-7").code == 0


def test_the_monitor_flags_a_look_in_which_most_fell_silent(tree):
    for agent in "abcd":
        beat(tree.root, agent, last_heartbeat_at=since(hours=2))
    ran = run("agent:monitor")
    assert (ran.code, "Witness suspect: a, b, c, d" in ran.out) == (1, True)
    report = run("agent:monitor", "--json").json
    assert (report["witness_suspect"], report["silent_at_once"]) == (True, ["a", "b", "c", "d"])


def test_a_monitor_that_stays_flags_what_changed_since_its_last_look(tree, mocker):
    clock = mocker.patch("strawboss.cli.liveness.time")
    clock.time.return_value = clock.monotonic.return_value = 0
    for number, agent in enumerate("abcd"):
        beat(tree.root, agent, last_heartbeat_at=since(seconds=10 + 300 * number))

    def sleep(_seconds):
        if clock.sleep.call_count == 3:
            raise KeyboardInterrupt
        for number, agent in enumerate("abc"):
            beat(tree.root, agent, last_heartbeat_at=since(hours=1 + number))

    clock.sleep.side_effect = sleep
    looks = run("agent:monitor", "--watch").out.split("Result:")
    assert ["Witness suspect: a, b, c" in look for look in looks] == [False, True, False, False]
