from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace

import msgspec
import pytest

from strawboss.system.json_files import read_object
from strawboss.system.process_identity import Liveness, identify
from strawboss.wakeup import abandoned, inspection, responses
from strawboss.wakeup.agents import Agent, Registry
from strawboss.wakeup.cycle import Rhythm
from strawboss.wakeup.health import Health
from strawboss.wakeup.inspection import check_all
from strawboss.wakeup.keep_alive import record_file
from strawboss.wakeup.processes import end_tree
from strawboss.wakeup.responses import OnStall, Patient, Response, respond
from strawboss.wakeup.store import actions, checkout, cycles, events, inbox, tasks
from strawboss.wakeup.store.database import Database
from strawboss.wakeup.store.tasks import NewTask, Status, Task

pytestmark = pytest.mark.slow

RHYTHM = Rhythm(0.5, 3.0)
HANGS = Agent(
    "analyst",
    capabilities=["numbers"],
    command=[sys.executable, "-c", "import time; time.sleep(600)"],
    quiet_ok=True,
)
OTHER = Agent(
    "writer", capabilities={"numbers": 5, "words": 2}, command=[sys.executable, "-c", "print('mine now')"]
)
UNABLE = Agent("coder", capabilities=["python"], command=["cat"])


class Ward:
    """One agent that hangs in a task, in a real process, and others beside it."""

    def __init__(self, database: Database, registry: Registry, until: Callable[..., object]) -> None:
        self.database, self.registry, self.until = database, registry, until
        with database.write() as connection:
            new = NewTask("count", "boss", capabilities=frozenset({"numbers"}))
            self.task = tasks.add(connection, new, database.now())
        program = "from strawboss.cli.main import main; main()"
        options = ["--agent", "analyst", "--interval", "0.5s", "--timeout", "3s"]
        self.process = subprocess.Popen(
            [sys.executable, "-c", program, "heartbeat", *options], stdout=subprocess.DEVNULL
        )

    def wait_for_work(self) -> None:
        self.until(lambda: self.cycle() and self.cycle().command, "the command to run")

    def cycle(self) -> cycles.Cycle:
        with self.database.read() as connection:
            return cycles.latest(connection).get("analyst")  # type: ignore[return-value]

    def found(self) -> Task:
        with self.database.read() as connection:
            return tasks.find(connection, self.task)

    def patient(self) -> Patient:
        seen = check_all(self.registry.agents, self.database, RHYTHM.timeout)
        return Patient(next(one for one in seen if one.agent.name == "analyst"), seen, self.database, RHYTHM)

    def stall(self) -> Patient:
        os.kill(self.process.pid, signal.SIGSTOP)
        self.until(lambda: self.patient().inspection.finding.health is Health.STALLED, "the stall")
        return self.patient()

    def die(self) -> Patient:
        self.process.kill()
        self.process.wait()
        self.until(lambda: self.patient().inspection.finding.health is Health.DEAD, "the death")
        return self.patient()

    def history(self) -> list[str]:
        with self.database.read() as connection:
            return [event.event for event in events.history(connection, 1000)]


@pytest.fixture
def ward(light: Database, enlist: Callable[..., Registry], until: Callable[..., object]) -> Iterator[Ward]:
    ward = Ward(light, enlist(HANGS, UNABLE, OTHER), until)
    try:
        ward.wait_for_work()
        yield ward
    finally:
        ward.process.kill()
        ward.process.wait()
        for cycle in _unfinished(ward):
            end_tree([cycle.process, *([cycle.command] if cycle.command else [])], cycle.id, patience=0.1)


def _unfinished(ward: Ward) -> list[cycles.Cycle]:
    with ward.database.read() as connection:
        return [one for agent in ward.registry.agents for one in cycles.unfinished(connection, agent.name)]


def alive(patient: Patient) -> set[Liveness]:
    cycle = patient.cycle
    assert cycle.command is not None
    return {abandoned.liveness(cycle.process), abandoned.liveness(cycle.command)}


def test_a_warning_touches_nothing_and_is_written_once(ward: Ward) -> None:
    patient = ward.stall()
    for _ in range(3):
        assert respond(patient, OnStall.WARN) == Response(OnStall.WARN, "warn")
    assert ward.history().count("alert: stalled") == 1
    assert alive(patient) == {Liveness.SAME}
    assert ward.found().status is Status.IN_PROGRESS


def test_kill_ends_the_whole_tree_and_gives_the_task_back(ward: Ward) -> None:
    patient = ward.stall()
    assert respond(patient, OnStall.KILL) == Response(
        OnStall.KILL, f"kill (ended; gave back {ward.task})", acted=True
    )
    assert alive(patient) == {Liveness.GONE}
    assert ward.found().status is Status.OPEN
    assert ward.patient().inspection.finding.health is Health.IDLE
    record = read_object(record_file(HANGS))
    assert isinstance(record, dict)
    assert record["terminal_state"] == "STALL"
    history = ward.history()
    assert history.index("kill: began") < history.index("cycle ended") < history.index("kill: ended")


@pytest.mark.parametrize("how", ["stall", "die"])
def test_restart_ends_what_is_left_and_starts_the_agent_again(ward: Ward, how: str) -> None:
    patient = getattr(ward, how)()
    response = respond(patient, OnStall.RESTART)
    assert response.acted
    assert alive(patient) == {Liveness.GONE}
    ward.until(lambda: ward.cycle().command, "the new command to run")
    assert ward.cycle().id != patient.cycle.id
    assert response.words == f"restart (now pid {ward.cycle().process.pid})"
    assert ward.found().lock_holder == "analyst"


