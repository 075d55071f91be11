"""Who may be on a session, asked of the machine itself. Only what speaks of that session is told, nothing of the rest."""

from __future__ import annotations

import sys
from collections.abc import Iterator

from strawboss.machine import proc
from strawboss.machine.seen import Seen, holders, is_pi
from strawboss.recovery.evidence import Holders, Identity
from strawboss.recovery.verdict import Unknown

NO_LIST = "this machine's processes cannot be listed"


class ProcessList:
    """`platform`: `sys.platform`'s words. It is read anew whenever it is asked."""

    def __init__(self, platform: str = sys.platform) -> None:
        self._linux = platform == "linux"

    def holders(self, session_file: str, script: str) -> Holders | Unknown:
        """See `Holders`. `script`: the path of its launch or resume script, empty when there is none."""
        try:
            return holders(proc.processes() if self._linux else _processes(), session_file, script)
        except (OSError, ValueError, LookupError) as error:
            return _no_list(error)

    def identify(self, pid: int) -> Identity | Unknown | None:
        """What a pid means now; None when no living process has it."""
        try:
            return proc.identify(pid) if self._linux else _identify(pid)
        except (OSError, ValueError, LookupError) as error:
            return _no_list(error)


def _no_list(error: Exception) -> Unknown:
    return Unknown(f"{NO_LIST}: {getattr(error, 'strerror', None) or type(error).__name__}")


def _processes() -> Iterator[Seen]:
    import psutil  # only here: on Linux nothing needs it

    me = psutil.Process()
    for process in psutil.process_iter(["pid", "name", "username", "cmdline", "status"]):
        told = process.info
        if told["pid"] == me.pid or told["status"] == psutil.STATUS_ZOMBIE:
            continue
        argv = tuple(told["cmdline"]) if told["cmdline"] is not None else None
        name, mine = told["name"] or "", told["username"] == me.username()
        environment: dict[str, str] | None = {}
        if mine and is_pi(name, argv):
            try:
                environment = process.environ()
            except psutil.NoSuchProcess:
                continue
            except psutil.Error:
                environment = None
        yield Seen(told["pid"], name, mine, argv, environment)


def _identify(pid: int) -> Identity | Unknown | None:
    import psutil

    from strawboss.system.process_identity import boot_id

    try:
        process = psutil.Process(pid)
        if process.status() == psutil.STATUS_ZOMBIE:
            return None
        return Identity(pid, process.create_time() - (psutil.boot_time() if boot_id() else 0), boot_id())
    except psutil.NoSuchProcess:
        return None
    except psutil.Error as error:
        return Unknown(f"process {pid} may not be asked: {type(error).__name__}")
