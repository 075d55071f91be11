"""What a request names: found, or refused with herdr's error code."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from standins.herdr.layout import Pane, Tab, Workspace

if TYPE_CHECKING:
    from standins.herdr.session import Session

Params = dict[str, Any]
OK = {"type": "ok"}


class RefusedError(Exception):
    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code, self.message = code, message


def find_pane(session: Session, params: Params) -> Pane:
    pane = session.layout.pane(params["pane_id"])
    if pane is None:
        raise RefusedError("pane_not_found", f"pane {params['pane_id']} not found")
    return pane


def live_pane(session: Session, params: Params) -> Pane:
    """A pane that has its terminal; one still waiting for its resume has none."""
    pane = find_pane(session, params)
    if pane.terminal is None:
        raise RefusedError("pane_not_found", "pane not found")
    return pane


def find_workspace(session: Session, params: Params) -> Workspace:
    space = session.layout.workspace(params["workspace_id"])
    if space is None:
        raise RefusedError("workspace_not_found", f"workspace {params['workspace_id']} not found")
    return space


def find_tab(session: Session, params: Params) -> Tab:
    tab = session.layout.tab(params["tab_id"])
    if tab is None:
        raise RefusedError("tab_not_found", f"tab {params['tab_id']} not found")
    return tab
