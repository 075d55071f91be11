"""What the readers of `strawboss.runs` may cost (idle checks, a huge transcript, a huge session file)."""

from __future__ import annotations

import json
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from strawboss.recovery.settings import Settings
from strawboss.recovery.turn import turn_of
from strawboss.recovery.verdict import Answer, Unknown
from strawboss.runs import Disk

MIB = 1024 * 1024
GIB = 1024 * MIB
SESSION = "01a23392-c4f6-76a6-87c2-4d480b13177c"
AT = "2026-12-01T21:47:48.472Z"
LONG_AGO = 1_700_000_000

Measured = tuple[str, float, float, float]


def measure() -> list[Measured]:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        return [
            *_idle(root / "old", runs=1000),
            *_idle_cpu(root / "few", runs=20),
            *_transcript(root / "transcript.jsonl", 200 * MIB),
            *_cut_verdict(root / "huge.jsonl", "cut verdict, 1 GB file, 9 MB last record", GIB, 9 * MIB, 40),
            *_cut_verdict(
                root / "large.jsonl", "cut verdict, 200 MB file, 3 MB last record", 200 * MIB, 3 * MIB, 8
            ),
        ]


def _idle(folder: Path, runs: int) -> Iterator[Measured]:
    disk = launcher_with_runs(folder, runs)
    activities = folder / "artifacts" / "subagent-activity"
    assert len(disk.runs()) == runs
    yield (
        f"idle look at {runs} old runs, against a scandir and stat of them (ms)",
        best(disk.runs) * 1000,
        best(lambda: [entry.stat(follow_symlinks=False) for entry in os.scandir(activities)]) * 1000,
        2.0,
    )


def _idle_cpu(folder: Path, runs: int) -> Iterator[Measured]:
    disk = launcher_with_runs(folder, runs)
    assert len(disk.runs()) == runs
    spent = best(lambda: (disk.runs(), disk.transcript()))
    yield f"what {runs} healthy runs cost on disk at a look (ms of CPU, against 1 ms)", spent * 1000, 1.0, 1.0


def _transcript(path: Path, size: int) -> Iterator[Measured]:
    _write_transcript(path, size)
    disk = _disk(path.parent, path)
    ours, baseline = seconds(disk.transcript), seconds(lambda: _loads_each(path))
    assert len(disk.transcript().results) == 1
    yield "first read of a 200 MB transcript, against json.loads per line (s)", ours, baseline, 1 / 3
    with path.open("ab") as file:
        new = file.write(_line("message", message={"role": "user", "content": "x" * MIB}))
    with _counted_bytes() as read:
        disk.transcript()
    yield "later look at it, against the new bytes (bytes)", read[0], new, 1.01


def _cut_verdict(path: Path, what: str, size: int, record: int, budget_mib: int) -> Iterator[Measured]:
    _write_session(path, size, record)
    disk = _disk(path.parent, path)

    def verdict() -> None:
        tail = disk.tail(str(path))
        assert turn_of(tail, Settings(), Unknown("not asked"), restored=False).verdict.answer is Answer.YES

    with _counted_bytes() as read:
        verdict()
    yield f"{what} (MiB read, against {budget_mib})", read[0] / MIB, budget_mib, 1.0
    yield f"{what} (ms, against 100)", best(verdict, times=5) * 1000, 100.0, 1.0


def launcher_with_runs(folder: Path, runs: int) -> Disk:
    """A launcher with so many finished runs, all files as pi-herdr-agents leaves them."""
    transcript = folder / "launcher.jsonl"
    activities, scripts = (folder / "artifacts" / name for name in ("subagent-activity", "subagent-scripts"))
    activities.mkdir(parents=True)
    scripts.mkdir()
    transcript.write_bytes(_header() + _line("message", message={"role": "user", "content": "go"}))
    for number in range(runs):
        _write_run(folder, activities, scripts, f"{number:08x}")
    for path in (*activities.iterdir(), *scripts.iterdir(), scripts, transcript):
        os.utime(path, (LONG_AGO, LONG_AGO))
    return _disk(folder, transcript)


