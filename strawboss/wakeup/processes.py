"""Ending a process and everything it started, and nothing else: by identity, never by pid alone."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress

import psutil

from strawboss.system.process_identity import Liveness, ProcessIdentity, liveness

# Every process of a cycle carries this variable: a child that has left its parent is still found by it.
CYCLE_VARIABLE = "STRAWBOSS_CYCLE"
TERM_SECONDS = 2.0
KILL_SECONDS = 5.0


def tree(roots: Iterable[ProcessIdentity], cycle: str) -> list[psutil.Process]:
    """The living roots, all their descendants, and whatever else runs for `cycle`; ourselves excepted.

    A root whose identity is not certain is left out: whether that forbids the act is the caller's to judge.
    """
    found: dict[int, psutil.Process] = {process.pid: process for process in _marked(cycle)}
    for root in roots:
        if liveness(root) is Liveness.SAME:
            with suppress(psutil.Error):
                top = psutil.Process(root.pid)
                found |= {process.pid: process for process in (top, *top.children(recursive=True))}
    found.pop(psutil.Process().pid, None)
    return list(found.values())


def end_tree(roots: Iterable[ProcessIdentity], cycle: str, patience: float = TERM_SECONDS) -> bool:
    """SIGTERM, then SIGKILL after `patience` seconds, to the whole tree. False: something is, or may be, still alive.

    All of it or nothing: with a root that cannot be judged from here no signal is sent. psutil compares pid and start
    time before each signal, so a pid that was used again in between is spared.
    """
    roots = list(roots)
    if any(liveness(root) is Liveness.UNKNOWN for root in roots):
        return False
    _signal(tree(roots, cycle), "terminate", patience)
    # Again from the start: a process may have been born between listing and signal.
    for _ in range(3):
        left = tree(roots, cycle)
        if not left:
            return True
        _signal(left, "kill", KILL_SECONDS)
    return not tree(roots, cycle)


def end_at_once(identity: ProcessIdentity) -> bool:
    """SIGKILL to that very process, without a word to say or a hand to move before it. False: it may be alive."""
    if liveness(identity) is Liveness.SAME:
        with suppress(psutil.Error):
            _signal([psutil.Process(identity.pid)], "kill", KILL_SECONDS)
    return liveness(identity) in (Liveness.GONE, Liveness.OTHER)


def cpu_seconds(roots: Iterable[ProcessIdentity], cycle: str) -> float:
    """CPU time of the whole tree so far, with that of children that have ended."""
    return sum(map(_cpu, tree(roots, cycle)))


def _cpu(process: psutil.Process) -> float:
    try:
        return float(
            sum(process.cpu_times()[:4])
        )  # user, system, and both of its children that were waited for
    except psutil.Error:
        return 0.0


def _signal(processes: list[psutil.Process], how: str, patience: float) -> None:
    for process in processes:
        with suppress(psutil.Error):
            getattr(process, how)()
    psutil.wait_procs(processes, timeout=patience)


def _marked(cycle: str) -> list[psutil.Process]:
    return [process for process in psutil.process_iter() if _carries(process, cycle)]


def _carries(process: psutil.Process, cycle: str) -> bool:
    try:
        return process.environ().get(CYCLE_VARIABLE) == cycle and process.status() != psutil.STATUS_ZOMBIE
    except (psutil.Error, OSError):
        return False
