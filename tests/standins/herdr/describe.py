"""Panes, tabs, workspaces and agents as herdr describes them in its replies. What is None is left out."""

from __future__ import annotations

from typing import Any

from standins.herdr import processes
from standins.herdr.layout import Layout, Pane, Tab, Workspace
from standins.herdr.terminal import ROWS

ROLLUP = ("blocked", "working", "done", "idle", "unknown")


def present(**fields: Any) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}


def pane(one: Pane, layout: Layout) -> dict[str, Any]:
    return present(
        pane_id=one.id,
        terminal_id=one.terminal_id,
        workspace_id=one.tab.workspace.id,
        tab_id=one.tab.id,
        focused=layout.focused_pane() is one,
        **_directories(one),
        label=one.label,
        agent=one.agent.label,
        **_titles(one),
        agent_status=one.agent.status,
        agent_session=one.agent.session,
        scroll=_scroll(one),
        revision=1 if _titles(one) else 0,
    )


def _directories(one: Pane) -> dict[str, str | None]:
    if one.terminal is None:
        return {"cwd": one.cwd}
    shell = one.terminal.shell
    one.cwd = processes.working_directory(shell) or one.cwd
    leader = processes.foreground_group(shell)
    return {"cwd": one.cwd, "foreground_cwd": processes.working_directory(leader) if leader else None}


def _titles(one: Pane) -> dict[str, str]:
    title = one.terminal.title if one.terminal else ""
    return {"terminal_title": title, "terminal_title_stripped": title} if title else {}


def _scroll(one: Pane) -> dict[str, int] | None:
    return (
        {"offset_from_bottom": 0, "max_offset_from_bottom": 0, "viewport_rows": ROWS}
        if one.terminal
        else None
    )


def process_info(one: Pane) -> dict[str, Any]:
    assert one.terminal
    shell = one.terminal.shell
    return present(
        pane_id=one.id,
        shell_pid=shell,
        foreground_process_group_id=processes.foreground_group(shell),
        foreground_processes=processes.foreground_processes(shell) or None,
    )


def tab(one: Tab, layout: Layout) -> dict[str, Any]:
    return {
        "tab_id": one.id,
        "workspace_id": one.workspace.id,
        "number": one.number,
        "label": one.label or str(one.number),
        "focused": bool(layout.active and layout.active.active is one),
        "pane_count": len(one.panes),
        "agent_status": _rollup(one.panes),
    }


def workspace(one: Workspace, layout: Layout) -> dict[str, Any]:
    panes = [pane for tab in one.tabs for pane in tab.panes]
    return present(
        workspace_id=one.id,
        number=layout.workspaces.index(one) + 1,
        label=one.label,
        focused=layout.active is one,
        pane_count=len(panes),
        tab_count=len(one.tabs),
        active_tab_id=one.active.id if one.active else None,
        agent_status=_rollup(panes),
        worktree=one.worktree,
    )


def _rollup(panes: list[Pane]) -> str:
    return min((pane.agent.status for pane in panes), key=ROLLUP.index, default="unknown")


def agent(one: Pane, layout: Layout) -> dict[str, Any]:
    told = pane(one, layout)
    for name in ("label", "scroll"):
        told.pop(name, None)
    reported = {"screen_detection_skipped": True} if one.agent.session else {}
    return told | reported | {"state_change_seq": one.agent.change}


def tab_layout(one: Tab, layout: Layout) -> dict[str, Any]:
    area = {"x": 26, "y": 1, "width": 54, "height": ROWS}
    return present(
        workspace_id=one.workspace.id,
        tab_id=one.id,
        zoomed=False,
        area=area,
        focused_pane_id=one.focused.id if one.focused else None,
        panes=[{"pane_id": pane.id, "focused": pane is one.focused, "rect": area} for pane in one.panes],
        splits=[],
    )


def snapshot(layout: Layout, version: str, protocol: int) -> dict[str, Any]:
    tabs = [tab for space in layout.workspaces for tab in space.tabs]
    focused = layout.focused_pane()
    return present(
        version=version,
        protocol=protocol,
        focused_workspace_id=focused.tab.workspace.id if focused else None,
        focused_tab_id=focused.tab.id if focused else None,
        focused_pane_id=focused.id if focused else None,
        workspaces=[workspace(one, layout) for one in layout.workspaces],
        tabs=[tab(one, layout) for one in tabs],
        panes=[pane(one, layout) for one in layout.panes()],
        layouts=[tab_layout(one, layout) for one in tabs],
        agents=[agent(one, layout) for one in layout.panes() if one.agent.label],
    )
