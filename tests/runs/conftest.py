from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from runs.written import SESSION

from strawboss.runs import Disk

RECORDED = Path(__file__).parents[2] / "fixtures" / "recorded"
SESSIONS = "/home/user/.pi/agent/sessions"
FOLDER = f"{SESSIONS}/--home-user-proj--"


@pytest.fixture(scope="session")
def moment() -> Callable[[str], Path]:
    """`moment("restart/3")` gives the folder of that recorded moment."""
    return lambda name: next(RECORDED.glob(f"{name}*"))


@pytest.fixture
def recorded(moment: Callable[[str], Path]) -> Callable[..., Disk]:
    """`recorded("restart/3")` reads that moment as the launcher's disk."""

    def disk(name: str, session: str = SESSION) -> Disk:
        sessions = moment(name) / "sessions"
        launcher = next(sessions.rglob(f"*_{session}.jsonl"))
        return Disk(
            f"{SESSIONS}/{launcher.relative_to(sessions)}",
            f"{FOLDER}/artifacts/{session}",
            lambda path: sessions / Path(path).relative_to(SESSIONS),
            str,
            session,
        )

    return disk
