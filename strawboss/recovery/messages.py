"""Every text, as plain functions of facts. Each stays true when it is read late (docs/design.md#texts).

Names and paths come from other programs: they are quoted as JSON strings, on one line, and capped.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime

from strawboss.recovery.handover import Handover, LostRun, WorktreeHandover
from strawboss.recovery.keys import NUDGED, UNNUDGED

NAME_LIMIT = 80  # characters of a name that is quoted
PLAIN_TOOL = re.compile(r"[A-Za-z0-9_.:-]{1,64}")
REASON_LIMIT = 300  # characters of a reason that is quoted
UNKNOWN_TIME = "an unknown time"
ISO_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d)", re.ASCII)


def quoted(text: str, limit: int = NAME_LIMIT) -> str:
    """One line, capped, as a JSON string: untrusted text cannot end its quotes or add a line."""
    return exactly(_line(text, limit))


def exactly(value: object) -> str:
    """As JSON, to be passed on as it is; what cannot be printed (line ends, escapes, lone surrogates) is escaped."""
    return "".join(
        one if one.isprintable() else json.dumps(one)[1:-1] for one in json.dumps(value, ensure_ascii=False)
    )


def reason(why: str) -> str:
    """Another program's words inside a sentence of ours: one printable line, capped."""
    return "".join(filter(str.isprintable, _line(why, REASON_LIMIT)))


def _line(text: str, limit: int) -> str:
    line = " ".join(text.split())
    return line if len(line) <= limit else line[: limit - 1] + "…"


