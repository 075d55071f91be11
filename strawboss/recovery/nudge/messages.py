"""What a finished child is asked, and what a person is told of that.

Each stays true when it is read late (docs/design.md#texts).
"""

from __future__ import annotations

from strawboss.recovery.wording import exactly, launcher_name, quoted, reason, step_time


def report_request(at: str, launcher: str, name: str, run: str, session_file: str, last_step: str) -> str:
    """The nudge: to a child that is done, with the address to report to. `at`: the time of the look."""
    return (
        f"Straw Boss, {at}, for the session that launched you: {launcher_name(name, launcher)}. "
        f"It no longer tracks your run {run} (session file {exactly(session_file)}), so the result you reached at "
        f"{step_time(last_step)} has not come back to it.\n"
        f'Send your final report to that session with the intercom tool (action "send", to {exactly(launcher)}), '
        "then stop. If you have already reported, ignore this."
    )


def ask_by_hand(pane: str) -> str:
    return f"It has finished and nobody was told: ask it for its report in its pane {quoted(pane)}."


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
