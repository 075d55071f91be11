"""What the launcher, a child and a person are told of a restored run.

Each stays true when it is read late (docs/design.md#texts).
"""

from __future__ import annotations

from collections.abc import Sequence

from strawboss.recovery.handover import Handover, WorktreeHandover
from strawboss.recovery.wording import (
    NAME_LIMIT,
    count_of_runs,
    exactly,
    launcher_name,
    one_line,
    quoted,
    reason,
    resume_by_hand,
    step_time,
    tool,
)


def follow_up(at: str, run: str, session_file: str, last_step: str) -> str:
    """For a resumed run whose turn was not cut."""
    return (
        f"Straw Boss, {at}, for run {run} (session file {exactly(session_file)}): a Herdr restart ended your process; "
        f"your last recorded step is from {step_time(last_step)}. Finish the task you were given, and report your "
        "result. If you have already reported, say so and stop."
    )


def in_its_pane(pane: str) -> str:
    return f"Continue it in its pane {quoted(pane)}."


def close_and_resume(pane: str, session_file: str) -> str:
    call = f"subagent_resume {exactly({'sessionPath': session_file})}"
    return f"Close its pane {quoted(pane)}, which holds a plain pi, then resume it by hand: {call}"


def cut_text(at: str, run: str, session_file: str, last_step: str, calls: Sequence[str]) -> str:
    """To a child whose turn a restart cut (docs/design.md#was-the-turn-cut)."""
    return (
        f"Straw Boss, {at}, for run {run} (session file {exactly(session_file)}): your last turn was cut off by a Herdr "
        f"restart or reboot; its last recorded step is from {step_time(last_step)}. {_no_result(calls)}"
        "Check the current state before you run anything again that changes state, then continue the task you were "
        "given and report your result. If you have already reported, ignore this."
    )


def _no_result(calls: Sequence[str]) -> str:
    names = list(dict.fromkeys(tool(call) for call in calls))
    if not names:
        return ""
    return f"The tool call{'s' if len(calls) > 1 else ''} ({', '.join(names)}) got no result. "


def with_address(text: str, launcher: str, name: str) -> str:
    """A managed-worktree child reports to nobody by itself: it is told where to."""
    return (
        f"{text}\nYour launcher, {launcher_name(name, launcher)}, does not watch this session any more. Send your final "
        f'report to it with the intercom tool (action "send", to {exactly(launcher)}).'
    )


def resume_message(handovers: Sequence[Handover], at: str) -> str:
    """The one message the launcher gets for all runs of a look: what to resume with which arguments, what not."""
    resumed = [one for one in handovers if one.worktree is None and not one.lost]
    lost = [one for one in handovers if one.lost]
    kept = [one for one in handovers if one.worktree is not None]
    back = len(handovers) - len(lost)
    parts = [
        f"Straw Boss, {at}: a Herdr restart brought back {count_of_runs(back)} of yours as plain pi, "
        "which will never report. If you have already dealt with a run below, ignore it here."
        if back
        else f"Straw Boss, {at}: {count_of_runs(len(lost))} of yours did not come back after a restart. "
        "If you have already dealt with a run below, ignore it here."
    ]
    if resumed:
        parts.append(
            "Their restored panes are closed. Call subagent_resume once for each of these runs, with exactly these "
            "arguments; each then reports as a normal subagent_result:\n"
            + "\n".join(map(_to_resume, resumed))
        )
    if lost:
        parts.append(
            "These did not come back: their panes are gone, nothing was closed, and nobody holds their sessions. Call "
            "subagent_resume once for each of them too, with exactly these arguments:\n"
            + "\n".join(map(_to_resume, lost))
        )
    if kept:
        parts.append(
            "Do not call subagent_resume for these; they run in managed worktrees, and their restored panes are kept:\n"
            + "\n".join(map(_kept, kept))
        )
    return "\n\n".join(parts)


def _to_resume(one: Handover) -> str:
    arguments: dict[str, object] = {
        "sessionPath": one.session_file,
        "name": one_line(one.name, NAME_LIMIT) or one.run,
        "message": one.text,
    }
    if not one.auto_exit:
        arguments["autoExit"] = False
    how = "lost" if one.lost else "restored"
    state = f"{how} mid-turn" if one.mid_turn else how
    return (
        f"- run {one.run} {quoted(one.name)}, {state}, last step {step_time(one.last_step)}: "
        f"subagent_resume {exactly(arguments)}"
    )


def _kept(one: Handover) -> str:
    assert one.worktree is not None
    worktree = one.worktree
    place = ", ".join(
        [
            f"pane {quoted(worktree.pane)}",
            *([f"worktree {exactly(worktree.path)}"] if worktree.path else []),
            *([f"branch {quoted(worktree.branch)}"] if worktree.branch else []),
            f"session file {exactly(one.session_file)}",
        ]
    )
    state = "restored mid-turn" if one.mid_turn else "restored"
    return f"- run {one.run} {quoted(one.name)}, {state}, last step {step_time(one.last_step)}; {place}. {_told(worktree)}"


def _told(worktree: WorktreeHandover) -> str:
    if worktree.told:
        return "It was told to go on: it is not idle, wait for its report over intercom."
    if worktree.why_not:
        return f"It was not told to go on ({reason(worktree.why_not)}): continue it in its pane."
    return "It waits at its prompt: continue it in its pane."


def step_failed(name: str, run: str, session_file: str, why: str) -> str:
    return f"Straw Boss gave up on {quoted(name)} (run {run}): {reason(why)}. {resume_by_hand([(name, session_file)])}"


def tell_failed(sessions: Sequence[tuple[str, str]], why: str) -> str:
    return (
        f"Straw Boss could not put its message into this session: {reason(why)}. {resume_by_hand(sessions)}"
    )


def taken_back_given_up(name: str, run: str, session_file: str, why: str) -> str:
    return (
        f"Straw Boss began to close the restored pane of {quoted(name)} (run {run}) and took that back; now it cannot be "
        f"recovered: {reason(why)}. {resume_by_hand([(name, session_file)])}"
    )


def two_pi(name: str, run: str, pane: str) -> str:
    return (
        f"Straw Boss cannot tell whether pane {quoted(pane)} of {quoted(name)} (run {run}) holds a plain pi: two processes "
        "named pi are in its foreground, as with a shim of a version manager. `strawboss doctor` says what to change; "
        "until then continue this run by hand."
    )
