"""A launcher's surroundings in one thread and on a clock of their own: pi, herdr, the intercom broker, a real disk.

What runs in it is the real process, loop, link, clients and readers; each thing they ask of a neighbour passes an
injector that may spoil it (`faults.py`). The neighbours keep a log of what really happened, and that alone is judged.
"""

from __future__ import annotations

import functools
import json
import os
import re
import traceback
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

from crash.faults import Injector, error_of, faulty_disk, faulty_file
from runs.written import RUN, SESSION, activity, entry, header, key, message, script, settle, text
from standins.intercom_rules import Rules

from strawboss.config import Config
from strawboss.herdr.address import Address
from strawboss.herdr.client import Herdr
from strawboss.intercom.address import UnixSocket
from strawboss.intercom.client import Intercom
from strawboss.intercom.connection import Line, LostError
from strawboss.intercom.framing import Decoder, encode
from strawboss.machine.seen import Seen
from strawboss.pi.link import ExtensionGoneError, Link
from strawboss.recovery.evidence import Identity, Launcher
from strawboss.recovery.memory import Look
from strawboss.recovery.settings import Beyond
from strawboss.resident import process, session
from strawboss.resident.launcher import resolver

CRASH, RESTART, WORKTREE = "crash of the launcher", "restart of herdr", "restart with a worktree"
# With `resumed: recover` and `lost: recover`: a worktree run handed over before, and one whose pane herdr forgets.
AGAIN, LOST = "second restart with a worktree", "restart of a herdr that forgets the pane"
IN_A_WORKTREE = frozenset({WORKTREE, AGAIN})
CONFIGS = {AGAIN: Config(resumed=Beyond.RECOVER), LOST: Config(lost=Beyond.RECOVER)}
PANE, LAUNCHERS_PANE, RESUMED_PANE = "w1:p3", "w1:p1", "w1:p7"
LAUNCHER_PID, CHILD_PID = 3_999_999, 4_000_000
WALL = 1_796_161_700.0
TO_RESUME = re.compile(r"^- run (\S+) .*?: subagent_resume \{", re.MULTILINE)
GIVE_UPS = (
    "gave up on",
    "could not ask",
    "does not know whether",
    "could not put",
    "took that back",
    "did not come back",
)
RUNNING_LOOKS = 2  # while the child is at work and tracked
LOOKS_AFTER_THE_END = 2
SILENCE_SECONDS = 120.0  # after so long a process is off, or waits for what does not come
LATE_SECONDS = 6.0  # longer than an answer is waited for


def is_end(keys: Iterable[str]) -> bool:
    """Whether nothing more is to be done for the run with these keys: what was taken back is still to be done."""
    counts = Counter(keys)
    return counts["nudged"] > counts["unnudged"] or bool(counts["resumed"] or counts["gaveUp"])


class Clock:
    """Both clocks; they only move when somebody waits."""

    def __init__(self) -> None:
        self._now = 1000.0

    def monotonic(self) -> float:
        return self._now

    def wall(self) -> float:
        return WALL + self._now

    def advance(self, seconds: float) -> None:
        self._now += seconds


