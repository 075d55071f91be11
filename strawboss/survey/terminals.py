"""herdr, asked once for all launchers, and never waited for longer than a second in all."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

from strawboss.herdr.address import Address
from strawboss.herdr.client import Herdr
from strawboss.herdr.wire import Timeouts
from strawboss.recovery.commands import Outcome, Result
from strawboss.recovery.evidence import Panes, Processes
from strawboss.recovery.facts import is_pi
from strawboss.recovery.verdict import Unknown
from strawboss.resident.effects import Panes as Terminals

T = TypeVar("T")

ONE_CALL = Timeouts(connect=0.2, total=0.4)  # seconds
ALL_CALLS_SECONDS = 0.6  # after which none is begun
TOO_SLOW = Unknown("herdr answers too slowly to be asked more")


def pi_in(pane_id: str, terminals: Terminals) -> int | Unknown | None:
    """The pid of the pi in its foreground."""
    processes = terminals.process_info(pane_id)
    if isinstance(processes, Unknown):
        return processes
    return next((one.pid for one in processes if is_pi(one)), None)


class SharedTerminals:
    """`address`: Unknown where herdr cannot be looked for."""

    def __init__(
        self,
        address: Address | Unknown,
        resolve: Callable[[str], str],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._herdr = (
            address if isinstance(address, Unknown) else Herdr(address, resolve=resolve, timeouts=ONE_CALL)
        )
        self._panes: Panes | Unknown | None = None
        self._clock, self._spent = clock, 0.0

    def panes(self) -> Panes | Unknown:
        """The same list for everybody."""
        if self._panes is None:
            self._panes = self._ask(lambda herdr: herdr.panes())
        return self._panes

    def process_info(self, pane_id: str) -> Processes | Unknown:
        return self._ask(lambda herdr: herdr.process_info(pane_id))

    def close(self, _pane_id: str) -> Result:
        return Result(Outcome.FAILED, "nothing is closed from outside")

    def _ask(self, question: Callable[[Herdr], T | Unknown]) -> T | Unknown:
        if isinstance(self._herdr, Unknown):
            return self._herdr
        if self._spent >= ALL_CALLS_SECONDS:
            return TOO_SLOW
        began = self._clock()
        answer = question(self._herdr)
        self._spent += self._clock() - began
        return answer
