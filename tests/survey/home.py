"""A user's home with launchers in it, as pi, pi-herdr-agents and strawboss leave it on the disk."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import filelock
import msgspec
from runs.written import RUN, Record, activity, header, message, result, script, text

from strawboss.config import Config
from strawboss.overview.seen import Seen
from strawboss.recovery.evidence import Launcher
from strawboss.recovery.memory import RunReport
from strawboss.survey.find import Survey
from strawboss.tape.shelf import LAST

TRACKED = RunReport(RUN, "Beta", "", "tracked", None, stranded=False)
DAY = 86_400.0


class Home:
    def __init__(self, directory: Path) -> None:
        self.now = time.time()
        self.directory, self.state, self.project = directory, directory / "state", directory / "project"
        self.sessions = (
            directory / ".pi" / "agent" / "sessions" / ("-" + str(self.project).replace("/", "-") + "--")
        )
        for folder in (self.project, self.sessions):
            folder.mkdir(parents=True)
        self.environment: Mapping[str, str] = {
            "HOME": str(directory),
            "PI_CODING_AGENT_DIR": str(directory / ".pi" / "agent"),
            "HERDR_SOCKET_PATH": str(directory / "no-herdr.sock"),
        }
        self.config = Config(paths=msgspec.structs.replace(Config().paths, state=str(self.state)))

    def session(self, name: str, *runs: str, records: tuple[Record, ...] = (), age: float = 0.0) -> Path:
        """A launcher's session file and the files of its runs, all of them so many seconds old."""
        file = self.sessions / f"2026-12-01T21-46-26-423Z_{name}.jsonl"
        head = header(name) | {"cwd": str(self.project)}
        file.write_bytes(text(head, message("user", content="hello"), *records))
        folder = self.sessions / "artifacts" / name
        for part in ("subagent-activity", "subagent-scripts"):
            (folder / part).mkdir(parents=True)
        for run in runs:
            (folder / "subagent-activity" / f"{run}.json").write_text(json.dumps(activity(run)))
            (folder / "subagent-scripts" / f"beta-{run}.sh").write_text(script(run, self.child(run)))
        for path in (*folder.rglob("*"), file):
            os.utime(path, (self.now - age, self.now - age))
        return file

    def child(self, run: str) -> str:
        return str(self.sessions / f"2026-12-01T21-47-46-949Z_{run}-1a54df95-6a7903a4-264c.jsonl")

    def reported(self, run: str) -> Record:
        return result(self.child(run))

    def looked(
        self, name: str, file: Path, *runs: RunReport, ago: float = 1.0, pid: int | None = None
    ) -> None:
        """What a process's last look left."""
        tape = self.state / "tapes" / name
        tape.mkdir(parents=True)
        launcher = Launcher(name, "", str(file), str(self.project), pid=pid)
        (tape / LAST).write_bytes(msgspec.json.encode({"launcher": launcher, "runs": runs}))
        (tape / "000001.jsonl").touch()
        for path in tape.iterdir():
            os.utime(path, (self.now - ago, self.now - ago))

    def lock(self, name: str) -> filelock.BaseFileLock:
        (self.state / "locks").mkdir(parents=True, exist_ok=True)
        return filelock.FileLock(self.state / "locks" / f"{name}.lock")

    def survey(self, since: float = 7 * DAY, **changes: Any) -> dict[str, Seen]:
        found = replace(Survey(self.config, self.environment, since, self.now, "linux"), **changes)
        return {seen.launcher.id: seen for seen in found.launchers()}
