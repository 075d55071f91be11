"""What strawboss relies on in herdr, asked of the stand-in, of recordings, and of a real herdr where there is one.

`STRAWBOSS_TEST_HERDR=<binary>` runs the same calls against that herdr, each in a directory of its own.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from e2e.pi_install import pi_environment
from standins.herdr import HerdrError, HerdrServer
from standins.model import Hang, Model, Text, rules

from strawboss.herdr.address import find_address
from strawboss.herdr.client import Herdr, Version
from strawboss.recovery.commands import Outcome, Result
from strawboss.recovery.verdict import Unknown

pytestmark = pytest.mark.slow

FACTS = Path(__file__).parents[2] / "fixtures" / "herdr"
SOCKET_FACTS = json.loads((FACTS / "socket.json").read_text())
CLI_FACTS = json.loads((FACTS / "cli.json").read_text())
BINARY = os.environ.get("STRAWBOSS_TEST_HERDR")
# What herdr takes for pi: a foreground process of that name, here a script that becomes a copy of `sleep`.
PI = """#!/bin/sh
echo "$*" >> "$HOME/pi-was-called-with"
printf '\\033]0;a title\\007'
exec "$HOME/pi" 1000
"""
SESSION = "/sessions/it's a test.jsonl"
GIT = ["git", "-c", "user.name=a", "-c", "user.email=a@example.org"]


def binary_of(kind: str) -> Path | None:
    if kind == "real" and not BINARY:
        pytest.skip("no real herdr: STRAWBOSS_TEST_HERDR is not set to its binary")
    return Path(BINARY) if kind == "real" and BINARY else None


def new_herdr(kind: str, root: Path) -> HerdrServer:
    binary = binary_of(kind)
    for name in ("home", "tools", "project"):
        (root / name).mkdir()
    (root / "tools" / "pi").write_text(PI)
    (root / "tools" / "pi").chmod(0o755)
    shutil.copy(shutil.which("sleep") or "sleep", root / "home" / "pi")
    env = {"HOME": str(root / "home"), "PATH": f"{root / 'tools'}:{os.environ['PATH']}", "LANG": "C.UTF-8"}
    return HerdrServer(root, env, binary)


@pytest.fixture(params=["stand-in", "real"])
def herdr(request: pytest.FixtureRequest) -> Iterator[HerdrServer]:
    with (
        tempfile.TemporaryDirectory(prefix="sb-", dir="/tmp") as root,
        new_herdr(request.param, Path(root)) as server,
    ):
        yield server


@pytest.fixture
def client(herdr: HerdrServer) -> Herdr:
    return client_of(herdr)


def client_of(herdr: HerdrServer) -> Herdr:
    address = find_address(herdr.env, "linux")
    assert not isinstance(address, Unknown)
    return Herdr(address, resolve=lambda path: path)


@pytest.fixture
def pane(herdr: HerdrServer) -> str:
    """A pane at its prompt."""
    pane = herdr.workspace(herdr.root / "project", "lab")
    at_prompt(herdr, pane)
    return pane


def at_prompt(herdr: HerdrServer, pane: str) -> None:
    herdr.wait_for(lambda: [one["name"] for one in herdr.processes(pane)] == ["bash"], what="a prompt")


def start_pi(herdr: HerdrServer, pane: str, line: str = "pi") -> None:
    herdr.run(pane, line)
    herdr.wait_for(lambda: herdr.pane(pane).get("agent") == "pi", what="herdr to see pi")


def report(herdr: HerdrServer, pane: str, state: str | None = None, path: str = SESSION, **more: Any) -> None:
    told = {"pane_id": pane, "source": "herdr:pi", "agent": "pi", "agent_session_path": path}
    told |= {"seq": time.time_ns() // 1000} | more
    told = {name: value for name, value in told.items() if value is not None}
    if state:
        herdr.request("pane.report_agent", state=state, **told)
    else:
        herdr.request("pane.report_agent_session", **told)


def session_of(herdr: HerdrServer, pane: str) -> str | None:
    return herdr.pane(pane).get("agent_session", {}).get("value")


def tell_session(herdr: HerdrServer, pane: str, path: str = SESSION) -> None:
    report(herdr, pane, path=path, session_start_source="startup")
    report(herdr, pane, "idle", path)
    herdr.wait_for(lambda: session_of(herdr, pane) == path, what="the reported session")


# What a value looks like, whatever it says: objects by key, lists by the union of their entries.


def shape(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: shape(inner) for key, inner in sorted(value.items())}
    if isinstance(value, list):
        return [merged([shape(inner) for inner in value])] if value else []
    return type(value).__name__


def merged(shapes: list[Any]) -> Any:
    if not all(isinstance(one, dict) for one in shapes):
        return shapes[0]
    keys = sorted({key for one in shapes for key in one})
    return {key: merged([one[key] for one in shapes if key in one]) for key in keys}


@dataclass
class Scene:
    """What the recordings showed: pi in the first pane, pi in a labelled one, pi in a worktree's workspace."""

    herdr: HerdrServer
    first: str
    labelled: str
    linked: str


