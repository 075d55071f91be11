"""Beat, steer, ack, claim, begin and cancel by processes that know nothing of each other, at once, by one seed.

Each story has a worktree of its own with one worker, dispatched and beating; three processes then run a few commands
each with random pauses. The rules are judged from what each command said, when it ran, and what lies there at the end.
"""

from __future__ import annotations

import json
import random
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from strawboss.heartbeat.attempts.ledger import all_units, ledger_directory
from strawboss.heartbeat.layout import Worktree
from strawboss.heartbeat.sweep import sweep
from strawboss.heartbeat.utc import utc_now
from strawboss.system.json_files import read_object

SEED = 16
STORIES = 2000
PROCESSES = 3
COMMANDS_EACH = 2
LONGEST_PAUSE = 1200  # microseconds: about as long as a command takes

UNIT = [
    "swarm:pre-dispatch",
    "--scope-id",
    "s",
    "--target-id",
    ".",
    "--revision",
    "r",
    "--worker-id",
    "leaf-7",
]
BEAT = ["agent:beat", "--agent", "leaf-7", "--parent-id", "run-42"]
STEER = ["subagent:steer", "--agent", "leaf-7", "--writer-id", "run-42", "--kind", "note", "--text", "where?"]
SETTING = [UNIT, BEAT]


@dataclass(frozen=True)
class Did:
    """One command of one process: what it was, when it ran, how it ended."""

    kind: str
    arguments: list[str]
    begun: int
    ended: int
    code: int
    out: str
    err: str

    @property
    def well(self) -> bool:
        return self.code == 0

    def value(self, flag: str) -> str:
        return self.arguments[self.arguments.index(flag) + 1]


# What stories are about: commands that meet at one file, so that they do meet.
THEMES = (
    ("beat", "end"),
    ("steer", "steer", "read", "ack"),
    ("claim", "claim", "claim", "release"),
    ("begin", "cancel", "force", "force"),
    ("steer", "ack", "begin", "cancel"),
    ("beat", "end", "steer", "read", "ack", "claim", "release", "begin", "cancel", "force"),
)


def command(kind: str, chance: random.Random, process: int, number: int) -> list[str]:
    session, cancel = f"session-{process}", [*UNIT, "--action", "cancel", "--canceller-id", "run-42"]
    return {
        "beat": [*BEAT, *chance.choice([["--phase", "polling"], []]), "--message", f"{process}{number}"],
        "end": [*BEAT, "--terminal-state", "CLEAN"],
        "steer": [*STEER, "--steer-id", chance.choice([f"s-{process}{number}", "s-00", "s-10"])],
        "read": ["subagent:inbox", "--agent", "leaf-7"],
        "ack": ["subagent:ack", "--agent", "leaf-7", "--steer-id", f"s-{chance.randrange(3)}0"],
        "claim": ["occupancy", "claim", "--session-id", session],
        "release": ["occupancy", "release", "--session-id", session],
        "begin": UNIT,
        "cancel": cancel,
        "force": [*cancel, "--force", "--reason", "seen dead"],
    }[kind]


def commands(chance: random.Random, theme: tuple[str, ...], process: int) -> Iterator[tuple[str, list[str]]]:
    for number in range(COMMANDS_EACH):
        kind = chance.choice(theme)
        yield kind, command(kind, chance, process, number)


