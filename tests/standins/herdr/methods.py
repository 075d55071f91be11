"""The methods of herdr's socket: one function each, in a table with the parameters it takes."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from standins.herdr import describe, worktrees
from standins.herdr.agent import STATES
from standins.herdr.layout import Pane, Tab, Workspace
from standins.herdr.session import Session
from standins.herdr.terminal import KEYS, ROWS

VERSION, PROTOCOL = "0.8.0", 20
Params = dict[str, Any]
Method = Callable[[Session, Params], dict[str, Any]]
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


def tab_create(session: Session, params: Params) -> dict[str, Any]:
    layout = session.layout
    space = find_workspace(session, params) if params.get("workspace_id") else layout.active
    if space is None:
        raise RefusedError("workspace_not_found", "no workspace")
    tab = layout.add_tab(space, params.get("label"), params.get("focus", True))
    pane = session.open(tab, params.get("cwd") or space.cwd, True, params.get("env"))
    return {"type": "tab_created", "tab": describe.tab(tab, layout), "root_pane": describe.pane(pane, layout)}


def tab_list(session: Session, params: Params) -> dict[str, Any]:
    spaces = [find_workspace(session, params)] if params.get("workspace_id") else session.layout.workspaces
    tabs = [describe.tab(tab, session.layout) for space in spaces for tab in space.tabs]
    return {"type": "tab_list", "tabs": tabs}


def tab_info(session: Session, tab: Tab) -> dict[str, Any]:
    return {"type": "tab_info", "tab": describe.tab(tab, session.layout)}


def tab_get(session: Session, params: Params) -> dict[str, Any]:
    return tab_info(session, find_tab(session, params))


def tab_rename(session: Session, params: Params) -> dict[str, Any]:
    tab = find_tab(session, params)
    tab.label = params["label"]
    session.changed()
    return tab_info(session, tab)


def tab_focus(session: Session, params: Params) -> dict[str, Any]:
    tab = find_tab(session, params)
    session.look_at(tab)
    return tab_info(session, tab)


def tab_close(session: Session, params: Params) -> dict[str, Any]:
    for pane in list(find_tab(session, params).panes):
        session.close(pane)
    return OK


def workspace_create(session: Session, params: Params) -> dict[str, Any]:
    cwd = params.get("cwd") or os.environ.get("HOME", "/")
    return {"type": "workspace_created", **_new_workspace(session, cwd, params.get("label"), params)}


def _new_workspace(session: Session, cwd: str, label: str | None, params: Params) -> dict[str, Any]:
    layout = session.layout
    space = layout.add_workspace(cwd, label or Path(cwd).name or cwd, params.get("focus", True))
    tab = layout.add_tab(space, None, True)
    pane = session.open(tab, cwd, True, params.get("env"))
    session.emit("workspace_created", workspace=describe.workspace(space, layout))
    return {
        "workspace": describe.workspace(space, layout),
        "tab": describe.tab(tab, layout),
        "root_pane": describe.pane(pane, layout),
    }


def workspace_list(session: Session, params: Params) -> dict[str, Any]:
    spaces = [describe.workspace(space, session.layout) for space in session.layout.workspaces]
    return {"type": "workspace_list", "workspaces": spaces}


def workspace_info(session: Session, space: Workspace) -> dict[str, Any]:
    return {"type": "workspace_info", "workspace": describe.workspace(space, session.layout)}


def workspace_get(session: Session, params: Params) -> dict[str, Any]:
    return workspace_info(session, find_workspace(session, params))


def workspace_rename(session: Session, params: Params) -> dict[str, Any]:
    space = find_workspace(session, params)
    space.label = params["label"]
    session.changed()
    return workspace_info(session, space)


def workspace_focus(session: Session, params: Params) -> dict[str, Any]:
    space = find_workspace(session, params)
    if space.active:
        session.look_at(space.active)
    return workspace_info(session, space)


def workspace_close(session: Session, params: Params) -> dict[str, Any]:
    for tab in list(find_workspace(session, params).tabs):
        for pane in list(tab.panes):
            session.close(pane)
    return OK


def _repository(session: Session, params: Params) -> str:
    try:
        return worktrees.repository(params.get("cwd") or find_workspace(session, params).cwd)
    except worktrees.GitError as error:
        raise RefusedError("internal_error", str(error)) from error


def worktree_create(session: Session, params: Params) -> dict[str, Any]:
    root, branch = _repository(session, params), params["branch"]
    home = os.environ.get("HOME", "/")
    path = params.get("path") or f"{home}/.herdr/worktrees/{Path(root).name}/{branch}"
    try:
        worktrees.add(root, branch, params.get("base"), path)
    except worktrees.GitError as error:
        raise RefusedError("internal_error", str(error)) from error
    made = _new_workspace(session, path, params.get("label") or branch, params)
    _join_group(session, root, made["workspace"]["workspace_id"], path)
    space = session.layout.workspace(made["workspace"]["workspace_id"])
    assert space
    listed = next(one for one in _worktrees(session, root) if one.get("branch") == branch)
    return {
        "type": "worktree_created",
        **made,
        "workspace": describe.workspace(space, session.layout),
        "worktree": listed,
    }


def _join_group(session: Session, root: str, linked: str, path: str) -> None:
    for space in session.layout.workspaces:
        if space.id == linked:
            space.worktree = worktrees.membership(root, path)
        elif space.cwd == root:
            space.worktree = worktrees.membership(root, root)


def _worktrees(session: Session, root: str) -> list[dict[str, Any]]:
    spaces = {s.worktree["checkout_path"]: s.id for s in session.layout.workspaces if s.worktree}
    return [
        one | describe.present(open_workspace_id=spaces.get(one["path"])) for one in worktrees.listed(root)
    ]


def worktree_list(session: Session, params: Params) -> dict[str, Any]:
    return {"type": "worktree_list", "worktrees": _worktrees(session, _repository(session, params))}


def worktree_remove(session: Session, params: Params) -> dict[str, Any]:
    space = find_workspace(session, params)
    if not space.worktree or not space.worktree["is_linked_worktree"]:
        raise RefusedError("invalid_request", f"workspace {space.id} is no linked worktree")
    force = ["--force"] if params.get("force") else []
    try:
        worktrees.git(space.worktree["repo_root"], "worktree", "remove", *force, space.cwd)
    except worktrees.GitError as error:
        raise RefusedError("internal_error", str(error)) from error
    workspace_close(session, params)
    return {"type": "worktree_removed", "workspace_id": space.id, "path": space.cwd, "forced": bool(force)}


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
PANE, TEXT, FLAG = {"pane_id": str}, str, bool
REPORT = PANE | {"source": str, "agent": str}
SESSION = {"seq": int, "agent_session_id": str, "agent_session_path": str}
OPENING = {"cwd": TEXT, "label": TEXT, "focus": FLAG, "env": dict}
METHODS: dict[str, tuple[Method, dict[str, type], dict[str, type]]] = {
    "ping": (ping, {}, {}),
    "server.stop": (server_stop, {}, {}),
    "session.snapshot": (session_snapshot, {}, {}),
    "workspace.create": (workspace_create, {}, OPENING),
    "workspace.list": (workspace_list, {}, {}),
    "workspace.get": (workspace_get, {"workspace_id": TEXT}, {}),
    "workspace.focus": (workspace_focus, {"workspace_id": TEXT}, {}),
    "workspace.rename": (workspace_rename, {"workspace_id": TEXT, "label": TEXT}, {}),
    "workspace.close": (workspace_close, {"workspace_id": TEXT}, {}),
    "worktree.list": (worktree_list, {}, {"cwd": TEXT, "workspace_id": TEXT}),
    "worktree.create": (
        worktree_create,
        {"branch": TEXT},
        OPENING | {"workspace_id": TEXT, "base": TEXT, "path": TEXT},
    ),
    "worktree.remove": (worktree_remove, {"workspace_id": TEXT}, {"force": FLAG}),
    "tab.create": (tab_create, {}, OPENING | {"workspace_id": TEXT}),
    "tab.list": (tab_list, {}, {"workspace_id": TEXT}),
    "tab.get": (tab_get, {"tab_id": TEXT}, {}),
    "tab.focus": (tab_focus, {"tab_id": TEXT}, {}),
    "tab.rename": (tab_rename, {"tab_id": TEXT, "label": TEXT}, {}),
    "tab.close": (tab_close, {"tab_id": TEXT}, {}),
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
