"""What a look can learn, as plain data. Adapters fill it in; wherever they cannot, `Unknown` with a reason stands.

Every session file path is already resolved (absolute, no `..`, no symlinks) by the adapter that read it, so that the
core may compare paths as strings.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from strawboss.recovery.verdict import Unknown


@dataclass(frozen=True, slots=True)
class Activity:
    """A child's activity file: what it says of itself."""

    phase: str  # starting | active | waiting | done
    latest_event: str
    updated_at: float  # epoch seconds


@dataclass(frozen=True, slots=True)
class LaunchScript:
    """A launch script that names its run: header and command agree (docs/design.md#reading-what-others-wrote).

    A resume script has the same shape.
    """

    path: str
    name: str  # untrusted text
    session_file: str
    surface: str  # the pane id it was started in
    auto_exit: bool
    persistent: bool


@dataclass(frozen=True, slots=True)
class Policy:
    """The `.pi-herdr-subagent-policy.json` beside a session file."""

    owner: str
    persistent: bool


@dataclass(frozen=True, slots=True)
class Worktree:
    """A worktree manifest. Names are untrusted; empty where the manifest does not say."""

    state: str
    pane: str = ""
    path: str = ""
    branch: str = ""


@dataclass(frozen=True, slots=True)
class RunFiles:
    """What the disk says of one run. None: the file is not there. `ended`: `<session>.exit` is there.

    `resume_script`: the script that resumed another run's session file under this run's id; `script` is Unknown then.
    """

    script: LaunchScript | Unknown | None
    ended: bool | Unknown = False
    policy: Policy | Unknown | None = None
    worktree: Worktree | Unknown | None = None
    resume_script: LaunchScript | Unknown | None = None


@dataclass(frozen=True, slots=True)
class KeyEntry:
    """One `straw-boss` entry of the launcher's session, in file order (docs/design.md#keys)."""

    key: str  # seen | nudged | closing | unclosed | resumed | continued | gaveUp | lost | a newer one
    run: str
    data: Mapping[str, object] = field(default_factory=dict)  # "terminal", "pane", "why", "at"


@dataclass(frozen=True, slots=True)
class Resume:
    """A `subagent_resume` that started a run: its tool result. `at`: its place among the entries (`results_at`)."""

    run: str
    session_file: str
    script: str  # path of its resume script, as written
    at: int
    name: str = ""  # untrusted text


@dataclass(frozen=True, slots=True)
class Transcript:
    """The launcher's session file, whole file, every branch.

    `results`, `pings`: resolved session files of children named by a `subagent_result` or `subagent_ping`.
    `torn_results`: what unreadable lines that look like a result name: resolved session files, or "" for a line in
    which no session file can be made out.
    `torn_keys`: the runs that unreadable keys and messages of ours may have named: an id, the beginning of one with `*`
    after it, `*` alone where nothing can be made out. What can only have been `seen` is not in it.
    `launched_since`: runs launched after the last of those, which therefore none of them named.
    `told`: runs named in the details of the `straw-boss` messages that the session has taken, once for each message.
    `worktrees`: run ids whose `subagent` tool result speaks of a worktree, whatever became of the manifest.
    `resumes`: in file order. `results_at`, `torn_results_at`: where a result or ping that names that session file was
    last seen, or an unreadable one that may; places grow along the file and mean nothing else.
    """

    keys: tuple[KeyEntry, ...] = ()
    results: frozenset[str] = frozenset()
    pings: frozenset[str] = frozenset()
    told: tuple[str, ...] = ()
    worktrees: frozenset[str] = frozenset()
    torn_results: frozenset[str] = frozenset()
    torn_keys: frozenset[str] = frozenset()
    launched_since: frozenset[str] = frozenset()
    resumes: tuple[Resume, ...] = ()
    results_at: Mapping[str, int] = field(default_factory=dict)
    torn_results_at: Mapping[str, int] = field(default_factory=dict)

    def may_hold_torn_key_of(self, run: str) -> bool:
        """Whether an unreadable key or message may have named the run."""
        if run in self.launched_since:
            return False
        return any(
            run.startswith(named[:-1]) if named.endswith("*") else run == named for named in self.torn_keys
        )


@dataclass(frozen=True, slots=True)
class Pane:
    """One entry of herdr's pane list, the few fields read here. `session` is None when herdr names no session path."""

    id: str
    terminal: str | None
    agent: str | None
    status: str
    session: str | None


@dataclass(frozen=True, slots=True)
class Process:
    """One foreground process of a pane. None: herdr did not tell."""

    pid: int
    name: str | None = None
    argv0: str | None = None
    argv: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Holders:
    """This machine's processes that may hold a session, by what they say of themselves.

    `naming`: those whose arguments, or as a pi whose environment, name the session file or its script (pid and name).
    `unreadable`: pids of this user's pi processes that cannot be read. `silent`: of those that can, and that say nothing
    of their session, as pi takes its arguments away; herdr and the roster may know them by pid.
    """

    naming: tuple[Process, ...] = ()
    unreadable: tuple[int, ...] = ()
    silent: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Identity:
    """Which process a pid means. `started`: seconds since boot, or since the epoch where `boot` is empty."""

    pid: int
    started: float
    boot: str = ""


@dataclass(frozen=True, slots=True)
class Peer:
    """One session of the pi-intercom roster. `pane` is set only when its herdr location is current."""

    id: str
    pid: int
    status: str
    epoch: str | None = None
    pane: str | None = None
    located: bool = False  # the broker says anything at all about where it is
    name: str = ""  # untrusted text


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of a session file, the fields that tell how a turn stands.

    `kind`: the entry's `type`; `role` of a `message`; `custom_type` of a `custom_message`.
    `calls`: (id, tool name, "action" or "reason" argument or "") of an assistant message's tool calls.
    `answers`: the tool call id a tool result answers. `edits`: the entry a `context_edit` with `replacement: null`
    takes back.
    """

    id: str
    parent: str | None
    kind: str
    at: str  # ISO time, as written
    role: str = ""
    custom_type: str = ""
    stop_reason: str = ""
    error: str = ""
    calls: tuple[tuple[str, str, str], ...] = ()
    answers: str = ""
    edits: str = ""


@dataclass(frozen=True, slots=True)
class Tail:
    """The end of a session file, oldest first: it holds the last assistant message unless the file has none.

    `session_id`: the id in the file's header. `torn`: the last line is there but cannot be read. `size` in bytes and
    `changed_at` in epoch seconds, as they were when it was read: whoever works on the session lets them grow.
    """

    session_id: str
    entries: tuple[Entry, ...]
    torn: bool = False
    size: int = 0
    changed_at: float = 0.0


@dataclass(frozen=True, slots=True)
class Launcher:
    """The session this process works for; fixed for one session start."""

    id: str
    name: str  # untrusted text; "" when it has none
    file: str
    cwd: str
    pid: int | None = None
    pane: str | None = None
    platform: str = "linux"  # sys.platform's words: linux, darwin, win32
    tower: bool = False
    nested: bool = False  # a policy sidecar lies beside its file: a restored subagent


@dataclass(frozen=True, slots=True)
class Clock:
    """`wall` in epoch seconds, `monotonic` in seconds of no date. Never mixed."""

    wall: float
    monotonic: float


Registry = frozenset[str]
Forks = tuple[str, ...]  # newer session files whose header names this one as the parent
Runs = Mapping[str, Activity | Unknown]
Panes = tuple[Pane, ...]
Processes = tuple[Process, ...]
Roster = tuple[Peer, ...]