class Disk:
    """The files of one launcher and one run, reached over a symbolic link as a person's moved home is."""

    def __init__(self, directory: Path, kind: str) -> None:
        self._keys_before = 0
        real = directory / "real"
        self.artifacts = real / "artifacts" / SESSION
        for folder in ("subagent-activity", "subagent-scripts", "worktree-runs"):
            (self.artifacts / folder).mkdir(parents=True)
        self.directory = directory / "link"
        self.directory.symlink_to(real)
        self.launcher = self.directory / f"2026-12-01T21-46-26-423Z_{SESSION}.jsonl"
        self.child = self.directory / f"2026-12-01T21-47-46-949Z_{RUN}-1a54df95-6a7903a4-264c.jsonl"
        self.script = self.directory / "artifacts" / SESSION / "subagent-scripts" / f"beta-{RUN}.sh"
        self.manifest = self.artifacts / "worktree-runs" / f"{RUN}.json"
        self.launcher.write_bytes(text(header(SESSION), message("user", content="hello")))
        call = {"type": "toolCall", "id": "c1", "name": "bash", "arguments": {"command": "sleep 9"}}
        answer = {"content": [call], "stopReason": "toolUse"}
        self.child.write_bytes(
            text(header("child"), message("user", content="go"), message("assistant", **answer))
        )
        self.write_script()
        self.says("active")
        if kind in IN_A_WORKTREE:
            self.write_manifest("active")
        if kind == AGAIN:
            self.was_handed_over("term_0")

    def write_script(self, **environment: str) -> None:
        self.script.write_text(script(RUN, str(self.child), surface=PANE, **environment))
        settle(self.script, self.script.parent)

    def write_manifest(self, state: str) -> None:
        told = {"state": state, "paneId": PANE, "path": "/w/tree", "branch": "beta"}
        self.manifest.write_text(json.dumps(told))
        settle(self.manifest)

    def says(self, phase: str) -> None:
        file = self.artifacts / "subagent-activity" / f"{RUN}.json"
        event = "agent_end" if phase == "waiting" else "tool_execution_start"
        file.write_text(json.dumps(activity(RUN, phase=phase, latestEvent=event)))
        settle(file)

    def was_handed_over(self, terminal: str) -> None:
        details = {"id": "before", "runs": [RUN]}
        self.append(
            entry("custom_message", customType="straw-boss", content="", display=True, details=details)
        )
        self.append(key(resumed=RUN, terminal=terminal))
        self._keys_before = 1

    def ends_its_turn(self) -> None:
        with self.child.open("ab") as file:
            file.write(text(message("assistant", content=[], stopReason="stop")))

    def append(self, record: dict[str, Any]) -> None:
        with self.launcher.open("ab") as file:
            file.write(text(record))

    def notes_its_pi(self) -> bool:
        return '"pid"' in self.launcher.read_text()

    def keys(self) -> list[str]:
        """The names of the keys that this stranding has, in order."""
        entries = [json.loads(line) for line in self.launcher.read_text().splitlines()]
        return [next(iter(one["data"])) for one in entries if one["type"] == "custom"][self._keys_before :]