def _write_run(folder: Path, activities: Path, scripts: Path, run: str) -> None:
    session = folder / f"{run}.jsonl"
    activity = {"version": 1, "runningChildId": run, "createdAt": 1, "updatedAt": 2, "sequence": 3}
    activity |= {"latestEvent": "agent_end", "phase": "waiting", "agentActive": False}
    (activities / f"{run}.json").write_text(json.dumps(activity) + "\n")
    (scripts / f"a-{run}.sh").write_text(
        f"#!/bin/bash\n# Subagent launch script for A\n# Session: {session}\n# Surface: w1:p1\n"
        f"cd '/' && PI_SUBAGENT_NAME='A' PI_SUBAGENT_AUTO_EXIT=1 PI_SUBAGENT_SESSION='{session}' "
        f"PI_SUBAGENT_ID='{run}' pi --session '{session}'\n"
    )


def _disk(folder: Path, transcript: Path) -> Disk:
    return Disk(str(transcript), str(folder / "artifacts"), Path, os.path.realpath)


def _write_transcript(path: Path, size: int) -> None:
    """Messages as a working session has them (2 to 60 kB, quotes and newlines in the text), one result near the end."""
    text = 'def look(self) -> "Runs":\n    return self.runs[name]\n'
    lines = [
        _line("message", message={"role": "assistant", "content": text * (40 * n)}) for n in range(1, 30)
    ]
    block = b"".join(lines)
    result = _line(
        "custom_message", customType="subagent_result", content="", details={"sessionFile": "/s/a.jsonl"}
    )
    with path.open("wb") as file:
        file.write(_header())
        for _ in range(size // len(block)):
            file.write(block)
        file.write(result + block)


def _write_session(path: Path, size: int, record: int) -> None:
    """A header, a hole, one whole message, and a last record of `record` bytes with an open tool call."""
    call = {
        "type": "toolCall",
        "id": "c1",
        "name": "write",
        "arguments": {"content": 'x "y"\n' * (record // 8)},
    }
    message = {"role": "assistant", "content": [call], "stopReason": "toolUse"}
    end = (
        b"\n"
        + _line("message", message={"role": "user", "content": "go"})
        + _line("message", message=message)
    )
    with path.open("wb") as file:
        file.write(_header())
        file.truncate(size - len(end))
        file.seek(0, os.SEEK_END)
        file.write(end)


def _header() -> bytes:
    return (
        json.dumps({"type": "session", "version": 3, "id": SESSION, "timestamp": AT, "cwd": "/"}).encode()
        + b"\n"
    )


def _line(kind: str, **members: object) -> bytes:
    entry = {"type": kind, **members, "id": "3aef9b25", "parentId": "ad013553", "timestamp": AT}
    return json.dumps(entry, separators=(",", ":")).encode() + b"\n"


def _loads_each(path: Path) -> None:
    with path.open("rb") as file:
        for line in file:
            json.loads(line)


def best(work: Callable[[], object], times: int = 30) -> float:
    """The fastest of several runs, in seconds."""
    return min(seconds(work) for _ in range(times))


def seconds(work: Callable[[], object]) -> float:
    """Of the processor: all files are in the page cache, and what else runs on the machine must not count."""
    started = time.process_time()
    work()
    return time.process_time() - started


@contextmanager
def _counted_bytes() -> Iterator[list[int]]:
    """How many bytes this process read from files meanwhile; the kernel's own count."""
    counted: list[int] = []
    before = _bytes_read()
    yield counted
    counted.append(_bytes_read() - before)


def _bytes_read() -> int:
    with Path("/proc/self/io").open() as lines:
        return int(next(line for line in lines if line.startswith("rchar")).split()[1])
