"""Whether anybody looks: the lock, the last look, the pi."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from strawboss.machine import ProcessList
from strawboss.overview.seen import Watch
from strawboss.pi.protocol import SILENT_LOOKS
from strawboss.recovery.evidence import Launcher
from strawboss.survey.liveness import Patience, started_at, watch_of
from strawboss.tape.last import LastLook

NOW = time.time() + 1000
HERE, GONE = "here", "gone"
PIDS = {HERE: os.getpid(), GONE: 2**22 + 1, None: None}
INTERVAL = 15.0
PATIENCE = SILENT_LOOKS * INTERVAL


@pytest.mark.parametrize(
    ("locked", "ago", "pid", "elsewhere", "watch"),
    [
        (True, PATIENCE, None, (), Watch.LOOKING),
        (True, PATIENCE + 1, None, (), Watch.HUNG),
        (False, PATIENCE, HERE, (), Watch.UNSEEN),
        (False, PATIENCE + 1, HERE, (), Watch.STOPPED),
        (False, PATIENCE + 1, HERE, (HERE,), Watch.CLOSED),
        (False, 100_000_000, HERE, (), Watch.CLOSED),  # that pid was another's then
        (False, PATIENCE + 1, GONE, (), Watch.CLOSED),
        (False, PATIENCE + 1, None, (), Watch.CLOSED),
    ],
)
def test_each_case(
    locked: bool, ago: float, pid: str | None, elsewhere: tuple[str, ...], watch: Watch
) -> None:
    last = LastLook(Path("/t"), Launcher("boss", "", "/s", "/w", pid=PIDS[pid]), (), NOW - ago)
    patience = Patience(NOW, INTERVAL)
    found = watch_of(
        last,
        locked=locked,
        elsewhere=[PIDS[one] or 0 for one in elsewhere],
        patience=patience,
        machine=ProcessList(),
    )
    assert found is watch


def test_with_very_short_intervals_a_look_is_not_late_at_once() -> None:
    assert not Patience(NOW, 0.1).is_late(NOW - 9)


def test_when_a_process_began_is_known_while_it_lives() -> None:
    started = started_at(os.getpid(), ProcessList())
    assert started is not None
    assert started <= time.time()
    assert started_at(2**22 + 1, ProcessList()) is None