class World:
    """`strand` is what happens after the first looks; a world of `unlike` differs there in one thing."""

    def __init__(
        self,
        directory: Path,
        kind: str,
        injector: Injector,
        unlike: Callable[[World], None],
        healed_after: int,
    ) -> None:
        self.kind, self.injector, self._unlike, self.healed_after = kind, injector, unlike, healed_after
        self.clock = Clock()
        self.disk = Disk(directory, kind)
        self.tracked = {RUN}
        self.looks = self.deaths = 0
        self.was_noted = False
        self.final_at: int | None = None
        self.stranded = False
        self.acts: list[str] = []  # what really happened: ask, close, continue, tell, resume
        self.wrong: list[str] = []  # what may never happen
        self.warnings: list[str] = []
        self.broken_looks: list[str] = []
        self.pi = Pi(self)
        self.herdr = HerdrStandIn(self)
        self.broker = BrokerStandIn(self)
        self._state = directory / "state"
        self._in_look = False

    # -- the story ---------------------------------------------------------------------------------------------

    def strand(self) -> None:
        """The launcher's process ends and comes back; herdr too, where it restarts."""
        self.stranded = True
        self.was_noted = self.disk.keys().count("seen") > 0 and (
            self.kind != LOST or self.disk.notes_its_pi()
        )
        self.tracked.clear()
        child = self.herdr.panes[PANE]
        child["agent_status"] = "idle"
        if self.kind == CRASH:
            self.disk.ends_its_turn()
            self.disk.says("waiting")
        elif self.kind == LOST:
            del self.herdr.panes[PANE], self.herdr.foreground[PANE]
            self.broker.rules.left("child")
        else:
            child["terminal_id"] = "term_3"
            self.herdr.foreground[PANE] = [_process("pi")]
        self._unlike(self)

    def resume(self, run: str) -> None:
        """The launcher's model does as it is told; the result comes at a later look."""
        self.acts.append("resume")
        if PANE in self.herdr.panes:
            self.wrong.append("resumed beside its restored pane")
        self.herdr.panes[RESUMED_PANE] = pane(RESUMED_PANE, self.disk.child, "term_7")
        again = self.disk.script.with_name(f"beta-resume-{self.looks}.sh")
        self.herdr.foreground[RESUMED_PANE] = [_process("bash", "bash", str(again)), _process("pi")]

    def live(self, last_look: int) -> None:
        """One process of this session, started as the extension starts it, until that look was made or it ends."""
        self.pi.begin(last_look)
        environment = {"STRAWBOSS_STATE_DIR": str(self._state)}
        one = process.Process(environment, 0, 1)
        try:
            one.work()
        except ExtensionGoneError:
            one.leave()
        finally:
            one.log.close()

    @contextmanager
    def entered(self) -> Iterator[None]:
        """With every way to the world through this one."""
        times = SimpleNamespace(time=self.clock.wall, monotonic=self.clock.monotonic)
        places: list[tuple[str, Any]] = [
            ("strawboss.resident.process.time", times),
            ("strawboss.resident.session.time", times),
            ("strawboss.resident.effects.time", times),
            ("strawboss.resident.process.reader", lambda _: self.pi.read),
            ("strawboss.resident.process.write_whole", lambda _, line: self.pi.hear(line)),
            ("strawboss.resident.process.Link", functools.partial(Link, clock=self.clock.monotonic)),
            ("strawboss.resident.process.EndWatch.start", lambda _: None),
            ("strawboss.resident.process.load_config", lambda *_: CONFIGS.get(self.kind, Config())),
            ("strawboss.machine.processes.proc", Machine(self)),
            ("strawboss.resident.session.herdr_of", self._herdr_client),
            ("strawboss.resident.session.intercom_of", self._intercom_client),
            ("strawboss.intercom.client.connect", lambda *_: self.broker.connect()),
            ("strawboss.runs.foreign_files.FileIO", faulty_file(self.injector)),
            ("strawboss.resident.session.Session.look", self._looking(session.Session.look)),
            ("strawboss.resident.log.Log.failed", self._note_broken_look),
        ]
        with ExitStack() as stack:
            stack.enter_context(patch.dict(os.environ, {"STRAWBOSS_STATE_DIR": str(self._state)}))
            for name, replacement in places:
                stack.enter_context(patch(name, replacement))
            stack.enter_context(
                faulty_disk(self.injector, lambda: "disk look" if self._in_look else "state look")
            )
            yield

    def _looking(self, look: Callable[[session.Session], Look]) -> Callable[[session.Session], Look]:
        def looked(one: session.Session) -> Look:
            if not self.pi.sees_a_look_begin():
                raise ExtensionGoneError
            self._in_look = True
            try:
                return look(one)
            finally:
                self._in_look = False

        return looked

    def _note_broken_look(self, event: str, **_: object) -> None:
        self.broken_looks.append(f"{event}: {traceback.format_exc()}")

    def _herdr_client(self, launcher: Launcher, *_: object) -> Herdr:
        resolve, clock = resolver(launcher.cwd), self.clock.monotonic
        return Herdr(Address("h.sock"), resolve=resolve, connect=self.herdr.connect, clock=clock)

    def _intercom_client(self, launcher: Launcher, *_: object) -> Intercom:
        return Intercom(UnixSocket("b.sock"), launcher.cwd, clock=self.clock.monotonic, wall=self.clock.wall)

    # -- what may never happen -----------------------------------------------------------------------------------

    def did(self, act: str) -> None:
        """Judge an act at the moment it reaches its neighbour."""
        keys = self.disk.keys()
        written = {
            "ask": "nudged" in keys,
            "close": [one for one in keys if one in ("closing", "unclosed")][-1:] == ["closing"],
            "continue": "continued" in keys,
            "tell": self.kind in IN_A_WORKTREE or "closing" in keys or (self.kind == LOST and "lost" in keys),
        }
        if not written[act]:
            self.wrong.append(f"{act} before its key is in the session file")
        if act in self.acts:
            self.wrong.append(f"{act} a second time")
        self.acts.append(act)

    @property
    def give_ups(self) -> list[str]:
        return [one for one in self.warnings if any(words in one for words in GIVE_UPS)]

    @property
    def is_final(self) -> bool:
        return is_end(self.disk.keys())

    @property
    def is_over(self) -> bool:
        """The end has come, and some looks that should do nothing more."""
        return self.final_at is not None and self.looks >= self.final_at + LOOKS_AFTER_THE_END


