import sys
import time

import pytest
from crash.search import SEARCHES, as_playbook, figures

from strawboss.recovery.lost.machine import State as Lost
from strawboss.recovery.nudge.machine import State as Nudge
from strawboss.recovery.proof import Stage
from strawboss.recovery.restored.machine import State as Restored

pytestmark = pytest.mark.slow

# A search that never gets there proves nothing: states in which some history must end a look.
REACHED = {
    "one ordinary run, three looks": {
        *(Stage.FOUND_ONCE, Nudge.SENT, Nudge.SEND_FAILED),
        *(Restored.CLOSING, Restored.TO_TELL, Restored.TOLD),
        *(Restored.FAILED, Restored.RESUMED, Restored.GAVE_UP),
    },
    "one worktree run, three looks": {Restored.TO_TELL, Restored.TOLD, Restored.RESUMED, Restored.FAILED},
    "one ordinary run, about to be given up": {Stage.GIVEN_UP},
    "one lost ordinary run, lost: warn": {Lost.SAID},
    "one lost ordinary run, lost: recover": {
        *(Lost.CLAIMED, Restored.CLAIMED, Restored.TO_TELL, Restored.TOLD),
        *(Restored.RESUMED, Restored.FAILED),
    },
    "a lost resumed run, resumed: warn, lost: recover": {Lost.SAID},
    "a lost resumed run, resumed: recover, lost: warn": {Lost.SAID},
    "a lost resumed run, resumed: recover, lost: recover": {Lost.SAID, Lost.CLAIMED, Restored.RESUMED},
    "a worktree run lost again, resumed: warn": {Lost.SAID},
    "a worktree run lost again, resumed: recover": {Lost.SAID},
    "a worktree run again, resumed: warn": {Stage.GIVEN_UP},
    "a worktree run again, resumed: recover": {Restored.TO_TELL, Restored.TOLD, Restored.RESUMED},
    "a resumed run, resumed: recover": {Nudge.SENT, Restored.CLOSING, Restored.TOLD, Restored.RESUMED},
}


@pytest.mark.parametrize("name", SEARCHES)
def test_no_small_history_breaks_an_invariant(name):
    search, started = SEARCHES[name](), time.process_time()
    found = search.run()
    sys.stdout.write("\n" + figures(name, search, time.process_time() - started))
    assert found is None, as_playbook(found)
    assert REACHED.get(name, set()) <= search.reached
