"""The overview as JSON: what `strawboss status --json` prints. The schema beside it is made from these types.

`python -m strawboss.overview.report` writes it again.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import msgspec

from strawboss.overview.judge import Need, View, needs_of
from strawboss.overview.seen import Watch
from strawboss.recovery.memory import RunReport
from strawboss.system.json_files import encode

SCHEMA = Path(__file__).parent / "status.json"


class Run(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`machine`: nudge, restored, worktree, lost, or empty while it is tracked or settled. `condition`: the first that
    does not hold, with its `answer` and `why`; all empty when every one holds."""

    run: str
    name: str
    machine: str
    state: str
    stranded: bool
    condition: str
    answer: Literal["no", "unknown", ""]
    why: str


class NeedsYou(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`run`: empty when it is about the launcher. `command`: for a shell; `/…`: for its pi; `subagent_resume …`: for
    the launcher to call; empty where `what` says it all."""

    run: str
    what: str
    command: str


class Launcher(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`session`: its id. `pid`: of its pi, null when none runs. `looking`: whether its runs are looked at, null when that
    cannot be told. `looked_at`: epoch seconds of its process's last look, null when none is known."""

    session: str
    name: str
    file: str
    cwd: str
    pid: int | None
    looking: bool | None
    looked_at: float | None
    runs: tuple[Run, ...]
    needs_you: tuple[NeedsYou, ...]


class Status(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Every launcher of this user on this machine. `needs_you`: how much needs a person, of all launchers."""

    launchers: tuple[Launcher, ...]
    needs_you: int


def status(views: Sequence[View]) -> Status:
    return Status(tuple(map(_launcher, views)), len(needs_of(views)))


def schema() -> bytes:
    return encode({"$schema": "https://json-schema.org/draft/2020-12/schema"} | msgspec.json.schema(Status))


def _launcher(view: View) -> Launcher:
    seen, launcher = view.seen, view.seen.launcher
    return Launcher(
        session=launcher.id,
        name=launcher.name,
        file=launcher.file,
        cwd=launcher.cwd,
        pid=launcher.pid,
        looking=None if seen.watch is Watch.UNSEEN else seen.watch is Watch.LOOKING,
        looked_at=seen.looked_at,
        runs=tuple(map(_run, seen.runs)),
        needs_you=tuple(map(_need, view.needs)),
    )


def _run(run: RunReport) -> Run:
    condition, answer, why = "", "", ""
    if run.obstacle is not None:
        condition, answer, why = run.obstacle.condition, run.obstacle.answer.value, run.obstacle.why
    return Run(run.run, run.name, run.machine, run.state, run.stranded, condition, answer, why)  # type: ignore[arg-type]


def _need(need: Need) -> NeedsYou:
    return NeedsYou(need.run, need.what, need.command)


if __name__ == "__main__":
    SCHEMA.write_bytes(schema())
