"""A run in one sentence of plain words: what it is, what was done or is awaited, what a person can do."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from strawboss.recovery import facts
from strawboss.recovery.again import MAY_BE_RECOVERED
from strawboss.recovery.explain import Explanation
from strawboss.recovery.lost.machine import State as Lost
from strawboss.recovery.memory import RunReport
from strawboss.recovery.nudge.machine import State as Nudge
from strawboss.recovery.observing import MAY_ACT
from strawboss.recovery.proof import Stage
from strawboss.recovery.restored.machine import State as Restored
from strawboss.system.printable import printable
from strawboss.tape.taped_look import NOT_ASKED

NAME_LENGTH = 60
NEAR = 5
UNASKED = frozenset({facts.NOT_ASKED.why, NOT_ASKED.why})  # why a look or its tape does not know
BY_HAND = "its session file has its work, and subagent_resume goes on with it"
AGAIN = " (a person is told instead where it was recovered before, unless the config says `resumed: recover`)"
NEXT = {
    "nudge": f"it is asked for its report{AGAIN}",
    "restored": f"its pane is closed and its launcher is told to resume it{AGAIN}",
    "worktree": f"its launcher is told of it, and a child that was cut off is told to go on{AGAIN}",
    "lost": "a person is told, or, with `lost: recover` in the config, its launcher is told to resume it",
}

# `{why}`: what stands in the way, `{next}`: what the machine does next. A state that is not here is said as it is.
STATES: Mapping[str, str] = {
    "tracked": "its launcher still watches it, so there is nothing to do",
    "not looked at": "this look could not judge it ({why}); the next one tries again",
    "settled": "nothing will be done for it: {why}",
    Stage.WATCHING: "nothing is done for it now: {why}; every look asks again",
    Stage.FOUND_ONCE: "it is stranded, seen once; if the next look finds it so too, {next}",
    Stage.FOUND_TWICE: "it is stranded, seen twice; what comes next is that {next}",
    Stage.GIVEN_UP: "it was given up until the launcher's next start or /reload ({why})",
    Nudge.NUDGED: f"it was to be asked for its report once, and whether that reached it is not known; {BY_HAND}",
    Nudge.SENT: "it was asked once for its report, which comes to its launcher over intercom",
    Nudge.SEND_FAILED: f"it could not be asked for its report and will not be asked again; {BY_HAND}",
    Restored.CLOSING: "its restored pane is being closed",
    Restored.CONTINUED: "it is being told to go on in its worktree",
    Restored.CLAIMED: "nobody holds its session, and its launcher is to be told to resume it",
    Restored.TO_TELL: "its launcher is to be told of it as soon as the session takes a message",
    Restored.TOLD: "its launcher was told of it, and has not read that yet",
    Restored.FAILED: "a step failed ({why}), which is being written down",
    Restored.RESUMED: "its launcher was told of it and goes on with it; there is nothing more to do",
    Restored.GAVE_UP: f"a step failed ({{why}}) and is not tried again; {BY_HAND}",
    Lost.SAID: f"it was running and did not come back, which was said once; {BY_HAND}",
    Lost.CLAIMED: "it was running and did not come back; its launcher is to be told to resume it",
}


# Where that stands in the way, it says more than the state.
BY_OBSTACLE = (
    (MAY_ACT, "nothing is done for it: {why}"),
    (MAY_BE_RECOVERED, "it is stranded again, and a person was told what to do: {why}"),
)


def sentence(report: RunReport) -> str:
    """`a1b2c3d4 "Zeta": …`, one printable line."""
    return f"{called(report)}: {what(report)}."


def called(report: RunReport) -> str:
    name = printable(report.name)
    name = name if len(name) <= NAME_LENGTH else name[: NAME_LENGTH - 1] + "…"
    return f'{printable(report.run)} "{name}"' if name else printable(report.run)


def what(report: RunReport) -> str:
    obstacle = report.obstacle
    special = [said for name, said in BY_OBSTACLE if obstacle is not None and obstacle.is_of([name])]
    said = (*special, STATES.get(report.state, f"{report.machine}: {report.state}"))[0]
    return printable(said.format(why=why(report), next=NEXT.get(report.machine, "it is recovered")))


def why(report: RunReport) -> str:
    """What stands in the way, without the braces that would mean something here."""
    if report.obstacle is None:
        return "nothing stands in its way"
    words = report.obstacle.why or f"{report.obstacle.condition}: {report.obstacle.answer.value}"
    return words.rstrip(".")


def condition_lines(report: RunReport, conditions: Explanation, whole: bool) -> Iterator[str]:
    """Those that do not hold, machine by machine; then those that do and those not asked about, or how many they are.

    What stands in the way of every machine comes first: that nothing may be done at all.
    """
    if report.obstacle is not None and report.obstacle.is_of([MAY_ACT]):
        yield str(report.obstacle)
    each = [(machine, one) for machine, verdicts in conditions for one in verdicts]
    holding = [one for one in each if one[1].holds]
    unasked = [one for one in each if one[1].why in UNASKED]
    failing = [one for one in each if one not in holding and one not in unasked]
    yield from (f"{machine}: {one}" for machine, one in (failing + holding + unasked if whole else failing))
    if not whole and len(failing) < len(each):
        yield f"not shown: {len(holding)} that hold, {len(unasked)} not asked about (`strawboss explain --all`)"


def near(run: str, known: Iterable[str]) -> list[str]:
    """The ids most like that one, those that begin like it first."""
    from difflib import get_close_matches  # a look needs none of it

    ids = sorted(set(known))
    begin = [one for one in ids if run and one.startswith(run)]
    return list(dict.fromkeys([*begin, *get_close_matches(run, ids, n=NEAR)]))[:NEAR]
