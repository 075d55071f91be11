"""Trials of the checks: turn one ordering of the core around in a copy, and see what catches it.

`python -m crash.trials` runs them all and prints what caught each; none may pass unnoticed.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import strawboss

PACKAGE = Path(strawboss.__file__).parent
TESTS = Path(__file__).parents[1]
CATCH = "import sys, crash.trials; crash.trials.search_until_caught(sys.argv[1:])"

KEY_OF_NUDGE = "    if not (yield from write_key(known, NUDGED,"
SEND = """\
    early = known.facts[run].peer
    assert early is not None
    yield SendIntercom(early.id, early.epoch, _request(known, run))
"""
TRANSCRIPT_LAST = """\
    newest = yield from with_witnesses((yield from with_processes(newest)))
    return (yield from _with_transcript(newest))
"""
TRANSCRIPT_FIRST = """\
    newest = yield from _with_transcript(newest)
    if isinstance(newest, Verdict):
        return newest
    return (yield from with_witnesses((yield from with_processes(newest))))
"""
IN_FULL = ("one ordinary run, two looks in full",)
IN_A_WORKTREE = ("one worktree run, three looks",)
ROSTER_NOW = "        roster=(yield ListSessions()),\n"
KEY_OF_WARNING = "    if not (yield from write_key(known, WARNED, run, **place, **noted, why=why)):\n"
WARNING = """\
    yield Notify("warning", messages.stranded_again(facts.name, run, facts.session_file, why, by_hand))
