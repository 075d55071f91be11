"""Hostile surroundings: the real process among neighbours that break at any step. Nothing is done on Unknown, nothing
twice, and once the world has healed everything is done that should have been."""

from __future__ import annotations

import json
import os
import socket
import tempfile
from collections.abc import Callable, Iterator
from itertools import count, cycle
from pathlib import Path
from typing import Any

import psutil
import pytest
from e2e.stranded import DONE, LAUNCHERS_PANE, RESTORED, Step, World, pane
from process_driver import SESSION
from runs.written import header, message, text
from standins.herdr.listener import Behaviour, answering, silent
from standins.intercom import Fault

HOSTILE_NAME = "'; rm -rf ~ #"
WRONG_ID = b'{"id":"strawboss:999","result":{"type":"pane_list","panes":[]}}\n'


def saying(**reply: Any) -> Behaviour:
    """A whole reply to just this request, whatever it asked for."""

    def behave(connection: socket.socket) -> None:
        request = json.loads(connection.makefile("rb").readline())
        connection.sendall(json.dumps({"id": request["id"], **reply}).encode() + b"\n")

    return behave


@pytest.fixture
def directory() -> Iterator[Path]:
    """Short, for sockets lie in it."""
    with tempfile.TemporaryDirectory(prefix="sb-", dir="/tmp") as made:
        yield Path(made)


def assert_recovered_once(world: World) -> None:
    assert world.keys() == ["seen", "closing", "resumed"]
    assert world.closes() == 1
    assert len(world.messages()) == 1
    assert world.sends() == 0


# -- herdr -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [RESTORED, DONE])
@pytest.mark.parametrize(
    "behave",
    [
        answering(b"garbage\n"),
        answering(b'{"id":"strawboss:1","resu'),
        answering(),
        answering(WRONG_ID),
        saying(result={"type": "pane_list"}),
        saying(result={"type": "pane_list", "panes": [{"pane_id": "w1:p3"}]}),
        saying(error={"code": "overloaded", "message": "\x1b[2J"}),
    ],
    ids=["garbage", "half a line", "nothing", "another's reply", "no list", "half a pane", "error"],
)
def test_a_herdr_that_answers_nonsense_is_unknown_and_nothing_is_lost_by_it(
    directory: Path, kind: str, behave: Behaviour
) -> None:
    with World(directory, kind) as world:
        world.broken = behave
        with world.pi() as pi:
            pi.starts().looks(4)
            assert world.is_untouched()
            world.broken = None
            world.wait_for(world.is_recovered)
            pi.looks(2)
    assert (world.closes(), len(world.messages()), world.sends()) == (
        (1, 1, 0) if kind == RESTORED else (0, 0, 1)
    )


def test_a_herdr_that_hangs_is_unknown(directory: Path) -> None:
    with World(directory, RESTORED) as world:
        world.broken = silent
        with world.pi() as pi:
            pi.starts().looks(1)
            assert world.is_untouched()
            world.broken = None
            world.wait_for(world.is_recovered)
    assert_recovered_once(world)


def test_a_herdr_that_is_not_there_is_unknown_until_it_is(directory: Path) -> None:
    with World(directory, RESTORED) as world:
        world.stop_herdr()
        with world.pi() as pi:
            pi.starts().looks(10)  # more than a run without a pane is given
            assert world.is_untouched()
            world.start_herdr()
            world.wait_for(world.is_recovered)
    assert_recovered_once(world)


@pytest.mark.parametrize(
    "reply", [b"", b"garbage\n", b'{"id":"strawboss'], ids=["nothing", "garbage", "half"]
)
def test_a_herdr_that_closes_the_pane_and_loses_its_reply_is_not_asked_again(
    directory: Path, reply: bytes
) -> None:
    with World(directory, RESTORED) as world, world.pi() as pi:
        world.spoiled = {"pane.close": reply}
        pi.starts()
        world.wait_for(world.is_recovered)
        pi.looks(3)
    assert_recovered_once(world)


