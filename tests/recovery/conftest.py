from __future__ import annotations

from collections.abc import Iterator

import pytest
from playbook import never_run


@pytest.fixture(autouse=True)
def every_playbook_runs() -> Iterator[None]:
    """A script that was written and never run is a test that never tested."""
    never_run()
    yield
    assert not never_run(), "a playbook was written and never run"
