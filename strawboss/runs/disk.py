"""Everything the disk says of one launcher's runs, behind one object with a small memory of what it already read."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from strawboss.recovery.evidence import Forks, LaunchScript, Policy, RunFiles, Runs, Tail, Transcript
from strawboss.recovery.verdict import Unknown
from strawboss.runs.activity import RUN_ID, ActivityFolder
from strawboss.runs.foreign_files import Cache, is_there
from strawboss.runs.forks import ForkFinder
from strawboss.runs.script import RESUMED, Script
from strawboss.runs.script_folder import ScriptFolder
from strawboss.runs.sidecars import EXIT_SUFFIX, MANIFEST, POLICY, POLICY_SUFFIX, read_policy, read_worktree
from strawboss.runs.tail import read_tail
from strawboss.runs.transcript import TranscriptReader

_RUN_ID = re.compile(RUN_ID)


class Disk:
    """`launcher_file`, `artifacts` (the `artifacts/<session id>` folder): as the launcher writes them.

    `locate` tells where a path that a neighbour wrote, or that `resolve` gave, is really found. `resolve` gives the
    form in which session files are compared. `session_id`: the launcher's, when known; a file of another is Unknown.
    `oldest`: runs that have said nothing since (epoch seconds) are left out.
    """

    def __init__(
        self,
        launcher_file: str,
        artifacts: str,
        locate: Callable[[str], Path],
        resolve: Callable[[str], str],
        session_id: str | None = None,
        oldest: float = 0.0,
    ) -> None:
        self._locate = locate
        folder = str(locate(artifacts))
        self._activities = ActivityFolder(f"{folder}/subagent-activity", oldest)
        self._scripts = ScriptFolder(f"{artifacts}/subagent-scripts", f"{folder}/subagent-scripts", resolve)
        self._manifests = f"{folder}/worktree-runs"
        self._worktrees = Cache(MANIFEST, read_worktree)
        self._policies = Cache(POLICY, read_policy)
        self._forks = ForkFinder(locate, resolve)
        self._transcript = TranscriptReader(str(locate(launcher_file)), resolve, session_id)

    def runs(self) -> Runs | Unknown:
        """What each run says of itself. No activity folder: no runs."""
        return self._activities.read()

    def run(self, run_id: str) -> RunFiles:
        """The files of one run. Those beside its session file are Unknown while its launch script does not name one."""
        if not _RUN_ID.fullmatch(run_id):
            return _nothing_known(Unknown("it does not have the id of a run"))
        self._activities.watch(run_id)
        worktree = self._worktrees.get(f"{self._manifests}/{run_id}.json")
        script = self._scripts.of(run_id)
        if script == RESUMED:
            resume = self._scripts.resume_of(run_id)
            return RunFiles(RESUMED, *self._sidecars(resume), worktree, _shown(resume))
        return RunFiles(_shown(script), *self._sidecars(script), worktree)

    def _sidecars(self, script: Script | Unknown | None) -> tuple[bool | Unknown, Policy | Unknown | None]:
        """Whether its exit sidecar is there, and its policy sidecar."""
        if not isinstance(script, Script):
            why = script or Unknown("no launch script names its session file")
            return why, why
        session = self._located(script.session)
        if isinstance(session, Unknown):
            return session, session
        return is_there(session + EXIT_SUFFIX, "its exit sidecar"), self._policies.get(
            session + POLICY_SUFFIX
        )

    def transcript(self) -> Transcript | Unknown:
        """What the launcher's session file says; only new bytes are read."""
        return self._transcript.read()

    def tail(self, session_file: str) -> Tail | Unknown:
        """The end of a session file, given as `resolve` gives it."""
        path = self._located(session_file)
        return path if isinstance(path, Unknown) else read_tail(path)

    def forks(self, session_file: str) -> Forks | Unknown:
        """The sessions in its folder that were forked from a session file, given as `resolve` gives it."""
        return self._forks.of(session_file)

    def _located(self, path: str) -> str | Unknown:
        try:
            return str(self._locate(path))
        except (OSError, ValueError, RuntimeError):
            return Unknown("its session file has a path no file can have")


def _shown(script: Script | Unknown | None) -> LaunchScript | Unknown | None:
    return script.launch if isinstance(script, Script) else script


def _nothing_known(why: Unknown) -> RunFiles:
    return RunFiles(script=why, ended=why, policy=why, worktree=why)