# -- the broker ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("fault", [Fault.LOSE, Fault.DROP, Fault.HALF, Fault.GARBAGE])
def test_a_broker_that_goes_in_the_middle_of_a_send_is_one_warning_and_no_second_send(
    directory: Path, fault: Fault
) -> None:
    with World(directory, DONE) as world:
        world.broker.faults["send"] = fault
        with world.pi() as pi:
            pi.starts()
            world.wait_for(world.is_recovered)
            pi.looks(4)
            assert len(pi.notices()) == 1
            assert "does not know whether" in pi.notices()[0]
        world.broker.faults.clear()
        with world.pi() as pi:
            pi.starts().looks(4)
            assert pi.notices() == []
    assert world.keys() == ["seen", "nudged"]
    assert world.sends() == 1


def test_without_a_broker_nobody_is_asked_until_there_is_one(directory: Path) -> None:
    with World(directory, DONE) as world:
        world.broker.faults["register"] = Fault.LOSE
        with world.pi() as pi:
            pi.starts().looks(6)
            assert world.is_untouched()
            world.broker.faults.clear()
            world.wait_for(world.is_recovered)
            pi.looks(2)
    assert world.sends() == 1


# -- pi quits --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("does_its_last", [True, False], ids=["done", "not done"])
@pytest.mark.parametrize("kind", [RESTORED, DONE])
def test_wherever_pi_quits_the_next_one_brings_it_to_its_end_and_nothing_happens_twice(
    kind: str, does_its_last: bool
) -> None:
    """After every single thing the process asks of anybody (pi, herdr, the broker); what pi is asked it then does last,
    or leaves undone."""
    quits = []
    for number in count(1):
        with tempfile.TemporaryDirectory(prefix="sb-", dir="/tmp") as made:
            step = quit_at(number, Path(made), kind, does_its_last)
        if step is None:
            break
        quits.append(step)
    assert {("pi", "registry.read"), ("pi", "session.append")} <= set(quits)
    assert does_its_last == (("herdr", "pane.process_info") in quits)


def quit_at(number: int, directory: Path, kind: str, does_its_last: bool) -> Step | None:
    """The step at which pi quit, if there were so many before the run was recovered."""
    with World(directory, kind) as world:
        with world.pi() as pi:
            left = iter(range(number - 1))
            quits: list[Step] = []

            def quit_now(step: Step) -> None:
                counts = not quits and (does_its_last or step[0] == "pi")
                if counts and next(left, None) is None:
                    quits.append(step)
                    pi.quit(does_its_last)

            world.meanwhile = quit_now
            pi.starts()
            world.wait_for(lambda: quits or world.is_recovered())
        if not quits:
            return None
        assert pi.process.returncode == 0, quits
        with world.pi() as next_pi:
            next_pi.starts()
            world.wait_for(world.is_recovered)
            next_pi.looks(2)
        assert next_pi.errors == pi.errors == ""
    judge(world, kind, quits[0])
    return quits[0]


def judge(world: World, kind: str, quit_at: Step) -> None:
    """Exactly once; only a question whose key was written may have been lost with the process that wrote it."""
    if kind == DONE:
        assert world.keys() == ["seen", "nudged"], quit_at
        assert world.sends() <= 1, quit_at
        assert (world.closes(), world.messages()) == (0, []), quit_at
    else:
        keys = world.keys()
        assert keys.count("closing") - keys.count("unclosed") == 1, quit_at
        assert keys.count("resumed") == 1, quit_at
        assert (world.closes(), len(world.messages()), world.sends()) == (1, 1, 0), quit_at


# -- the session -----------------------------------------------------------------------------------------------


def truncated(file: Path) -> None:
    os.truncate(file, file.read_bytes().index(b'{"type":"custom"'))


def emptied(file: Path) -> None:
    os.truncate(file, 0)


def gone(file: Path) -> None:
    file.unlink()


def replaced(file: Path) -> None:
    other = file.with_suffix(".new")
    other.write_bytes(text(header(SESSION), message("user", content="hello")))
    other.replace(file)