@pytest.fixture(scope="module", params=["stand-in", "real"])
def scene(request: pytest.FixtureRequest) -> Iterator[Scene]:
    with (
        tempfile.TemporaryDirectory(prefix="sb-", dir="/tmp") as root,
        new_herdr(request.param, Path(root)) as server,
    ):
        yield build_scene(server)


def build_scene(herdr: HerdrServer) -> Scene:
    project = herdr.root / "project"
    subprocess.run(["git", "init", "-q"], cwd=project, check=True)
    subprocess.run([*GIT, "commit", "-q", "--allow-empty", "-m", "start"], cwd=project, check=True)
    first = herdr.workspace(project, "lab")
    tab = herdr.request("tab.create", workspace_id="w1", label="Beta", cwd=str(project), focus=False)
    labelled = tab["root_pane"]["pane_id"]
    herdr.request("pane.rename", pane_id=labelled, label="Beta")
    tree = herdr.request("worktree.create", cwd=str(project), branch="b", label="Delta", focus=False)
    linked = tree["root_pane"]["pane_id"]
    for number, pane in enumerate((first, labelled, linked)):
        at_prompt(herdr, pane)
        start_pi(herdr, pane)
        tell_session(herdr, pane, f"/sessions/{number}.jsonl")
        herdr.wait_for(lambda pane=pane: "terminal_title" in herdr.pane(pane), what="a title")
    return Scene(herdr, first, labelled, linked)


def recorded(method: str, params: Any = None) -> dict[str, Any]:
    """The recorded reply to this request."""
    wanted = {"method": method, "params": params}
    return next(fact["reply"] for fact in SOCKET_FACTS if fact["request"] == wanted)


SAME_SHAPE = [
    ("ping", None),
    ("pane.list", None),
    ("pane.get", {"pane_id": "w1:p1"}),
    ("pane.process_info", {"pane_id": "w1:p1"}),
    ("pane.process_info", {}),
    ("session.snapshot", None),
]


@pytest.mark.parametrize(("method", "params"), SAME_SHAPE)
def test_a_reply_has_the_keys_and_types_that_were_recorded(scene, method, params):
    assert shape(scene.herdr.request(method, **(params or {}))) == shape(recorded(method, params)["result"])


@pytest.mark.parametrize(
    ("method", "params"),
    [("pane.process_info", {"pane_id": "w9:p9"}), ("pane.close", {"pane_id": "w9:p9"}), ("no.such", None)],
)
def test_a_refusal_has_the_code_and_text_that_were_recorded(scene, method, params):
    error = recorded(method, params)["error"]
    with pytest.raises(HerdrError) as refused:
        scene.herdr.request(method, **(params or {}))
    assert refused.value.code == error["code"]
    assert str(refused.value).startswith(f"{error['code']}: {error['message']}")


