"""The search once more with every look on tape: it finds nothing either, and the tape replays what it was made of."""

from itertools import count
from pathlib import Path
from unittest import mock

import pytest
from crash.faults import EXHAUSTIVE
from crash.search import SEARCHES, as_playbook

from strawboss.recovery.look import look_at_runs
from strawboss.tape.play import Taking, play
from strawboss.tape.reader import read_lines, whole_lines
from strawboss.tape.save import SavedTape

pytestmark = pytest.mark.slow
# By default; what a search finds without a tape it need not find once more.
ON_TAPE = (
    "an ordinary and one worktree run",
    "one persistent run, two looks in full",
    "one lost worktree run, lost: warn",
    "a resumed run, resumed: warn",
)
EVERY = 25  # looks, of which one is read again and played


def taped(numbers, replayed):
    """`look_at_runs` with a tape of its own, which is played again once the look has ended."""

    def look(launcher, settings, memory, now):
        saved = SavedTape()
        taking = Taking(launcher, settings, memory, now, begins=True)
        result = yield from saved.record(look_at_runs(launcher, settings, memory, now), taking)
        if next(numbers) % EVERY == 0:
            [again] = read_lines(Path("tape"), whole_lines(saved.content()))
            [told] = play([again])[0]
            assert (told.differs, told.runs, again.segment.memory) == ((), result.runs, memory)
            replayed.append(again)
        return result

    return look


@pytest.mark.parametrize("name", SEARCHES if EXHAUSTIVE else ON_TAPE)
def test_no_small_history_breaks_an_invariant_on_tape(name):
    replayed = []
    with mock.patch("crash.play.look_at_runs", taped(count(), replayed)):
        found = SEARCHES[name]().run()
    assert found is None, as_playbook(found)
    assert replayed
