"""What a look says of a run: which machine it is with, how that stands, and what is in the way."""

from __future__ import annotations

from strawboss.recovery.conditions import runs_its_script
from strawboss.recovery.facts import Facts
from strawboss.recovery.machine import Machine
from strawboss.recovery.memory import RunMemory, RunReport
from strawboss.recovery.nudge.machine import DONE as ASKED
from strawboss.recovery.proof import Stage
from strawboss.recovery.restored.conditions import restore_happened
from strawboss.recovery.restored.machine import DONE as HANDED_OVER
from strawboss.recovery.verdict import Answer, Unknown


def machine_to_name(
    facts: Facts, memory: RunMemory, nudge: Machine, restored: Machine, *, asked: bool
) -> Machine:
    """The one that found the run, else the one whose case it looks like. `asked`: this look asked for its pane."""
    proof = memory.proof(restored.name)
    if proof.state not in restored.ended and proof.obstacle is None:
        return restored
    if memory.proof(nudge.name).obstacle is None or _is_the_nudges(facts, memory, nudge, asked=asked):
        return nudge
    return restored


def _is_the_nudges(facts: Facts, memory: RunMemory, nudge: Machine, *, asked: bool) -> bool:
    """Its pane runs the script, or has had the same terminal all the time.

    What was seen when its pane was last asked for stays, so that a child at work is not called given up.
    """
    if not asked and memory.machine:
        return memory.machine == nudge.name
    if runs_its_script(facts).holds:
        return True
    if isinstance(facts.activity, Unknown) or facts.activity.phase == "done":
        return False
    return restore_happened(facts).answer is Answer.NO


def report_of(run: str, memory: RunMemory, nudge: Machine, restored: Machine) -> RunReport:
    if memory.settled is not None:
        return RunReport(
            run, memory.name, "", _when_settled(memory, nudge, restored), memory.settled, stranded=False
        )
    if not memory.machine:
        state = "not looked at" if memory.obstacle else "tracked"
        return RunReport(run, memory.name, "", state, memory.obstacle, stranded=False)
    machine = nudge if memory.machine == nudge.name else restored
    state = memory.proof(machine.name).state
    stranded = state == Stage.FOUND_ONCE or state in machine.under_way
    return RunReport(run, memory.name, memory.machine, str(state), memory.obstacle, stranded)


def _when_settled(memory: RunMemory, nudge: Machine, restored: Machine) -> str:
    """What the last machine did, if any did anything; else that nothing can be done."""
    for machine, done in ((restored, HANDED_OVER), (nudge, ASKED)):
        state = memory.proof(machine.name).state
        if state in done:
            return str(state)
    return "settled"
