"""Go on with what an earlier look, or an earlier process, began: every run whose key says so, or is on its way."""

from __future__ import annotations

from dataclasses import replace

from strawboss.recovery import restored
from strawboss.recovery.acts.close import go_on_closing
from strawboss.recovery.acts.step import Commands, record_failure
from strawboss.recovery.acts.tell import go_on_told
from strawboss.recovery.acts.worktree import go_on_continued
from strawboss.recovery.round import Round
from strawboss.recovery.verdict import first_obstacle

ROADS = {
    restored.State.CLOSING: go_on_closing,
    restored.State.CONTINUED: go_on_continued,
    restored.State.TOLD: go_on_told,
    restored.State.FAILED: record_failure,
}
# Begun by a process that may have died with the launcher's message on its way.
BEGUN = frozenset({restored.State.CLOSING, restored.State.CONTINUED})


def go_on(round_: Round) -> Commands:
    for run in list(round_.facts):
        if round_.watches[run].restored in restored.UNDER_WAY:
            yield from _go_on(round_, run)


def _go_on(round_: Round, run: str) -> Commands:
    facts, watch = round_.facts[run], round_.watches[run]
    obstacle = first_obstacle(facts, restored.TO_GO_ON)
    kept = watch.restored_obstacle if watch.restored is restored.State.FAILED else None
    maybe_put = watch.maybe_put or watch.restored in BEGUN
    round_.watches[run] = replace(
        watch, obstacle=obstacle or kept, machine=restored.kind(facts), maybe_put=maybe_put
    )
    road = ROADS.get(watch.restored)
    taken = run in facts.transcript.told  # only its resumed key is missing
    if obstacle is None and road is not None and not taken:
        yield from road(round_, run)
