"""Each command and its answer: above all, when a key counts as written and a message as put."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any, get_args

import pytest

from strawboss.pi.link import Link
from strawboss.recovery import commands as c
from strawboss.recovery.commands import Outcome, Result, SessionState
from strawboss.recovery.evidence import (
    Holders,
    Identity,
    KeyEntry,
    Pane,
    Peer,
    Process,
    RunFiles,
    Tail,
    Transcript,
)
from strawboss.recovery.verdict import Unknown
from strawboss.resident.effects import READ_BACK_SECONDS, TAKEN_SECONDS, Effects

SEEN = KeyEntry("seen", "a213437c", {"terminal": "t"})
WRITE = c.WriteKey("seen", "a213437c", {"terminal": "t"})
TELL = c.TellLauncher("m1", ("a213437c",), "please resume")
SILENCE = object()


@dataclass
class World:
    """Neighbours that note what they are asked, and an extension that answers from `says`, on a clock of its own."""

    says: dict[str, Any] = field(default_factory=dict)
    transcripts: list[Transcript | Unknown] = field(default_factory=list)
    asked: list[dict[str, Any]] = field(default_factory=list)
    done: list[tuple[c.Command, Any]] = field(default_factory=list)
    taken: set[str] = field(default_factory=set)
    now: float = 0.0
    pending: list[bytes] = field(default_factory=list)

    def effects(self) -> Effects:
        link = Link(self.read, self.write, lambda _: None, lambda _: None, lambda: self.now)
        return Effects(link, self, self, self, self, self.taken, lambda *what: self.done.append(what))

    def read(self, seconds: float) -> bytes | None:
        if self.pending:
            return self.pending.pop(0)
        self.now += seconds
        return None

    def write(self, line: bytes) -> None:
        request = json.loads(line)
        self.asked.append(request)
        answer = self.says.get(request["method"], SILENCE)
        if isinstance(answer, Exception):
            self.pending.append(
                json.dumps({"id": request["id"], "error": {"message": str(answer)}}).encode() + b"\n"
            )
        elif answer is not SILENCE:
            self.pending.append(json.dumps({"id": request["id"], "result": answer}).encode() + b"\n")

    # the disk: the last transcript stays
    def transcript(self) -> Transcript | Unknown:
        return self.transcripts.pop(0) if len(self.transcripts) > 1 else self.transcripts[0]

    def runs(self) -> Any:
        return {"a213437c": Unknown("x")}

    def run(self, run_id: str) -> RunFiles:
        return RunFiles(Unknown(run_id))

    def tail(self, session_file: str) -> Tail:
        return Tail(session_file, ())

    def forks(self, session_file: str) -> tuple[str, ...]:
        return (session_file,)

    # the machine
    def holders(self, session_file: str, script: str) -> Holders:
        return Holders((Process(1, session_file + script),))

    def identify(self, pid: int) -> Identity:
        return Identity(pid, 1.5)

    # herdr and the broker
    def panes(self) -> tuple[Pane, ...]:
        return (Pane("w1:p1", None, None, "idle", None),)

    def process_info(self, pane_id: str) -> tuple[Process, ...]:
        return (Process(1, pane_id),)

    def close(self, pane_id: str) -> Result:
        return Result(Outcome.DONE, pane_id)

    def roster(self) -> tuple[Peer, ...]:
        return (Peer("x", 1, "idle"),)

    def send(self, session_id: str, epoch: str | None, text: str) -> Result:
        return Result(Outcome.UNKNOWN, f"{session_id} {epoch} {text}")


# -- reading ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("command", "answer"),
    [
        (c.ReadRuns(), {"a213437c": Unknown("x")}),
        (c.ReadRun("a213437c"), RunFiles(Unknown("a213437c"))),
        (c.ReadTranscript(), Transcript((SEEN,))),
        (c.ReadTail("/s/x.jsonl"), Tail("/s/x.jsonl", ())),
        (c.FindForks("/s/x.jsonl"), ("/s/x.jsonl",)),
        (c.FindHolders("/s/x.jsonl", "/a/x.sh"), Holders((Process(1, "/s/x.jsonl/a/x.sh"),))),
        (c.Identify(7), Identity(7, 1.5)),
        (c.ListPanes(), (Pane("w1:p1", None, None, "idle", None),)),
        (c.ProcessInfo("w1:p3"), (Process(1, "w1:p3"),)),
        (c.ListSessions(), (Peer("x", 1, "idle"),)),
        (c.ClosePane("w1:p3"), Result(Outcome.DONE, "w1:p3")),
        (c.SendIntercom("s1", "e1", "text"), Result(Outcome.UNKNOWN, "s1 e1 text")),
    ],
)
def test_disk_herdr_and_broker_are_asked_as_the_command_says(command: c.Command, answer: Any) -> None:
    assert World(transcripts=[Transcript((SEEN,))]).effects().answer(command) == answer


@pytest.mark.parametrize(
    ("said", "answer"),
    [
        ({"readable": True, "ids": ["a", "b"]}, frozenset({"a", "b"})),
        ({"readable": True, "ids": []}, frozenset()),
        ({"readable": False}, Unknown("pi-herdr-agents' registry is not there")),
        (SILENCE, Unknown("the extension did not answer registry.read in time")),
        (RuntimeError("stale"), Unknown("the extension refused registry.read: stale")),
    ],
)
def test_the_registry_is_its_ids_or_unknown(said: Any, answer: Any) -> None:
    got = World(says={"registry.read": said}).effects().answer(c.ReadRegistry())
    assert (
        (got.why, isinstance(answer, Unknown)) == (answer.why, True)
        if isinstance(got, Unknown)
        else got == answer
    )


def test_the_session_is_idle_or_compacting_or_unknown() -> None:
    world = World(says={"session.state": {"idle": False, "compacting": True}})
    assert world.effects().answer(c.ReadSession()) == SessionState(idle=False, compacting=True)
    assert isinstance(World().effects().answer(c.ReadSession()), Unknown)


def test_every_command_there_is_has_an_answer() -> None:
    effects = World().effects()
    assert set(effects._answers) == set(get_args(c.Command))


# -- keys ------------------------------------------------------------------------------------------------------


def test_a_key_is_written_once_the_file_holds_one_more_of_it() -> None:
    world = World({"session.append": "appended"}, [Transcript(), Transcript(), Transcript((SEEN,))])
    assert world.effects().answer(WRITE) is True
    assert world.asked[0]["params"] == {"data": {"seen": "a213437c", "terminal": "t"}}


def test_an_old_entry_of_the_same_key_proves_nothing() -> None:
    world = World({"session.append": "appended"}, [Transcript((SEEN,))])
    assert world.effects().answer(WRITE) is False
    assert READ_BACK_SECONDS <= world.now < READ_BACK_SECONDS + 0.5


@pytest.mark.parametrize("other", [KeyEntry("nudged", "a213437c"), KeyEntry("seen", "other")])
def test_another_key_and_another_run_prove_nothing(other: KeyEntry) -> None:
    world = World({"session.append": "appended"}, [Transcript(), Transcript((other,))])
    assert world.effects().answer(WRITE) is False


def test_without_a_readable_session_file_no_key_is_even_asked_for() -> None:
    """R55: pi keeps the first entries of a new session in memory."""
    world = World({"session.append": "appended"}, [Unknown("the session has no file yet")])
    assert world.effects().answer(WRITE) == Unknown("the session has no file yet")
    assert world.asked == []


@pytest.mark.parametrize("said", [SILENCE, RuntimeError("stale")])
def test_an_extension_that_refuses_or_says_nothing_leaves_the_key_unknown(said: Any) -> None:
    world = World({"session.append": said}, [Transcript()])
    assert isinstance(world.effects().answer(WRITE), Unknown)


@pytest.mark.parametrize("said", [SILENCE, RuntimeError("stale")])
def test_a_key_in_the_file_is_written_whatever_became_of_the_answer(said: Any) -> None:
    world = World({"session.append": said}, [Transcript(), Transcript((SEEN,))])
    assert world.effects().answer(WRITE) is True


def test_a_file_that_cannot_be_read_back_leaves_the_key_unwritten() -> None:
    world = World({"session.append": "appended"}, [Transcript(), Unknown("torn")])
    assert world.effects().answer(WRITE) is False


# -- the launcher's message ------------------------------------------------------------------------------------


def test_a_message_is_put_when_the_extension_says_so() -> None:
    world = World({"session.tell": "told"})
    assert world.effects().answer(TELL) == Result(Outcome.DONE)
    assert world.asked[0]["params"] == {"id": "m1", "runs": ["a213437c"], "text": "please resume"}
    assert TAKEN_SECONDS <= world.now < TAKEN_SECONDS + 0.5


def test_a_message_that_was_seen_to_be_taken_is_waited_for_no_longer() -> None:
    world = World({"session.tell": "told"}, taken={"m1"})
    assert world.effects().answer(TELL).outcome is Outcome.DONE
    assert world.now < 0.1


@pytest.mark.parametrize(
    ("said", "outcome"),
    [("compacting", Outcome.UNKNOWN), (SILENCE, Outcome.UNKNOWN), (RuntimeError("stale"), Outcome.FAILED)],
)
def test_only_a_refusal_is_a_failure(said: Any, outcome: Outcome) -> None:
    assert World({"session.tell": said}).effects().answer(TELL).outcome is outcome


# -- the rest --------------------------------------------------------------------------------------------------


def test_a_notice_reaches_the_user_and_silence_does_not_matter() -> None:
    world = World()
    assert world.effects().answer(c.Notify("warning", "mind the gap")) is None
    assert world.asked[0]["params"] == {"level": "warning", "text": "mind the gap"}


def test_a_pause_passes_its_time() -> None:
    world = World()
    world.effects().answer(c.Pause(4.0))
    assert world.now == 4.0


def test_only_what_acts_is_told_as_done() -> None:
    world = World({"session.tell": "told"}, [Transcript()], taken={"m1"})
    effects = world.effects()
    for command in (c.ReadTranscript(), c.ListPanes(), c.Pause(1.0), TELL, c.ClosePane("p")):
        effects.answer(command)
    assert [command for command, _ in world.done] == [TELL, c.ClosePane("p")]
