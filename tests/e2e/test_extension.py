"""The extension in the real pi: what it starts, says and answers, and that pi never suffers from it."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from e2e.pi_install import PI_VERSION, pi_binary, pi_environment
from e2e.rpc import PiRpc, descendants, is_alive, is_notice
from standins.model import Hang, Model, Request, Text, rules

from strawboss.pi.installation import EXTENSION

HERE = Path(__file__).resolve().parent
AT = "2026-12-01T21:47:48.472Z"
NO_HERDR = {"HERDR_SOCKET_PATH": "/nonexistent/herdr.sock", "HERDR_PANE_ID": "w1:p1"}


def wait_until(holds: Callable[[], Any], seconds: float = 90.0) -> Any:
    """What `holds` gives once it gives something true; never a fixed pause."""
    deadline = time.monotonic() + seconds
    while not (value := holds()):
        assert time.monotonic() < deadline, "it did not come in time"
        time.sleep(0.01)
    return value


class Place:
    """One pi's home and, in the place of the process, a scripted one."""

    def __init__(self, home: Path, model: Model) -> None:
        self.home, self.model = home, model
        self.project = home / "project"
        self.script = home / "script"
        self.state = home / "state"
        for directory in (self.project, self.script):
            directory.mkdir()
        (self.script / "say.jsonl").touch()
        (self.script / "heard.jsonl").touch()

    def environment(
        self,
        *,
        scripted: bool = True,
        launched: bool = True,
        settings: dict[str, Any] | None = None,
        **variables: str,
    ) -> dict[str, str]:
        """`launched`: its registry has entries from the start, so it gets a process."""
        python = self._scripted_python() if scripted else sys.executable
        own = {
            "HERDR_ENV": "1",
            **NO_HERDR,
            "STRAWBOSS_PYTHON": str(python),
            "STRAWBOSS_STATE_DIR": str(self.state),
            "STRAWBOSS_CONFIG": str(self.home / "config.yaml"),
            "STRAWBOSS_INTERVAL": "0.2",
        }
        if launched:
            own["REGISTRY"] = "map"
        extensions = [EXTENSION / "index.ts", HERE / "helper_extension.ts"]
        everything = own | variables
        return pi_environment(
            self.home, self.model.url, extensions=extensions, settings=settings, **everything
        )

    def pi(self, *arguments: str, **how: Any) -> PiRpc:
        return PiRpc(self.environment(**how), self.project, *arguments)

    def _scripted_python(self) -> Path:
        wrapper = self.home / "python"
        wrapper.write_text(
            f'#!/bin/sh\nexec "{sys.executable}" "{HERE}/scripted_process.py" "{self.script}"\n'
        )
        wrapper.chmod(0o755)
        return wrapper

    # -- what the scripted process heard and says

    def pids(self) -> list[int]:
        file = self.script / "pids"
        return [int(pid) for pid in file.read_text().split()] if file.exists() else []

    def heard(self, method: str | None = None) -> list[dict[str, Any]]:
        lines = (self.script / "heard.jsonl").read_text().splitlines()
        messages = [json.loads(line) for line in lines if line.endswith("}")]
        return [message for message in messages if method in (None, message.get("method"))]

    def hears(self, method: str, count: int = 1) -> dict[str, Any]:
        found = wait_until(lambda: self.heard(method) if len(self.heard(method)) >= count else None)
        return found[count - 1].get("params", {})

    def say(self, line: dict[str, Any] | str) -> None:
        with (self.script / "say.jsonl").open("a") as file:
            file.write((line if isinstance(line, str) else json.dumps(line)) + "\n")

    def asks(self, method: str, **params: Any) -> dict[str, Any]:
        """The extension's whole answer to one request."""
        number = 1000 + len((self.script / "say.jsonl").read_text().splitlines())
        self.say({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
        return wait_until(lambda: next((m for m in self.heard() if m.get("id") == number), None))

    def behaves(self, how: str, words: str = "") -> None:
        (self.script / how).write_text(words)

    def session(self, artifacts: str = "", **header: Any) -> tuple[str, Path]:
        """A session on the disk, its file named otherwise than its id, and this of its artifacts; the id, the file."""
        session = str(uuid4())
        file = self.home / "sessions" / f"{len(header)}-{session[:4]}.jsonl"
        (file.parent / "artifacts" / session / artifacts).mkdir(parents=True)
        first = {"type": "session", "version": 3, "id": session, "timestamp": AT, "cwd": str(self.project)}
        message = {"role": "user", "content": "hello", "timestamp": 1}
        entry = {"type": "message", "id": "1a2b3c4d", "parentId": None, "timestamp": AT, "message": message}
        file.write_text("".join(json.dumps(line) + "\n" for line in (first | header, entry)))
        return session, file

    def session_files(self) -> list[Path]:
        return sorted(self.home.glob(".pi/agent/sessions/*/*.jsonl"))


@pytest.fixture
def model(tmp_path: Path) -> Iterator[Model]:
    with Model(tmp_path / "model.jsonl") as model:
        yield model


@pytest.fixture
def place(tmp_path: Path, model: Model) -> Iterator[Place]:
    home = tmp_path / "home"
    home.mkdir()
    place = Place(home, model)
    yield place
    (place.script / "stubborn").unlink(missing_ok=True)  # one that outlived its pi ends too
    wait_until(lambda: not any(map(is_alive, place.pids())))


# -- which sessions get a process ------------------------------------------------------------------------------


def test_a_session_in_herdr_gets_a_process_that_is_told_what_it_works_for(place: Place) -> None:
    with place.pi() as pi:
        started = place.hears("session.started")
        state = pi.ask("get_state")
    assert started["protocol"] == 1
    assert started["reason"] == "startup"
    assert (started["id"], started["file"]) == (state["sessionId"], state["sessionFile"])
    assert (started["cwd"], started["pane"], started["mode"]) == (str(place.project), "w1:p1", "rpc")
    assert started["pids"] == {"pi": pi.process.pid}
    assert started["versions"]["pi"] == PI_VERSION


@pytest.mark.parametrize(
    ("variables", "why"),
    [
        ({"HERDR_ENV": "0"}, "this pi does not run in herdr"),
        ({"PI_SUBAGENT_ID": "1a2b3c4d"}, "this session is a subagent"),
        ({"PI_SUBAGENT_SURFACE": "w1:p2"}, "this session is a subagent"),
    ],
)
def test_a_session_outside_herdr_and_a_subagent_get_none(
    place: Place, variables: dict[str, str], why: str
) -> None:
    with place.pi(**variables) as pi:
        pi.command("/strawboss")
        assert pi.wait_for(is_notice)["message"] == f"strawboss is off: {why}"
    assert place.pids() == []


def test_a_session_that_launched_nothing_gets_none_and_says_that_it_is_not_off(place: Place) -> None:
    with place.pi(launched=False) as pi:
        pi.command("/registry empty")
        pi.prompt("SAY hello")
        pi.command("/strawboss")
        words = "strawboss: this session has launched no subagents yet; strawboss starts with the first one"
        assert pi.wait_for(is_notice)["message"] == words
        assert pi.count(is_status) == 0
    assert place.pids() == []


def test_it_starts_with_the_first_result_of_the_subagent_tool(place: Place, model: Model) -> None:
    with place.pi(launched=False) as pi:
        pi.prompt("CALL subagent {}")
        started = place.hears("session.started")
        assert (started["reason"], started["file"]) == ("startup", pi.ask("get_state")["sessionFile"])
        pi.prompt("CALL subagent {}")
    assert len(place.pids()) == 1


def test_it_starts_with_the_first_entry_of_the_registry_whoever_made_it(place: Place) -> None:
    with place.pi(launched=False) as pi:
        pi.command("/registry map")
        assert place.hears("session.started")
    assert len(place.pids()) == 1


@pytest.mark.parametrize("trace", ["subagent-scripts", "subagent-activity"])
def test_it_starts_with_a_session_that_left_artifacts(place: Place, trace: str) -> None:
    session, file = place.session(trace)
    with place.pi("--session", str(file), launched=False):
        assert place.hears("session.started")["id"] == session


def test_it_starts_with_a_session_whose_artifacts_lie_where_pi_keeps_sessions_now(place: Place) -> None:
    session, file = place.session()
    now = place.home / "now"
    (now / "artifacts" / session / "subagent-scripts").mkdir(parents=True)
    with place.pi("--session", str(file), "--session-dir", str(now), launched=False):
        assert place.hears("session.started")["id"] == session


def test_it_starts_with_a_fork_of_a_session_that_left_artifacts(place: Place) -> None:
    _, parent = place.session("subagent-scripts")
    session, file = place.session(parentSession=str(parent))
    with place.pi("--session", str(file), launched=False):
        assert place.hears("session.started")["id"] == session


def test_it_starts_with_a_session_resumed_from_one_that_left_artifacts_but_not_with_a_new_one(
    place: Place,
) -> None:
    _, launcher = place.session("subagent-scripts")
    session, other = place.session()
    with place.pi("--session", str(launcher), launched=False) as pi:
        place.hears("session.started")
        pi.ask("switch_session", sessionPath=str(other))
        assert place.hears("session.started", count=2)["id"] == session
        pi.ask("switch_session", sessionPath=str(launcher))
        place.hears("session.started", count=3)
        pi.ask("new_session")
        pi.command("/strawboss")
        assert "launched no subagents yet" in pi.wait_for(is_notice)["message"]
    assert len(place.pids()) == 3


@pytest.mark.parametrize("artifacts", ["", "context"])
def test_artifacts_of_other_kinds_and_parents_that_are_gone_start_nothing(
    place: Place, artifacts: str
) -> None:
    _, file = place.session(artifacts, parentSession=str(place.home / "gone.jsonl"))
    with place.pi("--session", str(file), launched=False) as pi:
        pi.command("/strawboss")
        assert "launched no subagents yet" in pi.wait_for(is_notice)["message"]
    assert place.pids() == []


def test_a_parent_that_cannot_be_understood_may_have_launched(place: Place) -> None:
    torn = place.home / "torn.jsonl"
    torn.write_text('{"type":"session","id":')
    _, file = place.session(parentSession=str(torn))
    with place.pi("--session", str(file), launched=False):
        assert place.hears("session.started")


def test_a_launcher_opened_outside_herdr_shows_in_its_footer_that_nobody_watches(place: Place) -> None:
    _, file = place.session("subagent-scripts")
    with place.pi("--session", str(file), launched=False, HERDR_ENV="0") as pi:
        line = pi.wait_for(is_status)["statusText"]
    assert line == "strawboss is off: this pi does not run in herdr"
    assert place.pids() == []


def test_a_users_own_subagent_setting_makes_no_subagent(place: Place) -> None:
    with place.pi(PI_SUBAGENT_SHELL_READY_DELAY_MS="500"):
        assert place.hears("session.started")


def test_print_mode_starts_no_process_and_ends_at_once(place: Place) -> None:
    place.behaves("hang")
    done = subprocess.run(
        [str(pi_binary()), "-p", "SAY hello"],
        env=place.environment(),
        cwd=place.project,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=120,
        check=True,
    )
    assert b"hello" in done.stdout
    assert place.pids() == []


# -- the life of the process -----------------------------------------------------------------------------------


def test_a_process_that_hangs_holds_up_nothing(place: Place) -> None:
    place.behaves("hang")
    with place.pi() as pi:
        assert pi.ask("get_state")["isStreaming"] is False
        pid = wait_until(place.pids)[0]
        pi.prompt("SAY hello")
        pi.command("/strawboss")
        assert pi.wait_for(is_notice)["message"] == "strawboss does not answer"
    wait_until(lambda: not is_alive(pid))


def test_a_process_that_crashes_is_started_three_times_more_and_then_one_warning_comes(place: Place) -> None:
    place.behaves("crash", "ValueError: out of straw\n")
    with place.pi() as pi:
        warning = pi.wait_for(is_notice)
        assert len(place.pids()) == 4
        assert "ValueError: out of straw" in warning["message"]
        assert warning["message"].endswith("run `strawboss doctor`")
        pi.command("/strawboss")
        assert pi.wait_for(is_notice, count=2)["message"] == warning["message"]
        assert len(place.pids()) == 4


def test_a_process_that_crashes_once_is_told_again_what_it_works_for(place: Place) -> None:
    with place.pi() as pi:
        first = place.hears("session.started")
        os.kill(place.pids()[0], signal.SIGKILL)
        assert place.hears("session.started", count=2) == first
        assert pi.notices() == []


def test_a_process_that_gives_no_sign_of_a_look_is_replaced_three_times_and_then_it_is_off(
    place: Place,
) -> None:
    place.say({"jsonrpc": "2.0", "method": "process.looks", "params": {"every": 0.3}})
    with place.pi() as pi:
        wait_until(lambda: len(pi.notices()) == 4)
        notices, pids = pi.notices(), place.pids()
        wait_until(lambda: not any(map(is_alive, pids)))
        assert pi.wait_for(is_status)["statusText"] == notices[3]
        pi.command("/strawboss")
        assert pi.wait_for(is_notice, count=5)["message"] == notices[3]
    replaced = "strawboss: its process hung and was replaced ({} of at most 3 times)"
    assert notices[:3] == [replaced.format(number) for number in (1, 2, 3)]
    assert notices[3] == "strawboss is off: its process hung again and again; run `strawboss doctor`"
    assert len(pids) == 4
    assert place.heard("session.started")[0] == place.heard("session.started")[-1]


def test_a_process_that_looks_or_says_that_it_does_not_is_left_alone(place: Place) -> None:
    with place.pi() as pi:
        place.hears("session.started")
        place.say({"jsonrpc": "2.0", "method": "process.looks", "params": {"every": 1}})
        until = time.monotonic() + 6
        while time.monotonic() < until:
            place.asks("registry.read")
        place.say({"jsonrpc": "2.0", "method": "process.looks", "params": {"every": 0.01}})
        place.say({"jsonrpc": "2.0", "method": "process.looks", "params": {"every": 0}})
        pi.prompt("SAY hello")
        assert pi.notices() == []
    assert len(place.pids()) == 1


def test_a_sleep_of_pi_is_no_silence_of_its_process(place: Place) -> None:
    with place.pi() as pi:
        place.hears("session.started")
        place.say({"jsonrpc": "2.0", "method": "process.looks", "params": {"every": 1}})
        place.asks("registry.read")
        pi.process.send_signal(signal.SIGSTOP)
        woken = time.monotonic() + 6  # more than four intervals
        wait_until(lambda: time.monotonic() > woken)
        pi.process.send_signal(signal.SIGCONT)
        for _ in range(3):
            place.asks("registry.read")
        assert pi.notices() == []
    assert len(place.pids()) == 1


@pytest.mark.parametrize("python", ["/nonexistent/python", "/dev/null"])
def test_a_python_that_cannot_be_started_is_one_warning_with_the_repair(place: Place, python: str) -> None:
    with place.pi(STRAWBOSS_PYTHON=python) as pi:
        warning = pi.wait_for(is_notice)["message"]
        pi.ask("new_session")
        pi.command("/strawboss")
        pi.wait_for(is_notice, count=2)
        notices = pi.notices()
    assert "run `strawboss install`" in warning
    assert notices == [warning, warning]  # the second is the answer to /strawboss


def test_an_installation_that_was_never_made_is_one_warning_with_the_repair(place: Place) -> None:
    with place.pi(STRAWBOSS_PYTHON="") as pi:
        warning = pi.wait_for(is_notice)
    assert warning["notifyType"] == "warning"
    assert "its Python is not known" in warning["message"]
    assert "run `strawboss install`" in warning["message"]


def test_a_python_without_strawboss_is_one_warning_and_no_second_try(place: Place) -> None:
    place.behaves("crash", "/usr/bin/python3: No module named strawboss\n")
    with place.pi() as pi:
        assert "pip install strawboss" in pi.wait_for(is_notice)["message"]
        pi.command("/strawboss")
        pi.wait_for(is_notice, count=2)
    assert len(place.pids()) == 1


def test_the_installed_python_is_read_from_pis_own_directory(place: Place) -> None:
    python = place.environment()["STRAWBOSS_PYTHON"]
    (place.home / ".pi" / "agent" / "strawboss.json").write_text(json.dumps({"python": python}))
    with place.pi(STRAWBOSS_PYTHON=""):
        assert place.hears("session.started")


def test_a_replaced_session_ends_its_process_and_gets_another(place: Place) -> None:
    with place.pi() as pi:
        first = place.hears("session.started")
        pi.prompt("SAY hello")
        pi.ask("new_session")
        second = place.hears("session.started", count=2)
        pi.ask("switch_session", sessionPath=first["file"])
        third = place.hears("session.started", count=3)
        entry = pi.ask("get_fork_messages")["messages"][0]["entryId"]
        pi.ask("fork", entryId=entry)
        fourth = place.hears("session.started", count=4)
        wait_until(lambda: [is_alive(pid) for pid in place.pids()] == [False, False, False, True])
    assert [one["reason"] for one in (first, second, third, fourth)] == ["startup", "new", "resume", "fork"]
    assert third["id"] == first["id"]
    assert len({first["id"], second["id"], fourth["id"]}) == 3
    assert [m["params"]["reason"] for m in place.heard("session.ended")] == ["new", "resume", "fork", "quit"]


def test_a_reload_ends_the_process_and_starts_another_for_the_same_session(place: Place) -> None:
    with place.pi() as pi:
        first = place.hears("session.started")
        pi.command("/reload-now")
        second = place.hears("session.started", count=2)
        wait_until(lambda: [is_alive(pid) for pid in place.pids()] == [False, True])
    assert (second["reason"], second["id"]) == ("reload", first["id"])


def test_an_old_process_that_goes_on_talking_reaches_nobody_and_is_killed(place: Place) -> None:
    place.behaves("stubborn")
    with place.pi() as pi:
        place.hears("session.started")
        old = place.pids()[0]
        pi.ask("new_session")
        (place.script / "stubborn").unlink()
        place.hears("session.started", count=2)
        wait_until(lambda: not is_alive(old))
        assert pi.ask("get_state")
        assert pi.count(lambda said: said["type"] == "extension_error") == 0


def test_requests_of_an_old_process_touch_no_session(place: Place) -> None:
    place.behaves("stubborn")
    with place.pi() as pi:
        place.hears("session.started")
        pi.command("/reload-now")
        place.hears("session.started", count=2)
        # Both processes read the same script: each asks, one is heard.
        place.asks("ui.notify", level="warning", text="who hears me?")
        wait_until(lambda: not is_alive(place.pids()[0]))
        pi.wait_for(is_notice)
        assert pi.notices() == ["who hears me?"]
        assert pi.count(lambda said: said["type"] == "extension_error") == 0


def test_the_real_process_is_gone_once_pi_is_killed(place: Place) -> None:
    with place.pi(scripted=False) as pi:
        child = wait_until(lambda: descendants(pi.process.pid))[0]
        wait_until(lambda: list(place.state.glob("logs/*.jsonl")))  # it has looked
        pi.process.kill()
        wait_until(lambda: not is_alive(child))  # within a second on a machine at rest: scripts/bench process


# -- what it answers -------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Conversation:
    """A session that has had one prompt, its pi and its scripted process: for tests that only ask."""

    place: Place
    pi: PiRpc
    model: Model


@pytest.fixture(scope="module")
def conversation(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Conversation]:
    directory = tmp_path_factory.mktemp("conversation")
    with Model(directory / "model.jsonl") as model:
        place = Place(directory, model)
        with place.pi() as pi:
            place.hears("session.started")
            pi.prompt("SAY hello")
            yield Conversation(place, pi, model)


@pytest.mark.parametrize(
    ("kind", "answer"),
    [
        ("map", {"readable": True, "ids": ["1a2b3c4d", "5e6f7a8b"]}),
        ("empty", {"readable": True, "ids": []}),
        ("object", {"readable": False}),
        ("numbers", {"readable": False}),
        ("null", {"readable": False}),
        ("none", {"readable": False}),
    ],
)
def test_the_registry_is_the_ids_of_its_map_or_unreadable(
    conversation: Conversation, kind: str, answer: dict[str, Any]
) -> None:
    conversation.pi.command(f"/registry {kind}")
    assert conversation.place.asks("registry.read")["result"] == answer


def test_an_appended_key_is_in_the_session_file_when_the_answer_comes(conversation: Conversation) -> None:
    place = conversation.place
    file = Path(place.hears("session.started")["file"])
    key = {"seen": "1a2b3c4d", "terminal": "term_1"}
    assert place.asks("session.append", data=key)["result"] == "appended"
    last = json.loads(file.read_text().splitlines()[-1])
    assert (last["type"], last["customType"], last["data"]) == ("custom", "straw-boss", key)


def test_a_message_wakes_an_idle_session_and_is_seen_to_be_taken(conversation: Conversation) -> None:
    place, pi = conversation.place, conversation.pi
    settled = len(place.heard("session.settled"))
    assert place.asks("session.state")["result"] == {"idle": True, "compacting": False}
    assert place.asks("session.tell", id="m1", runs=["1a2b3c4d"], text="SAY woken")["result"] == "told"
    conversation.model.wait_for(lambda request: request.prompt == "SAY woken")
    assert place.hears("session.entry") == {"id": "m1"}
    assert place.hears("session.settled", count=settled + 1) == {"aborted": False}
    message = next(entry for entry in pi.ask("get_entries")["entries"] if entry["type"] == "custom_message")
    assert (message["customType"], message["display"]) == ("straw-boss", True)
    assert message["details"] == {"id": "m1", "runs": ["1a2b3c4d"]}


def is_status(said: dict[str, Any]) -> bool:
    return said.get("method") == "setStatus"


def test_notices_and_the_status_line_reach_the_user(conversation: Conversation) -> None:
    place, pi = conversation.place, conversation.pi
    place.asks("ui.notify", level="warning", text="mind the gap")
    notice = pi.wait_for(lambda said: is_notice(said) and said["message"] == "mind the gap")
    place.asks("ui.status", text="strawboss: 1 stranded")
    place.asks("ui.status", text=None)
    pi.wait_for(is_status, count=2)
    lines = list(filter(is_status, pi.said))
    assert notice["notifyType"] == "warning"
    assert [line.get("statusText") for line in lines] == ["strawboss: 1 stranded", None]
    assert {line["statusKey"] for line in lines} == {"strawboss"}


def test_junk_from_the_process_is_ignored_and_an_unknown_request_refused(conversation: Conversation) -> None:
    place, pi = conversation.place, conversation.pi
    for junk in ("not json", "[]", "null", '"x"', "{}", '{"id":7,"result":1}'):
        place.say(junk)
    assert "error" in place.asks("session.explode")
    assert "idle" in place.asks("session.state")["result"]
    assert pi.count(lambda said: said["type"] == "extension_error") == 0


def test_a_message_to_a_busy_session_is_steered_into_its_turn(place: Place, model: Model) -> None:
    with place.pi() as pi:
        place.hears("session.started")
        pi.ask("prompt", message="SLEEP 1")
        pi.wait_for(lambda said: said["type"] == "tool_execution_start")
        assert place.asks("session.state")["result"] == {"idle": False, "compacting": False}
        assert place.asks("session.tell", id="m1", runs=[], text="SAY steered")["result"] == "told"
        model.wait_for(lambda request: request.prompt == "SAY steered")
        pi.wait_for(lambda said: said["type"] == "agent_settled")


def test_no_message_is_put_beside_a_compaction(place: Place, model: Model) -> None:
    def summaries_hang(request: Request) -> Any:
        return Hang(Text("summary")) if not request.tools else Text("hello " * 200)

    model.script = rules([], otherwise=summaries_hang)
    with place.pi(settings={"compaction": {"keepRecentTokens": 1}}) as pi:
        pi.prompt("hello " * 200)
        pi.send({"id": "c", "type": "compact"})
        model.wait_for(lambda request: not request.tools)
        assert place.asks("session.state")["result"] == {"idle": False, "compacting": True}
        assert place.asks("session.tell", id="m1", runs=[], text="SAY no")["result"] == "compacting"
        model.release()
        pi.wait_for(lambda said: said.get("id") == "c")
        assert place.asks("session.state")["result"] == {"idle": True, "compacting": False}
        assert place.asks("session.tell", id="m2", runs=[], text="SAY yes")["result"] == "told"
        assert place.hears("session.entry") == {"id": "m2"}


# -- with the real process -------------------------------------------------------------------------------------


def test_the_command_shows_what_the_real_process_says(place: Place) -> None:
    with place.pi(scripted=False) as pi:
        pi.command("/registry empty")
        pi.command("/strawboss")
        assert "strawboss: " in pi.wait_for(is_notice)["message"]
        wait_until(lambda: list(place.state.glob("locks/*.lock")))


def test_a_second_pi_on_the_same_session_stands_by_and_says_so_once(place: Place) -> None:
    with place.pi(scripted=False) as pi:
        pi.prompt("SAY hello")
        file = pi.ask("get_state")["sessionFile"]
        with place.pi("--session", file, scripted=False) as second:
            warning = second.wait_for(is_notice)["message"]
            assert "stands by" in warning
            second.command("/strawboss")
            assert second.wait_for(is_notice, count=2)["message"] == warning
            assert len(second.notices()) == 2
        assert pi.notices() == []


def test_a_bad_config_is_one_warning_with_file_and_line(place: Place) -> None:
    (place.home / "config.yaml").write_text("nudge: on\nintervall: 3\n")
    with place.pi(scripted=False) as pi:
        warning = pi.wait_for(is_notice)["message"]
        assert f"{place.home}/config.yaml:2: unknown key 'intervall'; did you mean interval?" in warning
        child = descendants(pi.process.pid)
        pi.command("/strawboss")
        pi.wait_for(is_notice, count=2)
        assert descendants(pi.process.pid) == child


def test_logs_and_locks_are_private(place: Place) -> None:
    with place.pi(scripted=False) as pi:
        pi.prompt("SAY a secret task")
        wait_until(lambda: list(place.state.glob("logs/*.jsonl")))
    for path in place.state.rglob("*"):
        assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600), path
    assert "secret" not in "".join(file.read_text() for file in place.state.glob("logs/*"))