def iso(wall: float) -> str:
    """Epoch seconds as an ISO time in UTC, whole seconds; a time no calendar has is unknown."""
    try:
        return datetime.fromtimestamp(wall, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    except (OverflowError, ValueError, OSError):
        return UNKNOWN_TIME


def step_time(at: str) -> str:
    return at if ISO_TIME.fullmatch(at) else UNKNOWN_TIME


def tool(name: str) -> str:
    """Only plain tool names are quoted."""
    return name if PLAIN_TOOL.fullmatch(name) else "a tool"


def launcher_name(name: str, session: str) -> str:
    address = f"pi-intercom session {exactly(session)}"
    return f"{quoted(name)} ({address})" if name else address


def report_request(at: str, launcher: str, name: str, run: str, session_file: str, last_step: str) -> str:
    """The nudge: to a child that is done, with the address to report to. `at`: the time of the look."""
    return (
        f"Straw Boss, {at}, for the session that launched you: {launcher_name(name, launcher)}. "
        f"It no longer tracks your run {run} (session file {exactly(session_file)}), so the result you reached at "
        f"{step_time(last_step)} has not come back to it.\n"
        f'Send your final report to that session with the intercom tool (action "send", to {exactly(launcher)}), '
        "then stop. If you have already reported, ignore this."
    )


def follow_up(at: str, run: str, session_file: str, last_step: str) -> str:
    """For a resumed run whose turn was not cut."""
    return (
        f"Straw Boss, {at}, for run {run} (session file {exactly(session_file)}): a Herdr restart ended your process; "
        f"your last recorded step is from {step_time(last_step)}. Finish the task you were given, and report your "
        "result. If you have already reported, say so and stop."
    )


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
        f"Straw Boss, {at}: a Herdr restart brought back {_count(back)} of yours as plain pi, "
        "which will never report. If you have already dealt with a run below, ignore it here."
        if back
        else f"Straw Boss, {at}: {_count(len(lost))} of yours did not come back after a restart. "
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


def _count(number: int) -> str:
    return "one subagent run" if number == 1 else f"{number} subagent runs"


def _to_resume(one: Handover) -> str:
    arguments: dict[str, object] = {
        "sessionPath": one.session_file,
        "name": _line(one.name, NAME_LIMIT) or one.run,
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


def nudged(name: str, run: str) -> str:
    return f"Straw Boss asked {quoted(name)} (run {run}) for its final report."


def nudge_failed(name: str, run: str, session_file: str, why: str) -> str:
    return (
        f"Straw Boss could not ask {quoted(name)} (run {run}) for its report: {reason(why)}. It will not be asked again; "
        f"its result is in {exactly(session_file)}."
    )


def nudge_unsure(name: str, run: str, session_file: str, why: str) -> str:
    """The connection was lost after the message was written: it may have arrived."""
    return (
        f"Straw Boss does not know whether {quoted(name)} (run {run}) was asked for its report: {reason(why)}. It will "
        f"not be asked again; if no report comes, its result is in {exactly(session_file)}."
    )


def step_failed(name: str, run: str, session_file: str, why: str) -> str:
    return (
        f"Straw Boss gave up on {quoted(name)} (run {run}): {reason(why)}. {_by_hand([(name, session_file)])}"
    )


def tell_failed(sessions: Sequence[tuple[str, str]], why: str) -> str:
    return f"Straw Boss could not put its message into this session: {reason(why)}. {_by_hand(sessions)}"


def taken_back_given_up(name: str, run: str, session_file: str, why: str) -> str:
    return (
        f"Straw Boss began to close the restored pane of {quoted(name)} (run {run}) and took that back; now it cannot be "
        f"recovered: {reason(why)}. {_by_hand([(name, session_file)])}"
    )


def lost(runs: Sequence[LostRun]) -> str:
    """One warning for all runs of a look, with what is there now and the call to make."""
    what = "One run was" if len(runs) == 1 else f"{len(runs)} runs were"
    there = "; ".join(f"run {one.run} {quoted(one.name)}: {reason(one.there)}" for one in runs)
    resumable = [(one.name, one.session_file) for one in runs if not one.worktree]
    kept = [one for one in runs if one.worktree]
    by_hand = [_by_hand(resumable)] if resumable else []
    by_hand += [
        f"Go on with run {one.run} by hand in its worktree {exactly(one.worktree)}, with `pi --session` and its "
        f"session file {exactly(one.session_file)}"
        for one in kept
    ]
    return (
        f"{what} running and did not come back, with no pane to act on ({there}). {'. '.join(by_hand)}. "
        "`lost: recover` in the config has that done."
    )


def stranded_again(name: str, run: str, session_file: str, why: str, by_hand: str) -> str:
    return (
        f"Straw Boss leaves {quoted(name)} (run {run}, session file {exactly(session_file)}) to you: it is stranded, and "
        f"{why}. {by_hand}"
    )


def times(number: int) -> str:
    return {1: "once", 2: "twice", 3: "three times"}.get(number, f"{number} times")


def in_its_pane(pane: str) -> str:
    return f"Continue it in its pane {quoted(pane)}."


def ask_by_hand(pane: str) -> str:
    return f"It has finished and nobody was told: ask it for its report in its pane {quoted(pane)}."


def close_and_resume(pane: str, name: str, session_file: str) -> str:
    return f"Close its pane {quoted(pane)}, which holds a plain pi; then: {_by_hand([(name, session_file)])}"


def two_pi(name: str, run: str, pane: str) -> str:
    return (
        f"Straw Boss cannot tell whether pane {quoted(pane)} of {quoted(name)} (run {run}) holds a plain pi: two processes "
        "named pi are in its foreground, as with a shim of a version manager. `strawboss doctor` says what to change; "
        "until then continue this run by hand."
    )


def torn_keys(runs: Sequence[str], file: str) -> str:
    what = f"run {runs[0]}" if len(runs) == 1 else f"runs {', '.join(sorted(runs))}"
    return (
        f"Straw Boss leaves {what} alone: a line of this session's file that may hold a key of it cannot be read "
        f"(torn, as by a full disk). To mend it, quit pi and delete that line from {exactly(file)}; the other runs are "
        "looked at as ever."
    )


def _by_hand(sessions: Iterable[tuple[str, str]]) -> str:
    calls = [f"subagent_resume {exactly({'sessionPath': file})}" for _, file in sessions]
    return "To resume by hand: " + "; ".join(calls)


def key_missing(key: str, name: str, run: str, session_file: str) -> str:
    """A `nudged` key that reaches the file late still ends the run's questions: the user must know where its result is."""
    if key == UNNUDGED:
        return (
            f"Straw Boss could not take back its nudged key for {quoted(name)} (run {run}), so it was not asked and will "
            f"not be; its result is in {exactly(session_file)}."
        )
    late = f"; if that key turns up late, the run is not asked, and its result is in {exactly(session_file)}"
    return (
        f"Straw Boss could not confirm its {key} key for {quoted(name)} (run {run}) in this session's file, so it did "
        f"nothing; it tries again{late if key == NUDGED else ''}."
    )


def second_pi(why: str) -> str:
    return f"Straw Boss stays passive: a second pi is on this session ({reason(why)})."


def would(name: str, run: str, act: str) -> str:
    """Mode `observe`: `act` is what would have been done to the run."""
    return f"Straw Boss only observes: {quoted(name)} (run {run}) would now {act}."
