from __future__ import annotations

from sqlalchemy import Connection

from strawboss.system.process_identity import ProcessIdentity
from strawboss.wakeup.store.cycles import begin, end, is_open, latest, note_command, place, unfinished

ME = ProcessIdentity(4711, 1_700_000_000.25, "b0075", "pid:[42]", "m1")
COMMAND = ProcessIdentity(4712, 1_700_000_001.5, "b0075", "pid:[42]", "m1")


def test_a_wake_up_comes_back_with_the_identity_of_its_process(connection: Connection) -> None:
    cycle = begin(connection, "writer", "desk", ME, 60.0, 5.0)
    assert unfinished(connection, "writer") == [cycle]
    assert (cycle.process, cycle.command, cycle.every, cycle.host) == (ME, None, 60.0, "desk")


def test_the_command_is_noted_while_it_runs(connection: Connection) -> None:
    cycle = begin(connection, "writer", "desk", ME, None, 5.0)
    note_command(connection, cycle.id, COMMAND)
    assert unfinished(connection, "writer")[0].command == COMMAND
    note_command(connection, cycle.id, None)
    assert unfinished(connection, "writer")[0].command is None


def test_a_wake_up_ends_once(connection: Connection) -> None:
    cycle = begin(connection, "writer", "desk", ME, None, 5.0)
    assert is_open(connection, cycle.id)
    assert end(connection, cycle.id, "ended", 6.0)
    assert not end(connection, cycle.id, "killed", 7.0)
    assert unfinished(connection, "writer") == []
    assert not is_open(connection, cycle.id)
    assert latest(connection)["writer"].outcome == "ended"


def test_the_latest_of_each_agent_is_the_one_that_began_last(connection: Connection) -> None:
    begin(connection, "writer", "desk", ME, None, 5.0)
    newest = begin(connection, "writer", "desk", ME, None, 9.0)
    other = begin(connection, "coder", "desk", ME, None, 1.0)
    assert latest(connection) == {"writer": newest, "coder": other}


def test_a_pid_means_something_in_its_boot_and_namespace_or_else_on_its_host() -> None:
    assert place("desk", "b0075", "pid:[42]") == "b0075/pid:[42]"
    assert place("desk", "", "") == "desk/"