def test_reassign_hands_the_task_to_another_capable_agent_which_does_it(ward: Ward) -> None:
    patient = ward.stall()
    response = respond(patient, OnStall.REASSIGN)
    assert response.words.startswith(f"reassign ({ward.task} to writer, woken as pid ")
    assert alive(patient) == {Liveness.GONE}
    ward.until(lambda: ward.found().status is Status.COMPLETE, "the other to do it")
    assert (ward.found().finished_by, ward.found().result) == ("writer", "mine now")
    with ward.database.read() as connection:
        sent = inbox.inbox(connection, "writer", unread_only=False)
    assert [message.body for message in sent] == ["analyst is stalled; now yours: count"]


def test_reassign_without_another_capable_agent_is_refused_and_nothing_is_killed(ward: Ward) -> None:
    ward.registry = msgspec.structs.replace(ward.registry, agents=ward.registry.agents[:2])
    patient = ward.stall()
    words = f"warn (reassign refused: no other capable agent for {ward.task})"
    assert respond(patient, OnStall.REASSIGN) == Response(OnStall.WARN, words)
    assert alive(patient) == {Liveness.SAME}


@pytest.mark.parametrize("wanted", [OnStall.RESTART, OnStall.REASSIGN, OnStall.KILL])
def test_without_a_certain_identity_nothing_is_done(
    ward: Ward, wanted: OnStall, monkeypatch: pytest.MonkeyPatch
) -> None:
    ward.stall()
    monkeypatch.setattr(inspection, "liveness", lambda identity: Liveness.UNKNOWN)
    patient = ward.patient()
    response = respond(patient, wanted)
    assert (response.action, response.acted) == (OnStall.WARN, False)
    assert "out of sight" in response.words
    assert alive(patient) == {Liveness.SAME}
    assert f"{wanted}: began" not in ward.history()


def test_a_fourth_action_within_the_hour_is_a_warning(ward: Ward) -> None:
    patient = ward.stall()
    with ward.database.write() as connection:
        for number in range(3):
            actions.claim(connection, f"earlier-{number}", "analyst", "restart", ward.database.now())
    response = respond(patient, OnStall.RESTART)
    assert response == Response(OnStall.WARN, "warn (restart refused: 3 actions in the last hour)")
    assert alive(patient) == {Liveness.SAME}


def test_an_agent_that_has_recovered_since_the_look_is_left_alone(ward: Ward) -> None:
    patient = ward.stall()
    os.kill(ward.process.pid, signal.SIGCONT)
    ward.until(lambda: ward.patient().inspection.finding.health is Health.HEALTHY, "the recovery")
    assert respond(patient, OnStall.KILL) == Response(OnStall.WARN, "none: it has recovered")
    assert alive(patient) == {Liveness.SAME}


def test_two_monitors_at_once_act_once(ward: Ward) -> None:
    patients = [ward.stall(), ward.patient()]
    found: list[Response] = []
    both = [
        threading.Thread(target=lambda one=one: found.append(respond(one, OnStall.KILL))) for one in patients
    ]
    for monitor in both:
        monitor.start()
    for monitor in both:
        monitor.join()
    assert [response.acted for response in found].count(True) == 1
    assert ward.history().count("kill: began") == 1


def test_an_action_that_fails_is_journalled_as_failed(ward: Ward, monkeypatch: pytest.MonkeyPatch) -> None:
    patient = ward.stall()
    monkeypatch.setattr(responses, "end_tree", lambda *_: False)
    response = respond(patient, OnStall.KILL)
    assert response.words == f"kill failed: a process of analyst (pid {ward.process.pid}) is still alive"
    assert ward.found().status is Status.IN_PROGRESS
    assert ward.history()[-1] == "kill: ended"
    monkeypatch.undo()


def test_a_wake_up_that_cannot_be_ended_keeps_its_command_and_its_task(
    ward: Ward, monkeypatch: pytest.MonkeyPatch
) -> None:
    patient = ward.stall()
    monkeypatch.setattr(responses, "end_at_once", lambda _: False)
    said = respond(patient, OnStall.KILL).words
    assert (
        said == f"kill failed: the wake-up of analyst (pid {ward.process.pid}) cannot be ended; nothing was"
    )
    assert alive(patient) == {Liveness.SAME}
    assert ward.found().status is Status.IN_PROGRESS


def test_of_several_capable_agents_an_idle_one_with_budget_and_the_best_skill_is_chosen(
    light: Database, enlist: Callable[..., Registry]
) -> None:
    team = [
        HANGS,
        Agent("weak", capabilities={"numbers": 1}),
        Agent("best", capabilities={"numbers": 4}),
        Agent("poor", capabilities={"numbers": 4}, budget=0),
        UNABLE,
    ]
    registry = enlist(*team)
    me = identify(os.getpid())
    assert me is not None
    with light.write() as connection:
        new = NewTask("count", "boss", complexity=4, capabilities=frozenset({"numbers"}))
        task = tasks.find(connection, tasks.add(connection, new, light.now()))
        cycle = cycles.begin(connection, "analyst", abandoned.host(), me, None, light.now())
        checkout.checkout(connection, task.id, "analyst", ["numbers"], f"{cycle.id}/x", light.now(), 60)
    seen = check_all(registry.agents, light, 3.0)
    patient = Patient(seen[0], seen, light, RHYTHM)
    assert getattr(responses._successor(patient, task), "name", None) == "best"
    works = replace(seen[2], finding=replace(seen[2].finding, health=Health.HEALTHY))
    patient = replace(patient, others=[*seen[:2], works, *seen[3:]])
    assert getattr(responses._successor(patient, task), "name", None) == "weak"
