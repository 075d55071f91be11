"""`strawboss run`, typed by a person. What it does for the extension: tests/resident/test_process.py."""

from __future__ import annotations

import subprocess
import sys

import pexpect


def test_in_a_terminal_it_says_in_one_line_who_starts_it() -> None:
    child = pexpect.spawn(
        sys.executable, ["-m", "strawboss", "run"], encoding="utf-8", timeout=20, dimensions=(24, 200)
    )
    child.expect(pexpect.EOF)
    child.close()
    assert child.exitstatus == 2
    assert child.before.strip().splitlines() == [
        "strawboss run: the extension inside pi starts this; run `strawboss install` and then pi"
    ]


def test_with_nobody_at_the_other_end_it_ends_at_once() -> None:
    done = subprocess.run(
        [sys.executable, "-P", "-m", "strawboss", "run"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=20,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
