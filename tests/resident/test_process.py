"""The process as a whole, started as the extension starts it: its looks, its lock, its end."""

from __future__ import annotations

import json
import os
import signal
import socket
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from process_driver import SESSION, Answers, Extension, Refuse, is_method
from runs.written import RUN, activity, header, message, script, text
from standins.herdr.listener import Behaviour, Listener, answering, silent

from strawboss.pi.protocol import SILENT_LOOKS
from strawboss.resident.process import (
    HANDOVER_SECONDS,
    LONGEST_LOOK_SECONDS,
    SOON_LOOKS,
)
from strawboss.tape.play import play
from strawboss.tape.reader import read_session

PROMPT_END = 4.0  # before any question's own limit of five seconds; the second itself: scripts/bench process


@pytest.fixture
def directory() -> Iterator[Path]:
    """Short enough for a socket's path."""
    with tempfile.TemporaryDirectory(prefix="sb-", dir="/tmp") as made:
        yield Path(made)


def launch(extension: Extension, run: str = RUN, parent: Path | None = None) -> Path:
    """A child that waits, as it is on the disk; its session file."""
    session = extension.directory / f"2026-12-01T21-47-46-949Z_{run}-1a54df95-6a7903a4-264c.jsonl"
    session.write_bytes(
        text(header("child"), message("user", content="go"), message("assistant", content=[]))
    )
    artifacts = (parent or extension.directory) / "artifacts" / SESSION
    for folder in ("subagent-activity", "subagent-scripts"):
        (artifacts / folder).mkdir(parents=True, exist_ok=True)
    (artifacts / "subagent-activity" / f"{run}.json").write_text(json.dumps(activity(run)) + "\n")
    written = script(run, str(session), name="a secret name", surface="w1:p3", task="@/a/task.md")
    (artifacts / "subagent-scripts" / f"beta-{run}.sh").write_text(written)
    return session


def expected_looks(extension: Extension) -> list[float]:
    """What it told the extension to expect: seconds between two looks."""
    said = [one for one in extension.asked if one.get("method") == "process.looks"]
    return [one["params"]["every"] for one in said]


def tracked(*runs: str) -> Answers:
    return {"registry.read": lambda _: {"readable": True, "ids": list(runs)}}


def herdr_with(session: Path, script_path: str, terminal: str = "term_1") -> Behaviour:
    """A herdr with one pane, where the launch script runs on that session."""
    agent_session = {"source": "herdr:pi", "agent": "pi", "kind": "path", "value": str(session)}
    pane = {
        "pane_id": "w1:p3",
        "terminal_id": terminal,
        "workspace_id": "w1",
        "tab_id": "w1:t1",
        "focused": False,
    }
    pane |= {"agent": "pi", "agent_status": "working", "agent_session": agent_session, "revision": 0}
    foreground = [
        {"pid": 2, "name": "bash", "argv": ["bash", script_path]},
        {"pid": 3, "name": "pi", "argv": ["pi"]},
    ]
    info = {"pane_id": "w1:p3", "shell_pid": 1, "foreground_processes": foreground}
    results = {
        "pane.list": {"type": "pane_list", "panes": [pane]},
        "pane.process_info": {"type": "pane_process_info", "process_info": info},
    }

    def behave(connection: socket.socket) -> None:
        request = json.loads(connection.recv(65536))
        connection.sendall(
            json.dumps({"id": request["id"], "result": results[request["method"]]}).encode() + b"\n"
        )

    return behave


# -- looks -----------------------------------------------------------------------------------------------------


def test_it_looks_at_once_and_then_every_interval(directory: Path) -> None:
    with Extension(directory, STRAWBOSS_INTERVAL="0.3").starts() as extension:
        extension.wait_for(is_method("registry.read"))
        first = time.monotonic()
        extension.wait_for(is_method("registry.read"), count=3)
        assert 0.5 < time.monotonic() - first < 3
        assert extension.status()[0].startswith("strawboss: this session has launched no subagents")
    assert extension.process.returncode == 0
    assert extension.errors == ""


