"""What a person may have done in herdr from the watched status: a pane brought to the front, a closed session opened."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Protocol

from strawboss.overview.seen import Seen, Watch
from strawboss.recovery.commands import Outcome, Result
from strawboss.recovery.evidence import Launcher, Pane, Panes
from strawboss.recovery.verdict import Unknown
from strawboss.resident.effects import Panes as Terminals
from strawboss.survey.bring_back import in_a_terminal
from strawboss.survey.terminals import pi_in

IN_NO_PANE = "it is in no pane of this herdr"
NOT_CLOSED = "it is not closed: only a closed launcher is opened"
IN_A_PANE = "it is in a pane already"


class Front(Terminals, Protocol):
    """herdr, as far as it shows something to its user."""

    def focus(self, pane_id: str) -> Result: ...
    def open_tab(self, directory: str, command: Sequence[str]) -> Result: ...


def focus(launcher: Launcher, herdr: Front) -> Result:
    """Bring the launcher's pane to the front; of several on its session the one in which pi runs."""
    panes = _panes_of(launcher, herdr.panes())
    if isinstance(panes, Unknown):
        return _failed(panes.why)
    if not panes:
        return _failed(IN_NO_PANE)
    return herdr.focus(min(panes, key=lambda pane: not isinstance(pi_in(pane.id, herdr), int)).id)


def reopen(seen: Seen, herdr: Front, environment: Mapping[str, str]) -> Result:
    """Open a closed launcher in a tab of its own; not where pi may have its session open by now."""
    if seen.watch is not Watch.CLOSED:
        return _failed(NOT_CLOSED)
    panes = _panes_of(seen.launcher, herdr.panes())
    if isinstance(panes, Unknown):
        return _failed(panes.why)
    # A pane that cannot tell may be about to start it.
    if any(pi_in(pane.id, herdr) is not None for pane in panes):
        return _failed(IN_A_PANE)
    return herdr.open_tab(seen.launcher.cwd, in_a_terminal(seen.launcher, environment))


def _panes_of(launcher: Launcher, panes: Panes | Unknown) -> list[Pane] | Unknown:
    if isinstance(panes, Unknown):
        return panes
    file = os.path.realpath(launcher.file)
    return [pane for pane in panes if pane.session == file]


def _failed(why: str) -> Result:
    return Result(Outcome.FAILED, why)
