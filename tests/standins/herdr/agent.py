"""What herdr believes of the agent in a pane: what it sees in the foreground, and what pi's integration reports.

A report counts only while a pi is seen in the foreground; one that comes earlier waits for it. A state counts only
from the session that was reported before.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

STATES = ("idle", "working", "blocked", "unknown")
OFFICIAL = ("herdr:pi", "pi")
REASONS_FOR_ANOTHER_SESSION = ("new", "resume", "fork")


@dataclass
class Agent:
    """`session` is herdr's `agent_session`; it outlives herdr, all else does not."""

    session: dict[str, str] | None = None
    label: str | None = None
    state: str = "unknown"
    viewed: bool = True
    change: int = 0
    _held: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    _last: int = -1

    @property
    def status(self) -> str:
        return "done" if self.state == "idle" and not self.viewed else self.state

    def report(self, method: str, params: dict[str, Any], in_view: bool) -> None:
        """Take one `pane.report_agent` or `pane.report_agent_session`, or hold it back; without a new `seq`, neither."""
        if (params["source"], params["agent"]) != OFFICIAL or params.get("seq", self._last) <= self._last:
            return
        self._last = params["seq"]
        self._held.append((method, params))
        if self.label:
            self._apply_held(in_view)

    def saw_pi(self, in_view: bool) -> bool:
        """True when that is news."""
        if self.label:
            return False
        self.label, self.state = "pi", "idle"
        self._apply_held(in_view)
        return True

    def lost_sight(self, back_at_shell: bool) -> bool:
        """Another program is in the foreground, or the shell itself again: then pi has ended. True when it was there."""
        known, self.label, self.state = self.label, None, "unknown"
        if known and back_at_shell:
            self.session, self.viewed, self._held = None, True, []
        return bool(known)

    def _apply_held(self, in_view: bool) -> None:
        held, self._held = self._held, []
        for method, params in held:
            told = _session(params)
            if method == "pane.report_agent_session":
                self._take_session(told, params.get("session_start_source"))
            elif self.session and told in (None, self.session):
                self._take_state(params["state"], in_view)

    def _take_session(self, told: dict[str, str] | None, reason: str | None) -> None:
        if told and reason and (self.session is None or reason in REASONS_FOR_ANOTHER_SESSION):
            self.session = told

    def _take_state(self, state: str, in_view: bool) -> None:
        if state != self.state:
            self.change += 1
        if state != "idle":
            self.viewed = True
        elif self.state in ("working", "blocked"):
            self.viewed = in_view
        self.state = state


def _session(params: dict[str, Any]) -> dict[str, str] | None:
    source = {"source": params["source"], "agent": params["agent"]}
    path, name = params.get("agent_session_path"), params.get("agent_session_id")
    if path and path.startswith("/") and len(path) <= 4096 and path.isprintable():
        return {**source, "kind": "path", "value": path}
    return {**source, "kind": "id", "value": name} if name and len(name) <= 512 else None
