"""What a person is told that belongs to no machine, or to several.

Each stays true when it is read late (docs/design.md#texts).
"""

from __future__ import annotations

from collections.abc import Sequence

from strawboss.recovery.keys import NUDGED, UNNUDGED
from strawboss.recovery.wording import exactly, quoted, reason


def stranded_again(name: str, run: str, session_file: str, why: str, by_hand: str) -> str:
    return (
        f"Straw Boss leaves {quoted(name)} (run {run}, session file {exactly(session_file)}) to you: it is stranded "
        f"again, and {why}. {by_hand}"
    )


def torn_keys(runs: Sequence[str], file: str) -> str:
    what = f"run {runs[0]}" if len(runs) == 1 else f"runs {', '.join(sorted(runs))}"
    return (
        f"Straw Boss leaves {what} alone: a line of this session's file that may hold a key of it cannot be read "
        f"(torn, as by a full disk). To mend it, quit pi and delete that line from {exactly(file)}; the other runs are "
        "looked at as ever."
    )


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
