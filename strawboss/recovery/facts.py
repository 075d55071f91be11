"""What one look knows of one run, and the conditions that both machines share.

A condition is a function of the facts that answers Yes, No or Unknown. Evidence not asked for at this look is `None`
here and makes its conditions Unknown.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from strawboss.recovery.evidence import (
    Activity,
    Launcher,
    LaunchScript,
    Pane,
    Panes,
    Peer,
    Process,
    Processes,
    Roster,
    RunFiles,
    Transcript,
)
from strawboss.recovery.keys import NOTHING, RunKeys
from strawboss.recovery.settings import Settings
from strawboss.recovery.verdict import Unknown, Verdict, no, unknown, yes

NOT_ASKED: Final = Unknown("not looked at")

IDLE_STATUSES = frozenset({"idle", "done"})  # they differ only in whether somebody has looked
LISTED = "herdr lists its panes"
ALONE = "no second pi is on the launcher's session"
SCRIPT_PATH = re.compile(r"[/\\]subagent-scripts[/\\][^/\\]+\.sh")


@dataclass(frozen=True, slots=True)
class Facts:
    launcher: Launcher
    settings: Settings
    run: str
    tracked: bool
    activity: Activity | Unknown
    files: RunFiles
    transcript: Transcript
    keys: RunKeys = NOTHING
    roster: Roster | Unknown = NOT_ASKED
    panes: Panes | Unknown = NOT_ASKED
    processes: Processes | Unknown = NOT_ASKED
    ran_in: str | None = None  # a terminal this process saw it run in, though that could not be noted
    handed_over: bool = False  # this look saw it run in another terminal than noted before

    @property
    def script(self) -> LaunchScript | None:
        return self.files.script if isinstance(self.files.script, LaunchScript) else None

    @property
    def name(self) -> str:
        return self.script.name if self.script else ""

    @property
    def launcher_name(self) -> str:
        """The launcher's session name, else the one pi-intercom made up for it."""
        if self.launcher.name or isinstance(self.roster, Unknown):
            return self.launcher.name
        return next((peer.name for peer in self.roster if peer.id == self.launcher.id), "")

    @property
    def own_panes(self) -> tuple[Pane, ...]:
        """The panes that are on the run's session file."""
        if self.script is None or isinstance(self.panes, Unknown):
            return ()
        return tuple(pane for pane in self.panes if pane.session == self.script.session_file)

    @property
    def pane(self) -> Pane | None:
        """The child's pane: the only one on its session file."""
        own = self.own_panes
        return own[0] if len(own) == 1 else None

    @property
    def peer(self) -> Peer | None:
        """The pi-intercom session in the child's pane: by location, or by pid where the broker knows no locations."""
        if self.pane is None or isinstance(self.roster, Unknown):
            return None
        if any(peer.located for peer in self.roster):
            return _only(peer for peer in self.roster if peer.pane == self.pane.id)
        if isinstance(self.processes, Unknown):
            return None
        pids = {process.pid for process in self.processes}
        return _only(peer for peer in self.roster if peer.pid in pids)


def _only(peers: Iterable[Peer]) -> Peer | None:
    found = tuple(peers)
    return found[0] if len(found) == 1 else None


def is_untracked(facts: Facts) -> Verdict:
    """spec/1: "Its launcher no longer tracks it"."""
    condition = "its launcher no longer tracks it"
    return no(condition, "its id is in the registry") if facts.tracked else yes(condition)


def is_unreported(facts: Facts) -> Verdict:
    """spec/1: "Its result is not in the launcher's transcript". A ping counts as a result."""
    condition = "it has not reported"
    if facts.script is None:
        return unknown(condition, "its session file is not known")
    file, transcript = facts.script.session_file, facts.transcript
    if file in transcript.results:
        return no(condition, "reported: a subagent_result names its session file")
    if file in transcript.pings:
        return no(condition, "reported: a subagent_ping names its session file")
    if file in transcript.torn_results or "" in transcript.torn_results:
        return unknown(condition, "a line of the transcript that may hold its result cannot be read")
    return yes(condition)


def has_launch_script(facts: Facts) -> Verdict:
    """spec/1: the launch script this session wrote for that run, naming the run's own session (a resumed run has none)."""
    condition = "its launch script names it"
    script = facts.files.script
    if script is None:
        return no(condition, "it has no launch script")
    if isinstance(script, Unknown):
        return unknown(condition, script)
    if not _own_file(facts.run).search(script.session_file):
        return no(condition, "its launch script names a session file that is not its own")
    return yes(condition)


