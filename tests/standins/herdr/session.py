"""One herdr session: the layout with its live terminals, what changes in it, and how it outlives the server."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Sequence
from itertools import count
from pathlib import Path
from typing import Any

from standins.herdr import layout as layouts
from standins.herdr import processes
from standins.herdr.layout import Layout, Pane, Tab
from standins.herdr.plugins import Registry, Running
from standins.herdr.terminal import Terminal

# herdr writes this long after the last change; every change moves the moment.
SAVE_SECONDS = 5.0
RESUME_SECONDS = 0.75


def quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


class Session:
    """`socket` and `command` are what panes are told of this herdr; `emit` passes an event on to subscribers."""

    def __init__(
        self, data: Path, socket: Path, command: str, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.layout = Layout()
        self.stopping = False
        self.emit: Callable[..., None] = lambda kind, **data: None
        self._file, self._socket, self._command, self._clock = data / "session.json", socket, command, clock
        told = {"HERDR_SOCKET_PATH": str(socket), "HERDR_BIN_PATH": command}
        self.plugins = Running(Registry(data), told)
        self._terminals = count(1)
        self._save_at: float | None = None
        self._delay = float(os.environ.get("HERDR_STANDIN_SAVE_SECONDS", SAVE_SECONDS))

    def open(
        self,
        tab: Tab,
        cwd: str,
        focus: bool,
        environment: dict[str, str] | None,
        command: Sequence[str] = (),
    ) -> Pane:
        """A new pane in `cwd` with a shell, or with `command` instead."""
        pane = self.layout.add_pane(tab, cwd, self._new_terminal_id(), focus)
        self._start_shell(pane, environment or {}, command)
        self.emit("pane_created", pane_id=pane.id, workspace_id=tab.workspace.id)
        self.changed()
        return pane

    def close(self, pane: Pane) -> None:
        """End what runs in the pane and take it out."""
        if pane.terminal:
            pane.terminal.close()
            pane.terminal = None
        self._take_out(pane)

    def report(self, pane: Pane, method: str, params: dict[str, Any]) -> None:
        before = pane.agent.session
        pane.agent.report(method, params, self.layout.in_view(pane))
        if pane.agent.session != before:
            self.changed()

    def look_at(self, tab: Tab) -> None:
        """Somebody opened the tab: all its panes are seen."""
        self.layout.active, tab.workspace.active = tab.workspace, tab
        for pane in tab.panes:
            pane.agent.viewed = True

    def changed(self) -> None:
        self._save_at = self._clock() + self._delay

    def tick(self) -> None:
        """Start what waits for its resume, look who is in the foreground, save what has come to rest."""
        now = self._clock()
        for pane in list(self.layout.panes()):
            if pane.terminal is None and pane.resume_at is not None and now >= pane.resume_at:
                self._resume(pane)
            elif pane.terminal and pane.terminal.died():
                self._exited(pane)
            elif pane.terminal:
                self._detect(pane)
        self.plugins.tick()
        if self._save_at is not None and now >= self._save_at:
            self.save()

    def read(self, pane: Pane) -> None:
        """The pane's terminal has something to say, or has died."""
        if pane.terminal and not pane.terminal.read():
            self._exited(pane)

    def _exited(self, pane: Pane) -> None:
        self.close(pane)
        self.emit("pane_exited", pane_id=pane.id, workspace_id=pane.tab.workspace.id)

    def _take_out(self, pane: Pane) -> None:
        for kind, name in self.layout.remove(pane):
            self.emit(f"{kind}_closed", **{f"{kind}_id": name, "workspace_id": pane.tab.workspace.id})
        self.changed()

    def _start_shell(self, pane: Pane, environment: dict[str, str], command: Sequence[str] = ()) -> None:
        own = {
            "HERDR_ENV": "1",
            "HERDR_SOCKET_PATH": str(self._socket),
            "HERDR_BIN_PATH": self._command,
            "HERDR_WORKSPACE_ID": pane.tab.workspace.id,
            "HERDR_TAB_ID": pane.tab.id,
            "HERDR_PANE_ID": pane.id,
            "TERM": "xterm-256color",
            "COLORTERM": "truecolor",
        }
        pane.terminal = Terminal(pane.cwd, {**os.environ, **environment, **own}, command)

    def _resume(self, pane: Pane) -> None:
        """A plain shell, into which the command is typed: nothing else of the launch comes back."""
        pane.resume_at = None
        self._start_shell(pane, {})
        assert pane.terminal
        assert pane.agent.session
        pane.terminal.type(f"pi --session {quoted(pane.agent.session['value'])}\r")

    def _detect(self, pane: Pane) -> None:
        assert pane.terminal
        pane.terminal.flush()
        shell = pane.terminal.shell
        if processes.foreground_group(shell) == shell:
            news = pane.agent.lost_sight(back_at_shell=True)
        elif any(processes.is_pi(one) for one in processes.foreground_processes(shell)):
            news = pane.agent.saw_pi(self.layout.in_view(pane), self._clock())
        else:
            news = pane.agent.lost_sight(back_at_shell=False)
        if news:
            told = {"agent": pane.agent.label} if pane.agent.label else {"agent": "pi", "released": True}
            self.emit("pane_agent_detected", pane_id=pane.id, workspace_id=pane.tab.workspace.id, **told)
            self.changed()

    def _new_terminal_id(self) -> str:
        return f"term_{time.time_ns() // 1000:x}{next(self._terminals):x}"

    def save(self) -> None:
        self._save_at = None
        if not self.layout.workspaces:
            self._file.unlink(missing_ok=True)
            return
        temporary = self._file.with_name("session.json.tmp")
        temporary.write_text(json.dumps(layouts.to_json(self.layout), indent=2))
        temporary.replace(self._file)

    def restore(self) -> None:
        """What was saved, with new terminals: a pane with an agent session waits a moment, others get a shell."""
        try:
            saved = json.loads(self._file.read_text())
        except (OSError, ValueError):
            return
        if saved.get("version") != layouts.VERSION:
            return
        self.layout = layouts.from_json(saved, self._new_terminal_id)
        for pane in self.layout.panes():
            if pane.agent.session:
                pane.agent.await_resume()
                pane.resume_at = self._clock() + RESUME_SECONDS
            else:
                self._start_shell(pane, {})
