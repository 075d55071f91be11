"""Evidence as the adapters give it, with everything in order; tests say what is different."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from strawboss.recovery.evidence import (
    Activity,
    Clock,
    Entry,
    KeyEntry,
    Launcher,
    LaunchScript,
    Pane,
    Peer,
    Policy,
    Process,
    RunFiles,
    Tail,
    Transcript,
    Worktree,
)
from strawboss.recovery.facts import NOT_ASKED, Facts
from strawboss.recovery.keys import NOTHING, fold
from strawboss.recovery.settings import LOOK_SECONDS, Settings
from strawboss.recovery.verdict import Unknown

RUN = "a1b2c3d4"
FILE = f"/s/2026-01-01T00-00-00-000Z_{RUN}-0a1b2c3d-4e5f6a7b-8c9d.jsonl"
OTHER_FILE = "/s/2026-01-01T00-00-00-000Z_ffffffff-0a1b2c3d-4e5f6a7b-8c9d.jsonl"
SCRIPT_PATH = f"/s/artifacts/boss/subagent-scripts/zeta-{RUN}.sh"
PANE, OLD, NEW = "w1:p3", "term-old", "term-new"
AT = "2026-01-01T00:00:00.000Z"
SECONDS = 1767225600.0  # AT

LAUNCHER = Launcher(id="boss", name="The Boss", file="/s/boss.jsonl", cwd="/w", pid=10, pane="w1:p1")
SETTINGS = Settings()
UNKNOWN = Unknown("it cannot be read")
# As facts are before anybody but the files was asked.
NOTHING_ASKED = dict.fromkeys(("roster", "panes", "processes", "tail", "forks"), NOT_ASKED)

SCRIPT = LaunchScript(SCRIPT_PATH, "Zeta", FILE, PANE, auto_exit=True, persistent=False)
FILES = RunFiles(SCRIPT, ended=False, policy=Policy("public", persistent=False))
WORKTREE = Worktree("running", PANE, "/w/tree", "feature/x")
WAITING = Activity("waiting", "agent_end", SECONDS)
BOSS_PEER = Peer("boss", 10, "thinking", "e0", "w1:p1", located=True)
PEER = Peer("child-session", 20, "idle", "e1", PANE, located=True)
BOSS_PANE = Pane("w1:p1", "term-boss", "pi", "working", LAUNCHER.file)
RUNNING = Pane(PANE, OLD, "pi", "done", FILE)
RESTORED = replace(RUNNING, terminal=NEW, status="idle")
BASH = Process(19, "bash", None, ("bash", SCRIPT_PATH))
PI = Process(20, "pi", None, ("pi",))
SEEN = KeyEntry("seen", RUN, {"terminal": OLD, "pane": PANE})


def now(look: int) -> Clock:
    return Clock(SECONDS + LOOK_SECONDS * look, LOOK_SECONDS * look)


def key(name: str, run: str = RUN, **data: str) -> KeyEntry:
    return KeyEntry(name, run, data)


def facts(*keys: KeyEntry, **changes: Any) -> Facts:
    """A child that is stranded for the nudge: finished, idle, its pane runs its script."""
    transcript = changes.pop("transcript", Transcript(keys=keys))
    given = Facts(
        LAUNCHER,
        SETTINGS,
        RUN,
        tracked=False,
        activity=WAITING,
        files=FILES,
        transcript=transcript,
        keys=fold(transcript.keys).get(RUN, NOTHING),
        roster=(BOSS_PEER, PEER),
        panes=(BOSS_PANE, RUNNING),
        processes=(BASH, PI),
        tail=ENDED,
        forks=(),
    )
    return replace(given, **changes)


def restored_facts(*keys: KeyEntry, **changes: Any) -> Facts:
    """A child that a restore brought back plain: seen running in another terminal, one idle pi in its pane."""
    return facts(*(keys or (SEEN,)), **{"panes": (BOSS_PANE, RESTORED), "processes": (PI,), **changes})


def with_script(**changes: Any) -> RunFiles:
    return replace(FILES, script=replace(SCRIPT, **changes))


# -- a child's session file ------------------------------------------------------------------------------------


def chain(*entries: Entry) -> tuple[Entry, ...]:
    """Each entry hangs off the one before; ids by place."""
    return tuple(
        replace(entry, id=f"e{number}", parent=f"e{number - 1}" if number else None)
        for number, entry in enumerate(entries)
    )


def tail(*entries: Entry, torn: bool = False) -> Tail:
    return Tail("child-session", chain(*entries), torn)


def user() -> Entry:
    return Entry("", None, "message", AT, role="user")


def assistant(stop: str = "stop", *calls: tuple[str, str, str], error: str = "") -> Entry:
    return Entry("", None, "message", AT, role="assistant", stop_reason=stop, error=error, calls=calls)


def result(call: str) -> Entry:
    return Entry("", None, "message", AT, role="toolResult", answers=call)


def custom_message(custom_type: str) -> Entry:
    return Entry("", None, "custom_message", AT, custom_type=custom_type)


def other(kind: str) -> Entry:
    return Entry("", None, kind, AT)


BASH_CALL = ("c1", "bash", "")
CUT = tail(user(), assistant("toolUse", BASH_CALL))
ENDED = tail(user(), assistant("stop"))
