import json
import os
import signal
import subprocess
import sys

import pytest
from filelock import FileLock

from strawboss.heartbeat import turn
from strawboss.heartbeat.turn import turn_at

# Each sets up what it changes, then says which file its turn is at. Whoever opens, replaces or removes that file, or the
# one beside it that belongs to the same turn, without holding the lock is caught by the interpreter's own audit events.
WATCHED = """
import json, os, sys
from pathlib import Path
from datetime import datetime, timedelta, UTC
from filelock import FileLock, Timeout
from strawboss.heartbeat import inbox, occupancy, writer
from strawboss.heartbeat.authority import Claims
from strawboss.heartbeat.layout import Worktree
from strawboss.heartbeat.record import Beat
from strawboss.heartbeat.steer import compose

NOW = datetime.now(UTC)
tree = Worktree(Path(sys.argv[1]))
status, steers, lease = tree.status_directory, tree.steer_directory, tree.occupancy_file
child = tree.child_lease_file("leaf-7")
claims = Claims(None, "run-42", occupancy.NOBODY)
beat = Beat("leaf-7", "run-42", "starting", "x")
note = lambda number: compose("leaf-7", writer_id="run-42", kind="note", text="?", now=NOW, steer_id=f"s-{number}")
TURNS = {
    "write": (status / "leaf-7.json", lambda: writer.write(status, beat, NOW)),
    "renew": (status / "leaf-7.json", lambda: writer.renew(status, "leaf-7", NOW)),
    "leave": (steers / "leaf-7.json", lambda: inbox.leave(steers, note(2), NOW)),
    "collect": (steers / "leaf-7.json", lambda: inbox.collect(steers, "leaf-7", claims, NOW)),
    "acknowledge": (steers / "leaf-7.json", lambda: inbox.acknowledge(steers, "leaf-7", "s-2", claims, NOW)),
    "take": (lease, lambda: occupancy.take(tree, "session-1", "mutation", NOW)),
    "give back": (lease, lambda: occupancy.give_back(tree, "session-1", NOW)),
    "record child": (child, lambda: occupancy.record_child(tree, "leaf-7", "run-42", "run-42", "")),
}
writer.write(status, beat, NOW)
inbox.leave(steers, note(1), NOW)
occupancy.record_child(tree, "leaf-7", "run-41", "run-42", "")
occupancy.take(tree, "session-1", "mutation", NOW)

watched, seen, busy = None, [], False

def is_held():
    try:
        with FileLock(watched.with_name(f".{watched.stem}.lock"), timeout=0):
            return False
    except Timeout:
        return True

def listen(event, arguments):
    global busy
    if busy or watched is None or event not in ("open", "os.rename", "os.remove"):
        return
    names = [os.fspath(each) for each in arguments[:2] if isinstance(each, (str, os.PathLike))]
    own = {str(watched), str(watched.with_name(f".{watched.stem}.history")), str(watched.with_suffix(".ack.json"))}
    if own & set(names):
        busy = True
        seen.append((event, is_held()))
        busy = False

sys.addaudithook(listen)
found = {}
for name, (path, act) in TURNS.items():
    watched, seen = path, []
    act()
    watched = None
    found[name] = seen
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def watched(tmp_path_factory):
    """Of each that reads, decides and writes: what it did to its files, and whether it had its turn then."""
    command = [sys.executable, "-c", WATCHED, tmp_path_factory.mktemp("tree")]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


@pytest.mark.parametrize(
    ("who", "does"),
    [
        ("write", {"open", "os.rename"}),
        ("renew", {"open", "os.rename"}),
        ("leave", {"open", "os.rename"}),
        ("collect", {"open", "os.rename"}),
        ("acknowledge", {"open", "os.rename"}),
        ("take", {"open", "os.rename"}),
        ("give back", {"open", "os.remove"}),
        ("record child", {"open", "os.rename"}),
    ],
)
def test_whoever_reads_decides_and_writes_has_the_turn_from_the_first_look_to_the_last(watched, who, does):
    assert {event for event, _ in watched[who]} == does
    assert [event for event, held in watched[who] if not held] == []


HOLD = """
import sys
from pathlib import Path
from strawboss.heartbeat.turn import turn_at
with turn_at(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_one_at_a_time_and_the_next_after_it(tmp_path, mocker):
    mocker.patch.object(turn, "LONGEST_WAIT_SECONDS", 0.05)
    path = tmp_path / "a.json"
    with FileLock(tmp_path / ".a.lock"), pytest.raises(OSError, match="another has held it"), turn_at(path):
        pytest.fail("not its turn")
    with turn_at(path), turn_at(tmp_path / "b.json"):
        pass


def test_a_holder_that_is_killed_holds_it_no_longer(tmp_path):
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(tmp_path / "a.json")], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert process.stdout.readline() == b"held\n"
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    with turn_at(tmp_path / "a.json"):
        pass
