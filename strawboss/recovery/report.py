"""What a look says of a run: which machine it is with, how that stands, and what is in the way."""

from __future__ import annotations

from strawboss.recovery.conditions import runs_its_script
from strawboss.recovery.facts import Facts
from strawboss.recovery.lost import LOST
from strawboss.recovery.machine import Machine
from strawboss.recovery.memory import RunMemory, RunReport
from strawboss.recovery.nudge import NUDGE
from strawboss.recovery.nudge.machine import DONE as ASKED
from strawboss.recovery.proof import Stage
from strawboss.recovery.restored import RESTORED
from strawboss.recovery.restored.conditions import (
    pane_is_on_its_session,
    pane_is_plain,
    pane_is_there,
    restore_happened,
)
from strawboss.recovery.restored.machine import DONE as HANDED_OVER
from strawboss.recovery.verdict import Answer, Unknown

# What the restored case says where it sees no pi of the run.
NOBODY_SEEN = (pane_is_there, pane_is_on_its_session, pane_is_plain)


def machine_to_name(facts: Facts, memory: RunMemory, *, asked: bool) -> Machine:
    """The one that found the run, else the one whose case it looks like. `asked`: this look asked for its pane."""
    restored = memory.proof(RESTORED.name)
    if restored.state not in RESTORED.ended and restored.obstacle is None:
        return RESTORED
    tells = restored.state == Stage.GIVEN_UP and _tells(memory)
    if tells and asked and facts.pane is None:
        return LOST
    if memory.proof(NUDGE.name).obstacle is None or _is_the_nudges(facts, memory, asked=asked):
        return NUDGE
    return LOST if tells else RESTORED


def _tells(memory: RunMemory) -> bool:
    """Whether the lost case has found it, or, where the restored case found nobody, somebody after all."""
    proof, restored = memory.proof(LOST.name), memory.proof(RESTORED.name)
    if proof.obstacle is None:
        return proof.state != Stage.WATCHING
    found_nobody = restored.obstacle is not None and restored.obstacle.is_of(NOBODY_SEEN)
    return found_nobody and proof.obstacle.is_of(LOST.by_processes + LOST.by_witnesses)


def _is_the_nudges(facts: Facts, memory: RunMemory, *, asked: bool) -> bool:
    """Its pane runs the script, or has had the same terminal all the time.

    What was seen when its pane was last asked for stays, so that a child at work is not called given up.
    """
    if not asked and memory.machine:
        return memory.machine == NUDGE.name
    if runs_its_script(facts).holds:
        return True
    if isinstance(facts.activity, Unknown) or facts.activity.phase == "done":
        return False
    return restore_happened(facts).answer is Answer.NO


def report_of(run: str, memory: RunMemory) -> RunReport:
    if memory.settled is not None:
        return RunReport(run, memory.name, "", _when_settled(memory), memory.settled, stranded=False)
    if not memory.machine:
        state = "not looked at" if memory.obstacle else "tracked"
        return RunReport(run, memory.name, "", state, memory.obstacle, stranded=False)
    machine = {NUDGE.name: NUDGE, LOST.name: LOST}.get(memory.machine, RESTORED)
    state = memory.proof(machine.name).state
    stranded = state == Stage.FOUND_ONCE or state in machine.under_way
    return RunReport(run, memory.name, memory.machine, str(state), memory.obstacle, stranded)


def _when_settled(memory: RunMemory) -> str:
    """What the last machine did, if any did anything; else that nothing can be done."""
    for machine, done in ((RESTORED, HANDED_OVER), (NUDGE, ASKED)):
        state = memory.proof(machine.name).state
        if state in done:
            return str(state)
    return "settled"
