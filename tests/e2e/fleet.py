"""A user's whole machine: herdr with real terminals, real pi in its panes, intercom, subagents, and strawboss.

    with Fleet() as fleet:
        launcher = fleet.launch()
        child = launcher.spawn("Beta", "SLEEP 30")
        fleet.herdr.restart()
        fleet.wait_for(lambda: launcher.results(child))

pi is the real one; what it meets are the stand-ins, or the real programs where one is named: STRAWBOSS_TEST_HERDR
(a binary), STRAWBOSS_TEST_PI_HERDR_AGENTS and STRAWBOSS_TEST_PI_INTERCOM (directories of the extensions).
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self, TypeVar

import msgspec
from e2e.pi_install import pi_environment
from standins.herdr import HerdrServer
from standins.intercom import Broker
from standins.model import Answer, Call, Calls, Model, Request, Script, Text, instructed, text_of

from strawboss.overview.report import Status
from strawboss.pi.installation import EXTENSION

T = TypeVar("T")
Entry = dict[str, Any]

HERE = Path(__file__).resolve().parent
STANDINS = HERE.parent / "standins"
HERDR = os.environ.get("STRAWBOSS_TEST_HERDR")
SUBAGENTS = os.environ.get("STRAWBOSS_TEST_PI_HERDR_AGENTS")
INTERCOM = os.environ.get("STRAWBOSS_TEST_PI_INTERCOM")
PATIENCE_SECONDS = 120.0
INTERVAL_SECONDS = 0.5

TO_RESUME = re.compile(r"^- run .*?: subagent_resume (\{.*\})$", re.MULTILINE)
REPORT_TO = re.compile(r'\(action "send", to ("[^"]+")\)')
REPORT = "my final report: 42"
CUT_OFF = "your last turn was cut off"
WENT_ON = "went on, and found 42"


def obedient(request: Request) -> Answer:
    """Does what a message of Straw Boss asks for, to the letter; anything else as `instructed` does."""
    asked = request.prompt
    if calls := TO_RESUME.findall(asked):
        wanted = tuple(Call("subagent_resume", json.loads(call)) for call in calls)
        return Text("seen to") if request.results else Calls(wanted)
    if to := REPORT_TO.search(asked):
        report = {"action": "send", "to": json.loads(to[1]), "message": REPORT}
        return Text("reported") if request.results else Call("intercom", report)
    if CUT_OFF in asked:
        return Text(WENT_ON)
    return instructed(request)


def cut_off(times: int) -> Script:
    """A child that, told to go on, is at its long work again; told so for the last of so many times, it gets done."""

    def script(request: Request) -> Answer:
        told = sum(CUT_OFF in text_of(message) for message in request.messages if message["role"] == "user")
        if CUT_OFF in request.prompt and not TO_RESUME.search(request.prompt) and told < times:
            return Call("bash", {"command": "sleep 300", "timeout": 360})
        return obedient(request)

    return script


@dataclass(frozen=True, slots=True)
class Child:
    """One run, as the launcher's tool call told it."""

    run: str
    name: str
    session: Path
    script: Path


class Session:
    """A pi session file, read from the outside."""

    def __init__(self, file: Path) -> None:
        self.file = file

    @property
    def entries(self) -> list[Entry]:
        """The whole ones: the last line may just be being written."""
        if not self.file.exists():
            return []
        whole, _, _ = self.file.read_text().rpartition("\n")
        return [json.loads(line) for line in whole.splitlines()]

    @property
    def id(self) -> str:
        return str(self.entries[0]["id"])

    def messages(self, kind: str, words: str = "") -> list[Entry]:
        """Custom messages of a type, with these words in them."""
        found = (e for e in self.entries if e["type"] == "custom_message" and e["customType"] == kind)
        return [entry for entry in found if words in str(entry["content"])]

    def written(self, name: str | None = None) -> list[Entry]:
        """The data of strawboss's own entries, in order."""
        own = (e["data"] for e in self.entries if e["type"] == "custom" and e["customType"] == "straw-boss")
        return [data for data in own if name is None or name in data]

    def tool_results(self, tool: str) -> list[Entry]:
        told = (e["message"] for e in self.entries if e["type"] == "message")
        return [message for message in told if message.get("toolName") == tool]

    def tool_calls(self, tool: str) -> list[dict[str, Any]]:
        """The arguments the model gave."""
        told = [e["message"] for e in self.entries if e["type"] == "message"]
        blocks = [block for m in told if m["role"] == "assistant" for block in m["content"]]
        return [b["arguments"] for b in blocks if b["type"] == "toolCall" and b["name"] == tool]