def test_it_says_how_often_it_looks_before_it_does(directory: Path) -> None:
    with Extension(directory, STRAWBOSS_INTERVAL="30").starts() as extension:
        extension.wait_for(is_method("registry.read"))
        assert extension.asked[0]["method"] == "process.looks"
        assert expected_looks(extension) == [30]


def test_until_the_first_run_is_seen_the_looks_come_sooner_for_a_while(directory: Path) -> None:
    with Extension(directory, STRAWBOSS_INTERVAL="3600").starts() as extension:
        extension.wait_for(is_method("registry.read"))
        launch(extension)
        extension.status_with(RUN)
        assert extension.count("registry.read") <= SOON_LOOKS


def test_before_the_session_has_started_it_does_nothing(directory: Path) -> None:
    with Extension(directory) as extension:
        assert extension.status() == ["strawboss: the first look has not been made yet"]
        assert extension.count("registry.read") == 0


def test_a_running_child_is_noted_once_in_the_session_and_then_costs_nothing(directory: Path) -> None:
    with Extension(directory, tracked(RUN), HERDR_SOCKET_PATH=str(directory / "h.sock")) as extension:
        session = launch(extension)
        path = directory / "artifacts" / SESSION / "subagent-scripts" / f"beta-{RUN}.sh"
        herdr = Listener(directory / "h.sock", herdr_with(session, str(path)))
        extension.starts()
        key = extension.wait_for(is_method("session.append"))["params"]["data"]
        assert (key["seen"], key["terminal"]) == (RUN, "term_1")
        herdr.stop()  # a call to it would now fail, and be seen in the state
        extension.looks(3)
        assert extension.count("session.append") == 1
        assert f'{RUN} "a secret name" tracked' in extension.status()
        assert extension.notices() == []


@pytest.mark.slow
def test_a_key_that_does_not_reach_the_file_is_not_written_and_warned_of_once(directory: Path) -> None:
    answers = tracked(RUN) | {"session.append": lambda _: "appended"}
    with Extension(directory, answers, HERDR_SOCKET_PATH=str(directory / "h.sock")) as extension:
        path = directory / "artifacts" / SESSION / "subagent-scripts" / f"beta-{RUN}.sh"
        herdr = Listener(directory / "h.sock", herdr_with(launch(extension), str(path)))
        extension.starts()
        extension.wait_for(is_method("session.append"), count=2)
        assert len(extension.notices()) == 1
    herdr.stop()


def test_runs_are_found_where_pi_keeps_its_sessions_when_not_beside_the_file(directory: Path) -> None:
    elsewhere = directory / "sessions"
    with Extension(directory, tracked(RUN)) as extension:
        launch(extension, parent=elsewhere)
        extension.starts(dir=str(elsewhere))
        extension.looks()
        assert any(RUN in line for line in extension.status())


def test_runs_that_come_later_are_seen(directory: Path) -> None:
    with Extension(directory, tracked(RUN)).starts() as extension:
        extension.looks()
        launch(extension)
        extension.looks(2)
        assert any(RUN in line for line in extension.status())


def test_an_unreadable_registry_makes_every_run_unknown(directory: Path) -> None:
    with Extension(directory, {"registry.read": lambda _: {"readable": False}}) as extension:
        launch(extension)
        extension.starts().looks()
        line = next(line for line in extension.status() if RUN in line)
        assert "the registry can be read: unknown" in line


@pytest.mark.parametrize(
    "behave", [lambda _: 1 / 0, lambda _: "no registry", lambda _: {"readable": "maybe"}]
)
def test_an_answer_that_makes_no_sense_is_unknown_and_the_looks_go_on(directory: Path, behave: Any) -> None:
    def refuse(_params: dict[str, Any]) -> Any:
        try:
            return behave(_params)
        except ZeroDivisionError as error:
            raise Refuse("no") from error

    with Extension(directory, {"registry.read": refuse}) as extension:
        launch(extension)
        extension.starts().looks(2)
        assert "the registry can be read: unknown" in str(extension.status())
    assert extension.errors == ""


