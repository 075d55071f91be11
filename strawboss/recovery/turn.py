"""Whether a restart cut a child's turn in the middle: a pure function of the end of its session file.

Source: docs/design.md#was-the-turn-cut.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime

from strawboss.recovery.evidence import Activity, Entry, Forks, Tail
from strawboss.recovery.settings import Settings
from strawboss.recovery.verdict import Named, Unknown, Verdict

WAS_CUT = Named("turn.was_cut", "its turn was cut")
STEP_ROLES = frozenset({"user", "assistant", "toolResult"})
QUESTIONS = frozenset({"ask_user_question", "caller_ping"})
QUESTION_ACTIONS = frozenset(
    {("intercom", "ask"), *(("contact_supervisor", r) for r in ("need_decision", "interview_request"))}
)
# Only a hang-up proves a restart; a SIGTERM or code 143 may be a kill by hand.
HANG_UP = re.compile(r"Claude Code process (?:terminated by signal SIGHUP\b|exited with code 129\b)")
ABORT_SECONDS = 2.0  # between an abort and the shutdown that caused it


@dataclass(frozen=True, slots=True)
class Turn:
    """The verdict, and what the text to the child quotes: the last step's time and the calls without a result."""

    verdict: Verdict
    at: str = ""
    calls: tuple[str, ...] = ()
    last: str = ""  # the last step's entry id: another one means that somebody went on with the child

    @property
    def was_cut(self) -> bool:
        return self.verdict.holds


def turn_of(
    tail: Tail | Unknown,
    forks: Forks | Unknown,
    settings: Settings,
    activity: Activity | Unknown,
    *,
    restored: bool,
) -> Turn:
    """How the turn stands. `restored`: a restore is proven, so an abort may be the restart's own."""
    if isinstance(tail, Unknown):
        return Turn(WAS_CUT.unknown(tail))
    if isinstance(forks, Unknown):
        return Turn(WAS_CUT.unknown(forks))
    if forks:
        return Turn(WAS_CUT.unknown("a newer session file names its own as its parent: it went on there"))
    if tail.torn:
        return Turn(WAS_CUT.unknown("the last line of its session file cannot be read"))
    steps = steps_of(tail.entries, settings.turn_starting_types)
    if not steps:
        return Turn(WAS_CUT.no("its session file has no step"))
    last = steps[-1]
    if last.role == "assistant":
        verdict, calls = _after_assistant(last, activity, restored)
    elif last.role == "toolResult":
        verdict, calls = _after_result(steps)
    else:
        verdict, calls = WAS_CUT.yes("nobody answered its last message"), ()
    return Turn(verdict, last.at, calls, last.id)


def steps_of(entries: tuple[Entry, ...], turn_starting: frozenset[str]) -> tuple[Entry, ...]:
    """The entries that are steps, on the branch of the last entry, oldest first."""
    branch = _branch(entries)
    removed = {entry.edits for entry in branch if entry.edits}
    return tuple(entry for entry in branch if entry.id not in removed and _is_step(entry, turn_starting))


def _branch(entries: tuple[Entry, ...]) -> list[Entry]:
    # A file's leaf is its last entry; what is not above it belongs to a branch that was left.
    by_id = {entry.id: entry for entry in entries}
    branch: list[Entry] = []
    entry = entries[-1] if entries else None
    while entry is not None:
        branch.append(entry)
        by_id.pop(entry.id, None)  # a file that bites its tail must not hold us
        entry = by_id.get(entry.parent) if entry.parent else None
    return branch[::-1]


def _is_step(entry: Entry, turn_starting: frozenset[str]) -> bool:
    if entry.kind == "message":
        return entry.role in STEP_ROLES
    return entry.kind == "custom_message" and entry.custom_type in turn_starting


def _after_assistant(
    last: Entry, activity: Activity | Unknown, restored: bool
) -> tuple[Verdict, tuple[str, ...]]:
    if last.stop_reason == "aborted":
        return _after_abort(last, activity, restored), ()
    if last.stop_reason == "error":
        if HANG_UP.search(last.error):
            return WAS_CUT.yes("the restart hung up on its reply"), tuple(name for _, name, _ in last.calls)
        return WAS_CUT.no("its last turn ended in an error that no restart leaves"), ()
    # pi runs the tools of every other reply, whatever its stop word says (N03).
    if last.calls or last.stop_reason == "toolUse":
        return _open_calls(last.calls)
    if last.stop_reason in {"stop", "length"}:
        return WAS_CUT.no("its last turn ended"), ()
    return WAS_CUT.unknown("its last message ended in a way that is not known"), ()


def _open_calls(calls: tuple[tuple[str, str, str], ...]) -> tuple[Verdict, tuple[str, ...]]:
    if not calls:
        return WAS_CUT.unknown("its last message speaks of tool calls but has none"), ()
    if any(_is_question(name, argument) for _, name, argument in calls):
        return WAS_CUT.no("its turn stands at a question"), ()
    return WAS_CUT.yes("a tool call has no result"), tuple(name for _, name, _ in calls)


def _after_result(steps: tuple[Entry, ...]) -> tuple[Verdict, tuple[str, ...]]:
    asked = max((place for place, step in enumerate(steps) if step.role == "assistant"), default=None)
    calls = () if asked is None else steps[asked].calls
    if any(name == "caller_ping" for _, name, _ in calls):
        return WAS_CUT.no("its turn stands at a question"), ()
    answered = {step.answers for step in steps[asked:]}
    waiting = tuple(call for call in calls if call[0] not in answered)
    if waiting:
        return _open_calls(waiting)
    return WAS_CUT.yes("nobody read the last tool result"), ()


def _is_question(name: str, argument: str) -> bool:
    return name in QUESTIONS or (name, argument) in QUESTION_ACTIONS


def _after_abort(last: Entry, activity: Activity | Unknown, restored: bool) -> Verdict:
    # pi aborts its turn when a dying herdr hangs up, which looks like Esc; only the shutdown beside it tells them apart.
    if not restored or isinstance(activity, Unknown) or activity.latest_event != "session_shutdown":
        return WAS_CUT.no("its last turn was aborted")
    aborted = _epoch(last.at)
    if aborted is None or abs(aborted - activity.updated_at) > ABORT_SECONDS:
        return WAS_CUT.no("its last turn was aborted, not by its shutdown")
    return WAS_CUT.yes("the restart aborted its turn")


def _epoch(at: str) -> float | None:
    """None for what is no time, or one without a zone."""
    try:
        time = datetime.fromisoformat(at)
    except ValueError:
        return None
    return time.timestamp() if time.tzinfo else None
