"""A home of its own for each test, and the store on each engine."""

from __future__ import annotations

import os
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from sqlalchemy import Connection, make_url
from wakeup.postgres import statement

from strawboss.wakeup import agents
from strawboss.wakeup.agents import Agent, Registry
from strawboss.wakeup.store.database import Database, open_database

POSTGRES = "STRAWBOSS_TEST_POSTGRES"
ENGINES = ("sqlite", "postgresql")


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """State and config directories below tmp_path; nothing of the caller's own strawboss reaches a test."""
    for name in [name for name in os.environ if name.startswith("STRAWBOSS_") and name != POSTGRES]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("STRAWBOSS_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.setenv("STRAWBOSS_CONFIG_DIR", str(tmp_path / "config"))
    return tmp_path


@pytest.fixture(scope="session")
def postgres() -> str:
    """The address of a PostgreSQL server, from scripts/postgres. With CI set there must be one."""
    address = os.environ.get(POSTGRES, "")
    if not address and os.environ.get("CI"):
        pytest.fail(f"{POSTGRES} is not set; scripts/postgres sets it")
    if not address:
        pytest.skip(f"{POSTGRES} is not set; scripts/postgres sets it")
    return address


@pytest.fixture(params=ENGINES)
def store_url(request: pytest.FixtureRequest, home: Path) -> Iterator[str]:
    """The address of an empty store, once on each engine: a file, or a schema of its own."""
    if request.param == "sqlite":
        yield f"sqlite:///{home / 'state' / 'store.sqlite'}"
        return
    server, name = request.getfixturevalue("postgres"), f"test_{uuid.uuid4().hex[:12]}"
    statement(server, f"CREATE SCHEMA {name}")
    own = make_url(server).update_query_dict({"options": f"-csearch_path={name}"})
    yield own.render_as_string(hide_password=False)
    statement(server, f"DROP SCHEMA {name} CASCADE")


@pytest.fixture
def database(store_url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Database]:
    """The open store; processes that a test starts find the same one."""
    monkeypatch.setenv("STRAWBOSS_STORE", store_url)
    opened = open_database()
    yield opened
    opened.close()


@pytest.fixture
def connection(database: Database) -> Iterator[Connection]:
    """One writing transaction on the store."""
    with database.write() as connection:
        yield connection


@pytest.fixture
def light(home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Database]:
    """A store on SQLite only, for what does not depend on the engine."""
    monkeypatch.setenv("STRAWBOSS_STORE", f"sqlite:///{home / 'state' / 'store.sqlite'}")
    opened = open_database()
    yield opened
    opened.close()


@pytest.fixture
def enlist(home: Path) -> Callable[..., Registry]:
    """Write these agents into the registry and give it back."""

    def enlist(*enlisted: Agent) -> Registry:
        for agent in enlisted:
            agents.append(agents.registry_path(), agent)
        return agents.load()

    return enlist


def wait_for(wanted: Callable[[], object], what: str, seconds: float = 60.0) -> object:
    """Until `wanted` gives something true; fails, saying what was waited for."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if found := wanted():
            return found
        time.sleep(0.05)
    return pytest.fail(f"waited {seconds:.0f}s in vain for {what}")


@pytest.fixture
def until() -> Callable[..., object]:
    """`until(wanted, "what")`: wait for the thing itself."""
    return wait_for
