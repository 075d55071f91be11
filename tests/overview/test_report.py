"""The JSON, and its schema."""

from __future__ import annotations

import msgspec
from overview.test_judge import BACK, NOW, REPORTED, STRANDED, TRACKED, seen
from recovery.given import LAUNCHER, RUN

from strawboss.overview.judge import view
from strawboss.overview.report import SCHEMA, Status, schema, status
from strawboss.overview.seen import Watch


def test_the_shipped_schema_is_that_of_the_types() -> None:
    assert SCHEMA.read_bytes() == schema(), "run python -m strawboss.overview.report"


def test_it_says_all_of_every_launcher_and_fits_its_schema() -> None:
    told = status(
        [view(seen(Watch.CLOSED, TRACKED, REPORTED), NOW), view(seen(Watch.LOOKING, STRANDED), NOW)]
    )
    written = msgspec.json.encode(told)
    assert msgspec.json.decode(written, type=Status) == told
    closed = msgspec.json.decode(written)["launchers"][0]
    assert closed | {"runs": [], "needs_you": []} == {
        "session": LAUNCHER.id,
        "name": LAUNCHER.name,
        "file": LAUNCHER.file,
        "cwd": LAUNCHER.cwd,
        "pid": LAUNCHER.pid,
        "looking": False,
        "looked_at": NOW - 3,
        "runs": [],
        "needs_you": [],
    }
    assert closed["runs"][1] == {
        "run": RUN,
        "name": "Zeta",
        "machine": "",
        "state": "settled",
        "stranded": False,
        "condition": "it has not reported",
        "answer": "no",
        "why": "reported",
    }
    assert closed["needs_you"] == [
        {"run": RUN, "what": "has not reported; its launcher is closed", "command": BACK}
    ]
    assert told.needs_you == 1


def test_whether_anybody_looks_is_null_where_that_cannot_be_told() -> None:
    told = status([view(seen(watch), NOW) for watch in Watch])
    assert [one.looking for one in told.launchers] == [True, False, None, False, False]
