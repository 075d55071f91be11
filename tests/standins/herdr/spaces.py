"""The methods for workspaces, their tabs and git worktrees."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from standins.herdr import describe, worktrees
from standins.herdr.layout import Tab, Workspace
from standins.herdr.lookup import OK, Params, RefusedError, find_tab, find_workspace
from standins.herdr.session import Session


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


def layout_apply(session: Session, params: Params) -> dict[str, Any]:
    """A new tab of one pane, which runs `command` in place of a shell; herdr can do more with it."""
    layout, root = session.layout, params["root"]
    if layout.active is None:
        raise RefusedError("workspace_not_found", "no active workspace")
    tab = layout.add_tab(layout.active, params.get("tab_label"), params.get("focus", False))
    command = root.get("command") or ()
    pane = session.open(tab, root.get("cwd") or layout.active.cwd, True, root.get("env"), command)
    applied = {
        "workspace_id": layout.active.id,
        "tab_id": tab.id,
        "zoomed": False,
        "focused_pane_id": pane.id,
    }
    shown = describe.present(pane_id=pane.id, cwd=pane.cwd, command=list(command) or None)
    return {"type": "layout_apply", "layout": {**applied, "root": {"type": "pane", **shown}}}


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
