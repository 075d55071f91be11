"""What holds for all tests.

Property tests draw the same examples every time: a failure is a fault of the change at hand, never of chance.
What is `slow` comes first, so that no worker is left with it alone at the end; everything in tests/e2e is.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

E2E = Path(__file__).parent / "e2e"

settings.register_profile(
    "strawboss",
    deadline=None,  # how long an example takes says how busy the machine is
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
settings.load_profile("strawboss")

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # Started in the background of a shell; what a test starts and interrupts must not inherit that.
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session", autouse=True)
def _state_of_nobody(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """No test writes among the tapes, locks and tasks of whoever runs it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("STRAWBOSS_STATE_DIR", str(tmp_path_factory.mktemp("state")))
        yield


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if E2E in item.path.parents:
            item.add_marker(pytest.mark.slow)
    items.sort(key=lambda item: item.get_closest_marker("slow") is None)
