"""The stand-in subagents extension, in the real pi and the stand-in herdr, does and writes what the real one does.

With `STRAWBOSS_TEST_PI_HERDR_AGENTS=<dir>` the same conversations are had with the real pi-herdr-agents.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from e2e.pi_install import pi_environment
from e2e.rpc import PiRpc
from standins.herdr import HerdrServer
from standins.model import Model

from strawboss.runs.disk import Disk

pytestmark = pytest.mark.slow

HERE = Path(__file__).resolve().parent
EXTENSION = Path(os.environ.get("STRAWBOSS_TEST_PI_HERDR_AGENTS") or HERE / "subagents_extension")
RUN_FILE = re.compile(
    r"\d{4}-\d\d-\d\dT[\d-]+Z_(?P<id>[0-9a-f-]+)-[0-9a-f]{1,8}-[0-9a-f]{1,8}-[0-9a-f]{1,4}\.jsonl"
)


@dataclass(frozen=True, slots=True)
class Stage:
    home: Path
    project: Path
    herdr: HerdrServer
    pi: PiRpc
    model: Model
    session: str

    @property
    def artifacts(self) -> Path:
        return self.launcher_file.parent / "artifacts" / self.session

    @property
    def launcher_file(self) -> Path:
        return Path(self.pi.ask("get_state")["sessionFile"])

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """The details of one tool call of the launcher's model."""
        self.herdr.wait_for(lambda: not self.pi.ask("get_state")["isStreaming"])  # a result may have woken it
        ended = self.pi.count(is_end_of(tool))
        self.pi.prompt(f"CALL {tool} {json.dumps(arguments)}")
        details: dict[str, Any] = self.pi.wait_for(is_end_of(tool), count=ended + 1)["result"]["details"]
        return details

    def activity(self, run: str) -> dict[str, Any]:
        file = self.artifacts / "subagent-activity" / f"{run}.json"
        return json.loads(file.read_text()) if file.exists() else {}

    def result(self, session_file: str | None, words: str = "") -> dict[str, Any]:
        """The message that names this session file, or none, once the launcher's session has it."""
        said = self.pi.wait_for(is_result(session_file, words), seconds=60)
        message: dict[str, Any] = said["message"]
        return message


def is_end_of(tool: str) -> Any:
    return lambda said: said["type"] == "tool_execution_end" and said["toolName"] == tool


def is_result(session_file: str | None, words: str) -> Any:
    def wanted(said: dict[str, Any]) -> bool:
        message = said.get("message", {}) if said["type"] == "message_end" else {}
        named = (
            message.get("customType") == "subagent_result"
            and message["details"].get("sessionFile") == session_file
        )
        return named and words in message["content"]

    return wanted


@pytest.fixture(scope="module")
def stage() -> Iterator[Stage]:
    root = Path(tempfile.mkdtemp(prefix="sb-"))
    home, project = root / "home", root / "home" / "project"
    project.mkdir(parents=True)
    git = ["git", "-c", "user.name=n", "-c", "user.email=e@x", "-C", str(project)]
    subprocess.run([*git, "init", "-q"], check=True)
    subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", "first"], check=True)
    try:
        with Model(root / "model.jsonl") as model:
            environment = pi_environment(home, model.url)
            with HerdrServer(root / "h", environment) as herdr:
                herdr.install_integration(home / ".pi" / "agent")
                pane = herdr.workspace(project)
                place = {
                    "HERDR_ENV": "1",
                    "HERDR_PANE_ID": pane,
                    "HERDR_WORKSPACE_ID": pane.partition(":")[0],
                }
                with PiRpc(herdr.env | place, project, "-e", str(EXTENSION)) as pi:
                    yield Stage(home, project, herdr, pi, model, pi.ask("get_state")["sessionId"])
    finally:
        shutil.rmtree(root, ignore_errors=True)


@pytest.fixture(scope="module")
def ordinary(stage: Stage) -> dict[str, Any]:
    return stage.call("subagent", name="Beta it's", task="SLEEP 1\nSAY the answer is 42")


def test_an_ordinary_child_is_started_and_its_result_wakes_the_launcher(
    stage: Stage, ordinary: dict[str, Any]
) -> None:
    assert ordinary["status"] == "started"
    found = RUN_FILE.fullmatch(Path(ordinary["sessionFile"]).name)
    assert found
    assert found["id"] == ordinary["id"]
    message = stage.result(ordinary["sessionFile"])
    details = message["details"]
    assert (details["name"], details["exitCode"], details["sessionFile"]) == (
        "Beta it's",
        0,
        ordinary["sessionFile"],
    )
    assert "the answer is 42" in message["content"]
    assert f"\nSession: {ordinary['sessionFile']}\n" in message["content"]
    stage.model.wait_for(lambda request: "the answer is 42" in request.last)


