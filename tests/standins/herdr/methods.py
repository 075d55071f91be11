"""The methods of herdr's socket: one function each, in a table with the parameters it takes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from standins.herdr import describe, plugin_methods, spaces
from standins.herdr.agent import STATES
from standins.herdr.command import PROTOCOL, VERSION
from standins.herdr.layout import Pane
from standins.herdr.lookup import OK, Params, RefusedError, find_pane, find_workspace, live_pane
from standins.herdr.session import Session
from standins.herdr.terminal import KEYS, ROWS

Method = Callable[[Session, Params], dict[str, Any]]


def pane_info(session: Session, pane: Pane) -> dict[str, Any]:
    return {"type": "pane_info", "pane": describe.pane(pane, session.layout)}


def ping(session: Session, params: Params) -> dict[str, Any]:
    capabilities = {"live_handoff": True, "detached_server_daemon": False}
    return {"type": "pong", "version": VERSION, "protocol": PROTOCOL, "capabilities": capabilities}


def session_snapshot(session: Session, params: Params) -> dict[str, Any]:
    return {"type": "session_snapshot", "snapshot": describe.snapshot(session.layout, VERSION, PROTOCOL)}


def pane_list(session: Session, params: Params) -> dict[str, Any]:
    space = find_workspace(session, params) if params.get("workspace_id") else None
    panes = [pane for pane in session.layout.panes() if space is None or pane.tab.workspace is space]
    return {"type": "pane_list", "panes": [describe.pane(pane, session.layout) for pane in panes]}


def pane_get(session: Session, params: Params) -> dict[str, Any]:
    return pane_info(session, find_pane(session, params))


def _focused(session: Session) -> Pane:
    pane = session.layout.focused_pane()
    if pane is None:
        raise RefusedError("pane_not_found", "pane not found")
    return pane


def pane_current(session: Session, params: Params) -> dict[str, Any]:
    caller = params.get("caller_pane_id")
    pane = find_pane(session, {"pane_id": caller}) if caller else _focused(session)
    return {"type": "pane_current", "pane": describe.pane(pane, session.layout)}


def pane_process_info(session: Session, params: Params) -> dict[str, Any]:
    pane = session.layout.pane(params["pane_id"]) if params.get("pane_id") else _focused(session)
    if pane is None or pane.terminal is None:
        raise RefusedError("pane_not_found", "pane not found")
    return {"type": "pane_process_info", "process_info": describe.process_info(pane)}


def pane_close(session: Session, params: Params) -> dict[str, Any]:
    pane = find_pane(session, params)
    if _takes_worktree_parent(session, pane):
        raise RefusedError(
            "confirmation_required", "closing this pane closes a workspace with open worktrees"
        )
    session.close(pane)
    session.emit("pane_closed", pane_id=params["pane_id"], workspace_id=pane.tab.workspace.id)
    return OK


def _takes_worktree_parent(session: Session, pane: Pane) -> bool:
    space = pane.tab.workspace
    if (
        not space.worktree
        or space.worktree["is_linked_worktree"]
        or [pane.tab] != space.tabs
        or len(pane.tab.panes) > 1
    ):
        return False
    others = [other.worktree for other in session.layout.workspaces if other is not space and other.worktree]
    return any(other["repo_key"] == space.worktree["repo_key"] for other in others)


def pane_read(session: Session, params: Params) -> dict[str, Any]:
    pane = live_pane(session, params)
    assert pane.terminal
    visible = params["source"] in ("visible", "detection")
    count = min(params.get("lines") or (ROWS if visible else 80), ROWS if visible else 1000)
    read = {
        "pane_id": pane.id,
        "workspace_id": pane.tab.workspace.id,
        "tab_id": pane.tab.id,
        "source": params["source"],
        "format": params.get("format", "text"),
        "text": "\n".join(pane.terminal.lines(count)),
        "revision": 0,
        "truncated": False,
    }
    return {"type": "pane_read", "read": read}


def _bytes_of(keys: list[str]) -> str:
    unknown = [key for key in keys if key.lower() not in KEYS and len(key) != 1]
    if unknown:
        raise RefusedError("invalid_key", f"unknown key {unknown[0]}")
    return "".join(KEYS.get(key.lower(), key) for key in keys)


def pane_send(session: Session, params: Params) -> dict[str, Any]:
    keys = _bytes_of(params.get("keys") or [])
    pane = live_pane(session, params)
    assert pane.terminal
    pane.terminal.type((params.get("text") or "") + keys)
    return OK


def pane_rename(session: Session, params: Params) -> dict[str, Any]:
    pane = find_pane(session, params)
    pane.label = params.get("label") or None
    session.changed()
    return pane_info(session, pane)


def pane_split(session: Session, params: Params) -> dict[str, Any]:
    named = params.get("target_pane_id")
    beside = find_pane(session, {"pane_id": named}) if named else _focused(session)
    cwd = params.get("cwd") or beside.cwd
    return pane_info(session, session.open(beside.tab, cwd, params.get("focus", True), params.get("env")))


def pane_focus(session: Session, params: Params) -> dict[str, Any]:
    pane = find_pane(session, params)
    pane.tab.focused = pane
    session.look_at(pane.tab)
    return pane_info(session, pane)


def pane_report(method: str) -> Method:
    def report(session: Session, params: Params) -> dict[str, Any]:
        pane = find_pane(session, params)
        if params.get("state", "idle") not in STATES:
            raise RefusedError("invalid_request", f"invalid request: unknown variant `{params['state']}`")
        session.report(pane, method, params)
        return OK

    return report


def agent_list(session: Session, params: Params) -> dict[str, Any]:
    agents = [describe.agent(pane, session.layout) for pane in session.layout.panes() if pane.agent.label]
    return {"type": "agent_list", "agents": agents}


def agent_get(session: Session, params: Params) -> dict[str, Any]:
    pane = session.layout.pane(params["target"])
    if pane is None or pane.agent.label is None:
        raise RefusedError("agent_not_found", f"agent {params['target']} not found")
    return {"type": "agent_info", "agent": describe.agent(pane, session.layout)}


def server_stop(session: Session, params: Params) -> dict[str, Any]:
    session.stopping = True
    return OK


# Parameters: the ones that must be there, then the ones that may. `events.subscribe` is the server's own.
TEXT, FLAG = str, bool
PANE: dict[str, type] = {"pane_id": str}
PLUGIN: dict[str, type] = {"plugin_id": str}
REPORT: dict[str, type] = PANE | {"source": str, "agent": str}
SESSION: dict[str, type] = {"seq": int, "agent_session_id": str, "agent_session_path": str}
OPENING: dict[str, type] = {"cwd": TEXT, "label": TEXT, "focus": FLAG, "env": dict}
METHODS: dict[str, tuple[Method, dict[str, type], dict[str, type]]] = {
    "ping": (ping, {}, {}),
    "server.stop": (server_stop, {}, {}),
    "session.snapshot": (session_snapshot, {}, {}),
    "workspace.create": (spaces.workspace_create, {}, OPENING),
    "workspace.list": (spaces.workspace_list, {}, {}),
    "workspace.get": (spaces.workspace_get, {"workspace_id": TEXT}, {}),
    "workspace.focus": (spaces.workspace_focus, {"workspace_id": TEXT}, {}),
    "workspace.rename": (spaces.workspace_rename, {"workspace_id": TEXT, "label": TEXT}, {}),
    "workspace.close": (spaces.workspace_close, {"workspace_id": TEXT}, {}),
    "worktree.list": (spaces.worktree_list, {}, {"cwd": TEXT, "workspace_id": TEXT}),
    "worktree.create": (
        spaces.worktree_create,
        {"branch": TEXT},
        OPENING | {"workspace_id": TEXT, "base": TEXT, "path": TEXT},
    ),
    "worktree.remove": (spaces.worktree_remove, {"workspace_id": TEXT}, {"force": FLAG}),
    "tab.create": (spaces.tab_create, {}, OPENING | {"workspace_id": TEXT}),
    "tab.list": (spaces.tab_list, {}, {"workspace_id": TEXT}),
    "tab.get": (spaces.tab_get, {"tab_id": TEXT}, {}),
    "tab.focus": (spaces.tab_focus, {"tab_id": TEXT}, {}),
    "tab.rename": (spaces.tab_rename, {"tab_id": TEXT, "label": TEXT}, {}),
    "tab.close": (spaces.tab_close, {"tab_id": TEXT}, {}),
    "layout.apply": (spaces.layout_apply, {"root": dict}, {"tab_label": TEXT, "focus": FLAG}),
    "agent.list": (agent_list, {}, {}),
    "agent.get": (agent_get, {"target": TEXT}, {}),
    "pane.list": (pane_list, {}, {"workspace_id": TEXT}),
    "pane.current": (pane_current, {}, {"caller_pane_id": TEXT}),
    "pane.get": (pane_get, PANE, {}),
    "pane.focus": (pane_focus, PANE, {}),
    "pane.split": (
        pane_split,
        {},
        OPENING | {"target_pane_id": TEXT, "workspace_id": TEXT, "direction": TEXT, "ratio": float},
    ),
    "pane.rename": (pane_rename, PANE, {"label": TEXT}),
    "pane.send_text": (pane_send, PANE | {"text": TEXT}, {}),
    "pane.send_keys": (pane_send, PANE | {"keys": list}, {}),
    "pane.send_input": (pane_send, PANE, {"text": TEXT, "keys": list}),
    "pane.read": (pane_read, PANE | {"source": TEXT}, {"lines": int, "format": TEXT, "strip_ansi": FLAG}),
    "pane.process_info": (pane_process_info, {}, PANE),
    "pane.report_agent": (
        pane_report("pane.report_agent"),
        REPORT | {"state": TEXT},
        SESSION | {"message": TEXT},
    ),
    "pane.report_agent_session": (
        pane_report("pane.report_agent_session"),
        REPORT,
        SESSION | {"session_start_source": TEXT},
    ),
    "pane.close": (pane_close, PANE, {}),
    "plugin.list": (plugin_methods.plugin_list, {}, PLUGIN),
    "plugin.link": (plugin_methods.plugin_link, {"path": TEXT}, {}),
    "plugin.unlink": (plugin_methods.plugin_unlink, PLUGIN, {}),
    "plugin.action.list": (plugin_methods.plugin_action_list, {}, PLUGIN),
    "plugin.action.invoke": (plugin_methods.plugin_action_invoke, {"action_id": TEXT}, PLUGIN),
    "plugin.log.list": (plugin_methods.plugin_log_list, {}, PLUGIN),
    "plugin.pane.open": (
        plugin_methods.plugin_pane_open,
        PLUGIN | {"entrypoint": TEXT},
        {"placement": TEXT, "focus": FLAG},
    ),
    "popup.close": (plugin_methods.popup_close, {}, {}),
    "notification.show": (plugin_methods.notification_show, {"title": TEXT}, {"body": TEXT}),
}


def call(session: Session, method: str, params: Params) -> dict[str, Any]:
    """The result; raises RefusedError, with `invalid_request` for what does not fit the table."""
    if method not in METHODS:
        known = ", ".join(f"`{name}`" for name in METHODS)
        raise RefusedError(
            "invalid_request", f"invalid request: unknown variant `{method}`, expected one of {known}"
        )
    run, required, optional = METHODS[method]
    for name, kind in (required | optional).items():
        if params.get(name) is None and name in required:
            raise RefusedError("invalid_request", f"invalid request: missing field `{name}`")
        if params.get(name) is not None and not isinstance(params[name], kind):
            raise RefusedError("invalid_request", f"invalid request: invalid type of `{name}`")
    return run(session, params)