# -- pi ------------------------------------------------------------------------------------------------------------


class Pi:
    """The extension in a settled session, at the other end of the link."""

    def __init__(self, world: World) -> None:
        self._world, self.is_off, self._silence = world, False, 0.0
        self._out: list[tuple[float, Callable[[], bytes]]] = []  # when it may be read, and what makes it
        self._over = False
        self._last_look = 0

    def begin(self, last_look: int) -> None:
        self._out, self._over, self._last_look = [], False, last_look
        self.is_off, self._silence = False, 0.0
        disk = self._world.disk
        params = {
            "protocol": 1, "reason": "startup", "id": SESSION, "file": str(disk.launcher), "dir": str(disk.directory),
            "name": "boss", "cwd": str(disk.directory), "pane": LAUNCHERS_PANE, "pids": {"pi": LAUNCHER_PID},
        }  # fmt: skip
        self._say({"method": "session.started", "params": params})

    def read(self, seconds: float) -> bytes | None:
        """What `strawboss.pi.pipe.Read` promises, on the world's clock."""
        clock = self._world.clock
        if self._out and self._out[0][0] <= clock.monotonic() + seconds:
            at, made = self._out.pop(0)
            clock.advance(max(at - clock.monotonic(), 0))
            return made()
        self._silence += seconds
        self.is_off = self._silence > SILENCE_SECONDS and not self._over
        if self._over or self.is_off:
            return b""
        clock.advance(seconds)
        return None

    def hear(self, line: bytes) -> None:
        """One request of the process."""
        self._silence = 0.0
        asked = json.loads(line)
        if "id" not in asked:
            return  # it tells how often it looks
        method, params = asked["method"], asked["params"]
        if method == "ui.notify" and params["level"] == "warning":
            self._world.warnings.append(params["text"])
        is_act = method in ("session.append", "session.tell")
        fault = self._world.injector.strikes("pi act" if is_act else "pi ask") or ""
        how = fault.removeprefix("done, ")
        do = functools.partial(getattr(self, f"_{method.replace('.', '_')}"), params)
        if how == "late":
            self._later(lambda: _line({"id": asked["id"], "result": do()}), LATE_SECONDS)
            return
        answer = do() if not fault or fault.startswith("done, ") or how == "nonsense" else None
        self._answer(asked["id"], answer, how)

    def sees_a_look_begin(self) -> bool:
        """Whether there is to be one more; if not, the session ends."""
        world = self._world
        if world.final_at is None and world.is_final:
            world.final_at = world.looks
        if world.looks >= self._last_look or world.is_over:
            self._over = True
            return False
        world.looks += 1
        if world.looks > world.healed_after:
            world.injector.heal()
        return True

    def _answer(self, number: int, answer: Any, how: str) -> None:
        reply = {"id": number, "result": answer}
        if how == "gone":
            self._over, self._out = True, []
            self._world.deaths += self._world.stranded
            raise BrokenPipeError
        if how == "torn":
            self._later(lambda: _line(reply)[:-4] + b"\n")
        elif how == "another's":
            nobody = {"readable": True, "ids": [], "idle": True, "compacting": False}
            self._say({"id": number + 1000, "result": nobody if answer is None else answer})
        elif how == "refused":
            self._say({"id": number, "error": {"code": -32000, "message": "no"}})
        elif how == "nonsense":
            self._say(reply | {"result": 7})
        elif how != "timeout":
            self._say(reply)

    def _say(self, words: dict[str, Any]) -> None:
        self._later(lambda: _line(words))

    def _later(self, made: Callable[[], bytes], seconds: float = 0.0) -> None:
        self._out.append((self._world.clock.monotonic() + seconds, made))
        self._out.sort(key=lambda one: one[0])

    def _registry_read(self, _: Any) -> Any:
        return {"readable": True, "ids": sorted(self._world.tracked)}

    def _session_state(self, _: Any) -> Any:
        return {"idle": True, "compacting": False}

    def _session_append(self, params: Any) -> str:
        self._world.disk.append(key(**params["data"]))
        return "appended"

    def _session_tell(self, params: Any) -> str:
        self._world.did("tell")
        details = {"id": params["id"], "runs": params["runs"]}
        told = entry(
            "custom_message", customType="straw-boss", content=params["text"], display=True, details=details
        )
        self._world.disk.append(told)
        self._say({"method": "session.entry", "params": {"id": params["id"]}})
        for run in TO_RESUME.findall(params["text"]):
            self._world.resume(run)
        return "told"

    def _ui_notify(self, _: Any) -> bool:
        return True

    _ui_status = _ui_notify


