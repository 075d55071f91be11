"""N processes that take and finish tasks until there are none: `stampede.py WORKERS KINDS LEASE LOG`.

Worker n can do what kind n modulo KINDS of the tasks needs. Each writes a line `pid task taken` when it has checked one
out, and `pid task stored` when its result is in.
Ends with 0 when every worker ended well or was killed from outside.
"""

from __future__ import annotations

import os
import random
import signal
import sys
import time

from sqlalchemy import func, select

from strawboss.wakeup.store import available, checkout, schema, tasks
from strawboss.wakeup.store.checkout import Conflict
from strawboss.wakeup.store.database import Database, open_database
from strawboss.wakeup.store.tasks import Status

UNFINISHED = select(func.count()).where(schema.tasks.c.status.in_([Status.OPEN, Status.IN_PROGRESS]))


def work(able: list[str], lease: float, log: int) -> None:
    database, candidates, now = open_database(), list[str](), 0.0
    while candidates or (candidates := look(database, able, now := database.now())) is not None:
        if not candidates:
            time.sleep(0.1)  # what is left is locked by others, who may be dead
            continue
        task = candidates.pop()
        with database.write() as connection:
            got = checkout.checkout(connection, task, "worker", able, str(os.getpid()), now, lease)
        if isinstance(got, Conflict):
            candidates = []  # others are at these too; look again
            continue
        note(log, task, "taken")
        with database.write() as connection:
            done = tasks.finish(connection, task, got.token, Status.COMPLETE, "", by="worker", now=now)
        if done:
            note(log, task, "stored")


def look(database: Database, able: list[str], now: float) -> list[str] | None:
    """What is available, in any order, as agents of different skill rank it. None: all have ended."""
    with database.read() as connection:
        _, candidates = available.available(connection, "worker", able, now)
        if not candidates and not connection.execute(UNFINISHED).scalar_one():
            return None
    return random.sample([task.id for task in candidates], len(candidates))


def note(log: int, task: str, what: str) -> None:
    os.write(log, f"{os.getpid()} {task} {what}\n".encode())


def main(workers: int, kinds: int, lease: float, path: str) -> int:
    open_database().close()  # what takes long to load is loaded once, before the fork
    log = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    children = [
        child for number in range(workers) if (child := spawn([f"kind {number % kinds}"], lease, log))
    ]
    codes = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
    return int(any(code not in (0, -signal.SIGKILL) for code in codes))


def spawn(able: list[str], lease: float, log: int) -> int:
    child = os.fork()
    if child == 0:
        try:
            work(able, lease, log)
            os._exit(0)
        except BaseException as error:
            os.write(2, f"{type(error).__name__}: {error}\n".encode())
            os._exit(1)
    return child


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3]), sys.argv[4]))
