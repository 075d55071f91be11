"""The evidence of one launcher and its runs, as the adapters would give it. Both searches build their answers here."""

from __future__ import annotations

from strawboss.recovery.evidence import (
    Activity,
    Clock,
    Entry,
    Identity,
    KeyEntry,
    Launcher,
    LaunchScript,
    Pane,
    Peer,
    Policy,
    Process,
    Resume,
    RunFiles,
    Tail,
    Worktree,
)
from strawboss.recovery.settings import Settings
from strawboss.recovery.verdict import Unknown

LAUNCHER = Launcher(id="launcher", name="boss", file="/s/launcher.jsonl", cwd="/w", pid=10, pane="w1:p1")
LAUNCHER_PEER = Peer("launcher", 10, "busy", epoch="e1", pane="w1:p1", located=True)
LAUNCHER_PANE = Pane("w1:p1", "t0", "pi", "idle", LAUNCHER.file)
SETTINGS = Settings()
WALL = 1_760_000_000.0
KINDS = ("ordinary", "worktree", "persistent")
LAST_EVENT = {"waiting": "agent_end", "done": "session_shutdown"}
UNREADABLE = Unknown("cannot be read")
NO_BROKER = Unknown("no broker runs", absent=True)


def clock(seconds: float, *, wall: float | None = None) -> Clock:
    return Clock(WALL + (seconds if wall is None else wall), seconds)


def session_file(run: str) -> str:
    return f"/s/2026-01-01T00-00-00-000Z_{run}-0a1b2c3d-4e5f6a7b-8c9d.jsonl"


def script_path(run: str, name: str = "zeta") -> str:
    return f"/a/artifacts/{LAUNCHER.id}/subagent-scripts/{name}-{run}.sh"


def session_id(run: str) -> str:
    return f"session-of-{run}"


def files(run: str, kind: str, surface: str, *, ended: bool | Unknown = False, resumes: str = "") -> RunFiles:
    """`resumes`: whose session file it goes on with, if another run's."""
    script = LaunchScript(
        script_path(run),
        "zeta",
        session_file(resumes or run),
        surface,
        auto_exit=True,
        persistent=kind == "persistent",
    )
    policy = Policy("public", persistent=False)
    if resumes:
        return RunFiles(Unknown("it was resumed"), ended, policy, resume_script=script)
    worktree = Worktree("active", surface, "/w/tree", "zeta") if kind == "worktree" else None
    return RunFiles(script, ended, policy, worktree)


def resume(run: str, resumes: str, at: int) -> Resume:
    """`at`: its place in the launcher's file."""
    return Resume(run, session_file(resumes), script_path(run), at)


def seen(run: str, terminal: str, surface: str, *, notes_pi: bool = True) -> KeyEntry:
    """`notes_pi`: an older version noted none."""
    pi = identity(run)
    noted = {"pid": str(pi.pid), "started": repr(pi.started), "boot": pi.boot} if notes_pi else {}
    return KeyEntry("seen", run, {"terminal": terminal, "pane": surface, **noted})


def activity(phase: str, written: int = 0) -> Activity:
    """`written`: how often it was written again."""
    return Activity(phase, LAST_EVENT.get(phase, "tool_start"), WALL - 60 + 0.001 * written)


def pid(run: str) -> int:
    """That of the pi that runs it."""
    return 500 + int(run, 16) % 499


def identity(run: str) -> Identity:
    return Identity(pid(run), 1000.0, "boot")


def child_processes(run: str) -> tuple[Process, ...]:
    return (
        Process(50, name="bash", argv=("bash", script_path(run))),
        Process(pid(run), name="pi", argv=("pi",)),
    )


PLAIN = (Process(61, name="pi", argv=("pi",)),)
SHELL = (Process(71, name="bash", argv=("bash",)),)


CALL = (("c1", "bash", ""),)
LAST_REPLY = {
    "cut": ("toolUse", CALL),
    "ended": ("stop", ()),
    "stopped": ("stop", CALL),
}


def tail(run: str, stands: str, steps: int = 0) -> Tail:
    """`steps`: how often it has grown."""
    reason, calls = LAST_REPLY[stands]
    asked = Entry("a", None, "message", "2026-01-01T00:00:00Z", role="user")
    at, last = "2026-01-01T00:00:01Z", f"b{steps}"
    answer = Entry(last, "a", "message", at, role="assistant", stop_reason=reason, calls=calls)
    return Tail(session_id(run), (asked, answer))


def child_peer(run: str, pane: str, status: str = "idle", *, resumes: str = "") -> Peer:
    return Peer(session_id(resumes or run), pid(run), status, epoch="e2", pane=pane, located=True)