def another_sessions(file: Path) -> None:
    file.write_bytes(file.read_bytes().replace(SESSION.encode(), b"b" * len(SESSION)))


@pytest.mark.parametrize("damage", [truncated, emptied, gone, replaced, another_sessions])
def test_a_session_file_that_changes_under_it_is_unknown(
    directory: Path, damage: Callable[[Path], None]
) -> None:
    """Between the first look, which has found the run, and the second, which would act."""
    with World(directory, RESTORED) as world:
        whole = world.file.read_bytes()

        def damage_once(step: Step) -> None:
            if step == ("pi", "ui.status"):
                world.meanwhile = lambda _: None
                damage(world.file)

        world.meanwhile = damage_once
        with world.pi() as pi:
            pi.starts().looks(4)
            assert (world.closes(), world.sends(), pi.count("session.tell")) == (0, 0, 0)
            assert pi.count("session.append") == 0
            assert "the transcript can be read: unknown" in pi.status_with("transcript").lower()
            world.file.write_bytes(whole)
            world.wait_for(world.is_recovered)
    assert_recovered_once(world)


def test_two_pis_on_one_session_are_one_that_acts(directory: Path) -> None:
    with World(directory, RESTORED) as world, world.pi() as first, world.pi() as second:
        first.starts()
        second.starts()
        world.wait_for(world.is_recovered)
        acting = first if first.count("session.tell") else second
        other = second if acting is first else first
        other.status_with("stands by")
        acting.looks(3)
        assert len(other.notices()) == 1
        assert other.count("session.append") == 0
    assert_recovered_once(world)


def test_a_pane_of_a_second_pi_on_the_session_stops_everything_with_one_warning(directory: Path) -> None:
    with World(directory, RESTORED) as world:
        world.panes["w1:p9"] = pane("w1:p9", world.file, "term_9")
        with world.pi() as pi:
            pi.starts().looks(4)
            assert world.is_untouched()
            assert len(pi.notices()) == 1
            assert f"{LAUNCHERS_PANE}, w1:p9" in pi.notices()[0]


# -- names -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [RESTORED, DONE])
@pytest.mark.parametrize(
    "name", [HOSTILE_NAME, "$(touch /tmp/x)\n# Session: /etc/passwd", "\x1b]0;owned\x07"]
)
def test_a_name_is_data_wherever_it_goes(directory: Path, kind: str, name: str) -> None:
    with World(directory, kind, name) as world, world.pi() as pi:
        pi.starts()
        if "\n" in name:
            pi.looks(3)
            assert world.is_untouched()  # such a script does not name its run
            return
        world.wait_for(world.is_recovered)
    for said in [*world.messages(), *pi.notices()]:
        assert said.replace("\n", "").isprintable()
        assert json.dumps(name)[1:-1] in said


# -- many looks ------------------------------------------------------------------------------------------------


def test_a_thousand_broken_looks_leave_no_descriptor_no_process_and_no_key(directory: Path) -> None:
    herdr = cycle([answering(b"garbage\n"), answering(b'{"id"'), answering(), answering(WRONG_ID)])
    broker = cycle([Fault.LOSE, Fault.HALF, Fault.GARBAGE, Fault.OVERSIZE, None])
    with World(directory, DONE) as world, world.pi() as pi:
        process = psutil.Process(pi.process.pid)
        for number in range(1000):
            fault = next(broker)
            world.broker.faults = {"list": fault} if fault else {}
            world.broken = next(herdr)
            pi.starts()  # every session start looks at once
            world.wait_for_steps(("herdr", "broken"), number + 1)
            if number == 20:
                # A session's log is opened by its first line, which the end of the first look writes.
                world.wait_for(lambda: any("/logs/" in file.path for file in process.open_files()))
                settled = process.num_fds()
        world.wait_for(lambda: process.num_fds() <= settled)  # between two looks; a leak would stay
        assert process.children() == []
        assert process.num_threads() == 1
        assert world.is_untouched()
        assert pi.notices() == []