def _own_file(run: str) -> re.Pattern[str]:
    # The whole tail: `_1a2b3c4d-` alone is also the beginning of a UUID run id (pi-herdr-agents page, case 19).
    return re.compile(rf"_{re.escape(run)}-[0-9a-f]{{1,8}}-[0-9a-f]{{1,8}}-[0-9a-f]{{1,4}}\.jsonl$")


def is_not_persistent(facts: Facts) -> Verdict:
    """spec/1: "It is not a persistent specialist", by its launch script or its policy sidecar."""
    condition = "it is not a persistent specialist"
    policy = facts.files.policy
    if facts.script is None:
        return unknown(condition, "its launch script cannot be read")
    if facts.script.persistent:
        return no(condition, "its launch script says PI_SUBAGENT_PERSISTENT=1")
    if isinstance(policy, Unknown):
        return unknown(condition, policy)
    if policy is not None and policy.persistent:
        return no(condition, "its policy sidecar says persistent")
    return yes(condition)


def has_not_been_acted_on(facts: Facts) -> Verdict:
    """spec/1: one message per run; no `nudged`, `resumed` or `gaveUp` key."""
    condition = "nothing was done for it before"
    if facts.keys.gave_up is not None:
        return no(condition, f"given up: {facts.keys.gave_up}")
    if facts.keys.acted is not None:
        return no(condition, f"its {facts.keys.acted} key is written")
    return yes(condition)


def panes_are_listed(facts: Facts) -> Verdict:
    return unknown(LISTED, facts.panes) if isinstance(facts.panes, Unknown) else yes(LISTED)


def launcher_is_alone(facts: Facts) -> Verdict:
    """Two pi on one session file interleave two branches: neither can be trusted with keys (R35, DESIGN section 7)."""
    condition = ALONE
    if isinstance(facts.panes, Unknown):
        return unknown(condition, facts.panes)
    panes = [pane.id for pane in facts.panes if pane.session == facts.launcher.file]
    if len(panes) > 1:
        return unknown(condition, f"panes {', '.join(sorted(panes))} are all on it")
    return yes(condition)


def nobody_else_is_seen(facts: Facts) -> Verdict:
    """For what is under way already: only a second pi that is seen holds it up."""
    return yes(ALONE) if isinstance(facts.panes, Unknown) else launcher_is_alone(facts)


def runs_its_script(facts: Facts) -> Verdict:
    """spec/1: "Its pane runs the child itself": the foreground holds the launch script this session wrote for it."""
    condition = "its pane runs its launch script"
    if facts.script is None:
        return unknown(condition, "its launch script is not known")
    if isinstance(facts.processes, Unknown):
        return unknown(condition, facts.processes)
    if any(_is_script(facts, argument) for process in facts.processes for argument in process.argv or ()):
        return yes(condition)
    if any(process.argv is None for process in facts.processes):
        return unknown(condition, "the arguments of a process in its pane cannot be read")
    return no(condition, "its launch script is not among the pane's foreground processes")


def _is_script(facts: Facts, argument: str) -> bool:
    # By its place under the launcher's artifacts, so that a symlink on the way there changes nothing.
    assert facts.script is not None
    file = re.split(r"[/\\]", facts.script.path)[-1]
    place = f"artifacts/{facts.launcher.id}/subagent-scripts/{file}"
    plain = argument.replace("\\", "/")
    return argument == facts.script.path or plain == place or plain.endswith("/" + place)


def is_pi(process: Process) -> bool:
    """By argv0 if herdr gives it, else the base name of argv[0], else the name (DESIGN section 8)."""
    if process.argv0 is not None:
        return _base(process.argv0) == "pi"
    if process.argv:
        return _base(process.argv[0]) == "pi"
    return process.name == "pi"


def names_a_script(process: Process) -> bool:
    return any(SCRIPT_PATH.search(argument) for argument in process.argv or ())


def _base(path: str) -> str:
    return re.split(r"[/\\]", path)[-1]


def is_idle(status: str) -> bool:
    """pi-intercom's status: a base, with ` · ` and a configured text behind it if one is set."""
    return status.split(" · ", 1)[0] == "idle"