def test_the_launch_script_names_its_run(stage: Stage, ordinary: dict[str, Any]) -> None:
    file = Path(ordinary["launchScriptFile"])
    assert file == stage.artifacts / "subagent-scripts" / f"beta-its-{ordinary['id']}.sh"
    script = disk(stage).run(ordinary["id"]).script
    assert script.name == "Beta it's"
    assert script.session_file == os.path.realpath(ordinary["sessionFile"])
    assert (script.auto_exit, script.persistent) == (True, False)


def test_an_ended_child_leaves_phase_done_no_sidecar_and_no_pane(
    stage: Stage, ordinary: dict[str, Any]
) -> None:
    stage.result(ordinary["sessionFile"])
    stage.herdr.wait_for(lambda: stage.activity(ordinary["id"])["phase"] == "done")
    surface = disk(stage).run(ordinary["id"]).script.surface
    stage.herdr.wait_for(lambda: surface not in stage.herdr.panes())
    assert not Path(ordinary["sessionFile"] + ".exit").exists()


def test_an_interactive_child_waits_in_its_pane_with_its_script_in_the_foreground(stage: Stage) -> None:
    details = stage.call("subagent", name="Zeta", task="SAY ready", interactive=True)
    stage.herdr.wait_for(lambda: stage.activity(details["id"]).get("phase") == "waiting")
    activity = stage.activity(details["id"])
    assert (activity["version"], activity["runningChildId"]) == (1, details["id"])
    assert activity["latestEvent"] == "agent_end"
    pane = stage.herdr.wait_for(lambda: stage.herdr.pane_on(details["sessionFile"]))
    argvs = [process["argv"] for process in stage.herdr.processes(pane["pane_id"])]
    assert ["bash", details["launchScriptFile"]] in argvs
    stage.herdr.wait_for(
        lambda: (stage.herdr.pane_on(details["sessionFile"]) or {}).get("agent_status") in ("idle", "done")
    )
    runs = disk(stage).runs()
    assert runs[details["id"]].phase == "waiting"
    stage.herdr.request("pane.close", pane_id=pane["pane_id"])
    stage.result(None, words='"Zeta"')


def test_a_child_whose_pane_somebody_closed_fails_with_a_result_that_names_no_session(stage: Stage) -> None:
    details = stage.call("subagent", name="Theta", task="SAY ready", interactive=True)
    pane = stage.herdr.wait_for(lambda: stage.herdr.pane_on(details["sessionFile"]))
    stage.herdr.request("pane.close", pane_id=pane["pane_id"])
    message = stage.result(None, words='"Theta"')
    assert message["details"]["exitCode"] == 1
    assert message["details"]["name"] == "Theta"
    assert "failed (exit code 1)" in message["content"]
    assert "\nSession: " not in message["content"]


def test_a_resumed_child_whose_pane_somebody_closed_names_its_session(
    stage: Stage, ordinary: dict[str, Any]
) -> None:
    path = ordinary["sessionFile"]
    stage.result(path)
    stage.call("subagent_resume", sessionPath=path, name="Iota", message="SLEEP 60")
    pane = stage.herdr.wait_for(lambda: stage.herdr.pane_on(path))
    stage.herdr.request("pane.close", pane_id=pane["pane_id"])
    message = stage.result(path, words='"Iota"')
    assert message["details"]["exitCode"] == 1
    assert f"\nSession: {path}\n" in message["content"]


def test_a_worktree_child_has_a_manifest_and_keeps_its_pane(stage: Stage) -> None:
    details = stage.call("subagent", name="Delta", task="SAY branched", worktree={"branch": "delta-branch"})
    manifest = stage.artifacts / "worktree-runs" / f"{details['id']}.json"
    told = json.loads(manifest.read_text())
    assert (told["branch"], told["paneId"]) == ("delta-branch", details["worktree"]["paneId"])
    assert (told["kind"], told["owner"], told["sessionFile"]) == (
        "worktree-run",
        "pi-herdr-subagents",
        details["sessionFile"],
    )
    stage.result(details["sessionFile"])
    assert json.loads(manifest.read_text())["state"] == "ready_for_review"
    assert details["worktree"]["paneId"] in stage.herdr.panes()
    assert disk(stage).run(details["id"]).worktree.branch == "delta-branch"


def test_a_resumed_child_has_an_id_of_its_own_and_reports_the_path_as_it_was_given(
    stage: Stage, ordinary: dict[str, Any]
) -> None:
    path = ordinary["sessionFile"]
    stage.result(path)
    details = stage.call("subagent_resume", sessionPath=path, name="Beta", message="SAY again")
    assert details["status"] == "started"
    assert details["id"] != ordinary["id"]
    assert re.fullmatch(r"beta-resume-\d+\.sh", Path(details["launchScriptFile"]).name)
    assert stage.result(path, words="again")


def test_a_session_that_is_not_there_is_not_resumed(stage: Stage) -> None:
    assert stage.call("subagent_resume", sessionPath="/nonexistent.jsonl")["error"] == "session not found"


def disk(stage: Stage) -> Any:
    project = stage.project
    return Disk(
        str(stage.launcher_file), str(stage.artifacts), lambda path: Path(project, path), os.path.realpath
    )
