"""Long histories on tape: played again they decide the same, and torn anywhere they are the same history, shorter."""

import random
import tempfile
from pathlib import Path

import pytest
from crash import evidence
from crash.test_long_histories import History
from hypothesis import HealthCheck, settings

from strawboss.tape.play import play
from strawboss.tape.reader import read_session, read_tape
from strawboss.tape.shelf import Limits
from strawboss.tape.writer import Tape

pytestmark = pytest.mark.slow

TEARS = 4
SESSION = "boss"


class TapedHistory(History):
    def __init__(self):
        super().__init__()
        self.directory = tempfile.TemporaryDirectory(prefix="sb-tapes-")
        self.shelf = Path(self.directory.name)
        self.complaints = []
        self.world.tapes = self.new_tape

    def new_tape(self):
        limits = Limits(session=64 * 1024 * 1024)
        return Tape(
            self.shelf, SESSION, limits, evidence.LAUNCHER, self.world.settings, self.complaints.append
        )

    def teardown(self):
        try:
            self.is_all_there()
        finally:
            self.directory.cleanup()

    def is_all_there(self):
        assert self.complaints == []
        whole = self.told()
        assert whole
        chance = random.Random(len(whole))
        files = sorted((self.shelf / SESSION).glob("*.jsonl"))
        for _ in range(TEARS):
            file = chance.choice(files)
            content, inside = file.read_bytes(), len(list(read_tape(file)))
            file.write_bytes(content[: chance.randrange(len(content))])
            torn = self.told()
            assert all(one in whole for one in torn if one[-1])
            assert len(torn) >= len(whole) - inside  # no other segment suffers
            file.write_bytes(content)

    def told(self):
        """Every look with what it did, and whether it ended; none decides otherwise than when it was taken."""
        looks = list(read_session(self.shelf / SESSION))
        story, _ = play(looks) if looks else ([], None)
        assert [told.differs for told in story] == [()] * len(looks)
        return [
            (look.clock, told.runs, repr(told.done), told.ended)
            for look, told in zip(looks, story, strict=True)
        ]


TapedHistory.TestCase.settings = settings(
    max_examples=200,
    stateful_step_count=12,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=list(HealthCheck),
)
TestTapedHistories = TapedHistory.TestCase