class Launcher(Session):
    """A pi session in a pane of its own, which starts children."""

    def __init__(self, fleet: Fleet, pane: str, file: Path) -> None:
        super().__init__(file)
        self._fleet, self.pane = fleet, pane

    def spawn(self, name: str, task: str, **arguments: Any) -> Child:
        """The model's own call of `subagent`; back when the child is there."""
        before = len(self.tool_results("subagent"))
        self.type(f"CALL subagent {json.dumps({'name': name, 'task': task, **arguments})}")
        self._fleet.wait_for(lambda: len(self.tool_results("subagent")) > before, what=f"{name} to start")
        told = self.tool_results("subagent")[-1]["details"]
        return Child(told["id"], name, Path(told["sessionFile"]), Path(told["launchScriptFile"]))

    def resumed(self, child: Child) -> list[Child]:
        """The runs that went on with the child's session, in order, as the tool calls told it."""
        told = [result["details"] for result in self.tool_results("subagent_resume")]
        return [
            Child(one["id"], child.name, child.session, Path(one["launchScriptFile"]))
            for one in told
            if one["sessionPath"] == str(child.session)
        ]

    def keys(self, child: Child) -> list[str]:
        """The names of the keys that are written of the run, in order."""
        return [name for key in self.written() for name, run in key.items() if run == child.run]

    def type(self, text: str) -> None:
        """As a user, at the prompt."""
        self._fleet.herdr.wait_for(lambda: self.is_idle, PATIENCE_SECONDS, "the launcher to be idle")
        self._fleet.herdr.run(self.pane, text)

    @property
    def is_idle(self) -> bool:
        return self._fleet.herdr.pane(self.pane)["agent_status"] in ("idle", "done")

    @property
    def pid(self) -> int:
        """Of its pi; 0 while there is none."""
        told = self._fleet.herdr.processes(self.pane)
        return next((one["pid"] for one in told if one.get("argv") == ["pi"]), 0)

    def crash(self) -> None:
        """SIGKILL to its pi; the pane falls back to its shell."""
        pid = self._fleet.wait_for(lambda: self.pid, what="the launcher's pi")
        os.kill(pid, signal.SIGKILL)
        self._fleet.wait_for(lambda: not self.pid, what="its pane to show the shell")

    def come_back(self) -> None:
        """As a user does it: `pi --session` in the same pane; back when strawboss has looked."""
        self._fleet.herdr.run(self.pane, f"pi --session {shlex.quote(str(self.file))}")
        self.let_it_look(1)

    def come_back_anew(self) -> None:
        """It crashes and is started again: a new strawboss, which knows what is in the file."""
        self.crash()
        self.come_back()

    # -- its strawboss ---------------------------------------------------------------------------------------------

    def asked(self, method: str) -> list[dict[str, Any]]:
        """What strawboss asked of this launcher's pi, in all its processes: `at` (epoch seconds), `params`."""
        return [one for one in self._fleet.asked if (one["pane"], one["method"]) == (self.pane, method)]

    @property
    def looks(self) -> list[float]:
        """When each look began (epoch seconds)."""
        return [one["at"] for one in self.asked("registry.read")]

    def let_it_look(self, times: int = 4) -> None:
        """Wait for so many more looks: enough for two in a row, and for all they would lead to."""
        wanted = len(self.looks) + times + 1  # the last of them has ended when the next one begins
        self._fleet.wait_for(lambda: len(self.looks) >= wanted, what=f"{times} looks")

    def wrote(self, key: str) -> float:
        """When strawboss first asked to write this key (epoch seconds)."""
        return float(next(one["at"] for one in self.asked("session.append") if key in one["params"]["data"]))

    @property
    def notices(self) -> list[str]:
        return [one["params"]["text"] for one in self.asked("ui.notify")]

    def results(self, child: Child) -> list[Entry]:
        return [
            message
            for message in self.messages("subagent_result")
            if message["details"].get("sessionFile") == str(child.session)
        ]


