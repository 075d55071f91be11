"""One notification after a start of herdr, once the launchers have settled, or none."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import chain, repeat
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from runs.written import RUN
from standins.herdr.listener import Listener
from standins.short_directory import short_directory
from survey.home import Home

from strawboss.herdr.address import Address
from strawboss.herdr.client import Herdr
from strawboss.overview.announcement import Situation
from strawboss.overview.seen import Watch
from strawboss.recovery.verdict import Unknown
from strawboss.survey.announce import (
    HINT,
    QUIET_LOOKS,
    SEEN_LOOKS,
    SETTLE_LOOKS,
    SHOWN,
    Needs,
    World,
    announce,
    announce_once,
)
from strawboss.system.lock import Lock

pytestmark = pytest.mark.slow

INTERVAL = 15.0
NOTHING: Needs = frozenset()
QUIET = Situation(frozenset(), frozenset(), frozenset(), is_pending=False)
PENDING = replace(QUIET, is_pending=True)
OTHER = "ffffffff"
NEED = frozenset({("boss", "lost")})
CLOSED = replace(QUIET, needs=NEED)
GONE = Unknown("herdr cannot be reached")


def recovered(*runs: str) -> Situation:
    return replace(QUIET, recovered=frozenset(("boss", run, 1.0) for run in runs))


@dataclass
class Played:
    """What is seen at each look, the last for good; what herdr answers; at which looks herdr starts again."""

    situations: list[Situation]
    answers: Iterator[str | Unknown] = field(default_factory=lambda: repeat(SHOWN))
    restarts: tuple[int, ...] = ()
    looks: int = 0
    now: float = 1000.0
    told: list[str] = field(default_factory=list)

    def look(self) -> Situation:
        self.looks += 1
        return self.situations[min(self.looks, len(self.situations)) - 1]

    def show(self, text: str) -> str | Unknown:
        self.told.append(text)
        return next(self.answers)

    def sleep(self, seconds: float) -> None:
        self.now += seconds

    def starts(self) -> float:
        return float(sum(self.looks >= look for look in self.restarts))

    @property
    def world(self) -> World:
        return World(self.look, self.show, self.starts, INTERVAL, lambda: self.now, self.sleep)

    @property
    def passed(self) -> float:
        """In looks."""
        return (self.now - 1000.0) / INTERVAL


def test_it_is_said_when_nothing_has_changed_for_four_looks() -> None:
    played = Played([QUIET, PENDING, PENDING, PENDING, recovered("a"), recovered("a", "b")])
    assert announce(played.world, NOTHING) == ("2 runs recovered", NOTHING)
    assert played.told == ["2 runs recovered"]
    assert played.passed == 4 + QUIET_LOOKS


def test_where_nothing_was_recovered_and_nobody_is_needed_nothing_is_said() -> None:
    played = Played([recovered("a"), PENDING, recovered("a")])
    assert announce(played.world, NOTHING) == ("", NOTHING)
    assert played.told == []


def test_a_need_is_said_once_and_forgotten_when_it_is_seen_to() -> None:
    assert announce(Played([CLOSED]).world, NOTHING) == ("1 needs you", NEED)
    again = Played([CLOSED])
    assert announce(again.world, NEED) == ("", NEED)
    assert again.told == []
    assert announce(Played([QUIET]).world, NEED) == ("", NOTHING)


def test_what_stays_under_way_is_not_waited_for_longer_than_twenty_looks() -> None:
    played = Played([QUIET, replace(recovered("a"), is_pending=True)])
    assert announce(played.world, NOTHING) == ("1 run recovered", NOTHING)
    assert played.passed == SETTLE_LOOKS


@pytest.mark.parametrize("why", ["no_foreground_client", "busy", "rate_limited"])
def test_where_nobody_is_there_to_read_it_it_waits_and_then_says_what_holds_then(why: str) -> None:
    meanwhile = [CLOSED] * 12 + [replace(CLOSED, needs=NEED | {("boss", "other")})]
    played = Played(meanwhile, chain([why, why], repeat(SHOWN)))
    assert announce(played.world, NOTHING) == ("2 need you", meanwhile[-1].needs)


def test_nobody_is_waited_for_longer_than_an_hour_and_what_nobody_read_has_not_been_said() -> None:
    played = Played([CLOSED], repeat("no_foreground_client"))
    assert announce(played.world, NOTHING) == ("", NOTHING)
    assert SEEN_LOOKS <= played.passed <= SEEN_LOOKS + QUIET_LOOKS + 1


def test_a_herdr_that_cannot_be_reached_is_tried_again_while_its_launchers_may_still_settle() -> None:
    assert announce(Played([CLOSED], chain([GONE], repeat(SHOWN))).world, NOTHING) == ("1 needs you", NEED)
    played = Played([CLOSED], repeat(GONE))
    assert announce(played.world, NOTHING) == ("", NOTHING)
    assert SETTLE_LOOKS <= played.passed <= SETTLE_LOOKS + QUIET_LOOKS + 1


@pytest.mark.parametrize("why", ["disabled", "a_reason_of_a_newer_herdr"])
def test_a_user_who_wants_no_notifications_is_left_alone(why: str) -> None:
    played = Played([CLOSED], repeat(why))
    assert announce(played.world, NOTHING) == ("", NOTHING)
    assert len(played.told) == 1


def test_another_start_of_herdr_makes_it_wait_anew() -> None:
    played = Played([QUIET, PENDING], restarts=(10,))
    announce(played.world, NOTHING)
    assert played.passed == pytest.approx(10 + SETTLE_LOOKS, abs=2)


SITUATIONS = st.builds(
    Situation,
    st.frozensets(st.tuples(st.sampled_from("ab"), st.sampled_from(Watch))),
    st.frozensets(st.tuples(st.just("s"), st.sampled_from("abc"), st.just(1.0))),
    st.frozensets(st.tuples(st.just("s"), st.sampled_from("abc"))),
    st.booleans(),
)
REASONS = st.sampled_from([SHOWN, "disabled", "busy", "no_foreground_client", GONE])


@given(
    st.lists(SITUATIONS, min_size=1), st.lists(REASONS), st.frozensets(st.tuples(st.just("s"), st.just("a")))
)
def test_whatever_happens_it_ends_shows_at_most_one_and_then_knows_all_needs_as_said(
    situations: list[Situation], answers: list[str | Unknown], said: Needs
) -> None:
    played = Played(situations, chain(answers, repeat(SHOWN)))
    text, known = announce(played.world, said)
    answered = zip(played.told, chain(answers, repeat(SHOWN)), strict=False)
    shown = [told for told, answer in answered if answer == SHOWN]
    assert shown == [text] * bool(text)
    assert known <= said | (situations[-1].needs if text else frozenset())
    assert played.passed <= SEEN_LOOKS + SETTLE_LOOKS + QUIET_LOOKS


# -- on a real disk, with a socket ------------------------------------------------------------------------------


@dataclass
class Machine:
    """A home with a closed launcher whose run has not reported, and a herdr that shows what it is told."""

    home: Home
    address: Address
    notifications: list[dict[str, str]]

    @property
    def file(self) -> Path:
        return self.home.state / "announced" / "here.json"

    def announce(self) -> str:
        config = msgspec.structs.replace(self.home.config, interval=0.1)
        environment = {**self.home.environment, "HERDR_SOCKET_PATH": self.address.path}
        return announce_once(self.file, Herdr(self.address), config, environment)


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    notifications: list[dict[str, str]] = []

    def answer(connection: socket.socket) -> None:
        request = json.loads(connection.makefile("rb").readline())
        result: dict[str, object] = {"type": "pane_list", "panes": []}
        if request["method"] == "notification.show":
            notifications.append(request["params"])
            result = {"type": "notification_show", "shown": True, "reason": SHOWN}
        connection.sendall(json.dumps({"id": request["id"], "result": result}).encode() + b"\n")

    home = Home(tmp_path)
    home.session("boss", RUN)
    with short_directory() as directory:
        listener = Listener(directory / "h.sock", answer)
        yield Machine(home, Address(str(listener.path)), notifications)
        listener.stop()


def test_two_starts_in_a_row_show_one_notification(machine: Machine) -> None:
    assert machine.announce() == "1 needs you"
    assert machine.announce() == ""
    assert machine.notifications == [{"title": "1 needs you", "body": HINT}]
    machine.home.session("other", OTHER)
    assert machine.announce() == "2 need you"


def test_while_one_waits_another_leaves_at_once_and_lets_it_know(machine: Machine) -> None:
    guard = machine.file.with_suffix(".lock")
    guard.parent.mkdir(parents=True)
    waiting = Lock(guard)
    assert waiting.take()
    os.utime(guard, (0, 0))
    assert machine.announce() == ""
    assert machine.notifications == []
    assert guard.stat().st_mtime > 0
    waiting.release()
    assert machine.announce() == "1 needs you"


@pytest.mark.parametrize("content", ["", "{}", "[[1, 2]]", "[["])
def test_a_memory_that_cannot_be_read_says_it_again_and_is_mended(machine: Machine, content: str) -> None:
    machine.announce()
    machine.file.write_text(content)
    assert machine.announce() == "1 needs you"
    assert machine.announce() == ""


def test_what_is_kept_is_private(machine: Machine) -> None:
    machine.announce()
    kept = [machine.file.parent, *machine.file.parent.iterdir()]
    assert {path.name for path in kept} == {"announced", "here.json", "here.lock"}
    assert not any(path.stat().st_mode & 0o077 for path in kept)