@pytest.mark.slow
def test_a_look_that_breaks_is_logged_with_its_traceback_and_the_next_one_comes(directory: Path) -> None:
    bug = directory / "bug"
    bug.mkdir()
    (bug / "sitecustomize.py").write_text(BUG)
    with Extension(directory, PYTHONPATH=str(bug)).starts() as extension:
        extension.status_with(f"the last look failed; see {directory}/state/logs/{SESSION}.jsonl")
        extension.status_with("this session has launched no subagents")
    failed = next(line for line in extension.log() if line["event"] == "look failed")
    assert "ZeroDivisionError" in failed["exception"]
    assert extension.errors == ""


BUG = """
import strawboss.resident.session as session
first, session.Session.look = session.Session.look, lambda self: next(looks)(self)
def broken(self):
    1 / 0
looks = iter([broken] * 20 + [first] * 1000)
"""


def test_a_session_file_that_cannot_be_looked_for_is_said_and_looked_for_again(directory: Path) -> None:
    (directory / "place").touch()
    with Extension(directory).starts(file=str(directory / "place" / "x.jsonl")) as extension:
        extension.status_with("its session file cannot be looked for (Not a directory); it tries again")
        (directory / "place").unlink()
        (directory / "place").mkdir()
        extension.looks(2)
        assert extension.status()[0].startswith("strawboss: this session has launched no subagents")
        assert extension.notices() == []


def test_junk_from_the_extension_is_logged_and_ignored(directory: Path) -> None:
    with Extension(directory) as extension:
        for junk in (
            b"nonsense",
            b"[]",
            b"\xff",
            b'{"method": 3}',
            b"x" * 2_000_000,
            b'{"id": 5, "result": 1}',
        ):
            extension.say(junk)
        extension.starts().looks()
    assert sum(line["event"] == "line ignored" for line in extension.log()) == 6
    assert extension.errors == ""


def test_the_status_line_shows_a_count_only_while_something_is_stranded(directory: Path) -> None:
    with Extension(directory).starts() as extension:
        assert extension.wait_for(is_method("ui.status"))["params"] == {"text": None}
        extension.looks(2)
        assert extension.count("ui.status") == 1


def test_no_names_and_no_texts_are_in_the_log(directory: Path) -> None:
    with Extension(directory, tracked(RUN)) as extension:
        launch(extension)
        extension.starts().looks(2)
        assert "a secret name" in str(extension.status())
    assert RUN in str(extension.log())
    assert "secret" not in str(extension.log())


# -- what keeps it off -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "said", "warned"),
    [
        ({"protocol": 2}, "its extension speaks protocol 2, this process 1; run `strawboss install`", True),
        ({"protocol": "x"}, "its extension speaks protocol 0", True),
        ({"file": None}, "pi keeps no file for this session", False),
        ({"id": ""}, "pi gave this session no id", False),
    ],
)
def test_a_session_it_cannot_work_for_is_left_alone_with_the_reason(
    directory: Path, changes: dict[str, Any], said: str, warned: bool
) -> None:
    with Extension(directory).starts(**changes) as extension:
        extension.status_with(said)
        if warned:
            extension.wait_for(is_method("ui.notify"))
        footer = extension.wait_for(is_method("ui.status"))["params"]["text"]
        assert footer.startswith(f"strawboss is off: {said}")
        assert expected_looks(extension) == [0]
        assert len(extension.notices()) == warned
        assert extension.count("registry.read") == 0


def test_a_bad_config_is_one_warning_and_no_act_and_no_end(directory: Path) -> None:
    (directory / "config.yaml").write_text("nudge: perhaps\n")
    with Extension(directory).starts() as extension:
        extension.wait_for(is_method("ui.notify"))
        assert extension.notices() == [
            f"strawboss is off: {directory}/config.yaml:1: nudge: expected on or off, not 'perhaps'"
        ]
        extension.starts(reason="reload")
        extension.wait_for(is_method("ui.notify"), count=2)
        assert extension.count("registry.read") == 0
        assert extension.process.poll() is None


def test_a_state_directory_that_cannot_be_used_is_one_warning(directory: Path) -> None:
    (directory / "state").touch()
    with Extension(directory).starts() as extension:
        extension.wait_for(is_method("ui.notify"))
        assert f"{directory}/state cannot be used" in extension.notices()[0]
        assert "strawboss doctor" in extension.notices()[0]
        assert extension.count("registry.read") == 0


