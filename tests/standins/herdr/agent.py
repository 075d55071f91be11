"""What herdr believes of the agent in a pane: what it sees in the foreground, and what pi's integration reports.

A report counts only while a pi is seen in the foreground; one that comes earlier waits for it. A state counts only
from the session that was reported before. A pi that reports none is unknown at first, and idle by its screen later.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

STATES = ("idle", "working", "blocked", "unknown")
OFFICIAL = ("herdr:pi", "pi")
REASONS_FOR_ANOTHER_SESSION = ("new", "resume", "fork")
GRACE_SECONDS = 3.0  # for a pi that was just seen to report for itself


@dataclass
class Agent:
    """`session` is herdr's `agent_session`; it outlives herdr, all else does not. `seen`: a pi is in the foreground; the
    label of a pane that waits for its resume says pi without that."""

    session: dict[str, str] | None = None
    label: str | None = None
    seen: bool = False
    state: str = "unknown"
    viewed: bool = True
    change: int = 0
    _held: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    _last: int = -1
    _screen_counts_at: float | None = None

    @property
    def status(self) -> str:
        return "done" if self.state == "idle" and not self.viewed else self.state

    def report(self, method: str, params: dict[str, Any], in_view: bool) -> None:
        """Take one `pane.report_agent` or `pane.report_agent_session`, or hold it back; without a new `seq`, neither."""
        if (params["source"], params["agent"]) != OFFICIAL or params.get("seq", self._last) <= self._last:
            return
        self._last = params["seq"]
        self._held.append((method, params))
        if self.seen:
            self._apply_held(in_view)

    def await_resume(self) -> None:
        """After a restart of herdr: shown as an idle pi before there is one."""
        self.label, self.state = "pi", "idle"

    def saw_pi(self, in_view: bool, now: float) -> bool:
        """True when that is news; `now` in seconds."""
        if self.seen:
            self._look_at_screen(now)
            return False
        self.label, self.seen, self.state = "pi", True, "unknown"
        self._screen_counts_at = now + GRACE_SECONDS
        self._apply_held(in_view)
        return True

    def _look_at_screen(self, now: float) -> None:
        if self._screen_counts_at is not None and now >= self._screen_counts_at:
            self.state, self._screen_counts_at = "idle", None

    def lost_sight(self, back_at_shell: bool) -> bool:
        """Another program is in the foreground, or the shell itself again: then a pi that was there has ended, and its
        session with it. True when that is news."""
        was_seen, known = self.seen, self.label
        self.label, self.seen, self.state, self._screen_counts_at = None, False, "unknown", None
        if was_seen and back_at_shell:
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
        self.state, self._screen_counts_at = state, None


def _session(params: dict[str, Any]) -> dict[str, str] | None:
    source = {"source": params["source"], "agent": params["agent"]}
    path, name = params.get("agent_session_path"), params.get("agent_session_id")
    if path and path.startswith("/") and len(path) <= 4096 and path.isprintable():
        return {**source, "kind": "path", "value": path}
    return {**source, "kind": "id", "value": name} if name and len(name) <= 512 else None
