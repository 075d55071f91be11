from __future__ import annotations

import subprocess
from pathlib import Path

import psutil
import pytest

from strawboss.pi.wrapper import stays_in_front


def command(folder: Path, text: str, name: str = "pi") -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


HANDS_OVER = {
    "sh": '#!/bin/sh\nPATH="/x:$PATH" exec node "/x/pi" "$@"\n',
    "bash": '#!/usr/bin/env bash\nif [ -x /n ]; then exec /n "$@"; else exec node "$@"; fi\n',
    "ruby": '#!/usr/bin/env ruby\nexec("pi-real", *ARGV)\n',
    "python": "#!/usr/bin/python3\nimport os, sys\nos.execvp('pi-real', sys.argv)\n",
    "node": "#!/usr/bin/env node\nprocess.execve('/real/pi', process.argv) // not child_process\n",
    "pi in one file": "#!/usr/bin/env node\nimport './main.js'\n",
    "large bundle": "#!/usr/bin/env node\nrequire('child_process')\n" + "x" * 300_000,
    "program": "\x7fELF",
    "empty": "",
}
STAYS = {
    "sh": ('#!/bin/sh\nnode /x/pi "$@"\n', "sh"),
    "bash with flags": ('#!/usr/bin/env -S bash -e\n"$real" "$@"\n', "bash"),
    "exec in a comment": ('#!/bin/sh\n# exec would be better\nnode /x/pi "$@"\n', "sh"),
    "exec of nothing": ('#!/bin/sh\nexec 2>/dev/null\nnode /x/pi "$@"\n', "sh"),
    "ruby": ('#!/usr/bin/ruby\nsystem("pi-real", *ARGV)\n', "ruby"),
    "python": ("#!/usr/bin/env python3\nimport subprocess\nsubprocess.run(['pi-real'])\n", "python3"),
    "node": ("#!/usr/bin/env node\nrequire('child_process').spawnSync('pi-real')\n", "node"),
}


@pytest.mark.parametrize("text", HANDS_OVER.values(), ids=HANDS_OVER)
def test_a_command_that_becomes_pi_or_is_pi_does_not_stay(tmp_path: Path, text: str) -> None:
    assert stays_in_front(command(tmp_path, text)) == ""


@pytest.mark.parametrize(("text", "interpreter"), STAYS.values(), ids=STAYS)
def test_a_script_that_starts_pi_as_its_child_stays(tmp_path: Path, text: str, interpreter: str) -> None:
    found = stays_in_front(command(tmp_path, text))
    assert found == f"a {interpreter} script that starts pi without exec"


def test_a_link_to_a_shim_that_is_known_to_stay_is_told(tmp_path: Path) -> None:
    (tmp_path / "pi").symlink_to(command(tmp_path, "\x7fELF", "volta-shim"))
    assert stays_in_front(tmp_path / "pi") == "volta-shim, which starts the real pi as its child"


def test_pis_own_entry_may_start_what_it_likes(tmp_path: Path) -> None:
    entry = command(
        tmp_path, "#!/usr/bin/env node\nrequire('child_process')\n", "lib/pi-coding-agent/dist/cli.js"
    )
    (tmp_path / "pi").symlink_to(entry)
    assert stays_in_front(tmp_path / "pi") == ""


def test_what_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        stays_in_front(tmp_path / "pi")


@pytest.mark.parametrize(("script", "stays"), [("exec cat", False), ("cat", True), ("exec 3>&1; cat", True)])
def test_a_real_shell_agrees(tmp_path: Path, script: str, stays: bool) -> None:
    """What becomes of the shell is what it runs at last: the process that was started is `cat`, or still the shell."""
    path = command(tmp_path, f"#!/bin/bash\necho\n{script}\n")
    with subprocess.Popen([path], stdin=-1, stdout=-1) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(b"x\n")
        process.stdin.flush()
        process.stdout.readline()
        process.stdout.readline()  # the copy of it: cat runs
        running = psutil.Process(process.pid).exe()
    assert running.endswith("bash") is stays
    assert (stays_in_front(path) != "") is stays