# -- the lock --------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_second_process_on_the_session_stands_by_says_so_once_and_takes_over(directory: Path) -> None:
    with Extension(directory) as second:
        with Extension(directory).starts() as first:
            first.looks()
            second.starts()
            second.wait_for(is_method("ui.notify"), seconds=HANDOVER_SECONDS + 10)
            assert "stands by" in second.status()[0]
            assert "stands by" in second.wait_for(is_method("ui.status"))["params"]["text"]
            assert expected_looks(second) == [0]
            assert second.count("registry.read") == 0
        second.looks()
        assert len(second.notices()) == 1
        assert second.wait_for(is_method("ui.status"), count=2)["params"]["text"] is None
        assert expected_looks(second) == [0, LONGEST_LOOK_SECONDS / SILENT_LOOKS]
        assert second.status()[0].startswith("strawboss: this session has launched no subagents")


@pytest.mark.slow
def test_after_a_reload_the_next_process_waits_for_the_one_before_without_a_word(directory: Path) -> None:
    with Extension(directory).starts() as first, Extension(directory) as second:
        first.looks()
        second.starts(reason="reload")
        first.hang_up()
        second.looks()
        assert second.notices() == []


def test_another_session_has_a_lock_of_its_own(directory: Path) -> None:
    with Extension(directory).starts() as first, Extension(directory).starts(id="other") as second:
        first.looks()
        second.looks()


@pytest.mark.parametrize(
    ("content", "mtime"), [(f"{os.getpid()}\n", 0), ("\0" * 100, 2**32)], ids=["living pid", "future"]
)
def test_what_an_old_lock_file_holds_means_nothing(directory: Path, content: str, mtime: int) -> None:
    """R26, R77, R79: a living foreign pid, a time in the future."""
    lock = directory / "state" / "locks" / f"{SESSION}.lock"
    lock.parent.mkdir(parents=True)
    lock.write_text(content)
    os.utime(lock, (mtime, mtime))
    with Extension(directory).starts() as extension:
        extension.looks()


def test_a_killed_process_leaves_no_lock_behind(directory: Path) -> None:
    """R39"""
    with Extension(directory).starts() as first:
        first.looks()
        first.process.kill()
    with Extension(directory).starts() as second:
        second.looks()
        assert second.notices() == []


# -- why, and only looking ---------------------------------------------------------------------------------------


def test_a_run_that_is_asked_for_is_explained_by_what_the_last_look_saw(directory: Path) -> None:
    with Extension(directory, tracked()) as extension:
        launch(extension)
        extension.starts().looks(2)
        first, *conditions = extension.status(RUN)
        assert first.startswith(f'{RUN} "a secret name": nothing is done for it now:')
        assert any("nudge: " in line and ": unknown (" in line for line in conditions)
        assert conditions[-1].endswith("not asked about (`strawboss explain --all`)")
        assert extension.status(RUN[:-1]) == [
            f"strawboss: this session has launched no run '{RUN[:-1]}'; near it are {RUN}"
        ]


def test_each_look_is_on_the_tape_and_a_kill_loses_none_of_them(directory: Path) -> None:
    with Extension(directory, tracked(RUN)) as extension:
        launch(extension)
        extension.starts().looks(3)
        extension.process.kill()
    looks = list(read_session(directory / "state" / "tapes" / SESSION))
    assert len(looks) >= 2
    assert all(not told.differs for told in play(looks)[0])
    assert [one.run for one in looks[-1].reported] == [RUN]


def test_without_room_for_a_tape_the_looks_go_on_and_the_log_says_so_once(directory: Path) -> None:
    (directory / "state").mkdir()
    (directory / "state" / "tapes").write_text("in the way")
    with Extension(directory, tracked(RUN)) as extension:
        launch(extension)
        extension.starts().looks(4)
        assert extension.status(RUN)[0].startswith(f'{RUN} "a secret name": its launcher still watches it')
        assert [line["why"] for line in extension.log() if line["event"] == "tape ended"] == [
            "Not a directory"
        ]