"""
AGAIN_BY_DEFAULT = ("a resumed run, resumed: warn",)
LOST_TO_RECOVER = ("one lost ordinary run, lost: recover",)
KEY_OF_CLOSE = "    if not (yield from write_key(known, CLOSING,"


@dataclass(frozen=True, slots=True)
class Trial:
    """One change of the source: `file` in the package, the text as it is, the text turned around. `searches`: which of
    `crash.search` are to notice, in that order.
    """

    file: str
    text: str
    turned: str
    searches: tuple[str, ...] = ("one ordinary run, three looks", "one worktree run, three looks")


TRIALS: Mapping[str, Trial] = {
    "key after effect: nudge": Trial("recovery/nudge/ask.py", KEY_OF_NUDGE, SEND + KEY_OF_NUDGE),
    "key after effect: close": Trial(
        "recovery/restored/close.py", KEY_OF_CLOSE, "    yield ClosePane(pane.id)\n" + KEY_OF_CLOSE
    ),
    "no re-check before close": Trial(
        "recovery/restored/close.py", "verdict = yield from _still_restored(known, run)", "verdict = None"
    ),
    "resumed before the message is seen": Trial(
        "recovery/restored/tell.py",
        "        if facts.is_taken and not (facts.is_worktree",
        "        if not (facts.is_worktree",
    ),
    "give-up not recorded": Trial(
        "recovery/restored/fail.py",
        "write_key(known, GAVE_UP, run,",
        'write_key(known, "forgotten", run,',
    ),
    "fold order reversed": Trial(
        "recovery/keys.py", "    for entry in entries:\n", "    for entry in reversed(tuple(entries)):\n"
    ),
    "the roster asked before the key": Trial("recovery/recheck.py", ROSTER_NOW, ""),
    "a busy roster holds back no word of a worktree child": Trial(
        "recovery/witnesses.py",
        "    return YES if is_idle(there[0].status) else no(",
        "    return YES if facts.is_worktree or is_idle(there[0].status) else no(",
        IN_A_WORKTREE,
    ),
    "a witness who could be asked at one of the two looks has agreed at both": Trial(
        "recovery/restored/conditions.py",
        '("unasked", facts.roster)',
        '("unread", facts.tail)',
        IN_A_WORKTREE,
    ),
    "a broker that knew the child and is gone never knew it": Trial(
        "recovery/witnesses.py", "if facts.was_connected else YES", "if False else YES", IN_FULL
    ),
    "a closed run is told of though its session moved on": Trial(
        "recovery/restored/tell.py", "first_obstacle(heard, (is_not_forked, stands_still))", "None"
    ),
    "a worktree child is said to wait by what the look heard": Trial(
        "recovery/restored/tell.py", "else first_obstacle(facts, CONDITIONS)", "else None", IN_A_WORKTREE
    ),
    "the other witnesses asked after the launcher's file": Trial(
        "recovery/recheck.py", TRANSCRIPT_LAST, TRANSCRIPT_FIRST
    ),
    "key after the word: stranded again": Trial(
        "recovery/again.py", KEY_OF_WARNING, WARNING + KEY_OF_WARNING, AGAIN_BY_DEFAULT
    ),
    "recovered again before anybody asked for it": Trial(
        "recovery/again.py",
        "settings.resumed is not Beyond.RECOVER",
        "settings.resumed is None",
        AGAIN_BY_DEFAULT,
    ),
    "recovered again once too often": Trial(
        "recovery/again.py",
        "times_recovered >= MOST_TIMES",
        "times_recovered > MOST_TIMES",
        ("a worktree run again, resumed: recover",),
    ),
    "a result from before the resume counts, one after it does not": Trial(
        "recovery/conditions.py",
        "results_at.get(file, -1) > facts.began_at",
        "results_at.get(file, -1) < facts.began_at",
        ("a resumed run, resumed: recover",),
    ),
    "late key before the pane list": Trial(
        "recovery/restored/tell.py",
        "known.learn(run, panes=(yield ListPanes())).panes",
        "facts.panes",
        ("a worktree run again, resumed: recover",),
    ),
    "a lost run handed over before anybody is asked who holds it": Trial(
        "recovery/lost/claim.py",
        "first_obstacle(facts, STILL_LOST)",
        "None",
        LOST_TO_RECOVER,
    ),
    "a lost run recovered again before anybody asked for it": Trial(
        "recovery/lost/conditions.py",
        "    may_be_recovered,\n",
        "",
        ("a lost resumed run, resumed: warn, lost: recover",),
    ),
    "a lost run handed over past a shell in its terminal": Trial(
        "recovery/lost/conditions.py", "    no_pane_is_left,\n", "", LOST_TO_RECOVER
    ),
    "a lost run asked after only before a wait": Trial(
        "recovery/lost/claim.py", "State.CLAIMED, State.TO_TELL", "State.CLAIMED", LOST_TO_RECOVER
    ),
}


def caught_by(trial: Trial) -> str:
    """What the search says of the turned core: the invariant and why, or nothing when it notices nothing."""
    with tempfile.TemporaryDirectory() as directory:
        copy = Path(directory) / PACKAGE.name
        shutil.copytree(PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__", "extension"))
        turn(copy / trial.file, trial)
        path = os.pathsep.join([directory, str(TESTS)])
        environment = {**os.environ, "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"}
        done = subprocess.run(
            [sys.executable, "-P", "-c", CATCH, *trial.searches],
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        )
    return done.stdout.strip()


def turn(file: Path, trial: Trial) -> None:
    source = file.read_text()
    if source.count(trial.text) != 1:
        raise ValueError(f"{trial.file} has not exactly one place to turn around: {trial.text!r}")
    file.write_text(source.replace(trial.text, trial.turned))


def search_until_caught(names: Sequence[str]) -> None:
    """Runs in the copy: the first broken invariant of those searches."""
    from crash.search import SEARCHES  # here, so that it is the copy's core that is searched

    for name in names:
        found = SEARCHES[name]().run(first=True)
        if found is not None:
            sys.stdout.write(str(found.violation))
            return


def main() -> int:
    caught = {name: caught_by(trial) for name, trial in TRIALS.items()}
    for name, by in caught.items():
        sys.stdout.write(f"{name}: {by or 'NOT CAUGHT'}\n")
    return 0 if all(caught.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