class Servers:
    """The processes, each of which runs one batch at a time."""

    def __init__(self) -> None:
        command = [sys.executable, "-m", "heartbeat.command_server"]
        tests = Path(__file__).parents[1]
        self._running = [
            subprocess.Popen(command, cwd=tests, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            for _ in range(PROCESSES)
        ]

    def all_at_once(self, root: Path, batches: list[list[Any]]) -> list[list[Any]]:
        started = list(zip(self._running, batches, strict=False))
        for server, batch in started:
            server.stdin.write(json.dumps({"cwd": str(root), "commands": batch}) + "\n")
            server.stdin.flush()
        return [json.loads(server.stdout.readline()) for server, _ in started]

    def end(self) -> None:
        for server in self._running:
            server.communicate(timeout=60)


@pytest.fixture(scope="module")
def servers():
    running = Servers()
    yield running
    running.end()


@pytest.fixture
def worktrees():
    """In memory where the system offers that: a disk makes a rename over a file wait longer than a command takes."""
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as directory:
        yield Path(directory)


@pytest.fixture
def scene(servers, worktrees):
    """Sets the scene: the same worktree, with a dispatched worker that beats and nothing else."""
    root, as_dispatched = worktrees / "tree", worktrees / "as_dispatched"
    root.mkdir()
    servers.all_at_once(root, [[[0, command] for command in SETTING]])
    root.rename(as_dispatched)

    def scene():
        shutil.rmtree(root, ignore_errors=True)
        return shutil.copytree(as_dispatched, root)

    return scene


def played(servers: Servers, root: Path, chance: random.Random) -> list[Did]:
    theme = chance.choice(THEMES)
    chosen = [list(commands(chance, theme, process)) for process in range(PROCESSES)]
    batches = [[[chance.randrange(LONGEST_PAUSE), what] for _, what in each] for each in chosen]
    return [
        Did(kind, arguments, *ran)
        for mine, results in zip(chosen, servers.all_at_once(root, batches), strict=True)
        for (kind, arguments), ran in zip(mine, results, strict=True)
    ]


def of(story: list[Did], *kinds: str) -> list[Did]:
    return [did for did in story if did.kind in kinds]


def wells(story: list[Did], *kinds: str) -> list[Did]:
    return [did for did in of(story, *kinds) if did.well]


def every_command_ends_well_or_refuses(story: list[Did], _tree: Worktree) -> None:
    for did in story:
        reused = did.kind == "steer" and did.code == 2 and "was used before" in did.err
        assert did.code in (0, 1) or reused, did
        assert "Traceback" not in did.err


def what_lies_there_is_whole(_story: list[Did], tree: Worktree) -> None:
    (record,) = sweep([str(tree.status_directory)], utc_now()).records
    assert record.failures == ()
    assert list(tree.root.rglob("*.tmp")) == []
    assert all(isinstance(read_object(path), dict) for path in tree.root.rglob("*.json"))


def terminal_stays_terminal(story: list[Did], tree: Worktree) -> None:
    ends = wells(story, "end")
    assert len(ends) <= 1
    assert (read_object(tree.heartbeat_file("leaf-7"))["phase"] == "terminal") is bool(ends)
    for end in ends:
        for late in of(story, "beat", "end"):
            assert late is end or late.begun < end.ended or late.code == 1
    assert ends or all(did.well for did in of(story, "beat"))


def a_tree_has_one_holder(story: list[Did], tree: Worktree) -> None:
    lease = read_object(tree.occupancy_file)
    claims, releases = wells(story, "claim"), wells(story, "release")
    for one in claims:
        for other in claims:
            mine, its = one.value("--session-id"), other.value("--session-id")
            freed = [did for did in releases if did.value("--session-id") in (mine, its)]
            assert mine == its or freed, "two hold it and neither gave it back"
    if claims and not releases:
        assert lease["session_id"] == claims[0].value("--session-id")
    assert not of(story, "claim") or claims


def a_unit_has_one_active_attempt(story: list[Did], tree: Worktree) -> None:
    (unit,) = all_units(ledger_directory(tree.root))
    begun, cancelled = wells(story, "begin"), wells(story, "cancel", "force")
    assert len(unit.attempts) == 1 + len(begun)
    assert [attempt.raw["status"] for attempt in unit.attempts].count("cancelled") == len(cancelled)
    assert len(unit.active) <= 1
    for did in begun:
        assert any(before.begun < did.ended for before in cancelled)


def no_steer_is_lost(story: list[Did], tree: Worktree) -> None:
    written = [did.value("--steer-id") for did in wells(story, "steer")]
    assert len(set(written)) == len(written), "an id was used twice"
    replaced = Counter(re.findall(r"replaced unread steer (\S+)", "".join(did.err for did in story)))
    acked = {did.value("--steer-id") for did in wells(story, "ack")}
    left = read_object(tree.steer_directory / "leaf-7.json")
    there = {left["steer_id"]} if left else set()
    assert set(written) == there | set(replaced) | (acked & set(written))
    assert not replaced or max(replaced.values()) == 1
    assert not there & set(replaced)
    assert not acked & set(replaced), "an acknowledged steer was called unread"


def an_ack_is_of_a_steer_that_was_there(story: list[Did], tree: Worktree) -> None:
    acked = wells(story, "ack")
    written = {did.value("--steer-id"): did for did in wells(story, "steer")}
    ack = read_object(tree.steer_directory / "leaf-7.ack.json")
    assert bool(ack) is bool(acked)
    assert not ack or ack["steer_id"] in {did.value("--steer-id") for did in acked}
    for did in acked:
        assert written[did.value("--steer-id")].begun < did.ended


def nobody_is_cancelled_without_an_answer(story: list[Did], _tree: Worktree) -> None:
    # The worker beats, so only its answer to the canceller's own note clears the gate.
    for did in wells(story, "cancel"):
        assert any(ack.begun < did.ended for ack in wells(story, "ack")), did


RULES = (
    every_command_ends_well_or_refuses,
    what_lies_there_is_whole,
    terminal_stays_terminal,
    a_tree_has_one_holder,
    a_unit_has_one_active_attempt,
    no_steer_is_lost,
    an_ack_is_of_a_steer_that_was_there,
    nobody_is_cancelled_without_an_answer,
)


@pytest.mark.slow
def test_no_interleaving_breaks_a_rule(servers, scene):
    chance, seen = random.Random(SEED), Counter()
    for number in range(STORIES):
        root = scene()
        story = played(servers, root, chance)
        for rule in RULES:
            try:
                rule(story, Worktree(root))
            except AssertionError as broken:
                told = "\n".join(map(str, sorted(story, key=lambda did: did.begun)))
                raise AssertionError(
                    f"story {number} of seed {SEED}: {rule.__name__}: {broken}\n{told}"
                ) from None
        seen.update((did.kind, did.code) for did in story)
    # Every command was both done and refused: what never happened was not tried.
    refusable = {"beat", "end", "ack", "claim", "begin", "cancel", "force"}
    assert {kind for kind, code in seen if code == 0} == refusable | {"steer", "read", "release"}
    assert {kind for kind, code in seen if code == 1} >= refusable