class Fleet:
    """`interval`: seconds between two looks. `config`: lines of strawboss's own config. `script`: what the model says."""

    def __init__(
        self, *, interval: float = INTERVAL_SECONDS, config: str = "", script: Script = obedient
    ) -> None:
        self.root = Path(tempfile.mkdtemp(prefix="sb-"))
        self.home = self.root / "home"
        self.project = self.home / "project"
        self.state = self.root / "state"
        self.agent_directory = self.home / ".pi" / "agent"
        self._tap = self.root / "tap.jsonl"
        self.model = Model(self.root / "model.jsonl", script)
        (self.root / "strawboss.yaml").write_text(config)
        own = {
            "STRAWBOSS_INTERVAL": str(interval),
            "STRAWBOSS_STATE_DIR": str(self.state),
            "STRAWBOSS_CONFIG": str(self.root / "strawboss.yaml"),
            "HERDR_STANDIN_SAVE_SECONDS": "0.1",
        }
        extensions = [EXTENSION, Path(SUBAGENTS or STANDINS / "subagents_extension")]
        extensions.append(Path(INTERCOM or STANDINS / "intercom_extension"))
        self.environment = pi_environment(self.home, self.model.url, extensions=extensions, **own)
        self.environment["STRAWBOSS_PYTHON"] = str(self._tapped_python())
        self.herdr = HerdrServer(self.root / "h", self.environment, Path(HERDR) if HERDR else None)
        self.broker = None if INTERCOM else Broker(self.agent_directory)
        self._open = ExitStack()

    def __enter__(self) -> Self:
        try:
            return self._entered()
        except BaseException:
            self._open.close()
            raise

    def _entered(self) -> Self:
        self._open.callback(shutil.rmtree, self.root, ignore_errors=True)
        self._make_project()
        self._open.enter_context(self.model)
        if self.broker:
            self._open.enter_context(self.broker)
        self._open.enter_context(self.herdr)
        self.herdr.install_integration(self.agent_directory)
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    def story(self) -> str:
        """For whoever reads a failure: what strawboss says it did, and asked of pi."""
        logs = sorted(self.state.glob("logs/*"), key=lambda file: file.stat().st_mtime)
        return "\n".join(
            [*(file.read_text() for file in logs), *(json.dumps(one) for one in self.asked[-40:])]
        )

    def _make_project(self) -> None:
        self.project.mkdir(parents=True)
        git = ["git", "-c", "user.name=n", "-c", "user.email=e@x", "-C", str(self.project)]
        subprocess.run([*git, "init", "-q"], check=True)
        subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", "first"], check=True)

    def _tapped_python(self) -> Path:
        wrapper = self.root / "python"
        wrapper.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{HERE}/tapped_process.py" "{self._tap}"\n')
        wrapper.chmod(0o755)
        return wrapper

    def launch(self) -> Launcher:
        """pi in a new workspace, seen by herdr. Its strawboss starts with its first child."""
        pane = self.herdr.workspace(self.project)
        self.herdr.run(pane, "pi")
        file = self.wait_for(lambda: self._session_of(pane), what="pi to report its session")
        return Launcher(self, pane, Path(file))

    def _session_of(self, pane: str) -> str:
        told = self.herdr.pane(pane)
        return str(told["agent_session"]["value"]) if "agent_session" in told else ""

    def restart_herdr(self, *, kill: bool = False, as_saved: str = "") -> None:
        """Every pane is hung up and comes back; killed and `as_saved` earlier, those that are in there: herdr saves
        seconds after the last change only. A pi that is slow to quit would still meet the new server and close
        its children's panes there, as a pi does at a quit; a person who restarts herdr is slower than that."""
        if kill:
            self.wait_for(self.is_saved, what="herdr to save its panes")
            self.herdr.kill()
        else:
            self.herdr.stop()
        self.wait_for(lambda: not self._living_pis(), what="every pi to end")
        if as_saved:
            (file,) = self._saved_in()
            file.write_text(as_saved)
        self.herdr.start()

    def lose_power(self) -> None:
        """Nothing gets to say a last word; what is in the files is all there is when herdr is started again."""
        self.wait_for(self.is_saved, what="herdr to save its panes")
        self.herdr.pause()  # or it would see them end, and forget their sessions
        self.herdr.sweep()
        self.herdr.kill()
        self.herdr.start()

    @property
    def saved(self) -> str:
        """What herdr would bring back."""
        return "".join(file.read_text() for file in self._saved_in())

    def _saved_in(self) -> list[Path]:
        """The folder of a herdr that was built for debugging has another name."""
        return list(self.herdr.root.glob("config/*/session.json"))

    def is_saved(self) -> bool:
        sessions = [pane.get("agent_session") for pane in self.herdr.panes().values()]
        return all(session["value"] in self.saved for session in sessions if session)

    def _living_pis(self) -> list[int]:
        """And the closes that one of them left behind, which would meet the new server too."""
        return [pid for pid in self.herdr.leftovers() if _title(pid) in ("pi", "herdr")]

    def at_work(self, launcher: Launcher, child: Child, turn: int = 1) -> str:
        """The child's pane, once it is in the tool call of that turn and noted as running, and the launcher idle."""
        work = Session(child.session)
        self.wait_for(lambda: len(work.tool_calls("bash")) >= turn, what="the child's tool call")
        self.wait_for(lambda: "seen" in launcher.keys(child), what="the run to be noted")
        self.wait_for(lambda: launcher.is_idle, what="the launcher to be idle")
        return str(self.wait_for(lambda: self.herdr.pane_on(child.session))["pane_id"])

    def status(self) -> tuple[Status, int]:
        """What `strawboss status --json` says, by its schema, and the exit code."""
        command = [sys.executable, "-m", "strawboss", "status", "--json"]
        done = subprocess.run(command, env=self.herdr.env, capture_output=True, check=False, timeout=60)
        assert done.stderr == b""
        return msgspec.json.decode(done.stdout, type=Status), done.returncode

    # -- watching --------------------------------------------------------------------------------------------------

    def wait_for(self, predicate: Callable[[], T], seconds: float = PATIENCE_SECONDS, what: str = "") -> T:
        return self.herdr.wait_for(predicate, seconds, what)

    @property
    def asked(self) -> list[dict[str, Any]]:
        """All that strawboss asked of pi, in all its processes: `at`, `pane`, `method`, `params`."""
        if not self._tap.exists():
            return []
        whole, _, _ = self._tap.read_text().rpartition("\n")
        return [json.loads(line) for line in whole.splitlines()]

    def own_requests(self) -> list[dict[str, Any]]:
        """What strawboss asked of herdr."""
        return [one for one in self.herdr.log if one["id"].startswith("strawboss:")]

    def closed(self) -> list[str]:
        """The panes strawboss had herdr close, in order."""
        return [one["params"]["pane_id"] for one in self.own_requests() if one["method"] == "pane.close"]

    def typed(self, since: float) -> list[dict[str, Any]]:
        """Whatever anybody typed into any pane after that moment (epoch seconds)."""
        return [one for one in self.herdr.log if one["at"] > since and one["method"].startswith("pane.send_")]


def _title(pid: int) -> str:
    """What the process calls itself; nothing once it has ended."""
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return ""
