"""Why, and what happened, from the tape of a real process: while it runs, after it was killed, with its disk full."""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from e2e.command import strawboss
from e2e.fleet import REPORT, Fleet, Session
from e2e.stranded import DONE, PANE, RESTORED, World
from process_driver import SESSION
from runs.written import RUN

from strawboss.tape.reader import read_session

HOSTILE_NAME = 'naïve "Beta"; rm -rf ~'


@pytest.fixture
def directory() -> Iterator[Path]:
    """Short, for sockets lie in it."""
    with tempfile.TemporaryDirectory(prefix="sb-", dir="/tmp") as made:
        yield Path(made)


@pytest.fixture
def fleet() -> Iterator[Fleet]:
    with Fleet() as fleet:
        yield fleet
        sys.stdout.write(fleet.story())  # pytest shows it with a failure


def explained(world: World) -> dict[str, Any]:
    code, out = strawboss(world.directory / "state", "explain", RUN, "--json")
    assert code == 0, out
    said: dict[str, Any] = json.loads(out)
    return said


def history(world: World) -> list[tuple[str, str]]:
    code, out = strawboss(world.directory / "state", "history", RUN, "--since", "8h", "--json")
    assert code == 0, out
    return [(event["what"], event["outcome"]) for event in map(json.loads, out.splitlines())]


def assert_incident_replays(state: Path, elsewhere: Path, *secrets: str) -> None:
    """Written here, and run on a machine that has nothing of this one."""
    elsewhere.mkdir()
    file = elsewhere / "incident.jsonl"
    code, out = strawboss(state, "incident", "-o", str(file))
    assert code == 0, out
    content = file.read_text()
    assert not [secret for secret in secrets if secret in content]
    code, out = strawboss(elsewhere / "state", "replay", "--diff", str(file), HOME=str(elsewhere))
    assert (code, out.endswith("all decided as they were\n")) == (0, True), out


def test_the_tape_of_a_launcher_that_was_killed_replays_elsewhere_without_its_names(
    fleet: Fleet, directory: Path
) -> None:
    launcher = fleet.launch()
    child = launcher.spawn(HOSTILE_NAME, "SLEEP 0.1\nSAY ready", interactive=True)
    fleet.wait_for(lambda: launcher.written("seen"), what="the run to be noted")
    launcher.crash()
    fleet.wait_for(lambda: "ready" in str(Session(child.session).entries), what="the child's turn to end")
    launcher.come_back()
    fleet.wait_for(lambda: launcher.messages("intercom_message", REPORT), what="the report")
    launcher.let_it_look()
    looks = list(read_session(fleet.state / "tapes" / launcher.id))
    assert sum(look.is_first for look in looks) == 2  # before the crash, and after it
    assert_incident_replays(
        fleet.state,
        directory / "elsewhere",
        child.run,
        launcher.id,
        str(fleet.root),
        "naïve",
        fleet.root.name,
    )
    code, out = strawboss(fleet.state, "history")
    assert (code, "it was asked for its report" in out) == (0, True), out


def test_killed_in_the_middle_of_an_act_it_is_known_what_was_done_and_what_not(directory: Path) -> None:
    with World(directory, RESTORED, name=HOSTILE_NAME) as world:
        pi = world.pi()

        def kill(step: tuple[str, str]) -> None:
            if step == ("herdr", "pane.close"):
                pi.process.kill()

        world.meanwhile = kill
        with pi:
            pi.starts()
            world.wait_for(lambda: pi.process.poll() is not None)
        world.meanwhile = lambda _: None
        assert history(world) == [("closing", "not known")]
        assert explained(world)["run"]["state"] == "found once"  # the last look that ended
        assert_incident_replays(directory / "state", directory / "one", RUN, SESSION, str(directory), "naïve")
        with world.pi() as second:
            second.starts()
            world.wait_for(world.is_recovered)
            second.looks(2)
            assert history(world)[-1] == ("resumed", "done")
            said = explained(world)
            assert said["run"]["state"] == "resumed"
        assert_incident_replays(directory / "state", directory / "two", RUN, SESSION, str(directory), "naïve")


@pytest.mark.parametrize("kind", [DONE, RESTORED])
def test_with_its_disk_full_it_recovers_all_the_same_and_tells_what_it_had_written(
    directory: Path, kind: str
) -> None:
    with World(directory, kind) as world:
        world.stop_herdr()
        with world.pi() as pi:
            pi.starts().looks(3)
            [segment] = (directory / "state" / "tapes" / SESSION).glob("*.jsonl")
            limit = segment.stat().st_size
            psutil.Process(pi.process.pid).rlimit(psutil.RLIMIT_FSIZE, (limit, limit))
            world.start_herdr()
            world.wait_for(world.is_recovered)
            pi.looks(2)
            assert [line["event"] for line in pi.log()].count("tape ended") <= 1  # its log may be as full
            assert pi.status(RUN)[0].startswith(f'{RUN} "Beta": ')
            assert explained(world)["run"]["run"] == RUN
        assert explained(world)["run"]["state"] == "watching"
        key = "nudged" if kind == DONE else "closing"
        assert (key, "not known") in history(world)  # the session file has the key, the tape no act
        assert_incident_replays(directory / "state", directory / "elsewhere", RUN, SESSION)
    assert PANE in world.panes or kind == RESTORED