@pytest.mark.parametrize("fact", [fact for fact in SOCKET_FACTS if isinstance(fact["request"], str)])
def test_what_is_no_request_is_refused_under_an_empty_id(scene, fact):
    reply = raw_request(scene.herdr, fact["request"])
    assert (reply["id"], reply["error"]["code"]) == (fact["reply"]["id"], fact["reply"]["error"]["code"])


def raw_request(herdr: HerdrServer, line: str) -> dict[str, Any]:
    with socket.socket(socket.AF_UNIX) as peer:
        peer.connect(str(herdr.socket))
        peer.sendall(line.encode())
        return json.loads(peer.makefile().readline())


def command_fact(*words: str, session: bool = False) -> dict[str, Any]:
    found = (fact for fact in CLI_FACTS if tuple(fact["argv"][1:3]) == words)
    return next(fact for fact in found if ("agent_session" in json.dumps(fact["stdout"])) == session)


def printed(done: subprocess.CompletedProcess[str]) -> Any:
    return json.loads(done.stdout)


@pytest.mark.parametrize(
    ("words", "session"),
    [
        (("pane", "get"), True),
        (("pane", "process-info"), False),
        (("pane", "read"), False),
        (("pane", "run"), False),
        (("pane", "rename"), False),
        (("tab", "create"), False),
        (("worktree", "create"), False),
        (("pane", "close"), False),
    ],
)
def test_a_command_prints_what_was_recorded(herdr, pane, words, session):
    fact = command_fact(*words, session=session)
    done = herdr.command(*prepared(herdr, pane, fact["argv"][1:], session))
    assert (done.returncode, done.stderr) == (fact["exit"], fact["stderr"])
    if isinstance(fact["stdout"], dict):
        assert shape(printed(done)) == shape(fact["stdout"])
        assert printed(done)["id"] == fact["stdout"]["id"]
        assert done.stdout.count("\n") == 1
    else:
        assert bool(done.stdout) == bool(fact["stdout"])


def prepared(herdr: HerdrServer, pane: str, words: list[str], session: bool) -> list[str]:
    """The recorded words with our pane, directory and commit in place of the recorded ones."""
    project = herdr.root / "project"
    subprocess.run(["git", "init", "-q"], cwd=project, check=True)
    subprocess.run([*GIT, "commit", "-q", "--allow-empty", "-m", "start"], cwd=project, check=True)
    head = subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=project, check=True, capture_output=True, text=True
    )
    if session:
        herdr.request("pane.rename", pane_id=pane, label="Two")
        start_pi(herdr, pane)
        tell_session(herdr, pane)
        herdr.wait_for(lambda: "terminal_title" in herdr.pane(pane))
    places = {"/home/user/proj": str(project), "w1:p2": pane, "w1:p3": pane}
    words = [places.get(word, word) for word in words]
    return [
        head.stdout.strip() if len(word) == 40 else "true" if word.startswith("bash ") else word
        for word in words
    ]


