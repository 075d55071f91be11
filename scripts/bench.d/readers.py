"""The readers of session files and run files: few runs, a huge transcript, a huge session file."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bench.budget import Budget, Measured
from bench.measuring import best, seconds

from strawboss.recovery.settings import Settings
from strawboss.recovery.turn import turn_of
from strawboss.recovery.verdict import Answer, Unknown
from strawboss.runs import Disk

MIB = 1024 * 1024
GIB = 1024 * MIB
SESSION = "01a23392-c4f6-76a6-87c2-4d480b13177c"
AT = "2026-12-01T21:47:48.472Z"
LONG_AGO = 1_700_000_000

BUDGETS = (
    FEW := Budget(
        "what 20 healthy runs cost on disk at a look",
        "ms",
        1.0,
        "one stat of the folder; the transcript's last 512 bytes",
    ),
    FIRST := Budget(
        "first read of a 200 MB transcript",
        "s",
        1 / 3,
        "a search for the few kinds of lines that matter; only those are decoded",
        beside="json.loads per line, s",
        times=True,
    ),
    LATER := Budget(
        "later look at it",
        "kB read",
        1.01,
        "the new bytes, and 512 before them",
        beside="the new bytes, kB",
        times=True,
    ),
    HUGE_READ := Budget(
        "cut verdict, 1 GB file, 9 MB last record", "MiB read", 40.0, "the last record, in growing pieces"
    ),
    HUGE_TIME := Budget(
        "cut verdict, 1 GB file, 9 MB last record: time", "ms", 100.0, "decoding that record"
    ),
    LARGE_READ := Budget(
        "cut verdict, 200 MB file, 3 MB last record", "MiB read", 8.0, "the last record, in growing pieces"
    ),
    LARGE_TIME := Budget(
        "cut verdict, 200 MB file, 3 MB last record: time", "ms", 100.0, "decoding that record"
    ),
)


def measure() -> list[Measured]:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        return [
            FEW.measured(_few(root / "few", runs=20)),
            *_transcript(root / "transcript.jsonl", 200 * MIB),
            *_cut_verdict(root / "huge.jsonl", GIB, 9 * MIB, (HUGE_READ, HUGE_TIME)),
            *_cut_verdict(root / "large.jsonl", 200 * MIB, 3 * MIB, (LARGE_READ, LARGE_TIME)),
        ]


def _few(folder: Path, runs: int) -> float:
    """Milliseconds."""
    disk = launcher_with_runs(folder, runs)
    assert len(disk.runs()) == runs
    return best(lambda: (disk.runs(), disk.transcript())) * 1000


def _transcript(path: Path, size: int) -> Iterator[Measured]:
    _write_transcript(path, size)
    disk = _disk(path.parent, path)
    ours, beside = seconds(disk.transcript), seconds(lambda: _loads_each(path))
    assert len(disk.transcript().results) == 1
    yield FIRST.measured(ours, beside)
    with path.open("ab") as file:
        new = file.write(_line("message", message={"role": "user", "content": "x" * MIB}))
    with _counted_bytes() as read:
        disk.transcript()
    yield LATER.measured(read[0] / 1000, new / 1000)


def _cut_verdict(path: Path, size: int, record: int, budgets: tuple[Budget, Budget]) -> Iterator[Measured]:
    _write_session(path, size, record)
    disk = _disk(path.parent, path)

    def verdict() -> None:
        tail = disk.tail(str(path))
        assert (
            turn_of(tail, (), Settings(), Unknown("not asked"), restored=False).verdict.answer is Answer.YES
        )

    with _counted_bytes() as read:
        verdict()
    yield budgets[0].measured(read[0] / MIB)
    yield budgets[1].measured(best(verdict, times=5) * 1000)


def launcher_with_runs(folder: Path, runs: int) -> Disk:
    """A launcher with so many finished runs, all files as pi-herdr-agents leaves them."""
    transcript = folder / "launcher.jsonl"
    activities, scripts = (folder / "artifacts" / name for name in ("subagent-activity", "subagent-scripts"))
    activities.mkdir(parents=True)
    scripts.mkdir()
    transcript.write_bytes(_header() + _line("message", message={"role": "user", "content": "go"}))
    for number in range(runs):
        _write_run(folder, activities, scripts, f"{number:08x}")
    for path in (*activities.iterdir(), *scripts.iterdir(), activities, scripts, transcript):
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
