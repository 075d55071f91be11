"""What strawboss asks herdr, request by request: each is answered, or Unknown with the reason."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import TypeVar

import msgspec

from strawboss.herdr import replies, wire
from strawboss.herdr.address import Address
from strawboss.recovery.commands import Outcome, Result
from strawboss.recovery.evidence import Pane, Process
from strawboss.recovery.verdict import Unknown

T = TypeVar("T")
Params = Mapping[str, object]
DONE = Result(Outcome.DONE)

# How a refused `pane.close` ended. FAILED only where herdr refuses before it touches anything.
# A code that is not here comes from a newer herdr, and nobody knows what it did first.
CLOSE_OUTCOMES: Mapping[str, Outcome] = {
    # No such pane: it is as gone as a close would make it. A pane still waiting for its terminal would stay
    # in the list, and whoever closes looks there afterwards.
    "pane_not_found": Outcome.DONE,
    "workspace_not_found": Outcome.FAILED,
    "tab_not_found": Outcome.FAILED,
    "confirmation_required": Outcome.FAILED,  # a worktree's parent workspace: herdr asks its user first
    "invalid_request": Outcome.FAILED,
    "not_implemented": Outcome.FAILED,
    "agent_not_found": Outcome.FAILED,
    "agent_target_ambiguous": Outcome.FAILED,
    "agent_not_ready": Outcome.FAILED,
    "agent_not_running": Outcome.FAILED,
    "agent_explain_unavailable": Outcome.FAILED,
    "invalid_key": Outcome.FAILED,
    "invalid_agent": Outcome.FAILED,
    "invalid_regex": Outcome.FAILED,
    "unsupported_event_wait_match": Outcome.FAILED,
    "server_not_running": Outcome.FAILED,
    "protocol_mismatch": Outcome.FAILED,
    # herdr had begun, or was stopping with the request in its hands.
    "pane_send_failed": Outcome.UNKNOWN,
    "timeout": Outcome.UNKNOWN,
    "handoff_failed": Outcome.UNKNOWN,
    "server_unavailable": Outcome.UNKNOWN,
    "internal_error": Outcome.UNKNOWN,
}
GONE = "the pane is already gone"
CODE_LENGTH_SHOWN = 64


@dataclass(frozen=True, slots=True)
class Version:
    """What a `ping` tells; herdr answers it even while its main loop hangs."""

    version: str
    protocol: int


class Herdr:
    """herdr at `address`. `resolve` makes a session file's path comparable (absolute, no symlinks)."""

    def __init__(
        self,
        address: Address,
        *,
        resolve: Callable[[str], str] = os.path.realpath,
        connect: wire.Connect = wire.connect,
        clock: Callable[[], float] = time.monotonic,
        timeouts: wire.Timeouts | None = None,
    ) -> None:
        self._address, self._resolve = address, resolve
        self._connect, self._clock, self._timeouts = connect, clock, timeouts or wire.Timeouts()
        self._ids = count(1)

    def ping(self) -> Version | Unknown:
        pong = self._read("ping", {}, replies.Pong)
        return pong if isinstance(pong, Unknown) else Version(pong.version, pong.protocol)

    def panes(self) -> tuple[Pane, ...] | Unknown:
        """Every pane herdr has; Unknown when one entry cannot be read or two share an id."""
        listed = self._read("pane.list", {}, replies.PaneList)
        if isinstance(listed, Unknown):
            return listed
        if len({pane.pane_id for pane in listed.panes}) < len(listed.panes):
            return Unknown("herdr lists one pane twice")
        try:
            return tuple(self._pane(pane) for pane in listed.panes)
        except OSError as error:
            return Unknown(f"a pane's session file cannot be looked for: {error.strerror or error}")

    def process_info(self, pane_id: str) -> tuple[Process, ...] | Unknown:
        """The pane's foreground processes. herdr leaves out a list it cannot make, which proves nothing."""
        told = self._read("pane.process_info", {"pane_id": pane_id}, replies.PaneProcessInfo)
        if isinstance(told, Unknown):
            return told
        if told.process_info.pane_id != pane_id:
            return Unknown("herdr told of another pane's processes")
        if not told.process_info.foreground_processes:
            return Unknown("herdr does not list its processes")
        return tuple(
            Process(one.pid, one.name, one.argv0, one.argv) for one in told.process_info.foreground_processes
        )

    def close(self, pane_id: str) -> Result:
        """Ask for the pane to be closed. DONE: herdr says so; whether it is gone, the list of panes tells."""
        reply = self._ask("pane.close", {"pane_id": pane_id})
        if isinstance(reply, wire.Lost):
            return Result(Outcome.UNKNOWN if reply.written else Outcome.FAILED, reply.why)
        if isinstance(reply, replies.Failure):
            outcome = CLOSE_OUTCOMES.get(reply.code, Outcome.UNKNOWN)
            return Result(outcome, GONE if outcome is Outcome.DONE else _refusal(reply))
        try:
            replies.decode(reply, replies.Ok)
        except replies.UnreadableError as error:
            return Result(Outcome.UNKNOWN, str(error))
        return DONE

    def notify(self, title: str, body: str = "") -> str | Unknown:
        """Show it to whoever looks: `shown`, `disabled`, or why not now (`busy`, `no_foreground_client`, …)."""
        told = self._read("notification.show", {"title": title, "body": body}, replies.NotificationShow)
        return told if isinstance(told, Unknown) else told.reason

    def open_pane(self, plugin: str, entrypoint: str, placement: str) -> Result:
        """Open a pane of a plugin in the foreground, over what is there."""
        params: Params = {
            "plugin_id": plugin,
            "entrypoint": entrypoint,
            "placement": placement,
            "focus": True,
        }
        return self._do("plugin.pane.open", params)

    def focus(self, pane_id: str) -> Result:
        """Bring the pane to the front."""
        return self._do("pane.focus", {"pane_id": pane_id})

    def open_tab(self, directory: str, command: Sequence[str]) -> Result:
        """Open a tab in the foreground whose only pane runs the command from its beginning: nothing is typed.

        `command`: argv. FAILED when herdr has no workspace, or cannot start it.
        """
        pane = {"type": "pane", "cwd": directory, "command": command}
        return self._do("layout.apply", {"root": pane, "focus": True})

    def _do(self, method: str, params: Params) -> Result:
        """An act that can be asked for again: whatever herdr refuses has failed."""
        reply = self._ask(method, params)
        if isinstance(reply, wire.Lost):
            return Result(Outcome.UNKNOWN if reply.written else Outcome.FAILED, reply.why)
        return Result(Outcome.FAILED, _refusal(reply)) if isinstance(reply, replies.Failure) else DONE

    def _read(self, method: str, params: Params, shape: type[T]) -> T | Unknown:
        reply = self._ask(method, params)
        if isinstance(reply, wire.Lost):
            return Unknown(reply.why)
        if isinstance(reply, replies.Failure):
            return Unknown(_refusal(reply))
        try:
            return replies.decode(reply, shape)
        except replies.UnreadableError as error:
            return Unknown(str(error))

    def _ask(self, method: str, params: Params) -> msgspec.Raw | replies.Failure | wire.Lost:
        request = {"id": f"strawboss:{next(self._ids)}", "method": method, "params": params}
        line = msgspec.json.encode(request) + b"\n"
        reply = wire.exchange(self._address, line, self._connect, self._timeouts, self._clock)
        return reply if isinstance(reply, wire.Lost) else _open(reply, request["id"])

    def _pane(self, pane: replies.PaneInfo) -> Pane:
        return Pane(
            pane.pane_id, pane.terminal_id, pane.agent, pane.agent_status, self._session(pane.agent_session)
        )

    def _session(self, session: replies.AgentSession | None) -> str | None:
        """The resolved session file that pi reported by herdr's own integration; others' word is no proof.

        Raises OSError: a pane whose session file cannot be told might be on any.
        """
        if session is None or (session.source, session.agent, session.kind) != ("herdr:pi", "pi", "path"):
            return None
        try:
            return self._resolve(session.value) if session.value else None
        except ValueError:
            return None


def _open(reply: bytes, request_id: object) -> msgspec.Raw | replies.Failure | wire.Lost:
    """The reply's content; a reply that is no answer to this request counts as lost."""
    try:
        envelope = replies.decode(reply, replies.Envelope)
    except replies.UnreadableError as error:
        return wire.Lost(str(error), written=True)
    # A request herdr cannot parse is refused with an empty id.
    unparsed = envelope.id == "" and envelope.error is not None and envelope.error.code == "invalid_request"
    if envelope.id != request_id and not unparsed:
        return wire.Lost("herdr answered another request", written=True)
    if (envelope.error is None) == (bytes(envelope.result) == b""):
        return wire.Lost("herdr's reply is not either a result or an error", written=True)
    return envelope.error or envelope.result


def _refusal(failure: replies.Failure) -> str:
    """The code alone: herdr's message may repeat names, which are not ours to show."""
    return "herdr refused: " + "".join(
        c if c.isprintable() else "?" for c in failure.code[:CODE_LENGTH_SHOWN]
    )