def _line(words: dict[str, Any]) -> bytes:
    return json.dumps({"jsonrpc": "2.0", **words}).encode() + b"\n"


# -- herdr ---------------------------------------------------------------------------------------------------------


class HerdrStandIn:
    """Its panes, what runs in them, and one connection a request."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.panes = {
            LAUNCHERS_PANE: pane(LAUNCHERS_PANE, world.disk.launcher, "term_1"),
            PANE: pane(PANE, world.disk.child, "term_2") | {"agent_status": "working"},
        }
        self.foreground = {
            PANE: [_process("bash", "bash", str(world.disk.script)), _process("pi")],
            LAUNCHERS_PANE: [_process("pi")],
        }

    def connect(self, _: Address, seconds: float) -> HerdrLine:
        fault = self.world.injector.strikes("herdr connect")
        if fault:
            self.world.clock.advance(seconds if fault == "timeout" else 0)
            raise error_of(fault)
        return HerdrLine(self)

    def do(self, method: str, params: Any) -> dict[str, Any]:
        if method == "pane.list":
            return {"result": {"type": "pane_list", "panes": list(self.panes.values())}}
        if method == "pane.process_info":
            told = {"pane_id": params["pane_id"], "foreground_processes": self.foreground[params["pane_id"]]}
            return {"result": {"type": "pane_process_info", "process_info": told}}
        return self._close(params["pane_id"])

    def _close(self, pane_id: str) -> dict[str, Any]:
        if self.panes.pop(pane_id, None) is None:
            return {"error": {"code": "pane_not_found", "message": "no such pane"}}
        self.world.did("close")
        argvs = [one["argv"] for one in self.foreground.pop(pane_id)]
        if pane_id != PANE or argvs != [["pi"]] or self.world.kind != RESTART:
            self.world.wrong.append(f"closed {pane_id}, in which {argvs} ran")
        return {"result": {"type": "ok"}}

    def another_answer(self, request: dict[str, Any]) -> dict[str, Any]:
        """What would mislead whoever took it for the answer: all as it is with a stranded run."""
        if request["method"] == "pane.close":
            return {"result": {"type": "ok"}}
        disk, is_restored = self.world.disk, self.world.kind != CRASH
        if request["method"] == "pane.list":
            child = pane(PANE, disk.child, "term_3" if is_restored else "term_2")
            panes = [pane(LAUNCHERS_PANE, disk.launcher, "term_1"), child]
            return {"result": {"type": "pane_list", "panes": panes}}
        own = (
            [_process("pi")] if is_restored else [_process("bash", "bash", str(disk.script)), _process("pi")]
        )
        told = {"pane_id": request["params"]["pane_id"], "foreground_processes": own}
        return {"result": {"type": "pane_process_info", "process_info": told}}


class HerdrLine:
    """One connection: one line there, one line back."""

    def __init__(self, herdr: HerdrStandIn) -> None:
        self._herdr, self._fault, self._reply = herdr, "", b""

    def send(self, line: bytes, seconds: float) -> None:
        request = json.loads(line)
        calls = CALLS_OF_HERDR[request["method"]]
        fault = self._herdr.world.injector.strikes(calls) or ""
        self._fault = fault.removeprefix("done, ")
        reply = {}
        if not fault or fault.startswith("done, ") or calls != "herdr act":
            reply = self._herdr.do(request["method"], request["params"])
        number = request["id"]
        if self._fault == "another's":
            number, reply = "strawboss:999", self._herdr.another_answer(request)
        if self._fault == "error":
            reply = {"error": {"code": "internal_error", "message": "\x1b[2J"}}
        self._reply = json.dumps({"id": number, **reply}).encode() + b"\n"

    def receive(self, limit: int, seconds: float) -> bytes:
        if self._fault in ("timeout", *_ERRORS):
            self._herdr.world.clock.advance(seconds if self._fault == "timeout" else 0)
            raise error_of(self._fault)
        if self._fault == "torn":
            self._fault, half = "empty", self._reply[: len(self._reply) // 2]
            return half
        return b"" if self._fault == "empty" else self._reply

    def close(self) -> None:
        pass


CALLS_OF_HERDR = {
    "pane.list": "herdr panes",
    "pane.process_info": "herdr processes",
    "pane.close": "herdr act",
}
_ERRORS = ("ENOSPC", "EACCES", "EINTR")


def pane(pane_id: str, session_file: Path, terminal: str) -> dict[str, Any]:
    """As herdr lists a pane with an idle pi in it."""
    agent_session = {"source": "herdr:pi", "agent": "pi", "kind": "path", "value": str(session_file)}
    told = {"pane_id": pane_id, "terminal_id": terminal, "agent": "pi", "agent_status": "idle"}
    return told | {"agent_session": agent_session}


def _process(name: str, *argv: str) -> dict[str, Any]:
    return {"pid": CHILD_PID + (name != "pi"), "name": name, "argv": list(argv or (name,))}


# -- the machine ---------------------------------------------------------------------------------------------------


class Machine:
    """Its processes: what runs in the panes. As `strawboss.machine.proc` tells them."""

    def __init__(self, world: World) -> None:
        self._world = world

    def processes(self) -> Iterator[Seen]:
        self._may_fail()
        for told in self._running():
            yield Seen(told["pid"], told["name"], mine=True, argv=tuple(told["argv"]))

    def identify(self, pid: int) -> Identity | None:
        self._may_fail()
        return Identity(pid, 1000.0, "boot") if any(told["pid"] == pid for told in self._running()) else None

    def _running(self) -> list[dict[str, Any]]:
        panes = self._world.herdr.foreground
        return [told for pane_id in panes for told in panes[pane_id] if pane_id != LAUNCHERS_PANE]

    def _may_fail(self) -> None:
        fault = self._world.injector.strikes("machine list")
        if fault:
            raise error_of(fault)


# -- the broker ----------------------------------------------------------------------------------------------------


class BrokerStandIn:
    """The rules of a broker, with the launcher and the child on it."""

    def __init__(self, world: World) -> None:
        self.world = world
        places = {LAUNCHER_PID: LAUNCHERS_PANE, CHILD_PID: PANE}

        def locate(registration: Any) -> dict[str, Any]:
            place = places.get(registration["pid"])
            return {"status": "current", "paneId": place} if place else {"status": "unavailable"}

        self.rules = Rules(locate=locate)
        self.register("launcher", SESSION, LAUNCHER_PID)
        self.register("child", "child", CHILD_PID)

    def register(self, connection: str, session_id: str, pid: int, status: str = "idle") -> None:
        now = 1
        told = {"name": connection, "cwd": "/", "model": "none", "pid": pid, "status": status}
        told |= {"startedAt": now, "lastActivity": now}
        self.rules.receive(connection, {"type": "register", "sessionId": session_id, "session": told})

    def connect(self) -> Line:
        fault = self.world.injector.strikes("broker connect")
        if fault:
            self.world.clock.advance(1 if fault == "timeout" else 0)
            raise LostError("the intercom broker cannot be reached") from error_of(fault)
        return Line(BrokerLine(self))  # type: ignore[arg-type]  # the part of a socket that is used

    def deliver(self, connection: str, told: dict[str, Any]) -> list[tuple[Any, Any]]:
        """To the child: it reads it, says so, and starts a turn."""
        if connection != "child":
            self.world.wrong.append(f"a message to the {connection}")
            return []
        self.world.did("continue" if "your last turn was cut off" in told["content"]["text"] else "ask")
        receipt = {"messageId": told["id"], "status": "receiver_received", "timestamp": 1}
        return self.rules.receive("child", {"type": "message_receipt", "receipt": receipt})


class BrokerLine:
    """One connection to the broker, as much of a socket as the client uses."""

    def __init__(self, broker: BrokerStandIn) -> None:
        self._broker, self._decoder = broker, Decoder()
        self._in, self._seconds, self._left = b"", 0.0, False

    def settimeout(self, seconds: float) -> None:
        self._seconds = seconds

    def sendall(self, data: bytes) -> None:
        fault = self._broker.world.injector.strikes("broker say") or ""
        if not fault or fault.startswith("done, "):
            self._decoder.feed(data)
            while (frame := self._decoder.next()) is not None:
                self._handle(dict(frame))
        if fault:
            self._fail(fault.removeprefix("done, "))

    def _handle(self, frame: dict[str, Any]) -> None:
        outs = self._broker.rules.receive(self, frame)
        while outs:
            connection, out = outs.pop(0)
            if connection is self and out is not None:
                self._in += encode(out)
            elif out is not None and out["type"] == "message":
                outs += self._broker.deliver(connection, out["message"])

    def recv(self, size: int) -> bytes:
        if self._left:
            data, self._in = self._in[:size], self._in[size:]
            return data
        fault = self._broker.world.injector.strikes("broker hear") or ""
        if fault in ("timeout", *_ERRORS):
            self._fail(fault)
        if fault == "another's":
            self._in = self._as_to_another(self._in)
        if fault == "error":
            self._in = encode({"type": "error", "error": "no\x1b[2J"})
        if not self._in and fault in ("", "another's"):
            self._fail("timeout")
        data, self._in = self._in[:size], self._in[size:]
        if fault == "torn":
            data, self._in = data[: len(data) // 2], b""
        return b"" if fault == "empty" else data

    def shutdown(self, _how: int) -> None:
        """The client leaves: the broker hangs up once all it had to say is heard."""
        self._left = True

    def _as_to_another(self, data: bytes) -> bytes:
        decoder, out = Decoder(), b""
        decoder.feed(data)
        while (frame := decoder.next()) is not None:
            others = {name: "x" for name in ("requestId", "messageId") if name in frame}
            idle = [one | {"status": "idle"} for one in frame.get("sessions", ())]
            out += encode({**frame, **others, **({"sessions": idle} if idle else {})})
        return out

    def _fail(self, fault: str) -> None:
        self._broker.world.clock.advance(self._seconds if fault == "timeout" else 0)
        raise error_of(fault)

    def close(self) -> None:
        self._broker.rules.left(self)

    def __hash__(self) -> int:
        return id(self)
