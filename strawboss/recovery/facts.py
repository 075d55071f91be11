"""What one look knows of one run: the evidence, and what follows from it at once."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from strawboss.recovery.evidence import (
    Activity,
    Forks,
    Holders,
    Identity,
    Launcher,
    LaunchScript,
    Pane,
    Panes,
    Peer,
    Process,
    Processes,
    Resume,
    Roster,
    RunFiles,
    Tail,
    Transcript,
)
from strawboss.recovery.keys import NOTHING, RunKeys
from strawboss.recovery.settings import Settings
from strawboss.recovery.turn import steps_of
from strawboss.recovery.verdict import Unknown

NOT_ASKED: Final = Unknown("not looked at")

IDLE_STATUSES = frozenset({"idle", "done"})  # they differ only in whether somebody has looked
SCRIPT_PATH = re.compile(r"[/\\]subagent-scripts[/\\][^/\\]+\.sh")


@dataclass(frozen=True, slots=True)
class Standing:
    """How far a child had come when its witnesses were heard: its last step, and when its activity was written."""

    step: str
    active_at: float | None


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
    tail: Tail | Unknown = NOT_ASKED
    forks: Forks | Unknown = NOT_ASKED
    holders: Holders | Unknown = NOT_ASKED
    pi: Identity | Unknown | None = NOT_ASKED  # what the pid of the pi that ran it means now
    before: Standing | None = None  # what its witnesses said at the look before
    was_connected: bool = False  # pi-intercom has known it, at this or an earlier look
    ran_in: str | None = None  # a terminal this process saw it run in, though that could not be noted
    handed_over: bool = False  # this look saw it run in another terminal than noted before

    @property
    def script(self) -> LaunchScript | None:
        """The script that started it: a launch's, or a resume's for a run that resumed another run's session."""
        launch, resume = self.files.script, self.files.resume_script
        if isinstance(launch, LaunchScript):
            return launch
        return resume if isinstance(resume, LaunchScript) else None

    @property
    def is_resumed(self) -> bool:
        return self.files.resume_script is not None

    @property
    def resumes(self) -> tuple[Resume, ...]:
        """The launcher's own record of how it was resumed: one, when all is well."""
        return tuple(resume for resume in self.transcript.resumes if resume.run == self.run)

    @property
    def began_at(self) -> int:
        """Its place in the launcher's file, when it resumed another run; before everything else for a launch."""
        return max((resume.at for resume in self.resumes), default=-1)

    @property
    def times_recovered(self) -> int:
        """How often this task was handed over before: resumed as a run before this one, or, in a worktree, told of."""
        if self.is_worktree or self.script is None:
            return len(self.keys.handed_in)
        own = (resume for resume in self.transcript.resumes if resume.session_file == self.session_file)
        return sum(resume.at <= self.began_at for resume in own)

    @property
    def is_taken(self) -> bool:
        """The session has taken a message about it for which there is no `resumed` key yet."""
        told = self.transcript.told.count(self.run)
        return told > len(self.keys.handed_in) if self.is_worktree else bool(told) and not self.keys.resumed

    @property
    def session_file(self) -> str:
        script = self.script
        assert script is not None
        return script.session_file

    @property
    def name(self) -> str:
        script = self.script
        return script.name if script else ""

    @property
    def launcher_name(self) -> str:
        """The launcher's session name, else the one pi-intercom made up for it."""
        if self.launcher.name or isinstance(self.roster, Unknown):
            return self.launcher.name
        return next((peer.name for peer in self.roster if peer.id == self.launcher.id), "")

    @property
    def own_panes(self) -> tuple[Pane, ...]:
        """The panes that are on the run's session file."""
        script = self.script
        if script is None or isinstance(self.panes, Unknown):
            return ()
        return tuple([pane for pane in self.panes if pane.session == script.session_file])

    @property
    def pane(self) -> Pane | None:
        """The child's pane: the only one on its session file."""
        own = self.own_panes
        return own[0] if len(own) == 1 else None

    @property
    def launch_pane(self) -> Pane | None:
        """The pane the run was started in: a restore keeps pane ids."""
        script = self.script
        if script is None or isinstance(self.panes, Unknown):
            return None
        return next((pane for pane in self.panes if pane.id == script.surface), None)

    @property
    def no_pane(self) -> Unknown:
        """Why its pane cannot be judged, where there is none to be judged."""
        return self.panes if isinstance(self.panes, Unknown) else Unknown("its pane is not known")

    @property
    def noted_pane(self) -> Pane | None:
        """The pane with the terminal in which it was seen running."""
        if isinstance(self.panes, Unknown) or self.keys.terminal is None:
            return None
        return next((pane for pane in self.panes if pane.terminal == self.keys.terminal), None)

    @property
    def is_worktree(self) -> bool:
        """A manifest, a policy owner other than `public`, or the launch's own record: any one is enough."""
        policy = self.files.policy
        return (
            self.files.worktree is not None
            or (policy is not None and not isinstance(policy, Unknown) and policy.owner != "public")
            or self.run in self.transcript.worktrees
        )

    @property
    def standing(self) -> Standing | None:
        """How far it has come by what this look has heard; None where its session file was not read or cannot be."""
        if isinstance(self.tail, Unknown):
            return None
        steps = steps_of(self.tail.entries, self.settings.turn_starting_types)
        active_at = None if isinstance(self.activity, Unknown) else self.activity.updated_at
        return Standing(steps[-1].id if steps else "", active_at)

    @property
    def is_connected(self) -> bool:
        """Whether pi-intercom knows it: in its pane, or by the session that its file names."""
        if isinstance(self.roster, Unknown) or self.script is None:
            return False
        session = None if isinstance(self.tail, Unknown) else self.tail.session_id
        known = any(peer.id == session or peer.pane == self.script.surface for peer in self.roster)
        return known or bool(self.peers_there)

    @property
    def peers_there(self) -> tuple[Peer, ...]:
        """Every session of the roster that may be in the child's pane: by its location, or by pid."""
        if self.pane is None or isinstance(self.roster, Unknown):
            return ()
        pids = set() if isinstance(self.processes, Unknown) else {process.pid for process in self.processes}
        return tuple(peer for peer in self.roster if peer.pane == self.pane.id or peer.pid in pids)

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


def is_pi(process: Process) -> bool:
    """By argv0 if herdr gives it, else the base name of argv[0], else the name: docs/design.md#reading-what-others-wrote."""
    if process.argv0 is not None:
        return file_name(process.argv0) == "pi"
    if process.argv:
        return file_name(process.argv[0]) == "pi"
    return process.name == "pi"


def names_a_script(process: Process) -> bool:
    return any(SCRIPT_PATH.search(argument) for argument in process.argv or ())


def file_name(path: str) -> str:
    return re.split(r"[/\\]", path)[-1]


def is_idle(status: str) -> bool:
    """pi-intercom's status: a base, with ` · ` and a configured text behind it if one is set."""
    return status.split(" · ", 1)[0] == "idle"
