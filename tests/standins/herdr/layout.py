"""Workspaces, tabs and panes, their public ids, and what `session.json` keeps of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from standins.herdr.agent import Agent
from standins.herdr.terminal import Terminal

ALPHABET = "123456789ABCDEFGHJKMNPQRSTVWXYZ0"
VERSION = 3


def encode(number: int) -> str:
    """Bijective base 32: 10 is `A`, 32 is `0`, 33 is `11`."""
    digits = ""
    while number:
        number, digit = divmod(number - 1, len(ALPHABET))
        digits = ALPHABET[digit] + digits
    return digits


@dataclass(eq=False)
class Pane:
    """`terminal` is None while a restored pane waits for its resume at `resume_at` (monotonic seconds)."""

    number: int
    tab: Tab
    cwd: str
    terminal_id: str
    label: str | None = None
    terminal: Terminal | None = None
    resume_at: float | None = None
    agent: Agent = field(default_factory=Agent)

    @property
    def id(self) -> str:
        return f"{self.tab.workspace.id}:p{encode(self.number)}"


@dataclass(eq=False)
class Tab:
    number: int
    workspace: Workspace
    label: str | None = None
    panes: list[Pane] = field(default_factory=list)
    focused: Pane | None = None

    @property
    def id(self) -> str:
        return f"{self.workspace.id}:t{encode(self.number)}"


@dataclass(eq=False)
class Workspace:
    """`worktree` as in WorkspaceInfo, only for members of a worktree group."""

    id: str
    cwd: str
    label: str
    worktree: dict[str, Any] | None = None
    tabs: list[Tab] = field(default_factory=list)
    active: Tab | None = None
    next_pane: int = 1
    next_tab: int = 1


class Layout:
    def __init__(self) -> None:
        self.workspaces: list[Workspace] = []
        self.active: Workspace | None = None

    def panes(self) -> Iterator[Pane]:
        return (pane for space in self.workspaces for tab in space.tabs for pane in tab.panes)

    def pane(self, pane_id: str) -> Pane | None:
        return next((pane for pane in self.panes() if pane.id == pane_id), None)

    def tab(self, tab_id: str) -> Tab | None:
        return next((tab for space in self.workspaces for tab in space.tabs if tab.id == tab_id), None)

    def workspace(self, workspace_id: str) -> Workspace | None:
        return next((space for space in self.workspaces if space.id == workspace_id), None)

    def focused_pane(self) -> Pane | None:
        tab = self.active.active if self.active else None
        return tab.focused if tab else None

    def in_view(self, pane: Pane) -> bool:
        return bool(self.active and self.active.active is pane.tab)

    def add_workspace(self, cwd: str, label: str, focus: bool) -> Workspace:
        taken = [int(space.id[1:]) for space in self.workspaces]
        space = Workspace(f"w{max(taken, default=0) + 1}", cwd, label)
        self.workspaces.append(space)
        if focus or self.active is None:
            self.active = space
        return space

    def add_tab(self, space: Workspace, label: str | None, focus: bool) -> Tab:
        tab = Tab(space.next_tab, space, label)
        space.next_tab += 1
        space.tabs.append(tab)
        if focus or space.active is None:
            space.active = tab
        return tab

    def add_pane(self, tab: Tab, cwd: str, terminal_id: str, focus: bool) -> Pane:
        pane = Pane(tab.workspace.next_pane, tab, cwd, terminal_id)
        tab.workspace.next_pane += 1
        tab.panes.append(pane)
        if focus or tab.focused is None:
            tab.focused = pane
        return pane

    def remove(self, pane: Pane) -> list[tuple[str, str]]:
        """Take the pane out; a tab or workspace it leaves empty goes with it. Returns what else went: (kind, id)."""
        tab, space = pane.tab, pane.tab.workspace
        tab.panes.remove(pane)
        tab.focused = _next(tab.focused, pane, tab.panes)
        if tab.panes:
            return []
        gone = [("tab", tab.id)]
        space.tabs.remove(tab)
        space.active = _next(space.active, tab, space.tabs)
        if not space.tabs:
            gone.append(("workspace", space.id))
            self.workspaces.remove(space)
            self.active = _next(self.active, space, self.workspaces)
        return gone


def _next(current: Any, removed: Any, left: list[Any]) -> Any:
    return current if current is not removed else (left[-1] if left else None)


def to_json(layout: Layout) -> dict[str, Any]:
    raw = count(1)
    spaces = [_workspace_json(space, raw) for space in layout.workspaces]
    active = layout.workspaces.index(layout.active) if layout.active else 0
    return {
        "version": VERSION,
        "workspaces": spaces,
        "active": active,
        "selected": active,
        "sidebar_width": 26,
    }


def _workspace_json(space: Workspace, raw: Iterator[int]) -> dict[str, Any]:
    numbers: dict[str, int] = {}
    tabs = []
    for tab in space.tabs:
        keys = {str(next(raw)): pane for pane in tab.panes}
        numbers |= {key: pane.number for key, pane in keys.items()}
        tabs.append(_tab_json(tab, keys))
    return {
        "id": space.id,
        "custom_name": space.label,
        "identity_cwd": space.cwd,
        **({"worktree_space": space.worktree} if space.worktree else {}),
        "public_pane_numbers": numbers,
        "next_public_pane_number": space.next_pane,
        "public_tab_numbers": [tab.number for tab in space.tabs],
        "next_public_tab_number": space.next_tab,
        "tabs": tabs,
        "active_tab": space.tabs.index(space.active) if space.active else 0,
    }


def _tab_json(tab: Tab, keys: dict[str, Pane]) -> dict[str, Any]:
    focused = next((int(key) for key, pane in keys.items() if pane is tab.focused), None)
    return {
        "custom_name": tab.label,
        "layout": _split([int(key) for key in keys]),
        "panes": {key: _pane_json(pane) for key, pane in keys.items()},
        "zoomed": False,
        "focused": focused,
        "root_pane": int(next(iter(keys))),
    }


def _split(raws: list[int]) -> dict[str, Any]:
    if len(raws) == 1:
        return {"Pane": raws[0]}
    parts = {"direction": "Horizontal", "ratio": 0.5, "first": {"Pane": raws[0]}, "second": _split(raws[1:])}
    return {"Split": parts}


def _pane_json(pane: Pane) -> dict[str, Any]:
    told = {"cwd": pane.cwd, "label": pane.label, "agent_session": pane.agent.session}
    return {key: value for key, value in told.items() if value is not None}


def from_json(saved: dict[str, Any], new_terminal_id: Any) -> Layout:
    """The layout with panes that have no terminals yet. An equal agent session is resumed once; others lose it."""
    layout = Layout()
    seen: list[dict[str, str]] = []
    for told in saved["workspaces"]:
        space = Workspace(told["id"], told["identity_cwd"], told["custom_name"], told.get("worktree_space"))
        layout.workspaces.append(space)
        for number, tab in zip(told["public_tab_numbers"], told["tabs"], strict=True):
            space.tabs.append(
                _tab_from_json(space, number, tab, told["public_pane_numbers"], new_terminal_id, seen)
            )
        space.next_pane, space.next_tab = told["next_public_pane_number"], told["next_public_tab_number"]
        space.active = space.tabs[told["active_tab"]]
    layout.active = layout.workspaces[saved["active"]]
    return layout


def _tab_from_json(
    space: Workspace,
    number: int,
    told: dict[str, Any],
    numbers: dict[str, int],
    new_terminal_id: Any,
    seen: list[dict[str, str]],
) -> Tab:
    tab = Tab(number, space, told["custom_name"])
    for raw, saved in told["panes"].items():
        pane = Pane(numbers[raw], tab, saved["cwd"], new_terminal_id(), saved.get("label"))
        session = saved.get("agent_session")
        if session and session not in seen:
            seen.append(session)
            pane.agent.session = session
        tab.panes.append(pane)
        if int(raw) == told["focused"]:
            tab.focused = pane
    return tab
