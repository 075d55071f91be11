"""A launcher for the overview, with what its keys and its launch scripts say."""

from __future__ import annotations

from collections.abc import Mapping

from strawboss.overview.seen import Reports, Seen, Watch
from strawboss.recovery.evidence import Launcher, LaunchScript, Transcript
from strawboss.recovery.keys import LEFT
from strawboss.recovery.memory import RunReport
from strawboss.recovery.verdict import Unknown
from strawboss.runs.disk import Disk


def seen_from_inside(launcher: Launcher, runs: tuple[RunReport, ...], looked_at: float, disk: Disk) -> Seen:
    """As its own process sees it, at its last look (epoch seconds)."""
    transcript = disk.transcript()
    return Seen(
        launcher, Watch.LOOKING, Reports.of(runs), looked_at, transcript, session_files(transcript, disk)
    )


def session_files(transcript: Transcript | Unknown, disk: Disk) -> Mapping[str, str]:
    """Of the runs that are left to a person."""
    if isinstance(transcript, Unknown):
        return {}
    files = {entry.run: disk.run(entry.run) for entry in transcript.keys if entry.key in LEFT}
    scripts = [(run, script) for run, of in files.items() for script in (of.resume_script, of.script)]
    return {run: script.session_file for run, script in scripts if isinstance(script, LaunchScript)}
