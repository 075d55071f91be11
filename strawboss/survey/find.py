"""Every launcher of this user on this machine: those with a process by its last look, the others looked at from outside."""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from strawboss.config import Config, state_directory
from strawboss.machine import ProcessList
from strawboss.overview.judge import AT_WORK, CLOSED_STATES, DAY_SECONDS
from strawboss.overview.seen import SETTLED, Reports, Seen, Watch
from strawboss.recovery.evidence import Launcher
from strawboss.recovery.memory import RunReport
from strawboss.recovery.recheck import REGISTRY_READABLE
from strawboss.recovery.verdict import Unknown
from strawboss.resident.connections import Absent, herdr_address
from strawboss.resident.launcher import POLICY_SUFFIX, disk_of, resolver, resolver_of_one_look
from strawboss.resident.outside import look_on
from strawboss.resident.overview import session_files
from strawboss.runs.disk import Disk
from strawboss.survey import sessions
from strawboss.survey.bring_back import bring_back
from strawboss.survey.liveness import Patience, started_at, watch_of
from strawboss.survey.lock import is_held
from strawboss.survey.terminals import SharedTerminals, pi_in
from strawboss.system.directories import file_name
from strawboss.tape.last import LastLook, last_looks
from strawboss.tape.shelf import TAPES

NO_INTERCOM = Absent(Unknown("pi-intercom is not asked from outside"))
NOT_TOLD = Unknown("only its own strawboss could read it, and none has told")
WITHOUT_KEYS = frozenset({SETTLED, AT_WORK})  # states of runs for which no key matters to a person


@dataclass(frozen=True)
class Survey:
    """`since`: for how many seconds back what a closed launcher left is looked for."""

    config: Config
    environment: Mapping[str, str]
    since: float
    now: float
    platform: str = sys.platform

    @cached_property
    def state(self) -> Path:
        return state_directory(self.config, self.environment)

    @cached_property
    def terminals(self) -> SharedTerminals:
        return SharedTerminals(herdr_address(self.config, self.environment, self.platform), resolver("/"))

    @cached_property
    def machine(self) -> ProcessList:
        return ProcessList(self.platform)

    @cached_property
    def patience(self) -> Patience:
        return Patience(self.now, self.config.interval)

    def launchers(self) -> Iterator[Seen]:
        """Those that have a process, or had one and kept a tape; then those only pi's own folders know."""
        known = {last.launcher.id: last for last in last_looks(self.state / TAPES)}
        fresh = self._fresh(known.values())
        locked = {session for session in known if self._is_locked(session)}
        pids = {known[session].launcher.pid or 0 for session in locked}
        for session, last in known.items():
            seen = self._known(last, fresh.pop(session, None), pids, locked=session in locked)
            if seen is not None:
                yield seen
        for artifacts in fresh.values():
            found = sessions.find(artifacts)
            if found is not None and not Path(found.file + POLICY_SUFFIX).exists():
                yield self._unknown(found)

    def _fresh(self, known: Iterable[LastLook]) -> dict[str, Path]:
        """The artifacts in which a run has said something of late, by session id."""
        beside = {Path(last.launcher.file).parent for last in known}
        folders = sorted({*sessions.session_folders(self.environment), *beside})
        recent = sessions.recent_artifacts(folders, self.now - self.since)
        return {artifacts.name: artifacts for artifacts in recent}

    def _is_locked(self, session: str) -> bool:
        return is_held(self.state / "locks" / f"{file_name(session)}.lock")

    def _known(
        self, last: LastLook, artifacts: Path | None, pids: Collection[int], *, locked: bool
    ) -> Seen | None:
        """None: it is closed, and nothing of it is of late."""
        watch = watch_of(last, locked=locked, elsewhere=pids, patience=self.patience, machine=self.machine)
        if watch is Watch.CLOSED:
            return (
                None if artifacts is None else self._without_process(last.launcher, last.looked_at, artifacts)
            )
        seen = Seen(last.launcher, watch, last.runs, last.looked_at)
        beside = Path(last.launcher.file).parent / "artifacts" / last.launcher.id
        return self._with_keys(seen, self._disk(last.launcher, artifacts or beside))

    # -- from outside ------------------------------------------------------------------------------------------

    def _unknown(self, found: sessions.Found) -> Seen:
        """A session that strawboss has kept nothing of."""
        artifacts = Path(found.artifacts)
        launcher = Launcher(found.id, "", found.file, found.cwd, platform=self.platform)
        if self._is_locked(found.id):
            return self._look(launcher, Watch.UNSEEN, None, artifacts)
        return self._without_process(launcher, None, artifacts)

    def _without_process(self, launcher: Launcher, looked_at: float | None, artifacts: Path) -> Seen:
        pid = self._pi_in_a_pane(launcher.file)
        started = started_at(pid, self.machine) if pid else None
        if started is None:
            watch, pid = Watch.CLOSED, None
        else:
            watch = Watch.STOPPED if self.patience.is_late(started) else Watch.UNSEEN
        return self._look(replace(launcher, pid=pid), watch, looked_at, artifacts)

    def _pi_in_a_pane(self, file: str) -> int | None:
        """A pane is listed with its session before its pi has started and after it has quit: its processes say."""
        panes = self.terminals.panes()
        if isinstance(panes, Unknown):
            return None
        for pane in panes:
            if pane.session == file:
                pid = pi_in(pane.id, self.terminals)
                return None if isinstance(pid, Unknown) else pid
        return None

    def _look(self, launcher: Launcher, watch: Watch, looked_at: float | None, artifacts: Path) -> Seen:
        disk = self._disk(launcher, artifacts)
        runs = look_on(launcher, disk, self.terminals, NO_INTERCOM, self.config).look.runs
        if watch is not Watch.CLOSED:
            runs = tuple(map(_as_known, runs))
        named = replace(launcher, name=launcher.name or sessions.name_of(launcher.file))
        return self._with_keys(Seen(named, watch, Reports.of(runs), looked_at), disk)

    def _disk(self, launcher: Launcher, artifacts: Path) -> Disk:
        resolve = resolver_of_one_look(launcher.cwd)
        return disk_of(launcher, str(artifacts), self.now - self.since, resolve)

    # -- what its keys say -------------------------------------------------------------------------------------

    def _with_keys(self, seen: Seen, disk: Disk) -> Seen:
        seen = replace(seen, bring_back=bring_back(seen.launcher, self.environment))
        if all(run.state in WITHOUT_KEYS for run in seen.runs.open) or not self._is_of_late(
            seen.launcher.file
        ):
            return seen
        transcript = disk.transcript()
        return replace(seen, transcript=transcript, sessions=session_files(transcript, disk))

    def _is_of_late(self, file: str) -> bool:
        try:
            return Path(file).stat().st_mtime >= self.now - max(self.since, DAY_SECONDS)
        except OSError:
            return False


def _as_known(run: RunReport) -> RunReport:
    """What a pi tracks that is there, nobody outside can tell: only what rules a run out for good is known."""
    if run.state in CLOSED_STATES:
        return run
    obstacle = REGISTRY_READABLE.unknown(NOT_TOLD)
    return replace(run, machine="", state="not looked at", obstacle=obstacle, stranded=False)