def test_a_refused_command_says_so_on_stderr_alone(herdr, pane):
    done = herdr.command("pane", "get", "w9:p9", check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert json.loads(done.stderr)["error"]["code"] == "pane_not_found"


def test_a_command_called_wrongly_ends_with_2(herdr, pane):
    done = herdr.command("pane", "process-info", pane, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr


def test_a_command_without_a_server_says_that_none_is_running(herdr):
    herdr.stop()
    done = herdr.command("pane", "list", check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert json.loads(done.stderr)["error"]["code"] == "server_not_running"
    herdr.start()


def test_a_second_server_is_refused(herdr):
    done = herdr.command("server", check=False)
    assert done.returncode == 1
    assert done.stderr.splitlines() == [
        "error: herdr server is already running",
        f"api socket: {herdr.socket}",
    ]


def test_the_integration_of_pi_is_installed_where_pi_looks_for_extensions(herdr):
    agent = herdr.root / "home" / ".pi" / "agent"
    herdr.install_integration(agent)
    assert "HERDR_INTEGRATION_VERSION=8" in (agent / "extensions" / "herdr-agent-state.ts").read_text()


def test_a_pane_is_told_who_and_where_it_is(herdr, pane):
    herdr.run(pane, 'env > "$HOME/env"; mv "$HOME/env" "$HOME/told"')
    told = herdr.root / "home" / "told"
    herdr.wait_for(told.exists)
    said = dict(line.partition("=")[::2] for line in told.read_text().splitlines())
    assert {name: said[name] for name in said if name.startswith("HERDR_") and name != "HERDR_BIN_PATH"} == {
        "HERDR_ENV": "1",
        "HERDR_SOCKET_PATH": str(herdr.socket),
        "HERDR_WORKSPACE_ID": "w1",
        "HERDR_TAB_ID": "w1:t1",
        "HERDR_PANE_ID": pane,
    }


def test_the_foreground_is_every_process_of_its_group_and_nothing_behind_it(herdr, pane):
    herdr.run(pane, "sleep 1001 & sleep 1002 | sleep 1003")
    herdr.wait_for(
        lambda: [one.get("argv") for one in herdr.processes(pane)] == [["sleep", "1002"], ["sleep", "1003"]]
    )


def test_an_empty_argument_is_dropped_from_argv(herdr, pane):
    herdr.run(pane, "sh -c 'sleep 1000; true' '' x")
    herdr.wait_for(lambda: herdr.processes(pane)[-1]["name"] == "sleep")
    assert herdr.processes(pane)[0]["argv"] == ["sh", "-c", "sleep 1000; true", "x"]


def test_strawboss_reads_version_panes_and_processes(herdr, client, pane):
    start_pi(herdr, pane)
    tell_session(herdr, pane)
    assert isinstance(client.ping(), Version)
    (seen,) = client.panes()
    assert (seen.id, seen.agent, seen.status, seen.session) == (pane, "pi", "idle", SESSION)
    (process,) = client.process_info(pane)
    assert (process.name, process.argv0, process.argv) == ("pi", None, (f"{herdr.root}/home/pi", "1000"))


def test_strawboss_closes_a_pane_with_all_that_runs_in_it_and_finds_it_gone(herdr, client, pane):
    herdr.run(pane, "trap '' HUP TERM; sleep 1000 & wait")
    herdr.wait_for(lambda: len(herdr.leftovers()) == 2)
    assert client.close(pane) == Result(Outcome.DONE)
    assert client.panes() == ()
    herdr.wait_for(lambda: not herdr.leftovers(), what="the processes to be gone")
    assert client.close(pane) == Result(Outcome.DONE, "the pane is already gone")
    assert client.process_info(pane) == Unknown("herdr refused: pane_not_found")


def test_strawboss_brings_a_pane_to_the_front(herdr, client, pane):
    other = herdr.workspace(herdr.root / "project", "other")
    for wanted, behind in ((pane, other), (other, pane)):
        assert client.focus(wanted) == Result(Outcome.DONE)
        assert (herdr.pane(wanted)["focused"], herdr.pane(behind)["focused"]) == (True, False)
    assert client.focus("w9:p9") == Result(Outcome.FAILED, "herdr refused: pane_not_found")


def test_strawboss_opens_a_tab_that_runs_a_command_of_which_nothing_is_typed(herdr, client, pane):
    command = ["/bin/bash", "-ic", "pi --session /s/x.jsonl; exec bash"]
    assert client.open_tab(str(herdr.root), command) == Result(Outcome.DONE)
    (opened,) = set(herdr.panes()) - {pane}
    herdr.wait_for(lambda: herdr.pane(opened).get("agent") == "pi", what="herdr to see pi")
    assert (herdr.pane(opened)["focused"], herdr.pane(opened)["cwd"]) == (True, str(herdr.root))
    assert herdr.pane(opened)["tab_id"] != herdr.pane(pane)["tab_id"]
    assert (herdr.root / "home" / "pi-was-called-with").read_text() == "--session /s/x.jsonl\n"
    assert "--session" not in herdr.screen(opened)


def test_the_shell_of_such_a_tab_is_there_when_pi_has_ended(herdr, client, pane):
    (herdr.root / "tools" / "pi").write_text("#!/bin/sh\necho no such session; exit 1\n")
    client.open_tab(str(herdr.root), ["/bin/bash", "-ic", "pi; exec bash"])
    (opened,) = set(herdr.panes()) - {pane}
    herdr.wait_for(lambda: "no such session" in herdr.screen(opened), what="pi to end")
    at_prompt(herdr, opened)


def test_strawboss_cannot_open_a_tab_where_there_is_no_workspace(herdr, client):
    assert client.open_tab("/", ["sh"]) == Result(Outcome.FAILED, "herdr refused: workspace_not_found")


def test_strawboss_is_refused_to_close_the_workspace_of_open_worktrees(scene):
    client = Herdr(find_address(scene.herdr.env, "linux"))
    scene.herdr.request("pane.close", pane_id=scene.labelled)
    assert client.close(scene.first) == Result(Outcome.FAILED, "herdr refused: confirmation_required")
    assert scene.first in scene.herdr.panes()


def test_a_child_that_exited_leaves_a_plain_shell(herdr, pane):
    start_pi(herdr, pane)
    tell_session(herdr, pane)
    herdr.request("pane.send_input", pane_id=pane, keys=["ctrl+c"])
    herdr.wait_for(lambda: "agent_session" not in herdr.pane(pane), what="the session to be forgotten")
    assert "agent" not in herdr.pane(pane)
    herdr.wait_for(lambda: herdr.pane(pane)["agent_status"] == "unknown")


def test_a_report_before_pi_is_seen_counts_once_it_is(herdr, pane):
    report(herdr, pane, session_start_source="startup")
    assert session_of(herdr, pane) is None
    start_pi(herdr, pane)
    herdr.wait_for(lambda: session_of(herdr, pane) == SESSION, what="the report held back")


@pytest.mark.parametrize("lacks", ["seq", "session_start_source"])
def test_a_report_without_its_number_or_its_reason_makes_no_session_known(herdr, pane, lacks):
    start_pi(herdr, pane)
    report(herdr, pane, **{"session_start_source": "startup", lacks: None})
    report(herdr, pane, "working")
    assert session_of(herdr, pane) is None
    assert herdr.pane(pane)["agent_status"] == "unknown"


def test_a_pi_that_says_nothing_of_itself_is_unknown_at_first_and_idle_later(herdr, pane):
    start_pi(herdr, pane)
    assert herdr.pane(pane)["agent_status"] == "unknown"
    herdr.wait_for(lambda: herdr.pane(pane)["agent_status"] == "idle", what="herdr to look at the screen")


def test_a_report_of_somebody_else_is_answered_ok_and_ignored(herdr, pane):
    start_pi(herdr, pane)
    tell_session(herdr, pane)
    report(herdr, pane, path="/sessions/other.jsonl", source="user:me", session_start_source="new")
    assert session_of(herdr, pane) == SESSION


@pytest.mark.parametrize(
    ("reason", "taken"),
    [("new", True), ("resume", True), ("fork", True), ("startup", False), ("reload", False)],
)
def test_another_session_takes_over_only_when_pi_changed_it(herdr, pane, reason, taken):
    start_pi(herdr, pane)
    tell_session(herdr, pane)
    report(herdr, pane, path="/sessions/other.jsonl", session_start_source=reason)
    assert session_of(herdr, pane) == ("/sessions/other.jsonl" if taken else SESSION)


def test_work_that_ends_unseen_is_done_and_idle_once_its_tab_is_opened(herdr, pane):
    tab = herdr.request("tab.create", workspace_id="w1", cwd="/tmp", focus=False)
    behind = tab["root_pane"]["pane_id"]
    at_prompt(herdr, behind)
    for one in (pane, behind):
        start_pi(herdr, one)
        tell_session(herdr, one, f"/sessions/{one}.jsonl")
        for state in ("working", "idle"):
            report(herdr, one, state, f"/sessions/{one}.jsonl")
    assert [herdr.pane(one)["agent_status"] for one in (pane, behind)] == ["idle", "done"]
    herdr.request("tab.focus", tab_id=tab["tab"]["tab_id"])
    assert herdr.pane(behind)["agent_status"] == "idle"


@pytest.mark.slow
def test_after_a_restart_a_pane_is_the_same_pane_in_a_new_terminal_with_a_plain_pi(herdr, pane):
    start_pi(herdr, pane, "pi --model m --session elsewhere")
    tell_session(herdr, pane)
    herdr.request("pane.rename", pane_id=pane, label="Zeta")
    before = herdr.pane(pane)
    herdr.restart()
    calls = herdr.root / "home" / "pi-was-called-with"
    herdr.wait_for(lambda: len(calls.read_text().splitlines()) == 2, what="pi to be started again")
    assert calls.read_text().splitlines()[1] == f"--session {SESSION}"
    herdr.wait_for(lambda: [one["name"] for one in herdr.processes(pane)] == ["pi"])
    herdr.wait_for(
        lambda: status_of(herdr, pane) == ("pi", "unknown"), what="pi to be seen in its new terminal"
    )
    herdr.wait_for(lambda: status_of(herdr, pane) == ("pi", "idle"))
    after = herdr.pane(pane)
    assert after["terminal_id"] != before["terminal_id"]
    assert {name: after[name] for name in ("label", "cwd", "agent_session")} == {
        name: before[name] for name in ("label", "cwd", "agent_session")
    }


@pytest.mark.parametrize("pi", [None, "#!/bin/sh\nexit 1\n", "#!/bin/sh\nexec sleep 1000\n"])
def test_a_pane_whose_resume_fails_keeps_its_session_without_an_agent(herdr, pane, pi):
    start_pi(herdr, pane)
    tell_session(herdr, pane)
    command = herdr.root / "tools" / "pi"
    command.write_text(pi) if pi else command.unlink()
    herdr.restart()
    herdr.wait_for(
        lambda: status_of(herdr, pane) == (None, "unknown"), what="herdr to see that no pi is there"
    )
    assert session_of(herdr, pane) == SESSION


def status_of(herdr: HerdrServer, pane: str) -> tuple[str | None, str]:
    told = herdr.pane(pane)
    return told.get("agent"), told["agent_status"]


def test_a_pane_that_waits_for_its_resume_is_listed_as_pi_and_has_no_process(herdr, client, pane):
    start_pi(herdr, pane)
    tell_session(herdr, pane)
    herdr.restart()
    waiting = herdr.pane(pane)
    assert (waiting["agent"], waiting["agent_status"], "scroll" in waiting) == ("pi", "idle", False)
    assert client.process_info(pane) == Unknown("herdr refused: pane_not_found")


def test_a_pane_without_an_agent_comes_back_as_a_shell_in_its_directory(herdr, pane):
    herdr.run(pane, 'mkdir "$HOME/deep" && cd "$HOME/deep"')
    herdr.wait_for(lambda: herdr.pane(pane)["cwd"].endswith("/deep"))
    herdr.restart()
    at_prompt(herdr, pane)
    assert herdr.pane(pane)["cwd"].endswith("/deep")


def test_of_two_panes_on_one_session_only_the_first_is_resumed(herdr, pane):
    second = herdr.request("tab.create", workspace_id="w1", cwd="/tmp")["root_pane"]["pane_id"]
    at_prompt(herdr, second)
    for one in (pane, second):
        start_pi(herdr, one)
        tell_session(herdr, one)
    herdr.restart()
    at_prompt(herdr, second)
    assert session_of(herdr, pane) == SESSION
    assert session_of(herdr, second) is None


def test_a_killed_server_forgets_what_it_has_not_saved_and_hangs_up_its_panes(herdr, pane):
    herdr.restart()
    at_prompt(herdr, pane)
    herdr.request("tab.create", workspace_id="w1", cwd="/tmp")
    herdr.kill()
    herdr.wait_for(lambda: not herdr.leftovers(), what="the panes' processes to end")
    herdr.start()
    assert list(herdr.panes()) == [pane]


def test_a_closed_workspace_is_not_restored(herdr, pane):
    herdr.request("pane.close", pane_id=pane)
    herdr.restart()
    assert herdr.panes() == {}


def test_pane_ids_are_not_used_again(herdr, pane):
    made = [
        herdr.request("tab.create", workspace_id="w1", cwd="/tmp")["root_pane"]["pane_id"] for _ in range(2)
    ]
    herdr.request("pane.close", pane_id=made[1])
    herdr.restart()
    assert herdr.request("tab.create", workspace_id="w1", cwd="/tmp")["root_pane"]["pane_id"] == "w1:p4"
    assert made == ["w1:p2", "w1:p3"]


def test_a_subscriber_is_told_of_a_closed_pane(herdr, pane):
    with socket.socket(socket.AF_UNIX) as peer:
        peer.settimeout(10)
        peer.connect(str(herdr.socket))
        params = {"subscriptions": [{"type": "pane.closed"}]}
        peer.sendall(json.dumps({"id": "s", "method": "events.subscribe", "params": params}).encode() + b"\n")
        lines = peer.makefile()
        assert json.loads(lines.readline()) == {"id": "s", "result": {"type": "subscription_started"}}
        herdr.request("pane.close", pane_id=pane)
        event = json.loads(lines.readline())
    assert event == {
        "event": "pane_closed",
        "data": {"type": "pane_closed", "pane_id": pane, "workspace_id": "w1"},
    }


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["stand-in", "real"])
def test_the_real_pi_reports_its_work_is_cut_by_a_restart_and_comes_back_plain(kind):
    script = rules([("wait", Hang()), ("", Text("hello back"))])
    with tempfile.TemporaryDirectory(prefix="sb-", dir="/tmp") as directory:
        root, binary = Path(directory), binary_of(kind)
        with Model(root / "model.jsonl", script) as model:
            with HerdrServer(root, pi_environment(root / "home", model.url), binary) as herdr:
                pane = pi_at_work(herdr)
                before = herdr.pane(pane)
                herdr.restart()
                herdr.wait_for(lambda: [one.get("argv") for one in herdr.processes(pane)] == [["pi"]])
                herdr.wait_for(
                    lambda: "hello back" in herdr.screen(pane), what="pi to show its session again"
                )
                herdr.wait_for(lambda: herdr.pane(pane)["agent_status"] == "idle")
                after = herdr.pane(pane)
                assert after["agent_session"] == before["agent_session"]
                assert after["terminal_id"] != before["terminal_id"]
                herdr.run(pane, "/quit")
                herdr.wait_for(
                    lambda: "agent_session" not in herdr.pane(pane), what="pi to exit to its shell"
                )
            model.release()


def pi_at_work(herdr: HerdrServer) -> str:
    """A pane with a pi that has answered once and is in its second turn."""
    herdr.install_integration(herdr.root / "home" / ".pi" / "agent")
    pane = herdr.workspace(herdr.root)
    at_prompt(herdr, pane)
    herdr.run(pane, "pi")
    file = herdr.wait_for(lambda: session_of(herdr, pane), what="pi to report its session")
    herdr.run(pane, "say hello")
    herdr.wait_for(
        lambda: Path(file).exists() and "hello back" in Path(file).read_text(), what="the first turn"
    )
    herdr.run(pane, "wait")
    herdr.wait_for(lambda: herdr.pane(pane)["agent_status"] == "working", what="the second turn")
    return pane
