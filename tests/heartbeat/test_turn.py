import os
import signal
import subprocess
import sys

import pytest
from filelock import FileLock

from strawboss.heartbeat import turn
from strawboss.heartbeat.turn import turn_at

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
