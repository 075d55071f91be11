"""Go on with what an earlier look, or an earlier process, began: every run whose key says so, or is on its way."""

from __future__ import annotations

from strawboss.recovery.known import Commands, Known
from strawboss.recovery.restored.close import go_on_closing
from strawboss.recovery.restored.conditions import TO_GO_ON, called
from strawboss.recovery.restored.fail import record_failure
from strawboss.recovery.restored.machine import NAME, UNDER_WAY, State
from strawboss.recovery.restored.tell import go_on_told
from strawboss.recovery.restored.worktree import go_on_continued
from strawboss.recovery.verdict import first_obstacle

ROADS = {
    State.CLOSING: go_on_closing,
    State.CONTINUED: go_on_continued,
    State.TOLD: go_on_told,
    State.FAILED: record_failure,
}
# Begun by a process that may have died with the launcher's message on its way.
BEGUN = frozenset({State.CLOSING, State.CONTINUED, State.CLAIMED})


def go_on(known: Known) -> Commands:
    for run in known.at(NAME, *UNDER_WAY):
        yield from _go_on(known, run)


def _go_on(known: Known, run: str) -> Commands:
    facts, proof = known.facts[run], known.runs[run].proof(NAME)
    obstacle = first_obstacle(facts, TO_GO_ON)
    kept = proof.obstacle if proof.state == State.FAILED else None
    known.hand(run, maybe_put=known.runs[run].handing.maybe_put or proof.state in BEGUN)
    known.remember(run, obstacle=obstacle or kept, machine=called(facts))
    road = next((road for state, road in ROADS.items() if state == proof.state), None)
    taken = facts.is_taken  # only its resumed key is missing
    if obstacle is None and road is not None and not taken:
        yield from road(known, run)
