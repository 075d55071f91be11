"""What is said once after herdr has started: how many runs were recovered since, and how many need a person."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from strawboss.overview.judge import View, needs_of
from strawboss.overview.seen import Watch
from strawboss.recovery.verdict import Unknown

# With a pane: its pi, or its process, has still to start.
COMING_BACK = frozenset({Watch.CLOSED, Watch.UNSEEN})


@dataclass(frozen=True, slots=True)
class Situation:
    """As much of the status as an announcement goes by. Two that are equal: nothing has happened between them.

    `watched`: each launcher's session, and whether it is looked at. `recovered`: session, run and when (epoch seconds).
    `needs`: session, and run or nothing. `is_pending`: a recovery is under way, or a launcher is coming back.
    """

    watched: frozenset[tuple[str, Watch]]
    recovered: frozenset[tuple[str, str, float]]
    needs: frozenset[tuple[str, str]]
    is_pending: bool


def situation(views: Sequence[View], in_panes: Collection[str] | Unknown) -> Situation:
    """`in_panes`: the session files that herdr has panes for."""
    return Situation(
        frozenset((one.seen.launcher.id, one.seen.watch) for one in views),
        frozenset((done.launcher.id, done.run, done.at) for one in views for done in one.recovered),
        frozenset((need.launcher.id, need.run) for need in needs_of(views)),
        isinstance(in_panes, Unknown)
        or any(one.under_way or _is_coming_back(one, in_panes) for one in views),
    )


def _is_coming_back(view: View, in_panes: Collection[str]) -> bool:
    return view.seen.watch in COMING_BACK and view.seen.launcher.file in in_panes


def news(first: Situation, last: Situation, said: Collection[tuple[str, str]]) -> str:
    """`5 runs recovered, 1 needs you`; empty when nothing was recovered between the two, and all needs have been said."""
    recovered, needs = len(last.recovered - first.recovered), len(last.needs)
    if not recovered and last.needs.issubset(said):
        return ""
    parts = [f"{recovered} run{'s' * (recovered != 1)} recovered"] if recovered else []
    return ", ".join(parts + ([f"{needs} need{'s' * (needs == 1)} you"] if needs else []))