def test_in_observe_mode_nothing_is_noted(directory: Path) -> None:
    socket_path = str(directory / "h.sock")
    with Extension(
        directory, tracked(RUN), HERDR_SOCKET_PATH=socket_path, STRAWBOSS_MODE="observe"
    ) as extension:
        path = directory / "artifacts" / SESSION / "subagent-scripts" / f"beta-{RUN}.sh"
        herdr = Listener(directory / "h.sock", herdr_with(launch(extension), str(path)))
        extension.starts().looks(4)
        assert (extension.count("session.append"), extension.notices()) == (0, [])
    herdr.stop()


# -- another session start -------------------------------------------------------------------------------------


def test_a_new_session_start_takes_the_place_of_the_one_before(directory: Path) -> None:
    with Extension(directory).starts() as extension:
        extension.looks()
        extension.starts(id="other", reason="new")
        extension.looks(2)
        lock = directory / "state" / "locks" / f"{SESSION}.lock"
        assert str(lock) not in [file.path for file in psutil.Process(extension.process.pid).open_files()]
        assert (directory / "state" / "locks" / "other.lock").exists()


# -- the end ---------------------------------------------------------------------------------------------------


def test_it_ends_at_once_when_its_stdin_ends(directory: Path) -> None:
    with Extension(directory, STRAWBOSS_INTERVAL="60").starts() as extension:
        extension.wait_for(is_method("ui.status"))
        assert extension.hang_up() < PROMPT_END
    assert extension.process.returncode == 0


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_to_end_is_an_end_in_order(directory: Path, how: signal.Signals) -> None:
    with Extension(directory).starts() as extension:
        extension.looks()
        extension.process.send_signal(how)
        assert extension.process.wait(10) == 0
    assert extension.errors == ""


def test_an_interrupt_from_the_terminal_is_pis_business(directory: Path) -> None:
    with Extension(directory).starts() as extension:
        extension.looks()
        extension.process.send_signal(signal.SIGINT)
        extension.looks(2)
    assert extension.process.returncode == 0


def test_the_word_that_the_session_has_ended_is_enough(directory: Path) -> None:
    with Extension(directory, STRAWBOSS_INTERVAL="60").starts() as extension:
        extension.wait_for(is_method("ui.status"))
        extension.say({"method": "session.ended", "params": {"reason": "quit"}})
        assert extension.process.wait(10) == 0


def test_it_ends_at_once_in_the_middle_of_a_question_to_a_herdr_that_hangs(directory: Path) -> None:
    with Extension(directory, tracked(RUN), HERDR_SOCKET_PATH=str(directory / "h.sock")) as extension:
        launch(extension)
        asked: list[float] = []

        def hang(connection: socket.socket) -> None:
            asked.append(time.monotonic())
            silent(connection)

        herdr = Listener(directory / "h.sock", hang)
        extension.starts()
        while not asked:
            time.sleep(0.01)
        assert extension.hang_up() < PROMPT_END
    herdr.stop()
    assert extension.process.returncode == 0


def test_it_ends_at_once_while_the_extension_does_not_answer(directory: Path) -> None:
    with Extension(directory) as extension:
        del extension.answers["registry.read"]
        extension.starts()
        extension.wait_for(is_method("registry.read"))
        assert extension.hang_up() < PROMPT_END


# -- a thousand looks ------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("behave", [answering(b"garbage\n"), answering(b'{"id": "str'), answering()])
def test_a_broken_herdr_leaks_no_descriptor_and_makes_no_act(directory: Path, behave: Behaviour) -> None:
    herdr = Listener(directory / "h.sock", behave)
    variables = {"HERDR_SOCKET_PATH": str(directory / "h.sock"), "STRAWBOSS_INTERVAL": "0.1"}
    with Extension(directory, tracked(RUN), **variables) as extension:
        launch(extension)
        extension.starts().looks(2)
        process = psutil.Process(extension.process.pid)
        before = process.num_fds()
        extension.looks(15)
        assert process.num_fds() <= before + 1  # one may be open at this very moment
        assert process.children() == []
        assert process.num_threads() == 1
        assert extension.count("session.append") == 0
    herdr.stop()


def test_it_is_small(directory: Path) -> None:
    with Extension(directory).starts() as extension:
        extension.looks(3)
        assert psutil.Process(extension.process.pid).memory_info().rss < 40 * 2**20
