"""A process that runs strawboss commands, one batch a line: each begins after a pause and is answered with its times.

A line is `{"cwd": …, "commands": [[pause in microseconds, [argument, …]], …]}`, the answer a list of
`[begun, ended, exit code, stdout, stderr]` with times in nanoseconds of the machine's one monotonic clock.
"""

from __future__ import annotations

import json
import os
import sys
import time

from heartbeat.commands import run


def answer(pause: int, arguments: list[str]) -> list[object]:
    until = time.monotonic_ns() + pause * 1000
    while time.monotonic_ns() < until:  # a sleep this short would last as long as the system likes
        pass
    begun = time.monotonic_ns()
    ran = run(*arguments)
    return [begun, time.monotonic_ns(), ran.code, ran.out, ran.err]


def main() -> None:
    # What survives a power cut is not what interleaves here, and waiting for the disk would be most of the time.
    os.fsync = lambda _descriptor: None
    for line in sys.stdin:
        batch = json.loads(line)
        os.chdir(batch["cwd"])
        sys.stdout.write(json.dumps([answer(*command) for command in batch["commands"]]) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
