from __future__ import annotations

from sqlalchemy import Connection

from strawboss.system.process_identity import ProcessIdentity
from strawboss.wakeup.store.cycles import begin, end, latest, note_command, unfinished

ME = ProcessIdentity(4711, 1_700_000_000.25, "b0075")
COMMAND = ProcessIdentity(4712, 1_700_000_001.5, "b0075")


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
    assert end(connection, cycle.id, "ended", 6.0)
    assert not end(connection, cycle.id, "killed", 7.0)
    assert unfinished(connection, "writer") == []
    assert latest(connection)["writer"].outcome == "ended"


def test_the_latest_of_each_agent_is_the_one_that_began_last(connection: Connection) -> None:
    newest = begin(connection, "writer", "desk", ME, None, 9.0)
    begin(connection, "writer", "desk", ME, None, 5.0)
    other = begin(connection, "coder", "desk", ME, None, 1.0)
    assert latest(connection) == {"writer": newest, "coder": other}
